"""Records to scores, from the files of a run alone: no audio, no model."""

import functools
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from otoscope.audio import alteration
from otoscope.errors import MetricError, UnreadableValueError
from otoscope.judges.judge import Judge
from otoscope.judges.labels import name_of
from otoscope.keys import KeyIndex
from otoscope.metrics import IN_UNITS, Metric, Rows
from otoscope.metrics.edit import RunOn
from otoscope.records import GateOutcome, Outcome, Prediction, Score, add_usage
from otoscope.relative import scale
from otoscope.runner.gating import Decided
from otoscope.runner.judging import find_judgement, is_choosable, question_of
from otoscope.runner.log import Log
from otoscope.stats import count_clusters, interval, name_code
from otoscope.task import Task

if TYPE_CHECKING:
    from otoscope.judges.llm import JudgedKind

MISSING: tuple[Outcome, ...] = ("missing", "error", "undecided", "unparsed")
"""Outcomes that leave a score incomplete. ``na``, ``abstained`` and ``unsupported`` are results."""

_SEVERAL = 5
_NAMED = 3


class Missing(NamedTuple):
    """One sample without an outcome, and why."""

    task: str
    sample: str
    outcome: Outcome
    reason: str


class Spread(NamedTuple):
    """How far the wording of the instruction moves the primary metric of a task.

    Attributes:
        task: id of the task.
        metric: name of the metric.
        instructions: how many instructions have at least five scored samples; others are not looked at.
        low: the least value that one of them has.
        high: the greatest.
    """

    task: str
    metric: str
    instructions: int
    low: float
    high: float


class Reading(NamedTuple):
    """What the logs hold of one sample, and what its metrics make of it.

    Attributes:
        row: the sample's row of ``samples.jsonl``.
        outcome: its state.
        said: what the model answered.
        taken: what metrics take: the answer of a sequence, the verdict of a classification, the value of a regression.
        statistics: a row of each metric; none unless the outcome is ``ok``.
        reason: why there is no answer, verdict or value, or why there is this one.
        judge: who judged, or an empty string, also where the judge could not be asked.
        seconds: what the answer took.
        changes: what was done to the clips before the model got them.
        usage: what the answer took, and what its judgement, each with the key of its record.
        asr: the speech recognition that wrote the answer down, or an empty string.
        decided: what the gate said; ``answer`` where there was none.
    """

    row: Mapping[str, Any]
    outcome: Outcome
    said: str = ""
    taken: str = ""
    statistics: tuple[tuple[float, ...], ...] = ()
    reason: str = ""
    judge: str = ""
    seconds: float = 0.0
    changes: tuple[str, ...] = ()
    usage: tuple[tuple[str, Mapping[str, float]], ...] = ()
    asr: str = ""
    decided: GateOutcome = "answer"


class Reader:
    """Looks up the samples of one task in the logs of a run.

    Args:
        task: the task.
        judge: the judge whose judgements count; None where the task is not judged.
        predictions: the answers.
        judgements: what judges said of them.
        decided: what the run's gate decided; None where it had none.

    Attributes:
        metrics: the task's metrics, the primary one first.
    """

    def __init__(
        self, task: Task, judge: Judge | None, predictions: Log, judgements: Log, decided: Decided | None = None
    ) -> None:
        self.task = task
        self._judge = None if task.kind == "sequence" else judge
        self._predictions = predictions
        self._judgements = judgements
        self._decided = decided
        names = (task.primary, *(name for name in task.metrics if name != task.primary))
        self.metrics = [task.metric(name) for name in names]

    def read(self, rows: Iterable[Mapping[str, Any]]) -> Iterator[Reading]:
        """Yield what became of each row of ``samples.jsonl``."""
        for row in rows:
            reading = self._find(row)
            yield self._measure(reading) if reading.outcome == "ok" else reading

    def _find(self, row: Mapping[str, Any]) -> Reading:
        logged = self._predictions.get(row["prediction"])
        if logged is None:
            return Reading(row, "missing", reason="it was not asked yet; run the same command again")
        prediction = Prediction.from_json(logged)
        reading = Reading(
            row,
            prediction.status,
            prediction.answer,
            prediction.answer,
            reason=prediction.reason,
            seconds=prediction.seconds,
            changes=prediction.audio,
            usage=((prediction.key, prediction.usage),),
            asr=prediction.asr,
        )
        if prediction.status == "ok" and row["expect"] == "abstain":
            return reading._replace(outcome="unsupported", reason="the row holds nothing to answer")
        if prediction.status == "abstained" and self._decided is not None:
            return reading._replace(decided=self._decided.outcome(row["content"]))
        if prediction.status != "ok" or self._judge is None:
            return reading
        kind: JudgedKind = "classification" if self.task.kind == "classification" else "regression"
        question = question_of(self.task, row, prediction.answer)
        judgement = find_judgement(question, kind, self._judge, self._judgements)
        if judgement is None:
            return reading._replace(outcome="missing", reason="it was not judged yet; run otoscope judge RUN")
        return reading._replace(
            outcome=judgement.status,
            taken=(judgement.verdict if kind == "classification" else judgement.value) or "",
            reason=judgement.explanation,
            judge=judgement.judge if judgement.status != "error" else "",
            usage=(*reading.usage, (judgement.key, _named_judge(judgement.usage))),
        )

    def _measure(self, reading: Reading) -> Reading:
        """Add each metric's row, or tell why a metric cannot take the sample."""
        try:
            return reading._replace(
                statistics=tuple(metric.row(reading.row["target"], reading.taken) for metric in self.metrics)
            )
        except UnreadableValueError as error:
            return reading._replace(outcome="na", reason=str(error))
        except MetricError as error:
            return reading._replace(outcome="error", reason=str(error))


