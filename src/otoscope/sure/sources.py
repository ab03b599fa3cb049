"""Speech to build from: a LibriSpeech folder, a manifest, a dataset on the hub, or what comes with Otoscope."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from otoscope.audio import read_audio, resample
from otoscope.datasets.folder import read_rows
from otoscope.datasets.hub import read_dataset
from otoscope.datasets.rows import Row, to_clip
from otoscope.errors import TaskError, UnknownNameError, UsageError
from otoscope.records import Clip
from otoscope.sure.noise import RATE, Wave, active_rms
from otoscope.task import Part
from otoscope.text import standard

MINI = Path(__file__).parent / "mini.jsonl"
"""Sentences of at least 3 s with exact transcripts among the clips of the starter suite."""

NOT_STATED = "not stated"
SHORTEST_SECONDS = 1.0

COLUMNS = ("audio", "text", "id", "speaker", "license", "attribution")
HUB = "hub:"

_DATASET = re.compile(r"hub:([\w.-]+/[\w.-]+)(?:@([\w.-]+))?(?:/(.*))?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Utterance:
    """One utterance that has not been decoded yet.

    Attributes:
        id: letters, digits, dots, hyphens and underscores, since files are named after it.
        clip: its audio.
        text: its transcript.
        speaker: who speaks, or an empty string where that is not known.
        license: licence of the recording.
        attribution: whom the licence wants named.
    """

    id: str
    clip: Clip
    text: str
    speaker: str = ""
    license: str = NOT_STATED
    attribution: str = ""


@dataclass(frozen=True, slots=True)
class Speech:
    """A decoded utterance: mono at 16 kHz, and the rate (Hz) and length (s) that it had."""

    samples: Wave
    rate: int
    seconds: float


def read_utterances(
    source: Path | str, license_name: str = "", columns: Mapping[str, str] | None = None
) -> Iterator[Utterance]:
    """Return the utterances of a LibriSpeech folder, a manifest or a dataset on the hub, in order, as they are read.

    Args:
        source: a folder with speaker/chapter/*.trans.txt; a JSONL, CSV or Parquet file; or
            ``hub:ORG/NAME[@REVISION][/BEGINNING]``, the Parquet files of a dataset whose names begin so. Rows have
            ``audio`` and ``text``, and if they are known ``id``, ``speaker``, ``license`` and ``attribution``.
        license_name: licence of utterances that name none.
        columns: by these names, what the columns are called instead.

    Raises:
        UsageError: there is no such file, or no transcript in the folder; or a column is no such name.
        TaskError: a row or a line is wrong; the message names it.
        DataUnavailableError: the dataset cannot be had.
    """
    for name in columns or {}:
        if name not in COLUMNS:
            raise UnknownNameError("column of speech", name, COLUMNS)
    default = license_name or NOT_STATED
    if str(source).startswith(HUB):
        return _distinct(str(source), _read_rows(_hub_rows(str(source)), columns or {}, default))
    path = Path(source)
    if not path.exists():
        raise UsageError(f"--speech {path}: there is no such file or folder")
    if not path.is_dir():
        return _distinct(str(path), _read_rows(_file_rows(path), columns or {}, default))
    if columns:
        raise UsageError(f"--speech {path}: a folder in LibriSpeech's layout has no columns to name")
    return _distinct(str(path), _read_librispeech(path, default))


def _distinct(source: str, utterances: Iterable[Utterance]) -> Iterator[Utterance]:
    """Yield the utterances; two with one id are an error, and so is none at all."""
    seen: set[str] = set()
    for utterance in utterances:
        if utterance.id in seen:
            raise TaskError(f"{source}: utterance {utterance.id!r} is there twice; ids must differ")
        seen.add(utterance.id)
        yield utterance
    if not seen:
        raise UsageError(
            f"--speech {source}: no utterances; give a folder with speaker/chapter/*.trans.txt or a manifest"
        )


def _read_librispeech(folder: Path, default: str) -> Iterator[Utterance]:
    for file in sorted(folder.rglob("*.trans.txt")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            name, _, text = line.partition(" ")
            audio = file.parent / f"{name}.flac"
            yield _checked(
                Utterance(name, Clip(audio, str(audio)), text, file.parent.parent.name, default),
                f"{file}: line {number}",
            )


class _Found(NamedTuple):
    """A row, the file it comes from, how errors name it, and whom to name where it does not say."""

    file: Path
    where: str
    row: Row
    attribution: str = ""


def _file_rows(file: Path) -> Iterator[_Found]:
    for number, row in enumerate(read_rows(file), 1):
        yield _Found(file, f"{file}: row {number}", row)


def _hub_rows(source: str) -> Iterator[_Found]:
    named = _DATASET.fullmatch(source)
    if named is None:
        raise UsageError(f"--speech {source}: write hub:ORG/NAME, hub:ORG/NAME@REVISION or hub:ORG/NAME/BEGINNING")
    path, revision, beginning = named[1], named[2] or "", named[3] or ""
    part, rows = read_dataset(f"--speech {source}", Part(path, revision), beginning)
    for file, where, row in rows:
        yield _Found(file, where, row, f"{part.path} at {part.version}")


def _read_rows(rows: Iterable[_Found], columns: Mapping[str, str], default: str) -> Iterator[Utterance]:
    names = {name: columns.get(name, name) for name in COLUMNS}
    for file, where, row, attribution in rows:
        cells = {name: _cell(row.get(column)) for name, column in names.items() if name != "audio"}
        for name in ("audio", "text"):
            if row.get(names[name]) is None:
                raise TaskError(f"{where}: {names[name]}: missing; the row has {', '.join(row)}")
        clip = to_clip(row[names["audio"]], file, f"{where}: {names['audio']}")
        yield _checked(
            Utterance(
                id=cells["id"] or Path(clip.name).stem,
                clip=clip,
                text=cells["text"],
                speaker=cells["speaker"],
                license=cells["license"] or default,
                attribution=cells["attribution"] or attribution,
            ),
            where,
        )


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _checked(utterance: Utterance, where: str) -> Utterance:
    if not _NAME.fullmatch(utterance.id):
        raise TaskError(f"{where}: id {utterance.id!r}: use letters, digits and . _ - and begin with a letter or digit")
    if not standard(utterance.text):
        raise TaskError(f"{where}: {utterance.id}: no transcript; leave out utterances without words")
    return utterance


def load(utterance: Utterance) -> Speech:
    """Decode an utterance.

    Raises:
        AudioError: it cannot be decoded.
        TaskError: it is silent, or shorter than a second.
    """
    audio = read_audio(utterance.clip.source, utterance.clip.name)
    samples = resample(audio, RATE).samples.astype(np.float64)
    if audio.seconds < SHORTEST_SECONDS:
        raise TaskError(f"{utterance.clip.name}: {audio.seconds:.2f} s; a source has at least {SHORTEST_SECONDS:g} s")
    if not active_rms(samples):
        raise TaskError(f"{utterance.clip.name}: no frame above -60 dBFS; a source holds speech")
    return Speech(samples, audio.rate, audio.seconds)
