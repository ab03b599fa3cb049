"""Speech to build from, and sets that were built.

Pseudo-speech is bursts of harmonics with pauses between them: enough for counts, levels and bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from otoscope.sure.build import build_set
from otoscope.sure.datasheet import Datasheet
from otoscope.sure.families import Family
from otoscope.sure.plan import Settings
from otoscope.sure.sources import MINI, read_utterances

Json = dict[str, Any]
RATE = 16_000


def pseudo_speech(number: int, seconds: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(number)
    time = np.arange(round(seconds * RATE)) / RATE
    pitch = rng.uniform(90, 250)
    voiced = np.sum([np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 12)], axis=0)
    syllables = np.maximum(0, np.sin(2 * np.pi * rng.uniform(1.5, 4) * time))
    samples = 0.1 * voiced * syllables + 1e-4 * rng.standard_normal(len(time))
    return np.asarray(samples, np.float64)


def write_librispeech(folder: Path, speakers: int, each: int, seconds: float = 1.0) -> Path:
    """Write ``speakers`` times ``each`` utterances; each is a little longer than the one before it, up to 100 ms."""
    for speaker in range(speakers):
        chapter = folder / f"{100 + speaker}" / "7"
        chapter.mkdir(parents=True)
        lines = []
        for number in range(each):
            name = f"{100 + speaker}-7-{number:04d}"
            index = speaker * each + number
            soundfile.write(chapter / f"{name}.flac", pseudo_speech(index, seconds + index % 10 / 100), RATE)
            lines.append(f"{name} WORD{index} AND ANOTHER\n")
        (chapter / f"{100 + speaker}-7.trans.txt").write_text("".join(lines))
    return folder


def read_rows(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "samples.jsonl").read_text("utf-8").splitlines()]


def decode(file: Path) -> NDArray[np.float64]:
    samples, rate = soundfile.read(file)
    assert rate == RATE
    return np.asarray(samples)


@dataclass(frozen=True)
class Built:
    folder: Path
    datasheet: Datasheet

    def rows(self, split: str) -> list[Json]:
        return read_rows(self.folder / split)

    def samples(self, row: Json) -> NDArray[np.float64]:
        return decode(self.folder / row["split"] / row["audio"])


def build_mini(folder: Path, settings: Settings | None = None, extra: Sequence[Family] = ()) -> Built:
    chosen = settings or Settings("mini")
    return Built(folder, build_set(read_utterances(MINI), chosen, folder, extra))