@dataclass(slots=True)
class TaskScores:
    """The scores of one task and what they rest on.

    Attributes:
        scores: one a metric, the primary one first.
        missing: the samples without an outcome.
        judged_by: how many judgements each judge gave.
        spread: the primary metric by instruction; None where there are not two instructions with several samples.
        altered: how many samples had clips that were cut, joined and so on.
        usage: what the answers and their judgements took, such as tokens, each of them once.
        written_down_by: how many spoken answers each speech recognition wrote down.
        notes: what to know before the scores are believed.
        turned_away: how many samples the gate turned away, by its outcome and reason.
    """

    scores: list[Score] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    judged_by: Counter[str] = field(default_factory=Counter)
    spread: Spread | None = None
    altered: Counter[str] = field(default_factory=Counter)
    usage: dict[str, float] = field(default_factory=dict)
    written_down_by: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    turned_away: Counter[tuple[GateOutcome, str]] = field(default_factory=Counter)


def _named_judge(usage: Mapping[str, float]) -> dict[str, float]:
    return {f"judge_{name}": amount for name, amount in usage.items()}


class Tally:
    """What answers and judgements took together, each of them once.

    Attributes:
        total: amounts by name, such as ``prompt_tokens``.
    """

    def __init__(self) -> None:
        self.total: dict[str, float] = {}
        self._counted = KeyIndex()

    def add(self, key: str, usage: Mapping[str, float]) -> None:
        """Add what the record ``key`` took, unless it was added before."""
        if usage and self._counted.get(key) is None:
            self._counted[key] = 0
            add_usage(self.total, usage)


