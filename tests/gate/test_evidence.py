"""Inputs that nobody should send, each with the reason it gets, and the ones after it that are decided all the same."""

import functools
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from otoscope.audio import read_audio
from otoscope.errors import UsageError
from otoscope.gate.evidence import Energy, peak_level, read_sound
from otoscope.gate.rule import load_gate
from otoscope.records import Clip, Decision

RATE = 16_000
Make = Callable[[Path], Any]


def tone(seconds: float = 1.0, rate: int = RATE, level: float = 0.3) -> NDArray[np.float32]:
    wave = level * np.sin(2 * np.pi * 300 * np.arange(round(seconds * rate)) / rate)
    return wave.astype(np.float32)


def wav(samples: NDArray[Any], rate: int = RATE, container: str = "WAV", subtype: str = "PCM_16") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=container, subtype=subtype)
    return buffer.getvalue()


def with_one(value: float) -> tuple[NDArray[np.float32], int]:
    samples = tone()
    samples[5000] = value
    return samples, RATE


def text_file(folder: Path) -> Path:
    path = folder / "text.wav"
    path.write_text("this is no sound at all\n" * 20)
    return path


def renamed_mp3(folder: Path) -> Path:
    path = folder / "music.wav"
    path.write_bytes(wav(tone(), container="MP3", subtype="MPEG_LAYER_III"))
    return path


def three_hours(folder: Path) -> Path:
    path = folder / "long.flac"
    second = np.zeros(8000, np.int16)
    with soundfile.SoundFile(path, "w", 8000, 1, "PCM_16", format="FLAC") as file:
        for _ in range(3 * 36):
            file.write(np.tile(second, 100))
    return path


def named_pipe(folder: Path) -> Path:
    path = folder / "pipe.wav"
    if not path.exists():
        os.mkfifo(path)
    return path


def without_length(samples: NDArray[Any], rate: int = RATE) -> bytes:
    """Return a FLAC stream as a program leaves it that writes to a pipe."""
    data = bytearray(wav(samples, rate, container="FLAC"))
    data[21] &= 0xF0
    data[22:26] = bytes(4)
    return bytes(data)


def read_before(data: bytes) -> io.BytesIO:
    file = io.BytesIO(data)
    file.read()
    return file


def closed() -> io.BytesIO:
    file = io.BytesIO(wav(tone()))
    file.close()
    return file


class Pipe(io.RawIOBase):
    """A stream that gives its bytes once."""

    def __init__(self, data: bytes) -> None:
        self._left = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._left.readinto(buffer)


@functools.cache
def many_channels() -> bytes:
    """Return a FLAC file of 200 kB that decodes to 1.5 GB, and lasts less than an hour."""
    buffer = io.BytesIO()
    block = np.zeros((480_000, 8), np.int16)
    with soundfile.SoundFile(buffer, "w", 48_000, 8, "PCM_16", format="FLAC") as file:
        for _ in range(100):
            file.write(block)
    return buffer.getvalue()


def stereo(left: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], int]:
    return np.column_stack([left, right]), RATE


def six_channels(_folder: Path) -> tuple[NDArray[Any], int]:
    channels = np.zeros((RATE, 6), np.float32)
    channels[:, 2] = tone()
    return channels, RATE


