"""Compare two runs sample by sample: paired differences, tests, and the samples on which the runs disagree.

Only samples count that ask the same in both runs and for which both have an outcome that a metric can take, so both
values rest on the same samples. An id alone does not make two samples one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from otoscope.errors import RunError
from otoscope.metrics import Metric
from otoscope.records import Better, Outcome, dump_json, worded
from otoscope.runner.folder import RunFolder, read_header, read_tasks, stored_judge
from otoscope.score import MISSING, Reader, Reading
from otoscope.stats import count_clusters, difference_interval, holm, mcnemar, sign_flip

if TYPE_CHECKING:
    from otoscope.metrics import Rows
    from otoscope.task import Task

Test = Literal["mcnemar", "sign-flip"]

ABSENT = "absent"
"""Stands for the outcome of a sample that a run does not have."""

CHANGES: Final[Mapping[str, str]] = {
    "target": "another target",
    "content": "other audio",
    "instruction": "another instruction",
    "text": "another text",
    "options": "other options",
    "expect": "answerable in one alone",
    "cluster": "another source",
}
"""What stands for the outcomes of a sample that differs between the runs in a field of its row in ``samples.jsonl``."""

FEW_SOURCES: Final = 20
"""With fewer, the bootstrap's 95 % intervals hold the true difference clearly less often than they say."""

ANSWERED: Final = frozenset[Outcome]({"ok", "na", "unsupported", "undecided", "unparsed"})
"""The outcomes that a model's answer can have."""

RESULTS: Final = frozenset(get_args(Outcome)) - frozenset(MISSING)
"""The outcomes that leave a comparison complete."""


