"""The operating curve: what every threshold admits and turns away, as a table and as a figure."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from otoscope.gate.rule import Condition, Gate, Measured
from otoscope.records import Expect

GRID = tuple(step / 100 for step in range(101))
"""Thresholds that are tried; of those that serve alike the highest is taken."""

WIDTH, HEIGHT, MARGIN = 640, 360, 48
SUPPORTED_COLOUR, COLOURS = "#1b6ca8", ("#b3261e", "#c77700", "#6b4fa0", "#4f7a28", "#7a4f28", "#555555")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the data that a gate is calibrated on.

    Attributes:
        id: the sample's id.
        expect: whether it should be answered.
        kind: what it is, for tables: ``supported``, ``babble`` and so on.
        cluster: the source it was made from.
        measured: every score.
    """

    id: str
    expect: Expect
    kind: str
    cluster: str
    measured: Measured


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


def sweep(gate: Gate, condition: Condition, rows: Sequence[Row], grid: Iterable[float] = GRID) -> list[Point]:
    """Return what the gate does at each threshold of one of its conditions."""
    return [evaluate(with_threshold(gate, condition, threshold), rows, threshold) for threshold in grid]


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


def to_csv(points: Sequence[Point]) -> str:
    """Return the table: counts, never a rate without what it is a rate of."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    kinds = list(points[0].turned_away)
    head = ["threshold", "supported", "supported_rejected", "sources", "sources_with_a_reject"]
    writer.writerow([*head, *(f"{kind}_{what}" for kind in kinds for what in ("rejected", "rows"))])
    for point in points:
        counts = [count for kind in kinds for count in point.turned_away[kind]]
        writer.writerow(
            [f"{point.threshold:.2f}", point.supported, point.rejected, point.sources, point.failed, *counts]
        )
    return out.getvalue()


def to_svg(points: Sequence[Point], chosen: float, score: str) -> str:
    """Return the figure: the share of supported rows admitted, and of each other kind turned away, by threshold."""
    curves = [
        ("supported, admitted", SUPPORTED_COLOUR, [1 - point.rejected / max(1, point.supported) for point in points])
    ]
    for number, kind in enumerate(points[0].turned_away):
        shares = [point.turned_away[kind][0] / point.turned_away[kind][1] for point in points]
        curves.append((f"{kind}, turned away", COLOURS[number % len(COLOURS)], shares))
    at = _x(chosen)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f"<title>What each threshold of {score} admits and turns away</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *(_grid_line(step / 5) for step in range(6)),
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{_y(1):.1f}" y2="{_y(0):.1f}" stroke="#222" stroke-dasharray="4 3"/>',
        f'<text font-size="12" x="{at + 4:.1f}" y="{_y(1) - 6:.1f}">{chosen:.2f}</text>',
        f'<text font-size="12" x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">threshold of {score}</text>',
    ]
    for number, (label, colour, shares) in enumerate(curves):
        line = " ".join(
            f"{_x(point.threshold):.1f},{_y(share):.1f}" for point, share in zip(points, shares, strict=True)
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text font-size="12" x="{MARGIN + 8}" y="{_y(0.5) + 16 * number:.1f}" fill="{colour}">{label}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(threshold: float) -> float:
    return MARGIN + threshold * (WIDTH - 2 * MARGIN)


def _y(share: float) -> float:
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def _grid_line(share: float) -> str:
    y, x = _y(share), _x(share)
    return (
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text font-size="12" x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.1f}</text>'
        f'<text font-size="12" x="{x:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{share:.1f}</text>'
    )
