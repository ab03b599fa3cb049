"""Event-based F1 against sed_eval, and its pairing against mir_eval's notes."""

import json
import random

import numpy as np
import pytest

from otoscope.metrics import METRICS
from otoscope.metrics.reading import LabelledSpan

LABELS = ["alarm", "cat", "dishes", "dog"]


def scene(rng: random.Random) -> tuple[list[LabelledSpan], list[LabelledSpan]]:
    """Return events in milliseconds' steps, and answers near them; some lost, some renamed, some invented."""
    reference, answer = [], []
    for _ in range(rng.randint(1, 8)):
        start = round(rng.uniform(0, 9), 3)
        event = LabelledSpan(rng.choice(LABELS), start, round(start + rng.uniform(0.2, 3), 3))
        reference.append(event)
        start, end = (round(time + rng.gauss(0, 0.15), 3) for time in event[1:])
        if rng.random() > 0.15 and 0 <= start < end:
            answer.append(LabelledSpan(event.label if rng.random() > 0.1 else rng.choice(LABELS), start, end))
    return reference, answer or [LabelledSpan("dog", 0.0, 0.1)]


def counts(reference: list[LabelledSpan], answer: list[LabelledSpan]) -> tuple[int, int]:
    twice, both = METRICS["event_based_f1"].row(json.dumps(reference), json.dumps(answer))
    return int(twice) // 2, int(both)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_counts_agree_with_sed_eval() -> None:
    sound_event = pytest.importorskip("sed_eval.sound_event")
    rng = random.Random(3)
    whole = sound_event.EventBasedMetrics(LABELS, t_collar=0.2, percentage_of_length=0.2)
    rows = []
    for index in range(1000):
        reference, answer = scene(rng)
        one = sound_event.EventBasedMetrics(LABELS, t_collar=0.2, percentage_of_length=0.2)
        for oracle in (one, whole):
            oracle.evaluate(
                *(
                    [
                        {"event_label": e.label, "onset": e.start, "offset": e.end, "filename": f"{index}.wav"}
                        for e in side
                    ]
                    for side in (reference, answer)
                )
            )
        found = counts(reference, answer)
        assert found == (int(one.overall["Ntp"]), int(one.overall["Nref"] + one.overall["Nsys"]))
        rows.append((2 * found[0], found[1]))
    expected = whole.results_overall_metrics()["f_measure"]["f_measure"]
    assert METRICS["event_based_f1"].value(np.array(rows, dtype=float)) == pytest.approx(expected)


def test_pairs_agree_with_mir_eval() -> None:
    """A label is a pitch a semitone from the next, and one event in the other's tolerances is a note found."""
    transcription = pytest.importorskip("mir_eval.transcription")
    rng = random.Random(4)
    for _ in range(1000):
        reference, answer = scene(rng)
        # Half a millisecond off, no gap is a tolerance exactly, where mir_eval rounds and we do not.
        sides = reference, [LabelledSpan(e.label, e.start + 0.0005, e.end + 0.0005) for e in answer]
        spans = [np.array([event[1:] for event in side]) for side in sides]
        pitches = [np.array([440 * 2 ** (LABELS.index(event.label) / 12) for event in side]) for side in sides]
        pairs = transcription.match_notes(
            spans[0],
            pitches[0],
            spans[1],
            pitches[1],
            onset_tolerance=0.2,
            pitch_tolerance=50,
            offset_ratio=0.2,
            offset_min_tolerance=0.2,
        )
        assert counts(*sides)[0] == len(pairs)