HOSTILE: dict[str, tuple[Make, str]] = {
    "nan": (lambda _: with_one(float("nan")), "non-finite"),
    "plus infinity": (lambda _: with_one(float("inf")), "non-finite"),
    "minus infinity": (lambda _: with_one(float("-inf")), "non-finite"),
    "nan in a float file": (lambda _: wav(with_one(float("nan"))[0], subtype="FLOAT"), "non-finite"),
    "no samples": (lambda _: (np.zeros(0, np.float32), RATE), "empty"),
    "no frames in a file": (lambda _: wav(np.zeros(0, np.float32)), "empty"),
    "no bytes": (lambda _: b"", "empty"),
    "one sample at a high rate": (lambda _: (np.ones(1, np.float32), 96_000), "empty"),
    "a rate of none": (lambda _: (tone(), 0), "undecodable"),
    "one frame of two channels": (lambda _: (np.ones((1, 2), np.float32), RATE), "undecodable"),
    "a pipe": (named_pipe, "undecodable"),
    "one sample": (lambda _: (np.ones(1, np.float32), RATE), "too-short"),
    "just too short": (lambda _: (tone(0.099), RATE), "too-short"),
    "silence": (lambda _: (np.zeros(RATE, np.float32), RATE), "near-silent"),
    "noise below the floor": (lambda _: (tone(level=1e-3 * 2**0.5 * 0.99), RATE), "near-silent"),
    "a constant": (lambda _: (np.full(RATE, 0.5, np.float32), RATE), "near-silent"),
    "integers as floats": (lambda _: (tone() * 32767, RATE), "unscaled"),
    "anti-phase": (lambda _: stereo(tone(), -tone()), "anti-phase"),
    "anti-phase integers": (lambda _: wav(stereo(tone(), -tone())[0]), "anti-phase"),
    "text": (text_file, "undecodable"),
    "random bytes": (lambda _: np.random.default_rng(0).bytes(5000), "undecodable"),
    "a folder": (lambda folder: folder, "undecodable"),
    "nothing there": (lambda folder: folder / "absent.wav", "missing"),
    "half a flac": (lambda _: wav(tone(3), container="FLAC")[:9000], "truncated"),
    "half an au": (lambda _: wav(tone(), container="AU")[:9000], "truncated"),
    "half a sphere": (lambda _: wav(tone(), container="NIST")[:9000], "truncated"),
    "half a wav": (lambda _: wav(tone())[:9000], "truncated"),
    "three hours": (three_hours, "too-long"),
    "over an hour in an array": (lambda _: (np.zeros(3601 * 1000, np.float32), 1000), "too-long"),
    "over an hour that no header tells": (
        lambda _: without_length(np.zeros(3601 * 1000, np.float32), 1000),
        "too-long",
    ),
    "an open file at its end": (lambda _: io.BytesIO(), "empty"),
    "16 bits in an int32 array": (lambda _: ((tone() * 32767).astype(np.int32), RATE), "unscaled"),
    "dither in an int32 array": (lambda _: (np.tile(np.array([-1, 0, 1, 2], np.int32), RATE), RATE), "near-silent"),
    "zeros in an int32 array": (lambda _: (np.zeros(RATE, np.int32), RATE), "near-silent"),
    "silence in 8 channels": (lambda _: many_channels(), "too-long"),
    "int32": (lambda _: ((tone().astype(np.float64) * 2**31).astype(np.int32), RATE), "evidence"),
    "integers": (lambda _: ((tone() * 32767).astype(np.int16), RATE), "evidence"),
    "telephone rate": (lambda _: (tone(rate=8000), 8000), "evidence"),
    "48 kHz": (lambda _: wav(tone(rate=48_000), 48_000), "evidence"),
    "96 kHz": (lambda _: wav(tone(rate=96_000), 96_000), "evidence"),
    "24 bits": (lambda _: wav(tone(), subtype="PCM_24"), "evidence"),
    "double precision": (lambda _: (tone().astype(np.float64), RATE), "evidence"),
    "a double file": (lambda _: wav(tone(), subtype="DOUBLE"), "evidence"),
    "stereo": (lambda _: stereo(tone(), 0.5 * tone()), "evidence"),
    "a flac of unknown length": (lambda _: without_length(tone()), "evidence"),
    "stereo of unknown length": (lambda _: without_length(stereo(tone(), tone())[0]), "evidence"),
    "anti-phase of unknown length": (lambda _: without_length(stereo(tone(), -tone())[0]), "anti-phase"),
    "six channels, one used": (six_channels, "evidence"),
    "constant offset": (lambda _: (tone() + 0.3, RATE), "evidence"),
    "over full scale": (lambda _: (tone(level=1.4), RATE), "evidence"),
    "mp3 called wav": (renamed_mp3, "evidence"),
    "an open file": (lambda _: io.BytesIO(wav(tone())), "evidence"),
    "an open file that was read": (lambda _: read_before(wav(tone())), "evidence"),
    "a bytearray": (lambda _: bytearray(wav(tone())), "evidence"),
    "a memoryview": (lambda _: memoryview(wav(tone())), "evidence"),
}


