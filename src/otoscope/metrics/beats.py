"""Beat tracking. Times are seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.metrics.reading import answered, number
from otoscope.records import Better
from otoscope.text import listed

#: Seconds that a beat without partner costs, on either side.
ALONE: Final = 0.5


@dataclass(frozen=True, slots=True)
class MissTime:
    """Seconds by which beats are missed, per reference beat.

    The beats of both sides are paired one to one so that the least is paid: a pair costs its distance, a beat without
    partner half a second, an invented one too, so neither silence nor a beat everywhere pays.
    """

    name: str
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Cost of a beat without partner, corpus rule and version."""
        return f"{self.name}|unit:s|alone:{ALONE}s|rule:sum(cost)/sum(beats)|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (seconds missed, reference beats).

        Raises:
            UnreadableValueError: the answer is no list of numbers.
            MetricError: the target is not.
        """
        reference = _times(target)
        return missed_seconds(reference, answered(_times, answer)), float(len(reference))

    def value(self, rows: Rows) -> float | None:
        """Return the seconds missed per reference beat, or None without reference beats."""
        return ratio(rows)


def missed_seconds(reference: Sequence[float], answer: Sequence[float]) -> float:
    """Return the least cost of pairing two lists of beats, in seconds."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    # Farther apart than two costs of being alone, a pair is two beats alone.
    costs = np.minimum(abs(np.subtract.outer(reference, answer)), 2 * ALONE)
    paired = float(costs[linear_sum_assignment(costs)].sum())
    return paired + ALONE * abs(len(reference) - len(answer))


def _times(text: str) -> list[float]:
    return [number(item) for item in listed(text)]
