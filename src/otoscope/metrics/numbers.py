"""Metrics of numbers: mean and median errors, angles, correlations. Units are those of the task's targets."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from otoscope.errors import MetricError
from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.metrics.reading import answered, number
from otoscope.records import Better

AngleUnit = Literal["radians", "degrees"]

_TURN: Final[dict[AngleUnit, float]] = {"radians": 2 * math.pi, "degrees": 360.0}
_FEWEST_FOR_CORRELATION: Final = 3


@dataclass(frozen=True, slots=True)
class MeanError:
    """Mean over samples of the ``squared`` or ``absolute`` difference from the target."""

    name: str
    error: Literal["squared", "absolute"]
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Error, corpus rule and version."""
        return f"{self.name}|error:{self.error}|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (error, 1).

        Raises:
            UnreadableValueError: the answer is not a finite number.
            MetricError: the target is not one.
        """
        difference = number(target) - answered(number, answer)
        return difference**2 if self.error == "squared" else abs(difference), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the mean error, or None without samples."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class MedianAbsoluteError:
    """Median over samples of the absolute difference from the target: one wild answer cannot move it far."""

    name: str
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "rows"

    @property
    def signature(self) -> str:
        """Error, corpus rule and version."""
        return f"{self.name}|error:absolute|rule:median|v:1"

    def row(self, target: str, answer: str) -> tuple[float]:
        """Return (error,).

        Raises:
            UnreadableValueError: the answer is not a finite number.
            MetricError: the target is not one.
        """
        return (abs(number(target) - answered(number, answer)),)

    def value(self, rows: Rows) -> float | None:
        """Return the median error, the mean of the middle two of an even number; None without samples."""
        import numpy as np

        return float(np.median(rows)) if len(rows) else None


@dataclass(frozen=True, slots=True)
class AngleDifference:
    """Mean over samples of the shorter way round from the target to the answer, in the declared unit."""

    name: str
    unit: AngleUnit
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Unit, corpus rule and version."""
        return f"{self.name}|unit:{self.unit}|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (difference, 1).

        Raises:
            UnreadableValueError: the answer is not a number, or more than one turn in the declared unit.
            MetricError: the target is not one, or is more than one turn: its unit is another.
        """
        turn = _TURN[self.unit]
        difference = self._angle(target) - answered(self._angle, answer)
        return abs((difference + turn / 2) % turn - turn / 2), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the mean difference, or None without samples."""
        return ratio(rows)

    def _angle(self, text: str) -> float:
        found = number(text)
        if abs(found) > _TURN[self.unit]:
            raise MetricError(
                f"{text[:80]!r} is more than one turn in {self.unit}; declare the unit of the targets as the task's "
                "target_format, radians or degrees"
            )
        return found


@dataclass(frozen=True, slots=True)
class Correlation:
    """Correlation of the answers with the targets.

    Undefined for fewer than three samples and where either side is constant: a model that always says 3 is neither
    right nor wrong about the order. Ties get their mean rank (Spearman) or are corrected for (Kendall's tau-b).
    """

    name: str
    kind: Literal["pearson", "spearman", "kendall"]
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "rows"

    @property
    def signature(self) -> str:
        """Kind of correlation and version."""
        return f"{self.name}|correlation:{self.kind}|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (target, answer).

        Raises:
            UnreadableValueError: the answer is not a finite number.
            MetricError: the target is not one.
        """
        return number(target), answered(number, answer)

    def value(self, rows: Rows) -> float | None:
        """Return the correlation, between -1 and 1, or None where it is not defined."""
        if len(rows) < _FEWEST_FOR_CORRELATION or (rows == rows[0]).all(axis=0).any():
            return None
        import numpy as np

        # A floating-point sum depends on the order of its terms; a score must not.
        target, answer = rows[np.lexsort(rows.T)].T
        return _CORRELATIONS[self.kind](target, answer)


def _pearson(x: Rows, y: Rows) -> float | None:
    import numpy as np

    x, y = _centred(x), _centred(y)
    length = float(np.sqrt(np.dot(x, x) * np.dot(y, y)))
    return min(1.0, max(-1.0, float(np.dot(x, y)) / length)) if length else None


def _centred(values: Rows) -> Rows:
    """Return the distances from the mean, in units of the largest, so that no square over- or underflows."""
    import numpy as np

    distances: Rows = values - values.mean()
    largest = np.abs(distances).max()
    return distances / largest if largest else distances


def _spearman(x: Rows, y: Rows) -> float | None:
    return _pearson(_ranks(x), _ranks(y))


def _ranks(values: Rows) -> Rows:
    """Return the rank of each value, counted from 1; equal values share the mean of their ranks."""
    import numpy as np

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Rows = (np.cumsum(counts) - (counts - 1) / 2)[which]
    return ranks


def _kendall(x: Rows, y: Rows) -> float | None:
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


_CORRELATIONS: Final[dict[str, Callable[[Rows, Rows], float | None]]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}