MISTAKES: dict[str, tuple[Make, str]] = {
    "the rate first": (lambda _: (RATE, tone()), r"not \(int, ndarray\); swap them"),
    "channels first": (lambda _: (np.stack([tone(), tone()]), RATE), "transpose the array"),
    "a rate that is no number": (lambda _: (tone(), "fast"), "give whole Hz"),
    "int64": (lambda _: ((tone() * 32767).astype(np.int64), RATE), "an array of int64 is no audio; give"),
    "a closed file": (lambda _: closed(), "the file is closed; give one that is still open"),
    "a text file that holds a path": (lambda folder: io.StringIO(str(renamed_mp3(folder))), "not StringIO of str"),
    "a list": (lambda _: [0.1, 0.2], r"a pair \(array, rate\), not list"),
    "nothing": (lambda _: None, "not NoneType"),
    "an array without a rate": (lambda _: (tone(),), r"a pair \(numpy array, rate in Hz\) is needed"),
}
"""What is no source of audio: a mistake of the program, whatever the audio."""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_the_program_is_raised_and_does_not_turn_the_clip_away(name: str, tmp_path: Path) -> None:
    make, message = MISTAKES[name]
    with pytest.raises(UsageError, match=f"^{name}: .*{message}"):
        load_gate("energy").decide([Clip(make(tmp_path), name)])


def test_hostile_inputs_get_their_reason_and_the_rest_is_decided(tmp_path: Path) -> None:
    gate = load_gate("energy")
    requests = [[Clip(make(tmp_path), name)] for name, (make, _) in HOSTILE.items()]
    reasons = [decision.reason for decision in map(gate.decide, requests)]
    assert dict(zip(HOSTILE, reasons, strict=True)) == {name: reason for name, (_, reason) in HOSTILE.items()}


def test_only_a_clip_with_evidence_is_admitted(tmp_path: Path) -> None:
    gate = load_gate("energy")
    for name, (make, reason) in HOSTILE.items():
        decision = gate.decide([Clip(make(tmp_path), name)])
        assert decision.admit == (reason == "evidence")
        assert decision.outcome in {"answer", "abstain"}
        assert Decision.from_json(decision.to_json()) == decision


@pytest.mark.parametrize("make", [io.BytesIO, Pipe])
def test_an_open_file_is_decided_alike_each_time_and_left_for_the_model(make: Callable[[bytes], Any]) -> None:
    gate = load_gate("energy")
    data = wav(tone(), container="FLAC")
    file = make(data)
    clip = Clip(file, "upload")
    if file.seekable():
        file.seek(7)
    decisions = [gate.decide([clip]) for _ in range(2)]
    assert [(one.outcome, one.reason, one.key) for one in decisions] == [("answer", "evidence", decisions[0].key)] * 2
    assert read_audio(clip.source).digest == read_audio(data).digest
    assert not file.seekable() or file.tell() == 7


def test_a_text_as_source_is_refused_where_the_clip_is_made() -> None:
    with pytest.raises(UsageError, match=r"call.*no text; give pathlib\.Path\('call\.wav'\)"):
        Clip("call.wav", "call")  # type: ignore[arg-type]


def test_what_does_not_decide_is_flagged() -> None:
    clipped = np.clip(3 * tone(), -0.8, 0.8)
    assert read_sound(Clip((clipped, RATE), "clipped")).flags == ("clipped",)
    assert read_sound(Clip((tone() + 0.3, RATE), "offset")).flags == ("dc",)
    assert read_sound(Clip((tone(), RATE), "clean")).flags == ()
    low = np.sin(2 * np.pi * 200 * np.arange(48_000) / 48_000)
    for level in (1e-6, 1e-3, 0.03):  # flat by the steps of 16 bits, or too quiet for anything to have clipped it
        assert read_sound(Clip((np.round(32767 * level * low).astype(np.int16), 48_000), "quiet")).flags == ()
    assert read_sound(Clip((1e-6 * clipped, RATE), "almost nothing")).flags == ()


def test_channels_that_differ_do_not_cancel() -> None:
    rng = np.random.default_rng(0)
    for right in (tone() * 0.1, np.zeros(RATE, np.float32), rng.normal(0, 0.1, RATE).astype(np.float32)):
        assert read_sound(Clip(stereo(tone(), right), "stereo")).code == ""


def test_a_short_word_in_long_silence_is_loud() -> None:
    samples = np.zeros(60 * RATE, np.float32)
    samples[30 * RATE : 30 * RATE + 2000] = tone()[:2000]
    assert peak_level(samples, RATE) == pytest.approx(20 * np.log10(0.3 / 2**0.5), abs=0.1)


@given(st.floats(-119, 0), st.sampled_from([8000, 16_000, 44_100]))
def test_level_is_that_of_the_sine(level: float, rate: int) -> None:
    samples = tone(rate=rate, level=10 ** (level / 20) * 2**0.5)
    assert peak_level(samples, rate) == pytest.approx(level, abs=0.5)


def test_a_level_that_is_no_number_does_not_pass() -> None:
    assert Energy().code(1.0, float("nan")) == "near-silent"
    assert Energy().code(1.0, -60.0) == ""
