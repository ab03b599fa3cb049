"""The stage of energy and voice activity, against the torch path of the ``silero-vad`` package, over the same files.

Ours is all that the gate ``energy+silero`` does with a file: decode, look for what is wrong, take the level, and ask
Silero. Theirs is ``get_speech_timestamps`` with the package's own model as it comes (torch), after the same decoder,
and beside it the bare loop over the model's steps. One thread; ways take turns, so that what else the machine does
falls on all of them. Printed are the median CPU seconds of a turn, and the median of the ratios within a turn.

Needs: pip install silero-vad torch; otoscope weights fetch silero-vad

usage: python benchmarks/gate_vad.py [TURNS] [FOLDER]
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import silero_vad
import torch
from numpy.typing import NDArray

import otoscope
from otoscope.audio import read_audio, resample
from otoscope.gate.rule import load_gate
from otoscope.gate.signal import RATE
from otoscope.gate.vad import FRAME, Silero
from otoscope.records import Clip

FOLDER = Path(otoscope.__file__).parent / "starter" / "audio"
GOAL = 5.0


def decode(path: Path) -> NDArray[np.float32]:
    """Return mono audio at 16 kHz."""
    return resample(read_audio(path), RATE).samples


def step_by_step(model: Any, samples: NDArray[np.float32]) -> list[float]:
    """Return the probabilities by a loop over steps, with nothing around it."""
    model.reset_states()
    padded = torch.from_numpy(np.pad(samples, (0, -len(samples) % FRAME)))
    return [model(padded[start : start + FRAME], RATE).item() for start in range(0, len(padded), FRAME)]


def cpu_seconds(way: Callable[[Path], object], paths: Sequence[Path]) -> float:
    """Return the CPU seconds of going through all files once."""
    start = time.process_time()
    for path in paths:
        way(path)
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER  # noqa: PLR2004
    torch.set_num_threads(1)
    paths = sorted(folder.glob("*.flac"))
    gate, model, silero = load_gate("energy+silero"), silero_vad.load_silero_vad(onnx=False), Silero()
    ways: dict[str, Callable[[Path], object]] = {
        "gate energy+silero": lambda path: gate.decide([Clip(path, path.name)]),
        "get_speech_timestamps": lambda path: silero_vad.get_speech_timestamps(torch.from_numpy(decode(path)), model),
        "its model, step by step": lambda path: step_by_step(model, decode(path)),
        "decoding alone": decode,
    }
    seconds, largest = 0.0, 0.0
    for path in paths:  # also loads what is loaded once
        samples = decode(path)
        found = np.array(step_by_step(model, samples), np.float32)
        seconds += len(samples) / RATE
        largest = max(largest, float(np.abs(silero.probabilities(samples) - found).max()))
    turns = [{name: cpu_seconds(way, paths) for name, way in ways.items()} for _ in range(number)]
    print(
        f"{len(paths)} files, {seconds:.0f} s of audio, {number} turns; probabilities differ by {largest:.1g} at most"
    )
    ours = next(iter(ways))
    for name in ways:
        ratios = [turn[name] / turn[ours] for turn in turns]
        median = statistics.median(turn[name] for turn in turns)
        print(
            f"{name:<24} {median:7.3f} s CPU, {statistics.median(ratios):5.2f} times ours "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )
    print(f"goal: get_speech_timestamps takes {GOAL:g} times as long or more")


if __name__ == "__main__":
    main()
