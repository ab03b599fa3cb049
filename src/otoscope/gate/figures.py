"""Two figures of an operating curve, as SVG: what each threshold does, and one sort of error against the other."""

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple

from otoscope.gate.sweep import Point

WIDTH, HEIGHT, MARGIN = 640, 360, 48
SUPPORTED_COLOUR, COLOURS = "#1b6ca8", ("#b3261e", "#c77700", "#6b4fa0", "#4f7a28", "#7a4f28", "#555555")
SHARES = (0.002, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.998)
"""Ticks of a normal-deviate axis; what lies beyond the ends, 0 and 1 too, is drawn at the end."""


class _Axis(NamedTuple):
    """A linear axis: what it is of, its ends, and its ticks with their texts."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]

    def at(self, value: float, start: float, length: float) -> float:
        return start + (value - self.low) / ((self.high - self.low) or 1) * length


class _Curve(NamedTuple):
    """A line with its name."""

    label: str
    colour: str
    points: Sequence[tuple[float, float]]


class _Plane(NamedTuple):
    """Two axes, and where values are between them."""

    x: _Axis
    y: _Axis

    def place(self, x: float, y: float) -> tuple[float, float]:
        right = self.x.at(x, MARGIN, WIDTH - 2 * MARGIN)
        return right, self.y.at(y, HEIGHT - MARGIN, 2 * MARGIN - HEIGHT)

    def draw(self, title: str, curves: Sequence[_Curve], marks: Sequence[str]) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
                f"<title>{title}</title>",
                f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
                *self._frame(),
                *marks,
                *(part for number, curve in enumerate(curves) for part in self._curve(curve, number)),
                "</svg>\n",
            ]
        )

    def _frame(self) -> Iterator[str]:
        left, bottom = self.place(self.x.low, self.y.low)
        for value, text in self.y.ticks:
            _, y = self.place(self.x.low, value)
            yield f'<line x1="{left}" x2="{WIDTH - MARGIN}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            yield f'<text font-size="12" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        for value, text in self.x.ticks:
            x, _ = self.place(value, self.y.low)
            yield f'<text font-size="12" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>'
        yield f'<text font-size="12" x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{self.x.label}</text>'
        yield f'<text font-size="12" x="{MARGIN}" y="16">{self.y.label}</text>'

    def _curve(self, curve: _Curve, number: int) -> Iterator[str]:
        line = " ".join("{:.1f},{:.1f}".format(*self.place(*point)) for point in curve.points)
        x, y = MARGIN + 8, HEIGHT / 2 + 16 * number
        yield f'<polyline points="{line}" fill="none" stroke="{curve.colour}" stroke-width="2"/>'
        yield f'<text font-size="12" x="{x}" y="{y:.1f}" fill="{curve.colour}">{curve.label}</text>'


def sweep_figure(points: Sequence[Point], chosen: float, score: str) -> str:
    """Return the share of supported rows admitted, and of each other kind turned away, by threshold."""
    low, high = sorted((points[0].threshold, points[-1].threshold))
    ticks = [low + step / 5 * (high - low) for step in range(6)]
    shares = _Axis("share of rows", 0, 1, [(step / 5, f"{step / 5:g}") for step in range(6)])
    plane = _Plane(_Axis(f"threshold of {score}", low, high, [(tick, f"{tick:.3g}") for tick in ticks]), shares)
    admitted = [(point.threshold, 1 - point.rejected / max(1, point.supported)) for point in points]
    curves = [_Curve("supported, admitted", SUPPORTED_COLOUR, admitted)]
    for number, kind in enumerate(points[0].turned_away):
        away = [(point.threshold, _share_away(point, kind)) for point in points]
        curves.append(_Curve(f"{kind}, turned away", COLOURS[number % len(COLOURS)], away))
    x, bottom = plane.place(chosen, 0)
    mark = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{MARGIN}" y2="{bottom}" stroke="#222" stroke-dasharray="4 3"/>'
    text = f'<text font-size="12" x="{x + 4:.1f}" y="{MARGIN - 6}">{chosen:.3g}</text>'
    return plane.draw(f"What each threshold of {score} admits and turns away", curves, [mark, text])


def det_figure(points: Sequence[Point], chosen: float, score: str) -> str:
    """Return the detection error trade-off: both axes are normal deviates, a circle is the chosen threshold."""
    ticks = [
        (_deviate(share), f"{share:.1%}" if share in {SHARES[0], SHARES[-1]} else f"{share:.0%}") for share in SHARES
    ]
    ends = (ticks[0][0], ticks[-1][0], ticks)
    plane = _Plane(_Axis("supported rows turned away", *ends), _Axis("other rows admitted", *ends))
    curves, marks = [], []
    for number, kind in enumerate(points[0].turned_away):
        colour = COLOURS[number % len(COLOURS)]
        errors = [
            (_deviate(point.rejected / max(1, point.supported)), _deviate(1 - _share_away(point, kind)))
            for point in points
        ]
        curves.append(_Curve(kind, colour, errors))
        for point, error in zip(points, errors, strict=True):
            if point.threshold == chosen:
                x, y = plane.place(*error)
                marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
    return plane.draw(f"Detection error trade-off of {score}, chosen {chosen:.3g}", curves, marks)


def _share_away(point: Point, kind: str) -> float:
    away, rows = point.turned_away[kind]
    return away / rows


def _deviate(share: float) -> float:
    return NormalDist().inv_cdf(min(max(share, SHARES[0]), SHARES[-1]))
