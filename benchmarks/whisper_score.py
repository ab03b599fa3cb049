"""What the Whisper score costs beside a plain greedy transcription of the same clips with the same weights.

Plain is what the cascade does: 30 s windows, language detected, the words decoded. The score does the same and reads
the logits. ``window=short`` lets the encoder hear the clip and a second instead of 30 s; beside its cost stands how far
its scores are from those of whole windows, which is the bound that one would have to state to use it instead. Ways take
turns clip by clip on one thread, another one first each time; printed are medians over clips and turns of CPU seconds
and of the ratios.

Needs: pip install 'otoscope[local]'; otoscope weights fetch whisper-base

usage: python benchmarks/whisper_score.py [WEIGHTS] [TURNS] [CLIPS]
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import otoscope
from otoscope.audio import Audio, read_audio, resample
from otoscope.gate.signal import Heard
from otoscope.gate.whisper import Conventions, Ctranslate2Decoder, WhisperScore
from otoscope.models.whisper import RATE, Whisper

FOLDER = Path(otoscope.__file__).parent / "starter" / "audio"
SPEECH = ("allison", "carlo", "french", "ivrvoice", "june", "librivox", "paola")
GOAL = 1.15
THRESHOLD = 0.7
Wave = NDArray[np.float32]


def cpu_seconds(measured: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    measured()
    return time.process_time() - start


def spread(values: list[float], number: str) -> str:
    """Return the median and the range."""
    return f"{statistics.median(values):{number}} ({min(values):{number}} to {max(values):{number}})"


def tell_bound(names: list[str], pairs: list[tuple[float, float]]) -> None:
    """Print how far short windows are from whole ones, for speech and for all else."""
    for what, wanted in (("speech", True), ("all else", False)):
        chosen = [pair for name, pair in zip(names, pairs, strict=True) if name.startswith(SPEECH) == wanted]
        if chosen:
            differences = sorted(abs(whole - short) for whole, short in chosen)
            changed = sum((whole >= THRESHOLD) != (short >= THRESHOLD) for whole, short in chosen)
            print(
                f"short windows, {what}: {len(chosen)} clips, difference {statistics.median(differences):.3f}, at most "
                f"{differences[-1]:.3f}, other decision at {THRESHOLD} for {changed}"
            )


def main() -> None:
    """Print the figures."""
    spec = sys.argv[1] if len(sys.argv) > 1 else "whisper-base"
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 3  # noqa: PLR2004
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20  # noqa: PLR2004
    every = sorted(FOLDER.glob("*.flac"))
    paths = every[:: max(1, len(every) // count)][:count]
    clips = [resample(read_audio(path), RATE) for path in paths]
    plain, decoder = Whisper(spec, 1), Ctranslate2Decoder(spec, "int8", 1)
    whole, short = WhisperScore(decoder, Conventions()), WhisperScore(decoder, Conventions(window="short"))

    def ways(clip: Audio) -> dict[str, Callable[[], object]]:
        heard = Heard(clip.samples)
        return {
            "plain": lambda: plain.transcribe(clip),
            "score": lambda: whole.measure(heard),
            "short": lambda: short.measure(heard),
        }

    pairs = []
    for clip in clips:  # also loads both models
        plain.transcribe(clip)
        found = [one.measure(Heard(clip.samples)).values["whisper"] for one in (whole, short)]
        pairs.append((found[0], found[1]))
    timed = []
    for turn in range(turns):
        for clip in clips:
            every_way = list(ways(clip).items())
            first = turn % len(every_way)
            timed.append({name: cpu_seconds(way) for name, way in every_way[first:] + every_way[:first]})
    print(
        f"{spec}, int8, {len(clips)} clips, {turns} turns: plain {spread([one['plain'] for one in timed], '.2f')} s CPU"
    )
    totals = {name: sum(one[name] for one in timed) for name in timed[0]}
    for name in ("score", "short"):
        ratios = [one[name] / one["plain"] for one in timed]
        total = totals[name] / totals["plain"]
        print(f"{name}: {spread(ratios, '.3f')} times as long, {total:.3f} over all (goal of the score {GOAL})")
    tell_bound([path.name for path in paths], pairs)


if __name__ == "__main__":
    main()
