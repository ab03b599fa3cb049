"""Accuracy: the share of answers that are right, by a judge's verdict or by equality with the target."""

from dataclasses import dataclass
from typing import ClassVar

from otoscope.errors import MetricError, UnreadableValueError
from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.metrics.reading import number
from otoscope.records import Better
from otoscope.text import folded


@dataclass(frozen=True, slots=True)
class JudgedAccuracy:
    """Share of ``yes`` among a judge's verdicts; the target was the judge's business."""

    name: str
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "proportion"

    @property
    def signature(self) -> str:
        """What is counted, and version."""
        return f"{self.name}|of:verdicts|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:  # noqa: ARG002
        """Return (1 if the verdict is ``yes``, 1).

        Raises:
            UnreadableValueError: the answer is neither ``yes`` nor ``no``.
        """
        if answer not in {"yes", "no"}:
            raise UnreadableValueError(f"{self.name} counts verdicts, and {answer[:80]!r} is neither 'yes' nor 'no'")
        return float(answer == "yes"), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the share of ``yes``, or None without verdicts."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class ValueAccuracy:
    """Share of extracted values that equal the target, as numbers if both are, else as case-folded text."""

    name: str
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "proportion"

    @property
    def signature(self) -> str:
        """What is counted, and version."""
        return f"{self.name}|of:values|norm:folded-1|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (1 if the value equals the target, 1)."""
        return float(_same(target, answer)), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the share of equal values, or None without values."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class NaRate:
    """Share of answers that hold no value. Every score of a regression has it beside its value (``Score.na_rate``)."""

    name: str
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "proportion"

    @property
    def signature(self) -> str:
        """What is counted, and version."""
        return f"{self.name}|of:values|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:  # noqa: ARG002
        """Return (1 if the answer is empty or ``N/A``, 1)."""
        return float(folded(answer).strip() in {"", "n/a"}), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the share of answers without a value, or None without answers."""
        return ratio(rows)


def _same(target: str, answer: str) -> bool:
    if folded(target).split() == folded(answer).split():
        return True
    try:
        return number(target) == number(answer)
    except MetricError:
        return False
