"""Records to scores, from the files of a run alone: no audio, no model."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from otoscope.errors import MetricError, UnreadableValueError
from otoscope.judges.judge import Judge
from otoscope.judges.llm import JudgedKind
from otoscope.metrics import Metric
from otoscope.metrics import metric as find_metric
from otoscope.records import Outcome, Prediction, Score
from otoscope.runner.judging import find_judgement, question_of
from otoscope.runner.log import Log
from otoscope.stats import interval
from otoscope.task import Task

MISSING: tuple[Outcome, ...] = ("missing", "error", "undecided", "unparsed")
"""Outcomes that leave a score incomplete. ``na`` and ``abstained`` are results."""


class Missing(NamedTuple):
    """One sample without an outcome, and why."""

    task: str
    sample: str
    outcome: Outcome
    reason: str


class _Found(NamedTuple):
    """What the logs hold of one sample."""

    outcome: Outcome
    answer: str = ""
    """What metrics take: the raw answer of a sequence, the verdict of a classification, the value of a regression."""
    reason: str = ""
    judge: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class TaskScores:
    """The scores of one task and what they rest on.

    Attributes:
        scores: one a metric, the primary one first.
        missing: the samples without an outcome.
        judged_by: how many judgements each judge gave.
    """

    scores: list[Score] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    judged_by: Counter[str] = field(default_factory=Counter)


class TaskScorer:
    """Takes the rows of one task one by one and scores them.

    Args:
        task: the task.
        judge: the judge whose judgements count; None where the task is not judged.
        predictions: the answers.
        judgements: what judges said of them.
    """

    def __init__(self, task: Task, judge: Judge | None, predictions: Log, judgements: Log) -> None:
        self._task = task
        self._judge = judge
        self._predictions = predictions
        self._judgements = judgements
        names = (task.primary, *(name for name in task.metrics if name != task.primary))
        self._metrics = [find_metric(name, kind=task.kind) for name in names]
        self._statistics = [array("d") for _ in names]
        self._widths = [1] * len(names)
        self._clusters: list[str] = []
        self._counts: Counter[Outcome] = Counter()
        self._targets: Counter[str] = Counter()
        self._chances = array("d")
        self._seconds = 0.0
        self._result = TaskScores()

    def run(self, rows: Iterable[Mapping[str, Any]], expected: int) -> TaskScores:
        """Return the scores over the task's rows of ``samples.jsonl``; of ``expected`` rows, absent ones are missing."""
        for row in rows:
            self._add(row)
        absent = expected - self._counts.total()
        if absent > 0:
            self._counts["missing"] += absent
            reason = f"{absent} samples were not read yet; run the same command again"
            self._result.missing.append(Missing(self._task.id, "", "missing", reason))
        self._result.scores = [self._score(index) for index in range(len(self._metrics))]
        return self._result

    def _add(self, row: Mapping[str, Any]) -> None:
        found = self._find(row)
        if found.outcome == "ok":
            found = self._count(row, found)
        self._counts[found.outcome] += 1
        self._targets[row["target"]] += 1
        if row["options"]:
            self._chances.append(1 / len(row["options"]))
        self._seconds += found.seconds
        if found.judge:
            self._result.judged_by[found.judge] += 1
        if found.outcome in MISSING:
            self._result.missing.append(Missing(self._task.id, row["id"], found.outcome, found.reason))

    def _find(self, row: Mapping[str, Any]) -> _Found:
        logged = self._predictions.get(row["prediction"])
        if logged is None:
            return _Found("missing", reason="it was not asked yet; run the same command again")
        prediction = Prediction.from_json(logged)
        if prediction.status != "ok" or self._judge is None:
            return _Found(prediction.status, prediction.answer, prediction.reason, seconds=prediction.seconds)
        kind: JudgedKind = "classification" if self._task.kind == "classification" else "regression"
        question = question_of(self._task, row, prediction.answer)
        judgement = find_judgement(question, kind, self._judge, self._judgements)
        if judgement is None:
            return _Found("missing", reason="it was not judged yet; run the same command again")
        answer = (judgement.verdict if kind == "classification" else judgement.value) or ""
        return _Found(judgement.status, answer, judgement.explanation, judgement.judge, prediction.seconds)

    def _count(self, row: Mapping[str, Any], found: _Found) -> _Found:
        """Add a sample's statistics, or tell why a metric cannot take it."""
        try:
            statistics = [metric.row(row["target"], found.answer) for metric in self._metrics]
        except UnreadableValueError as error:
            return found._replace(outcome="na", reason=str(error))
        except MetricError as error:
            return found._replace(outcome="error", reason=str(error))
        for index, values in enumerate(statistics):
            self._statistics[index].extend(values)
            self._widths[index] = len(values)
        self._clusters.append(row["cluster"])
        return found

    def _score(self, index: int) -> Score:
        import numpy as np

        metric = self._metrics[index]
        rows = np.array(self._statistics[index], np.float64).reshape(-1, self._widths[index])
        value = metric.value(rows) if len(rows) else None
        found = interval(metric, rows, self._clusters) if value is not None else None
        na_rate = self._na_rate()
        chance, majority = self._baselines()
        return Score(
            task=self._task.id,
            kind=self._task.kind,
            metric=metric.name,
            better=metric.better,
            value=value,
            low=found.low if found else None,
            high=found.high if found else None,
            scaled=_scale(value, metric, na_rate),
            n=self._counts.total(),
            counts=dict(self._counts),
            na_rate=na_rate,
            clusters=len(set(self._clusters)),
            chance=chance,
            majority=majority,
            seconds=round(self._seconds, 2),
            signature=f"{metric.signature}|interval:{found.method if found else 'undefined'}",
        )

    def _na_rate(self) -> float | None:
        """Share of answers without a value among those that a judge could read; only a regression has one."""
        readable = self._counts["ok"] + self._counts["na"]
        return self._counts["na"] / readable if self._task.kind == "regression" and readable else None

    def _baselines(self) -> tuple[float | None, float | None]:
        """Return what guessing among the options scores, and what always giving the most frequent label scores."""
        n = self._targets.total()
        if self._task.kind != "classification" or self._task.multi_label or not n:
            return None, None
        chance = sum(self._chances) / n if len(self._chances) == n else None
        return chance, max(self._targets.values()) / n


def _scale(value: float | None, metric: Metric, na_rate: float | None) -> float | None:
    """Scale by the N/A rate r (Dynamic-SUPERB Phase-2, section 5.1); nothing is left of a value at r = 1."""
    if value is None or na_rate is None or na_rate == 1:
        return None
    return value * (1 - na_rate) if metric.better == "higher" else value / (1 - na_rate)


def summarise(tasks: Iterable[TaskScores]) -> list[dict[str, Any]]:
    """Return the mean of each metric over the tasks of each kind where it is the primary one and defined."""
    values: dict[tuple[str, str, str], list[float]] = {}
    for task in tasks:
        score = task.scores[0]
        if score.value is not None:
            values.setdefault((score.kind, score.metric, score.better), []).append(score.value)
    return [
        {"kind": kind, "metric": name, "better": better, "tasks": len(found), "mean": sum(found) / len(found)}
        for (kind, name, better), found in sorted(values.items())
    ]
