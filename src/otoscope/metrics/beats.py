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

    # Pairs that cost the least never cross, so this is an edit distance; memory is that of one row.
    beats = np.sort(np.asarray(answer, float))
    alone = ALONE * np.arange(len(answer) + 1)
    least = alone
    for beat in sorted(reference):
        matched = np.concatenate(([np.inf], least[:-1] + abs(beats - beat)))
        least = np.minimum.accumulate(np.minimum(matched, least + ALONE) - alone) + alone
    return float(least[-1])


def _times(text: str) -> list[float]:
    return [number(item) for item in listed(text)]
