"""The operating curve: what every threshold admits and turns away, as points and as a table."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from otoscope.errors import TaskError
from otoscope.gate.rule import Condition, Gate, Measured
from otoscope.records import Expect

GRID = tuple(step / 100 for step in range(101))
"""Thresholds that are tried of a probability, and of seconds before those that occur."""
SECONDS = frozenset({"silero", "webrtc"})
LOGARITHMS = frozenset({"avg_logprob"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the data that a gate is calibrated on.

    Attributes:
        id: the sample's id.
        expect: whether it should be answered.
        kind: what it is, for tables: ``supported``, ``babble`` and so on.
        cluster: the source it was made from.
        measured: every score.
        clustered: whether the row names its source; else its id stands for it.
    """

    id: str
    expect: Expect
    kind: str
    cluster: str
    measured: Measured
    clustered: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does.

    Attributes:
        threshold: the threshold.
        supported: rows that should be answered.
        rejected: how many of them are turned away.
        sources: sources with such rows.
        failed: how many of them have a row that is turned away.
        turned_away: by kind of row that should not be answered: how many are turned away, and how many there are.
    """

    threshold: float
    supported: int
    rejected: int
    sources: int
    failed: int
    turned_away: Mapping[str, tuple[int, int]]

    @property
    def unsupported(self) -> tuple[int, int]:
        """Rows of all kinds that should not be answered: how many are turned away, and how many there are."""
        pairs = self.turned_away.values()
        return sum(away for away, _ in pairs), sum(rows for _, rows in pairs)


def thresholds(condition: Condition, rows: Iterable[Row]) -> list[float]:
    """Return the thresholds to try, from the one that admits most to the strictest.

    Seconds and logarithms have no last step that a grid could end at: of logarithms every score that occurs is tried,
    of seconds those that occur beyond the grid.

    Raises:
        TaskError: no row has the score.
    """
    found = {value for row in rows if math.isfinite(value := row.measured.scores.get(condition.score, math.nan))}
    if not found:
        raise TaskError(f"no row has the score {condition.score}; is any of the audio readable?")
    if condition.score in LOGARITHMS:
        return sorted(found)
    beyond = {value for value in found if value > GRID[-1]} if condition.score in SECONDS else set()
    return sorted({*GRID, *beyond}, reverse=condition.bound == "most")


def sweep(gate: Gate, condition: Condition, rows: Sequence[Row]) -> list[Point]:
    """Return what the gate does at each threshold of one of its conditions, from the one that admits most."""
    tried = thresholds(condition, rows)
    return [evaluate(with_threshold(gate, condition, threshold), rows, threshold) for threshold in tried]


def with_threshold(
    gate: Gate, condition: Condition, threshold: float, languages: Mapping[str, float] | None = None
) -> Gate:
    """Return the gate with another threshold in one of its conditions."""
    changed = replace(condition, threshold=threshold, languages=languages or {})
    conditions = [changed if one.score == condition.score else one for one in gate.conditions]
    return Gate(gate.id, gate.signals, conditions, gate.calibration, gate.disabled)


def evaluate(gate: Gate, rows: Sequence[Row], threshold: float) -> Point:
    """Return what the gate does."""
    away = [gate.verdict(row.measured).outcome != "answer" for row in rows]
    supported = [(row, turned) for row, turned in zip(rows, away, strict=True) if row.expect == "answer"]
    kinds: dict[str, tuple[int, int]] = {}
    for row, turned in zip(rows, away, strict=True):
        if row.expect == "abstain":
            done, total = kinds.get(row.kind, (0, 0))
            kinds[row.kind] = (done + turned, total + 1)
    return Point(
        threshold,
        len(supported),
        sum(turned for _, turned in supported),
        len({row.cluster for row, _ in supported}),
        len({row.cluster for row, turned in supported if turned}),
        dict(sorted(kinds.items())),
    )


def to_csv(points: Sequence[Point], *, sources: bool = True) -> str:
    """Return the table: counts, never a rate without what it is a rate of.

    Args:
        points: the points.
        sources: whether the rows name their sources; else nothing is said of them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    kinds = list(points[0].turned_away)
    head = ["threshold", "supported", "supported_rejected"]
    of_sources = ["sources", "sources_with_a_reject"] if sources else []
    writer.writerow([*head, *of_sources, *(f"{kind}_{what}" for kind in kinds for what in ("rejected", "rows"))])
    for point in points:
        counts = [count for kind in kinds for count in point.turned_away[kind]]
        lost = [point.sources, point.failed] if sources else []
        writer.writerow([f"{point.threshold:.6g}", point.supported, point.rejected, *lost, *counts])
    return out.getvalue()
