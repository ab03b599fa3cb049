"""What a metric is, and the sums that most metrics end in."""

import math
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from otoscope.records import Better

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Rows: TypeAlias = "NDArray[np.float64]"

#: proportion: a row is (0 or 1, 1) and the value is their share. sums: the value depends on the rows only through
#: the sum of each column. rows: the value needs every row, as a median or a correlation does.
Pooling = Literal["proportion", "sums", "rows"]


class Metric(Protocol):
    """A metric is two pure functions: a row for each sample, and one value for all rows."""

    @property
    def name(self) -> str:
        """The name by which a task asks for the metric."""

    @property
    def better(self) -> Better:
        """Whether higher or lower values are better."""

    @property
    def pooling(self) -> Pooling:
        """How the value depends on the rows, which decides how its interval is found."""

    @property
    def signature(self) -> str:
        """Everything that fixes the number: name, unit, normaliser, corpus rule, version."""

    def row(self, target: str, answer: str) -> tuple[float, ...]:
        """Return the sufficient statistics of one sample.

        Raises:
            UnreadableValueError: the answer does not have the form the metric needs.
            MetricError: the target does not.
        """

    def value(self, rows: Rows) -> float | None:
        """Return the corpus value of an (n, k) array of rows, or None where it is not defined."""


def totals(rows: Rows) -> tuple[float, ...]:
    """Return the sum of each column, correctly rounded, so that the order of the rows cannot matter."""
    return tuple(math.fsum(column) for column in rows.T.tolist())


def ratio(rows: Rows) -> float | None:
    """Return the sum of the first column over the sum of the second, or None where that sum is 0."""
    if not len(rows):
        return None
    numerator, denominator = totals(rows)
    return numerator / denominator if denominator else None