class Flip(NamedTuple):
    """A sample that one run has right and the other wrong.

    Attributes:
        sample: its id.
        target: the right answer.
        right: which run has it right, ``a`` or ``b``.
        answer_a: what the model of the first run said.
        answer_b: what the model of the second run said.
    """

    sample: str
    target: str
    right: Literal["a", "b"]
    answer_a: str
    answer_b: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of one task in both runs, over the samples that both have.

    Attributes:
        task: id of the task.
        metric: name of the metric.
        better: whether higher or lower values are better.
        a: value of the first run, or None where it is not defined.
        b: value of the second run.
        difference: ``a`` minus ``b``.
        low: lower end of the paired 95 % interval of the difference over clusters.
        high: upper end of it.
        n: samples that both runs have.
        clusters: sources of these samples.
        na_rate_a: share of the answers of the first run that hold no value, among those that a judge could read, over
            the samples that are the same in both runs; None where there are none. Such samples are not in ``n``.
        na_rate_b: the same of the second run.
        test: ``mcnemar`` (exact) for a proportion of independent samples, else ``sign-flip`` by clusters.
        p: two-sided p-value, or None where the test is not defined.
        adjusted: the p-value adjusted after Holm for all tests of the comparison.
        signature: signature of the metric.
    """

    task: str
    metric: str
    better: Better
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    na_rate_a: float | None
    na_rate_b: float | None
    test: Test
    p: float | None
    adjusted: float | None
    signature: str


@dataclass(frozen=True, slots=True)
class TaskComparison:
    """One task in both runs.

    Attributes:
        task: id of the task.
        differences: one a metric, the primary one first.
        flips: samples that one run has right and the other wrong; only where a metric says right or wrong.
        left_out: how often the two runs had which outcomes, where a sample is not compared, such as ``na / ok``; or in
            what the sample differs between them, such as ``other audio``.
        notes: what to know before the differences are believed.
    """

    task: str
    differences: tuple[Difference, ...]
    flips: tuple[Flip, ...]
    left_out: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether there are samples, and each is the same in both runs and has an outcome in both."""
        found = bool(self.left_out) or any(row.n for row in self.differences)
        return found and all(RESULTS.issuperset(pair.split(" / ")) for pair in self.left_out)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs compared.

    Attributes:
        a: folder of the first run.
        b: folder of the second run.
        models: the ids of their models.
        judges: who judged them.
        tasks: the tasks that both have.
        only_a: ids of the tasks that only the first run has.
        only_b: ids of the tasks that only the second run has.
    """

    a: Path
    b: Path
    models: tuple[str, str]
    judges: tuple[str, str]
    tasks: tuple[TaskComparison, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every sample of the common tasks is the same in both runs and has an outcome in both."""
        return all(task.complete for task in self.tasks)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; what is not defined is the word ``undefined``."""
        runs = zip(("a", "b"), (self.a, self.b), self.models, self.judges, strict=True)
        return {
            **{name: {"run": str(path), "model": model, "judge": judge} for name, path, model, judge in runs},
            "complete": self.complete,
            "differences": [worded(asdict(row)) for task in self.tasks for row in task.differences],
            "flips": [{"task": task.task, **flip._asdict()} for task in self.tasks for flip in task.flips],
            "left_out": {task.task: dict(task.left_out) for task in self.tasks if task.left_out},
            "notes": {task.task: list(task.notes) for task in self.tasks if task.notes},
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
        }


def compare_runs(a: Path, b: Path, *, force: bool = False) -> RunComparison:
    """Compare two runs over the tasks that both have.

    Args:
        a: folder of the first run.
        b: folder of the second run.
        force: whether runs may be compared that different judges judged.

    Raises:
        RunError: a folder is not a run, the runs have no task in common, or different judges judged them.
    """
    one, other = _Run(a), _Run(b)
    common = [name for name in one.tasks if name in other.tasks]
    if not common:
        has = "; ".join(f"{run.files.path} has {', '.join(run.tasks) or 'none'}" for run in (one, other))
        raise RunError(f"no task is in both runs: {has}")
    judged = any(run.tasks[name].kind != "sequence" for name in common for run in (one, other))
    if judged and one.judge != other.judge and not force:
        raise RunError(
            f"{a} was judged by {one.judge}, {b} by {other.judge}; judge one of them anew with otoscope judge, "
            "or compare them as they are with --force"
        )
    try:
        tasks = [_compare_task(name, one, other) for name in common]
    finally:
        one.files.close()
        other.files.close()
    return RunComparison(
        a,
        b,
        (one.model, other.model),
        (one.judge, other.judge),
        _adjust(tasks),
        tuple(name for name in one.tasks if name not in other.tasks),
        tuple(name for name in other.tasks if name not in one.tasks),
    )


class _Run:
    """A run folder that is read and not written."""

    def __init__(self, path: Path) -> None:
        header = read_header(path)
        self.model: str = header["model"]["id"]
        self.tasks = {opened.task.id: opened.task for opened in read_tasks(path)}
        self.files = RunFolder(path)
        self._judge = stored_judge(header["judge"])
        chat = self._judge.chat if self._judge else None
        settings = f" with {dump_json(dict(chat.settings))}" if chat and chat.settings else ""
        self.judge = f"{self._judge.id}{settings}" if self._judge else "nobody"

    def reader(self, task: str) -> Reader:
        return Reader(self.tasks[task], self._judge, self.files.predictions, self.files.judgements)


class _Pair(NamedTuple):
    """One sample in both runs."""

    a: Reading
    b: Reading


class _Readable(NamedTuple):
    """Answers of one run that a judge could read, and how many of them hold no value."""

    na: int
    answers: int

    @property
    def na_rate(self) -> float | None:
        return self.na / self.answers if self.answers else None


def _compare_task(name: str, one: _Run, other: _Run) -> TaskComparison:
    reader_a, reader_b = one.reader(name), other.reader(name)
    readings = {reading.row["id"]: reading for reading in reader_a.read(one.files.rows(name))}
    pairs: list[_Pair] = []
    left_out: Counter[str] = Counter()
    outcomes: Counter[tuple[Outcome, Outcome]] = Counter()
    for reading in reader_b.read(other.files.rows(name)):
        match = readings.pop(reading.row["id"], None)
        if match is None:
            left_out[f"{ABSENT} / {reading.outcome}"] += 1
            continue
        if changes := _changes(match.row, reading.row):
            left_out[changes] += 1
            continue
        outcomes[match.outcome, reading.outcome] += 1
        if match.outcome == reading.outcome == "ok":
            pairs.append(_Pair(match, reading))
        else:
            left_out[f"{match.outcome} / {reading.outcome}"] += 1
    left_out.update(f"{reading.outcome} / {ABSENT}" for reading in readings.values())
    exchanged = {(b, a): count for (a, b), count in outcomes.items()}
    readable = (_readable(outcomes), _readable(exchanged))
    differences = []
    for metric, a, b in _common_metrics(name, reader_a, reader_b):
        rows = (_rows([pair.a.statistics[a] for pair in pairs]), _rows([pair.b.statistics[b] for pair in pairs]))
        clusters = [pair.a.row["cluster"] for pair in pairs]
        differences.append(_difference(name, metric, *rows, clusters, readable))
    flips = tuple(_flips(reader_a.metrics, reader_b.metrics, pairs))
    notes = (*_notes(one.tasks[name], *readable, differences), *_gate_notes(outcomes, exchanged))
    return TaskComparison(name, tuple(differences), flips, dict(left_out), notes)


def _readable(outcomes: Mapping[tuple[Outcome, Outcome], int]) -> _Readable:
    """Return what a judge could read of the first run of these pairs of outcomes."""
    na, ok = (sum(count for (own, _), count in outcomes.items() if own == state) for state in ("na", "ok"))
    return _Readable(na, na + ok)


def _notes(task: "Task", a: _Readable, b: _Readable, differences: Sequence[Difference]) -> Iterator[str]:
    if a.na * b.answers != b.na * a.answers:
        scaled = "; otoscope score --baseline scales by the N/A rate" if task.kind == "regression" else ""
        yield (
            f"A gave no value on {a.na} of {a.answers}, B on {b.na} of {b.answers}; the difference is over the samples "
            f"on which both gave one{scaled}"
        )
    if any(row.clusters < FEW_SOURCES for row in differences if row.low is not None):
        yield (
            f"with fewer than {FEW_SOURCES} sources the bootstrap interval is too narrow and may leave out 0 where p "
            "is large; p allows for it, so go by p"
        )


def _gate_notes(a: Mapping[tuple[Outcome, Outcome], int], b: Mapping[tuple[Outcome, Outcome], int]) -> Iterator[str]:
    """Yield how many samples a gate kept from one run alone; ``a`` has the outcomes of A first, ``b`` those of B."""
    away = [
        {other: count for (own, other), count in side.items() if own == "abstained" and other in ANSWERED}
        for side in (a, b)
    ]
    if not any(away):
        return
    counts = [
        f"{sum(others.values())} samples that {name} answered"
        + (f" ({others['unsupported']} of them hold nothing to answer)" if "unsupported" in others else "")
        for others, name in zip(away, "BA", strict=True)
    ]
    yield (
        f"a gate kept A from answering {counts[0]}, and B from answering {counts[1]}; the difference is over the "
        "samples that both answered"
    )


def _changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in what two rows of one id differ; an empty string where they ask the same, as far as both runs know.

    The digests of the clips are those of the decoded files, before a model's intake changed them. A run has none where
    a clip could not be decoded, nor does one that an earlier version made.
    """
    unheard = any(row["audio"] and not row.get("content") for row in (one, other))
    names = [name for name in CHANGES if name != "content" or not unheard]
    return ", ".join(CHANGES[name] for name in names if one[name] != other[name])


