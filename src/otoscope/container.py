"""Where an audio file says that its samples end: whether it breaks off, and sizes that a program never filled in."""

import math
import re
from typing import Literal, NamedTuple

PLACEHOLDER_SIZE = 0x7FFF_F000
"""Sizes of 32 bits from this on say that it was not known, as programs write to a pipe (0x7ffff000, 0x7fffffff,
0x80000000, 0xffffffff, some less the header). So a file that truly held 2 GiB is not known to break off."""

_OGG_LAST_PAGE = 0x04
_AU_SIZE_UNKNOWN = 2**32 - 1
_RF64_SIZE_UNKNOWN = 2**64 - 1
_RIFF_WIDTH = 4
_SPHERE_HEADER = 1024
_SPHERE_FIELD = re.compile(rb"^(\w+) -i (\d+)", re.MULTILINE)


class _Chunks(NamedTuple):
    """How a container lays out its chunks: where the first is, its identifier for samples, and its sizes."""

    first: int
    samples: bytes
    width: int
    order: Literal["little", "big"]
    align: int = 2
    size_counts_head: bool = False


_W64_SAMPLES = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
_CHUNKS = {
    b"RIFFWAVE": _Chunks(12, b"data", 4, "little"),
    b"RIFXWAVE": _Chunks(12, b"data", 4, "big"),
    b"RF64WAVE": _Chunks(12, b"data", 4, "little"),
    b"FORMAIFF": _Chunks(12, b"SSND", 4, "big"),
    b"FORMAIFC": _Chunks(12, b"SSND", 4, "big"),
    b"riff\xa5\xd6\x28\xdb": _Chunks(40, _W64_SAMPLES, 8, "little", 8, size_counts_head=True),
    b"caffdesc": _Chunks(8, b"data", 8, "big", 1),
    b"FORM8SVX": _Chunks(12, b"BODY", 4, "big"),
    b"FORM16SV": _Chunks(12, b"BODY", 4, "big"),
}
"""By the bytes 0 to 3 and 8 to 11 of the file."""


def breaks_off(data: bytes) -> bool:
    """Tell whether a file ends early whose format says where it ends; libsndfile reads what is there without a word.

    Of the formats that it reads, IRCAM, PAF and PVF do not say it, and HTK, AVR and samplers' own are not looked at.
    """
    layout = _CHUNKS.get(data[:4] + data[8:12])
    if layout is not None:
        return _chunks_break_off(data, layout)
    if data[:4] == b"OggS":
        last = data.rfind(b"OggS")
        return last + 5 >= len(data) or not data[last + 5] & _OGG_LAST_PAGE
    if data[:4] in {b".snd", b"dns."}:
        order: Literal["little", "big"] = "big" if data[:4] == b".snd" else "little"
        start, size = (int.from_bytes(data[at : at + 4], order) for at in (4, 8))
        return size != _AU_SIZE_UNKNOWN and start + size > len(data)
    if data.startswith(b"NIST_1A"):
        return _sphere_breaks_off(data)
    return data.startswith(b"Creative Voice File") and _blocks_break_off(data)


def _sphere_breaks_off(data: bytes) -> bool:
    """Tell whether a NIST SPHERE file of plain samples ends early; a count that is absent is the least there can be."""
    fields = {b"sample_count": 0, b"channel_count": 1, b"sample_n_bytes": 1}
    fields |= {name: int(size) for name, size in _SPHERE_FIELD.findall(data[:_SPHERE_HEADER]) if name in fields}
    return _SPHERE_HEADER + math.prod(fields.values()) > len(data)


def _blocks_break_off(data: bytes) -> bool:
    """Tell whether a VOC file ends within a block."""
    at = int.from_bytes(data[20:22], "little")
    while at < len(data) and data[at]:
        at += 4 + int.from_bytes(data[at + 1 : at + 4], "little")
    return at > len(data)


def _chunks_break_off(data: bytes, layout: _Chunks) -> bool:
    at, head = _find_samples(data, layout), len(layout.samples) + layout.width
    if at is None:
        return layout.samples not in data
    size = int.from_bytes(data[at + len(layout.samples) : at + head], layout.order)
    unknown = size == 256**layout.width - 1
    if unknown and data[:4] == b"RF64":
        size = int.from_bytes(data[28:36], "little")  # where 32 bits do not hold it
        unknown = size == _RF64_SIZE_UNKNOWN
    elif layout.width == _RIFF_WIDTH:
        unknown = size >= PLACEHOLDER_SIZE
    return size > 0 and not unknown and at + size + (0 if layout.size_counts_head else head) > len(data)


def _find_samples(data: bytes, layout: _Chunks) -> int | None:
    """Return where the head of the chunk with the samples begins; None if there is none where chunks lead."""
    at, head = layout.first, len(layout.samples) + layout.width
    while at + head <= len(data):
        if data.startswith(layout.samples, at):
            return at
        size = int.from_bytes(data[at + len(layout.samples) : at + head], layout.order)
        at += max(size, head) if layout.size_counts_head else head + size
        at += -at % layout.align
    return None


def fill_in_size(data: bytes) -> bytes:
    """Return a WAV file with the size of its samples, where a program that could not seek back left 0 there.

    libsndfile takes what follows any other placeholder, and nothing after a 0.
    """
    layout = _CHUNKS.get(data[:4] + data[8:12])
    if layout is None or data[:4] not in {b"RIFF", b"RIFX"}:
        return data
    at = _find_samples(data, layout)
    if at is None or any(data[at + 4 : at + 8]) or _are_chunks(data, at + 8, layout):
        return data
    size = min(len(data) - at - 8, PLACEHOLDER_SIZE)
    return data[: at + 4] + size.to_bytes(4, layout.order) + data[at + 8 :]


def _are_chunks(data: bytes, at: int, layout: _Chunks) -> bool:
    """Tell whether nothing but whole chunks follows, as after samples of which there are none."""
    while at + 8 <= len(data) and all(0x20 <= byte < 0x7F for byte in data[at : at + 4]):  # noqa: PLR2004 - printable
        at += 8 + int.from_bytes(data[at + 4 : at + 8], layout.order)
        at += -at % layout.align
    return len(data) <= at <= len(data) + 1
