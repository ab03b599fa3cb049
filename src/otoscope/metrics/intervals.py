"""Metrics of stretches of time: overlap of spans, overlap of sets, events found. Times are seconds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from otoscope.errors import MetricError
from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.metrics.reading import LabelledSpan, Span, answered, labelled_spans, literal, spans
from otoscope.records import Better
from otoscope.text import folded

IouFormat = Literal["spans", "set"]


@dataclass(frozen=True, slots=True)
class Iou:
    """Mean over samples of intersection over union, of time covered (``spans``) or of items (``set``).

    Spans are merged first, so a span said twice counts once. Two sides that both hold nothing agree: 1.
    """

    name: str
    of: IouFormat
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """What is compared, corpus rule and version."""
        return f"{self.name}|of:{self.of}|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (intersection over union, 1).

        Raises:
            UnreadableValueError: the answer is no list of spans, or of items.
            MetricError: the target is not.
        """
        if self.of == "set":
            return _set_iou(_items(target), answered(_items, answer)), 1.0
        return _span_iou(merged(spans(target)), merged(answered(spans, answer))), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the mean, or None without samples."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class SpanF1:
    """F1 of time covered: twice the overlap over the length of both sides, each summed over all samples.

    Labels are not compared: the task is to find where something is. Undefined where nobody marked anything.
    """

    name: str
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """What is compared, corpus rule and version."""
        return f"{self.name}|of:seconds|rule:2*sum(overlap)/sum(lengths)|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (twice the overlap, length of target and answer), in seconds.

        Raises:
            UnreadableValueError: the answer is no list of spans.
            MetricError: the target is not.
        """
        one, other = merged(spans(target)), merged(answered(spans, answer))
        return 2 * overlap(one, other), length(one) + length(other)

    def value(self, rows: Rows) -> float | None:
        """Return F1, between 0 and 1, or None where nothing was marked on either side."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class EventF1:
    """F1 of events found, over all samples and classes together.

    An answered event finds a target of the same label if their onsets differ by at most ``collar`` seconds and their
    ends by at most the greater of ``collar`` and ``share`` of the target's length. One event finds one target, and as
    many are paired as can be.
    """

    name: str
    collar: float = 0.2
    share: float = 0.2
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Tolerances, corpus rule and version."""
        return f"{self.name}|onset:{self.collar}s|offset:max({self.collar}s,{self.share:.0%})|rule:micro|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (twice the events found, events on both sides).

        Raises:
            UnreadableValueError: the answer is no list of labelled spans.
            MetricError: the target is not.
        """
        reference, found = labelled_spans(target), answered(labelled_spans, answer)
        return 2.0 * self._pairs(reference, found), float(len(reference) + len(found))

    def value(self, rows: Rows) -> float | None:
        """Return F1, between 0 and 1, or None where there is no event on either side."""
        return ratio(rows)

    def _pairs(self, reference: Sequence[LabelledSpan], found: Sequence[LabelledSpan]) -> int:
        import numpy as np
        from scipy.optimize import linear_sum_assignment

        fits = np.array([[self._fits(one, other) for other in found] for one in reference], ndmin=2)
        return int(fits[linear_sum_assignment(fits, maximize=True)].sum())

    def _fits(self, reference: LabelledSpan, found: LabelledSpan) -> bool:
        late = max(self.collar, self.share * (reference.end - reference.start))
        return (
            reference.label.strip().casefold() == found.label.strip().casefold()
            and abs(reference.start - found.start) <= self.collar
            and abs(reference.end - found.end) <= late
        )


def merged(found: Iterable[Span]) -> list[Span]:
    """Return the same time covered by spans that do not meet, in order."""
    union: list[Span] = []
    for span in sorted(found):
        if union and span.start <= union[-1].end:
            union[-1] = Span(union[-1].start, max(union[-1].end, span.end))
        else:
            union.append(span)
    return union


def length(union: Iterable[Span]) -> float:
    """Return the seconds covered by spans that do not meet."""
    return math.fsum(span.end - span.start for span in union)


def overlap(one: Iterable[Span], other: Sequence[Span]) -> float:
    """Return the seconds covered by both, each of spans that do not meet."""
    return math.fsum(max(0.0, min(a.end, b.end) - max(a.start, b.start)) for a in one for b in other)


def _span_iou(one: list[Span], other: list[Span]) -> float:
    both = overlap(one, other)
    either = length(one) + length(other) - both
    return both / either if either else float(one == other)


def _set_iou(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _items(text: str) -> frozenset[str]:
    """Return the case-folded items of a list in JSON or Python."""
    found = literal(text)
    if not isinstance(found, list | tuple | set):
        raise MetricError(f'{text[:80]!r} is no list of items, such as ["one", "two"]')
    return frozenset(" ".join(folded(str(item)).split()) for item in found)
