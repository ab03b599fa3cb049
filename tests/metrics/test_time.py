"""Spans, events, turns and beats against brute force."""

import itertools
import json
import random

import pytest

from otoscope.metrics import METRICS
from otoscope.metrics.beats import ALONE, missed_seconds
from otoscope.metrics.reading import LabelledSpan
from otoscope.metrics.speakers import DiarizationErrorRate, speaker_errors


def cells(spans: list[list[int]]) -> set[int]:
    return {cell for start, end in spans for cell in range(start, end)}


def test_overlap_agrees_with_counting_seconds() -> None:
    rng = random.Random(7)
    for _ in range(1000):
        one, other = ([sorted(rng.sample(range(30), 2)) for _ in range(rng.randint(0, 4))] for _ in range(2))
        ours, theirs = json.dumps(one), json.dumps(other)
        both, either = len(cells(one) & cells(other)), len(cells(one) | cells(other))
        assert METRICS["iou"].row(ours, theirs)[0] == pytest.approx(both / either if either else 1.0)
        assert METRICS["entity_f1"].row(ours, theirs) == (2 * both, len(cells(one)) + len(cells(other)))


def diarize_by_force(reference: list[LabelledSpan], answer: list[LabelledSpan], seconds: int) -> list[int]:
    """Return missed, invented, confused and reference seconds of turns in whole seconds, trying every mapping."""
    truth, claim = (
        [{turn.label for turn in turns if turn.start <= second < turn.end} for second in range(seconds)]
        for turns in (reference, answer)
    )
    names, claimed = ("ab", "xyz")
    best = max(
        sum(len({mapping.get(name) for name in said} & set(heard)) for heard, said in zip(truth, claim, strict=True))
        for chosen in itertools.permutations(claimed, len(names))
        for mapping in [dict(zip(chosen, names, strict=True))]
    )
    pairs = [(len(heard), len(said)) for heard, said in zip(truth, claim, strict=True)]
    return [
        sum(max(0, heard - said) for heard, said in pairs),
        sum(max(0, said - heard) for heard, said in pairs),
        sum(min(pair) for pair in pairs) - best,
        sum(heard for heard, _ in pairs),
    ]


def test_speaker_errors_agree_with_brute_force() -> None:
    rng = random.Random(8)
    for _ in range(1000):
        reference, answer = (
            [LabelledSpan(rng.choice(names), *sorted(rng.sample(range(13), 2))) for _ in range(rng.randint(0, 5))]
            for names in ("ab", "xyz")
        )
        assert list(speaker_errors(reference, answer)) == pytest.approx(diarize_by_force(reference, answer, 12))


def test_the_collar_is_seconds_on_each_side() -> None:
    turns, late = '[["a", 1, 3]]', '[["a", 1.25, 3]]'
    assert DiarizationErrorRate("der", collar=0.25).row(turns, late) == pytest.approx((0, 0, 0, 1.5))
    assert DiarizationErrorRate("der", collar=0.1).row(turns, late) == pytest.approx((0.15, 0, 0, 1.8))


def pair_by_force(reference: list[float], answer: list[float]) -> float:
    """Return the least cost over every way to leave beats alone and pair the others."""
    costs: list[float] = []
    for size in range(min(len(reference), len(answer)) + 1):
        alone = ALONE * (len(reference) + len(answer) - 2 * size)
        for ours in itertools.combinations(reference, size):
            costs.extend(
                alone + sum(abs(x - y) for x, y in zip(ours, theirs, strict=True))
                for theirs in itertools.permutations(answer, size)
            )
    return min(costs)


def test_missed_beats_agree_with_brute_force() -> None:
    rng = random.Random(9)
    for _ in range(1000):
        reference, answer = ([rng.uniform(0, 4) for _ in range(rng.randint(0, 4))] for _ in range(2))
        assert missed_seconds(reference, answer) == pytest.approx(pair_by_force(reference, answer))
