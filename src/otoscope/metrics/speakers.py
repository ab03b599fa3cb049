"""Diarisation error rate. Times are seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from otoscope.metrics.protocol import Pooling, Rows, totals
from otoscope.metrics.reading import LabelledSpan, answered, labelled_spans
from otoscope.records import Better

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DiarizationErrorRate:
    """Missed, invented and confused speaker time over the speaker time of the reference, over all samples.

    Names are mapped one to one within each sample so that the most time agrees. A speaker's own turns are merged; a
    turn beyond the end of the audio is invented time.

    Attributes:
        name: the name by which a task asks for it.
        collar: seconds not scored on each side of every reference boundary. (pyannote.metrics gives the full width.)
    """

    name: str
    collar: float = 0.0
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Collar, corpus rule and version."""
        return f"{self.name}|collar:{self.collar}s-each-side|overlap:scored|rule:sum(errors)/sum(reference)|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float, float, float]:
        """Return (missed, invented, confused, reference) speaker seconds.

        Raises:
            UnreadableValueError: the answer is no list of turns.
            MetricError: the target is not.
        """
        return speaker_errors(labelled_spans(target), answered(labelled_spans, answer), self.collar)

    def value(self, rows: Rows) -> float | None:
        """Return the error rate, or None where the references hold no speech."""
        if not len(rows):
            return None
        missed, invented, confused, reference = totals(rows)
        return (missed + invented + confused) / reference if reference else None


def speaker_errors(
    reference: Sequence[LabelledSpan], answer: Sequence[LabelledSpan], collar: float = 0.0
) -> tuple[float, float, float, float]:
    """Return (missed, invented, confused, reference) speaker seconds of one recording.

    Between two neighbouring boundaries nobody starts or stops, so counting who is active there is exact.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    edges = np.array(sorted({time for turn in reference for time in turn[1:]}))
    others = [time for turn in answer for time in turn[1:]]
    cuts = np.unique(np.concatenate([edges, others, edges - collar, edges + collar]))
    if not len(cuts):
        return 0.0, 0.0, 0.0, 0.0
    middles, seconds = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    if collar and len(edges):
        after = np.searchsorted(edges, middles)
        before = np.maximum(after - 1, 0)
        nearest = np.minimum(abs(middles - edges[before]), abs(middles - edges[np.minimum(after, len(edges) - 1)]))
        seconds[nearest < collar] = 0.0

    truth, claim = _activity(reference, middles), _activity(answer, middles)
    speaking, claimed = truth.sum(axis=0), claim.sum(axis=0)
    shared = (truth * seconds) @ claim.T.astype(float)
    agreed = float(shared[linear_sum_assignment(shared, maximize=True)].sum())
    return (
        float(seconds @ np.maximum(speaking - claimed, 0)),
        float(seconds @ np.maximum(claimed - speaking, 0)),
        # The two sums can differ in the last bit where nothing is confused.
        max(0.0, float(seconds @ np.minimum(speaking, claimed)) - agreed),
        float(seconds @ speaking),
    )


def _activity(turns: Sequence[LabelledSpan], middles: "NDArray[np.float64]") -> "NDArray[np.bool_]":
    """Return, for each speaker and each stretch between boundaries, whether the speaker is active."""
    import numpy as np

    rank = {name: index for index, name in enumerate(sorted({turn.label for turn in turns}))}
    active = np.zeros((len(rank), len(middles)), dtype=bool)
    for turn in turns:
        start, end = np.searchsorted(middles, (turn.start, turn.end))
        active[rank[turn.label], start:end] = True
    return active
