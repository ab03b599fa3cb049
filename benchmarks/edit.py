"""Corpus word error rate through the metric, against a bare loop over the same tokens in the same process.

Normalisation is left out on both sides and timed on its own. Prints CPU times, best of five, and their ratio.

usage: python benchmarks/edit.py [PAIRS]
"""

import random
import sys
import time
from collections.abc import Callable

import numpy as np
from rapidfuzz.distance import Levenshtein

from otoscope.metrics import METRICS
from otoscope.metrics.edit import edits
from otoscope.text import standard

REPEAT = 5
DELETED, REPLACED, SILENT = 0.02, 0.08, 0.02
Tokens = list[list[str]]


def corpus(pairs: int) -> tuple[list[str], list[str]]:
    """Return references of 19 words on average, and answers with one edit in ten words, preambles and silence."""
    rng = random.Random(0)  # noqa: S311
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(20_000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    references, answers = [], []
    for _ in range(pairs):
        reference = rng.choices(vocabulary, weights, k=max(1, round(rng.gammavariate(2.4, 19 / 2.4))))
        kept = [word for word in reference if rng.random() > DELETED]
        answer = [rng.choice(vocabulary) if rng.random() < REPLACED else word for word in kept]
        before = rng.choices([[], ["The", "transcription", "is:"]], [97, 3])[0]
        references.append(" ".join(reference).capitalize() + ".")
        answers.append(" ".join(before + answer) if rng.random() > SILENT else "")
    return references, answers


def bare(references: Tokens, answers: Tokens) -> float:
    """Return the rate by a loop around the library."""
    errors = length = 0
    for reference, answer in zip(references, answers, strict=True):
        errors += Levenshtein.distance(reference, answer)
        length += len(reference)
    return errors / length


def ours(references: Tokens, answers: Tokens) -> float | None:
    """Return the rate by rows and their value."""
    rows = np.array([edits(reference, answer) for reference, answer in zip(references, answers, strict=True)])
    return METRICS["wer"].value(rows)


def best(measured: Callable[[], object]) -> float:
    """Return the least CPU seconds of five runs."""
    seconds = []
    for _ in range(REPEAT):
        start = time.process_time()
        measured()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    """Time both and print the ratio."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    texts = corpus(pairs)
    references, answers = ([standard(text).split() for text in side] for side in texts)
    if bare(references, answers) != ours(references, answers):
        sys.exit("the two rates differ")
    library, metric = best(lambda: bare(references, answers)), best(lambda: ours(references, answers))
    normalising = best(lambda: [standard(text) for side in texts for text in side])
    print(f"{pairs} pairs: bare loop {library:.3f} s, metric {metric:.3f} s, ratio {metric / library:.2f} (goal 1.5)")
    print(f"normalising both sides: {normalising:.3f} s, {normalising / pairs * 1e6:.1f} us a pair")


if __name__ == "__main__":
    main()
