"""Diarisation error rates against pyannote.metrics."""

import json
import random

import numpy as np
import pytest

from otoscope.metrics.reading import LabelledSpan
from otoscope.metrics.speakers import DiarizationErrorRate, speaker_errors

core = pytest.importorskip("pyannote.core")
diarization = pytest.importorskip("pyannote.metrics.diarization")


def turns(rng: random.Random, names: str) -> list[LabelledSpan]:
    """Return up to 12 turns within 20 s, none overlapping another of its own speaker."""
    found, free = [], dict.fromkeys(names, 0.0)
    for _ in range(rng.randint(0, 12)):
        name = rng.choice(names)
        start = free[name] + round(rng.expovariate(1), 3)
        end = round(start + rng.uniform(0.1, 4), 3)
        if end < 20:
            found.append(LabelledSpan(name, start, end))
            free[name] = end
    return found


def annotation(found: list[LabelledSpan]) -> object:
    made = core.Annotation()
    for index, turn in enumerate(found):
        made[core.Segment(turn.start, turn.end), index] = turn.label
    return made


@pytest.mark.parametrize("collar", [0.0, 0.25])
def test_corpora_agree_with_pyannote(collar: float) -> None:
    rng = random.Random(2)
    oracle = diarization.DiarizationErrorRate(collar=2 * collar)
    everywhere = core.Timeline([core.Segment(0, 20)])
    rows = []
    for _ in range(1000):
        reference, answer = turns(rng, "abc"[: rng.randint(1, 3)]), turns(rng, "vwxyz"[: rng.randint(1, 5)])
        rows.append(speaker_errors(reference, answer, collar))
        oracle(annotation(reference), annotation(answer), uem=everywhere)
    chosen = DiarizationErrorRate("diarization_error_rate", collar=collar)
    assert chosen.value(np.array(rows)) == pytest.approx(abs(oracle), abs=1e-6)
    names = ("missed detection", "false alarm", "confusion", "total")
    assert np.sum(rows, axis=0).tolist() == pytest.approx([oracle[name] for name in names], abs=1e-3)


def test_a_speaker_who_overlaps_himself_is_two_for_pyannote_and_one_here() -> None:
    reference, twice = [LabelledSpan("a", 0, 2)], [LabelledSpan("a", 0, 2), LabelledSpan("a", 0, 2)]
    oracle = diarization.DiarizationErrorRate()
    everywhere = core.Timeline([core.Segment(0, 2)])
    assert oracle(annotation(reference), annotation(twice), uem=everywhere) == 1.0
    row = DiarizationErrorRate("der").row(json.dumps(reference), json.dumps(twice))
    assert row == (0, 0, 0, 2)