class TaskScorer:
    """Takes the samples of one task one by one and scores them.

    Args:
        reader: looks the samples up.
        run: is told what the whole run took, where several tasks may share an answer.
    """

    def __init__(self, reader: Reader, run: Tally) -> None:
        self._reader = reader
        self._tallies = (Tally(), run)
        self._task = reader.task
        self._statistics = [array("d") for _ in reader.metrics]
        self._widths = [1] * len(reader.metrics)
        self._clusters = array("Q")
        self._instructions = array("Q")
        self._counts: Counter[Outcome] = Counter()
        self._targets: Counter[str] = Counter()
        self._options: Counter[int] = Counter()
        self._run_on = RunOn(reader.metrics)
        self._strays = 0
        self._stray: list[str] = []  # the first of them, by name
        self._seconds = 0.0
        self._result = TaskScores()

    def run(self, rows: Iterable[Mapping[str, Any]], expected: int) -> TaskScores:
        """Return the scores over the task's rows of ``samples.jsonl``; those that lack to ``expected`` are missing."""
        for reading in self._reader.read(rows):
            self._add(reading)
        absent = expected - self._counts.total()
        if absent > 0:
            self._counts["missing"] += absent
            reason = f"{absent} samples were not read yet; run the same command again"
            self._result.missing.append(Missing(self._task.id, "", "missing", reason))
        self._result.scores = [self._score(index) for index in range(len(self._reader.metrics))]
        self._result.spread = self._spread()
        self._result.usage = self._tallies[0].total
        self._result.notes = [*self._run_on.notes(), *self._stray_notes()]
        return self._result

    def _add(self, reading: Reading) -> None:
        row = reading.row
        self._counts[reading.outcome] += 1
        if self._task.kind == "classification" and row["expect"] == "answer":
            self._add_label(row)
        self._seconds += reading.seconds
        self._result.altered.update(set(map(alteration, reading.changes)))
        for key, usage in reading.usage:
            for tally in self._tallies:
                tally.add(key, usage)
        if reading.asr:
            self._result.written_down_by[reading.asr] += 1
        if reading.judge:
            self._result.judged_by[reading.judge] += 1
        if reading.decided != "answer":
            self._result.turned_away[reading.decided, reading.reason] += 1
        if reading.outcome in MISSING:
            self._result.missing.append(Missing(self._task.id, row["id"], reading.outcome, reading.reason))
        if reading.outcome == "ok":
            for index, values in enumerate(reading.statistics):
                self._statistics[index].extend(values)
                self._widths[index] = len(values)
            self._run_on.add(row["target"])
            self._clusters.append(name_code(row["cluster"]))
            self._instructions.append(name_code(row["instruction"]))

    def _add_label(self, row: Mapping[str, Any]) -> None:
        self._targets[_name(row["target"])] += 1
        names = {_name(option) for option in row["options"]}
        self._options[len(names)] += 1
        # What is among them by its plain name needs no reading of the instruction, which takes long.
        if _name(row["target"]) not in names and not is_choosable(question_of(self._task, row, "")):
            self._strays += 1
            if self._strays <= _NAMED:
                self._stray.append(f"{row['id']} {row['target']!r}")

    def _stray_notes(self) -> Iterator[str]:
        if self._strays:
            yield (
                f"{self._strays} of {self._targets.total()} labels are not among the options, such as "
                f"{', '.join(self._stray)}; no answer that keeps to the options is right there: mend the "
                "labels or the options, and run the same command again"
            )

    def _rows(self, index: int) -> Rows:
        import numpy as np

        return np.array(self._statistics[index], np.float64).reshape(-1, self._widths[index])

    def _spread(self) -> Spread | None:
        import numpy as np

        metric, rows = self._reader.metrics[0], self._rows(0)
        instructions = np.asarray(self._instructions)
        names, counts = np.unique(instructions, return_counts=True)
        found = [metric.value(rows[instructions == name]) for name in names[counts >= _SEVERAL]]
        values = [value for value in found if value is not None]
        if len(values) < 2:  # noqa: PLR2004 - one value has no spread
            return None
        return Spread(self._task.id, metric.name, len(values), min(values), max(values))

    def _score(self, index: int) -> Score:
        metric, rows = self._reader.metrics[index], self._rows(index)
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
            clusters=count_clusters(self._clusters),
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
        chance = None if self._options[0] else sum(count / size for size, count in sorted(self._options.items())) / n
        return chance, max(self._targets.values()) / n


@functools.lru_cache(maxsize=4096)
def _name(label: str) -> str:
    """Return the name by which judges compare labels: ``Yes`` and ``yes`` are one answer, also to a guesser."""
    return name_of(label)


def _scale(value: float | None, metric: Metric, na_rate: float | None) -> float | None:
    return None if value is None or na_rate is None else scale(value, metric.better, na_rate)


def summarise(tasks: Iterable[TaskScores]) -> list[dict[str, Any]]:
    """Return the mean of each metric over the tasks of each kind where it is the primary one and defined.

    A regression counts as scaled by its N/A rate. Errors that every task has in a unit of its own have no mean.
    """
    values: dict[tuple[str, str, str], list[float]] = {}
    for score in (score for task in tasks for score in task.scores[:1]):
        value = score.value if score.na_rate is None else score.scaled
        if value is not None and score.metric not in IN_UNITS:
            values.setdefault((score.kind, score.metric, score.better), []).append(value)
    return [
        {"kind": kind, "metric": name, "better": better, "tasks": len(found), "mean": sum(found) / len(found)}
        for (kind, name, better), found in sorted(values.items())
    ]
