"""Compare systems over tasks of different metrics: relative scores after Dynamic-SUPERB Phase-2, and bounded ones.

Two scores of a domain stand side by side. ``relative`` is the benchmark's own rule: the improvement of each metric of
each task over a baseline, as a share of the baseline, and the mean of these. It has no bounds, and a baseline near zero
makes it huge, one at zero undefined, one below zero wrong in sign. ``gain`` always lies between -1 and 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from otoscope.records import Better, Score, worded

Standing = Literal["ahead", "behind", "tied", "unknown"]

RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "accuracy": (0, 1),
    "entity_f1": (0, 1),
    "event_based_f1": (0, 1),
    "iou": (0, 1),
    "kendall_tau": (-1, 1),
    "linear_correlation": (-1, 1),
    "llm_judge_accuracy": (0, 1),
    "pearson": (-1, 1),
    "pearson_correlation": (-1, 1),
    "sacrebleu": (0, 100),
    "slot_type_f1": (0, 1),
    "spearman_correlation": (-1, 1),
}
"""Least and greatest value of every metric that is better when it is higher. Errors begin at 0 and need not end."""

_ROUNDING: Final = 1e-9
"""Share of a range by which a value may lie beyond it: sums of floats do, such as a BLEU of 100.00000000000004."""

ALL_NA = "every answer is N/A"
NO_RESULT = "no result"
BASELINE_ALL_NA = "every answer of the baseline is N/A"
BASELINE_NO_RESULT = "the baseline has no result"
BASELINE_ZERO = "the baseline is 0"
BASELINE_NEGATIVE = "the baseline is below 0, which turns the sign: better counts as worse"
OUT_OF_RANGE = "a value lies outside the range of its metric"


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric of one task by one system.

    Attributes:
        task: id of the task or variant.
        metric: name of the metric.
        better: whether higher or lower values are better.
        domains: domains of the task, field and domain alone, such as ``Speech/Speech Recognition``.
        value: the value over readable answers, or None where there is none.
        na_rate: share of answers without a value; None for tasks that are no regression.
        low: lower end of the value's interval, if known.
        high: upper end of it, if known.
    """

    task: str
    metric: str
    better: Better
    domains: tuple[str, ...]
    value: float | None
    na_rate: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def scaled(self) -> float | None:
        """The value scaled by the N/A rate, or None where nothing could be read."""
        return None if self.value is None else scale(self.value, self.better, self.na_rate or 0.0)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval scaled by the N/A rate, if it is known."""
        ends = [None if end is None else scale(end, self.better, self.na_rate or 0.0) for end in (self.low, self.high)]
        match ends:
            case [float(low), float(high)]:
                return low, high
            case _:
                return None

    @property
    def in_range(self) -> bool:
        """Whether the value is one that its metric can have, but for rounding."""
        if self.value is None:
            return True
        if self.better == "lower":
            return self.value >= 0
        low, high = RANGES[self.metric]
        slack = _ROUNDING * (high - low)
        return low - slack <= self.value <= high + slack


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one task, compared.

    Attributes:
        task: id of the task or variant.
        metric: name of the metric.
        better: whether higher or lower values are better.
        domains: domains of the task.
        scaled: value of the system, scaled by its N/A rate.
        baseline: the same of the baseline.
        relative: improvement over the baseline as a share of it, or None where the rule excludes it.
        excluded: why the rule excludes it, or an empty string.
        caveat: what is wrong with ``relative`` although the rule does not exclude it.
        gain: bounded improvement, or None where there is none.
        gain_excluded: why there is none.
        standing: whether the interval lies beyond the one of the baseline; ``tied`` if they overlap.
    """

    task: str
    metric: str
    better: Better
    domains: tuple[str, ...]
    scaled: float | None
    baseline: float | None
    relative: float | None
    excluded: str
    caveat: str
    gain: float | None
    gain_excluded: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class DomainScore:
    """The two scores of a domain.

    Attributes:
        relative: mean improvement by the benchmark's rule, or None if the rule excludes every row.
        rows: how many rows, a task's metric each, the mean is over.
        gain: mean bounded improvement, each task weighing the same, or None if no task has one.
        tasks: how many tasks that mean is over.
    """

    relative: float | None
    rows: int
    gain: float | None
    tasks: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A system compared with a baseline."""

    rows: tuple[Row, ...]
    domains: Mapping[str, DomainScore]

    def to_json(self) -> dict[str, Any]:
        """Return domain scores, rows, and what was left out and why; what is not defined is the word ``undefined``."""
        return {
            "domains": {name: worded(asdict(score)) for name, score in self.domains.items()},
            "excluded": [_named(row, row.excluded) for row in self.rows if row.excluded],
            "gain_excluded": [_named(row, row.gain_excluded) for row in self.rows if row.gain_excluded],
            "caveats": [_named(row, row.caveat) for row in self.rows if row.caveat],
            "rows": [worded(asdict(row)) for row in self.rows],
        }


def scale(value: float, better: Better, na_rate: float) -> float | None:
    """Scale a value by the N/A rate r: times 1 - r if higher is better, else divided by it; None if r is 1.

    After Dynamic-SUPERB Phase-2, section 5.1.
    """
    if na_rate == 1:
        return None
    return value * (1 - na_rate) if better == "higher" else value / (1 - na_rate)


def improvement(scaled: float, baseline: float, better: Better) -> float:
    """Return the improvement over the baseline as a share of it; a lower error is a positive improvement.

    Raises:
        ZeroDivisionError: the baseline is 0.
    """
    return (scaled - baseline if better == "higher" else baseline - scaled) / baseline


def bounded(scaled: float, baseline: float, metric: str, better: Better) -> float:
    """Return an improvement between -1 and 1; exchanging system and baseline changes its sign alone.

    Values with a range are subtracted and divided by its length. Errors, which have no upper end, are subtracted and
    divided by their sum: half the baseline's error gives 1/3, no error 1, and endless error -1.
    """
    if better == "higher":
        low, high = RANGES[metric]
        return min(1.0, max(-1.0, (scaled - baseline) / (high - low)))
    return (baseline - scaled) / (baseline + scaled) if baseline != scaled else 0.0


def domain_names(paths: Iterable[str]) -> tuple[str, ...]:
    """Return field and domain of each path through the taxonomy, each once."""
    return tuple(dict.fromkeys("/".join(path.split("/")[:2]) for path in paths))


def measures(scores: Iterable[Score], domains: Mapping[str, tuple[str, ...]]) -> list[Measure]:
    """Return the scores of a run as measures.

    Args:
        scores: scores of the run.
        domains: paths through the taxonomy by task id.
    """
    return [
        Measure(
            score.task,
            score.metric,
            score.better,
            domain_names(domains.get(score.task, ())),
            score.value,
            score.na_rate,
            score.low,
            score.high,
        )
        for score in scores
    ]


def compare(system: Iterable[Measure], baseline: Iterable[Measure]) -> Comparison:
    """Compare each measure of a system with the baseline's of the same task and metric."""
    known = {(measure.task, measure.metric): measure for measure in baseline}
    rows = tuple(_row(measure, known.get((measure.task, measure.metric))) for measure in system)
    names = sorted({name for row in rows for name in row.domains})
    return Comparison(rows, {name: _domain([row for row in rows if name in row.domains]) for name in names})