def _common_metrics(task: str, a: Reader, b: Reader) -> Iterator[tuple[Metric, int, int]]:
    """Yield each metric that both runs have of a task, with its places in both.

    Raises:
        RunError: it is another in each.
    """
    places = {metric.name: index for index, metric in enumerate(b.metrics)}
    for index, metric in enumerate(a.metrics):
        if metric.name not in places:
            continue
        signature = b.metrics[places[metric.name]].signature
        if signature != metric.signature:
            raise RunError(
                f"{task}: {metric.name} is {metric.signature} in one run and {signature} in the other, since the task "
                "was changed; run it anew"
            )
        yield metric, index, places[metric.name]


def _rows(statistics: Sequence[tuple[float, ...]]) -> "Rows":
    import numpy as np

    return np.array(statistics, np.float64).reshape(len(statistics), -1 if statistics else 1)


def _difference(
    task: str,
    metric: Metric,
    one: "Rows",
    other: "Rows",
    clusters: Sequence[str],
    readable: tuple[_Readable, _Readable],
) -> Difference:
    a, b = (metric.value(rows) if len(rows) else None for rows in (one, other))
    defined = a is not None and b is not None
    interval = difference_interval(metric, one, other, clusters) if defined else None
    sources = count_clusters(clusters)
    test: Test = "mcnemar" if metric.pooling == "proportion" and sources == len(one) else "sign-flip"
    if not defined:
        p = None
    elif test == "mcnemar":
        p = mcnemar(int((one[:, 0] > other[:, 0]).sum()), int((one[:, 0] < other[:, 0]).sum()))
    else:
        p = sign_flip(metric, one, other, clusters)
    return Difference(
        task=task,
        metric=metric.name,
        better=metric.better,
        a=a,
        b=b,
        difference=a - b if a is not None and b is not None else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=len(one),
        clusters=sources,
        na_rate_a=readable[0].na_rate,
        na_rate_b=readable[1].na_rate,
        test=test,
        p=p,
        adjusted=None,
        signature=metric.signature,
    )


def _flips(metrics_a: Sequence[Metric], metrics_b: Sequence[Metric], pairs: Sequence[_Pair]) -> Iterator[Flip]:
    """Yield the samples that the first metric which says right or wrong calls right in one run alone."""
    a, b = (next((i for i, m in enumerate(side) if m.pooling == "proportion"), None) for side in (metrics_a, metrics_b))
    if a is None or b is None:
        return
    for pair in pairs:
        right_a, right_b = pair.a.statistics[a][0], pair.b.statistics[b][0]
        if right_a != right_b:
            row = pair.a.row
            yield Flip(row["id"], row["target"], "a" if right_a else "b", pair.a.said, pair.b.said)


def _adjust(tasks: Sequence[TaskComparison]) -> tuple[TaskComparison, ...]:
    """Return the tasks with p-values adjusted for all tests of the comparison."""
    tested = [row.p for task in tasks for row in task.differences if row.p is not None]
    adjusted = iter(holm(tested))
    return tuple(
        replace(
            task,
            differences=tuple(
                row if row.p is None else replace(row, adjusted=next(adjusted)) for row in task.differences
            ),
        )
        for task in tasks
    )
