"""Speech to build from: a LibriSpeech folder, a manifest of utterances, or the recordings that come with Otoscope."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audio import read_audio, resample
from otoscope.datasets.folder import read_rows
from otoscope.datasets.rows import to_clip
from otoscope.errors import TaskError, UsageError
from otoscope.records import Clip
from otoscope.sure.noise import RATE, Wave, active_rms
from otoscope.text import standard

MINI = Path(__file__).parent / "mini.jsonl"
"""Sentences of at least 3 s with exact transcripts among the clips of the starter suite."""

NOT_STATED = "not stated"
SHORTEST_SECONDS = 1.0

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


def read_utterances(path: Path, license_name: str = "") -> list[Utterance]:
    """Return the utterances of a LibriSpeech folder (speaker/chapter/*.trans.txt) or of a manifest, in order.

    Args:
        path: the folder, or a JSONL, CSV or Parquet file with the columns ``audio`` and ``text``, and if they are known
            ``id``, ``speaker``, ``license`` and ``attribution``.
        license_name: licence of utterances that name none.

    Raises:
        UsageError: there is no such file, or no transcript in the folder.
        TaskError: a row or a line is wrong; the message names it.
    """
    if not path.exists():
        raise UsageError(f"--speech {path}: there is no such file or folder")
    default = license_name or NOT_STATED
    utterances = list(_read_librispeech(path, default) if path.is_dir() else _read_manifest(path, default))
    if not utterances:
        raise UsageError(
            f"--speech {path}: no utterances; give a folder with speaker/chapter/*.trans.txt or a manifest"
        )
    seen: set[str] = set()
    for utterance in utterances:
        if utterance.id in seen:
            raise TaskError(f"{path}: utterance {utterance.id!r} is there twice; ids must differ")
        seen.add(utterance.id)
    return utterances


def _read_librispeech(folder: Path, default: str) -> Iterator[Utterance]:
    for file in sorted(folder.rglob("*.trans.txt")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            name, _, text = line.partition(" ")
            audio = file.parent / f"{name}.flac"
            yield _checked(
                Utterance(name, Clip(audio, str(audio)), text, file.parent.parent.name, default),
                f"{file}: line {number}",
            )


def _read_manifest(file: Path, default: str) -> Iterator[Utterance]:
    for number, row in enumerate(read_rows(file), 1):
        where = f"{file}: row {number}"
        if not row.get("audio"):
            raise TaskError(f"{where}: audio: missing; the row has {', '.join(row)}")
        clip = to_clip(row["audio"], file, f"{where}: audio")
        yield _checked(
            Utterance(
                id=_cell(row.get("id")) or Path(clip.name).stem,
                clip=clip,
                text=_cell(row.get("text")),
                speaker=_cell(row.get("speaker")),
                license=_cell(row.get("license")) or default,
                attribution=_cell(row.get("attribution")),
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