def rank(intervals: Mapping[str, tuple[float, float]], better: Better) -> dict[str, int]:
    """Return the rank of each system: 1 and one more for each system whose interval lies wholly on the better side.

    Systems with overlapping intervals are not told apart.
    """
    return {
        name: 1 + sum(_beyond(other, interval, better) for other in intervals.values())
        for name, interval in intervals.items()
    }


def _beyond(one: tuple[float, float], other: tuple[float, float], better: Better) -> bool:
    return one[0] > other[1] if better == "higher" else one[1] < other[0]


def _row(measure: Measure, baseline: Measure | None) -> Row:
    relative, excluded = _relative(measure, baseline)
    gain, gain_excluded = _gain(measure, baseline)
    base = baseline.scaled if baseline else None
    return Row(
        task=measure.task,
        metric=measure.metric,
        better=measure.better,
        domains=measure.domains,
        scaled=measure.scaled,
        baseline=base,
        relative=relative,
        excluded=excluded,
        caveat=BASELINE_NEGATIVE if relative is not None and base is not None and base < 0 else "",
        gain=gain,
        gain_excluded=gain_excluded,
        standing=_standing(measure, baseline),
    )


def _relative(measure: Measure, baseline: Measure | None) -> tuple[float | None, str]:
    if baseline is None or (baseline.value is None and baseline.na_rate != 1):
        return None, BASELINE_NO_RESULT
    if baseline.scaled is None:
        return None, BASELINE_ALL_NA
    if measure.scaled is None:
        return None, ALL_NA if measure.na_rate == 1 else NO_RESULT
    if baseline.scaled == 0:
        return None, BASELINE_ZERO
    return improvement(measure.scaled, baseline.scaled, measure.better), ""


def _gain(measure: Measure, baseline: Measure | None) -> tuple[float | None, str]:
    if baseline is None or (baseline.value is None and baseline.na_rate != 1):
        return None, BASELINE_NO_RESULT
    if measure.value is None and measure.na_rate != 1:
        return None, NO_RESULT
    if measure.scaled is None or baseline.scaled is None:  # nothing read loses against anything, so failing cannot help
        return float(measure.scaled is not None) - float(baseline.scaled is not None), ""
    if not (measure.in_range and baseline.in_range):
        return None, OUT_OF_RANGE
    return bounded(measure.scaled, baseline.scaled, measure.metric, measure.better), ""


def _standing(measure: Measure, baseline: Measure | None) -> Standing:
    one, other = measure.interval, baseline.interval if baseline else None
    if one is None or other is None:
        return "unknown"
    if _beyond(one, other, measure.better):
        return "ahead"
    return "behind" if _beyond(other, one, measure.better) else "tied"


def _domain(rows: list[Row]) -> DomainScore:
    relatives = [row.relative for row in rows if row.relative is not None]
    gains: dict[str, list[float]] = {}
    for row in rows:
        if row.gain is not None:
            gains.setdefault(row.task, []).append(row.gain)
    means = [sum(values) / len(values) for values in gains.values()]
    return DomainScore(_mean(relatives), len(relatives), _mean(means), len(means))


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _named(row: Row, reason: str) -> dict[str, Any]:
    return {"task": row.task, "metric": row.metric, "domains": list(row.domains), "reason": reason}
