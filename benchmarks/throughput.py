"""Share of the ideal throughput that a run reaches with a model that sleeps 50 ms a request.

Run: ``python benchmarks/throughput.py [SECONDS]``. For 1, 8 and 64 calls in flight it runs a task over the recordings
that come with the package, as mono WAV files at 16 kHz, as many requests as the model alone would answer in SECONDS (10
by default), each with an instruction of its own. Prints the requests, the ideal time, the time from the first request
to the last answer and their ratio, and beside it the CPU time of the process and the load of the machine before.
"""

import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import soundfile

import otoscope
from otoscope.audio import Intake, read_audio, resample

SLEEP_SECONDS = 0.05
CLIPS = Path(otoscope.__file__).parent / "starter" / "audio"


class Sleeper:
    """Answers after 50 ms, as often at once as it is told, and keeps the time."""

    id = "sleeper"
    settings: dict[str, str] = {}  # noqa: RUF012 - the protocol's form
    intake = Intake(clips=9)
    batch = 1

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        self.begun = 0.0
        self.ended = 0.0

    def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
        """Sleep and answer."""
        self.begun = self.begun or time.perf_counter()
        time.sleep(SLEEP_SECONDS * len(requests))
        self.ended = time.perf_counter()
        return [otoscope.Reply("a") for _ in requests]


def make_task(folder: Path, requests: int) -> None:
    """Write a task that asks about the package's recordings in turn."""
    content = {"name": "sleep", "kind": "sequence", "metrics": ["wer"]}
    (folder / "task.json").write_text(json.dumps(content))
    for file in CLIPS.iterdir():
        audio = resample(read_audio(file), 16_000)
        soundfile.write(folder / f"{file.stem}.wav", audio.samples, audio.rate)
    clips = itertools.cycle(sorted(path.name for path in folder.glob("*.wav")))
    with (folder / "samples.jsonl").open("w") as rows:
        for number in range(requests):
            row = {"id": str(number), "audio": next(clips), "instruction": f"Write number {number}.", "label": "a"}
            rows.write(json.dumps(row) + "\n")


def measure(concurrency: int, seconds: float) -> None:
    """Print one line."""
    requests = round(concurrency * seconds / SLEEP_SECONDS)
    ideal = requests * SLEEP_SECONDS / concurrency
    model = Sleeper(concurrency)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_task(folder, requests)
        cpu = time.process_time()
        otoscope.run(name, model=model, folder=folder / "run")
        cpu = time.process_time() - cpu
    taken = model.ended - model.begun
    print(
        f"{concurrency:3} in flight: {requests} requests, ideal {ideal:.2f} s, {taken:.2f} s, {ideal / taken:.1%} "
        f"(CPU {cpu:.1f} s, load {load:.1f})"
    )


if __name__ == "__main__":
    for calls in (1, 8, 64):
        measure(calls, float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
