"""One run: every stage over every task, in this process, into one run folder."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from otoscope.audio import LimitPolicy
from otoscope.datasets import count_samples, hub, read_samples
from otoscope.errors import RunError, TaskError
from otoscope.judges.judge import Judge
from otoscope.models.protocol import Model
from otoscope.records import GateOutcome, Sample, Score, dump_json
from otoscope.runner.engine import Engine
from otoscope.runner.folder import (
    SCHEMA,
    OpenedTask,
    RunFolder,
    existing_run,
    gate_identity,
    judge_identity,
    make_header,
    read_header,
    read_tasks,
    stored_judge,
    write_json,
)
from otoscope.runner.gating import Decided, Gate, Gating
from otoscope.runner.judging import judge_task
from otoscope.runner.log import RunLock
from otoscope.runner.predict import Keys, Predictor
from otoscope.runner.shard import RowsDigest, Shard
from otoscope.runner.spoken import DEFAULT_ASR, Scribe, Spoken
from otoscope.score import Missing, Reader, Tally, TaskScorer, TaskScores, summarise
from otoscope.task import Part, Task


@dataclass(frozen=True, slots=True)
class Begun:
    """A stage of a task has begun."""

    task: str
    stage: str
    total: int


@dataclass(frozen=True, slots=True)
class Counted:
    """One more sample of the stage that began last is done, with this status."""

    status: str


@dataclass(frozen=True, slots=True)
class Scored:
    """A task is done."""

    task: str
    result: TaskScores


Event = Begun | Counted | Scored
Watch = Callable[[Event], None]
"""Called with what happens, so that somebody can show it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        tasks: the tasks.
        model: the model asked.
        judge: the judge, or None where no task needs one.
        folder: the run folder.
        limit: most samples a task, or a fraction of them below 1; None is all.
        seed: seed of the choice of samples.
        policy: what to do with audio longer than the model takes.
        batch: most requests a call, or None for what the model likes.
        command: how the run was started, for the header.
        gate: decides about each clip whether the model is asked; None asks always.
        allow_cut: whether cutting joined clips may remove some of them whole.
        asr: names the speech recognition that writes down spoken answers without text.
        engine: asks the model; None has this process do it.
        shard: the part of each task's samples that the run takes; None is all.
    """

    tasks: Sequence[Task]
    model: Model
    judge: Judge | None
    folder: Path
    limit: float | None = None
    seed: int = 0
    policy: LimitPolicy = "cut"
    batch: int | None = None
    command: str = ""
    gate: Gate | None = None
    allow_cut: bool = False
    asr: str = DEFAULT_ASR
    engine: Engine | None = None
    shard: Shard | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        folder: where its records lie.
        model: the id of the model.
        judge: the id of the judge, or an empty string.
        tasks: the scores by task id.
        made: how many decisions, predictions and judgements this call added; 0 if the run was finished before.
        took: what all answers and judgements together took, each once; empty where no model said.
        gate: the id of the gate, or an empty string.
    """

    folder: Path
    model: str
    judge: str
    tasks: Mapping[str, TaskScores]
    made: int = 0
    took: Mapping[str, float] = field(default_factory=dict)
    gate: str = ""

    @property
    def scores(self) -> list[Score]:
        """Every score, task by task, the primary metric of each first."""
        return [score for task in self.tasks.values() for score in task.scores]

    @property
    def missing(self) -> list[Missing]:
        """Every sample without an outcome, with the reason."""
        return [row for task in self.tasks.values() for row in task.missing]

    @property
    def usage(self) -> dict[str, float]:
        """What all answers together took, the cost last."""
        return dict(sorted(self.took.items(), key=lambda took: (took[0] == "cost", took[0])))

    @property
    def turned_away(self) -> Counter[tuple[GateOutcome, str]]:
        """How many samples the gate turned away, by its outcome and reason."""
        return sum((task.turned_away for task in self.tasks.values()), Counter())

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``scores.json``."""
        judged_by: Counter[str] = sum((task.judged_by for task in self.tasks.values()), Counter())
        return {
            "schema": SCHEMA,
            "otoscope": version("otoscope"),
            "model": self.model,
            "judge": self.judge,
            "gate": self.gate,
            "judged_by": dict(judged_by),
            "complete": not self.missing,
            "tasks": [score.to_json() for score in self.scores],
            "kinds": summarise(self.tasks.values()),
            "instructions": [task.spread._asdict() for task in self.tasks.values() if task.spread],
            "altered": {name: dict(sorted(task.altered.items())) for name, task in self.tasks.items() if task.altered},
            "written_down_by": dict(sum((task.written_down_by for task in self.tasks.values()), Counter[str]())),
            "turned_away": {
                name: _by_outcome(task.turned_away) for name, task in self.tasks.items() if task.turned_away
            },
            "notes": {name: task.notes for name, task in self.tasks.items() if task.notes},
            "usage": {name: task.usage for name, task in self.tasks.items() if task.usage},
            "usage_in_total": self.usage,
            "missing": [row._asdict() for row in self.missing],
        }


def _by_outcome(turned_away: Mapping[tuple[GateOutcome, str], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (outcome, reason), count in sorted(turned_away.items()):
        found.setdefault(outcome, {})[reason] = count
    return found


def execute(plan: Plan, watch: Watch) -> RunResult:
    """Run every stage over every task; what the folder already holds is not done again.

    A task whose rows are wrong, or cannot be had, is missing with the reason, and the others go on.

    Raises:
        RunLockedError: another process writes to the folder.
    """
    results: dict[str, TaskScores] = {}
    tally = Tally()
    with RunLock(plan.folder):
        folder = RunFolder(plan.folder, fresh=True)
        known = {part.path: part for opened in read_tasks(plan.folder) for part in opened.task.hub_parts}
        tasks = [OpenedTask(task) for task in plan.tasks]
        before = _records(folder)
        folder.write_header(make_header(plan.model, plan.judge, _settings(plan)))
        gating = Gating(plan.gate, folder.decisions) if plan.gate else None
        decided = Decided(plan.gate.signature, folder.decisions) if plan.gate else None
        predictor = Predictor(
            plan.model,
            folder.predictions,
            plan.policy,
            plan.batch,
            gating,
            engine=plan.engine,
            spoken=Spoken(plan.folder, Scribe(plan.asr)),
            allow_cut=plan.allow_cut,
        )
        try:
            folder.samples.write_text("")
            for number, task in enumerate(plan.tasks):
                try:
                    tasks[number] = _open(task, plan, known, watch)
                    folder.write_tasks(tasks)
                    tasks[number] = _predict(tasks[number], plan, folder, predictor, watch)
                    _judge(tasks[number], plan.judge, folder, watch)
                except TaskError as error:
                    tasks[number] = replace(tasks[number], samples=None, unavailable=str(error))
                    folder.write_tasks(tasks)
                results[task.id] = _score(tasks[number], plan.judge, folder, tally, watch, decided)
            folder.write_tasks(tasks)
            folder.publish()
            made = _records(folder) - before
            judge = plan.judge.id if plan.judge else ""
            gate = plan.gate.id if plan.gate else ""
            return _finish(RunResult(plan.folder, plan.model.id, judge, results, made, tally.total, gate))
        finally:
            folder.close()


def _records(folder: RunFolder) -> int:
    return sum(map(len, (folder.decisions, folder.predictions, folder.judgements)))


def rejudge(path: Path, judge: Judge, watch: Watch) -> RunResult:
    """Judge the answers of a run with ``judge``, and score it by that judge from now on.

    Raises:
        RunError: the folder is not a run.
        RunLockedError: another process writes to it.
    """
    with RunLock(existing_run(path)):
        header = read_header(path)
        folder = RunFolder(path)
        try:
            for opened in read_tasks(path):
                _judge(opened, judge, folder, watch)
        finally:
            folder.close()
        command = f"otoscope judge --judge {judge.spec}"
        folder.write_header({**header, "judge": judge_identity(judge), "command": command})
    return rescore(path, watch)


def rescore(path: Path, watch: Watch) -> RunResult:
    """Score a run anew from its files, by the judge that its header names.

    Raises:
        RunError: the folder is not a run.
        RunLockedError: another process writes to it.
    """
    with RunLock(existing_run(path)):
        header = read_header(path)
        judge, tally, gate = stored_judge(header["judge"]), Tally(), header.get("gate", {})
        folder = RunFolder(path)
        tasks = read_tasks(path)
        if not tasks:
            raise RunError(f"{path}: tasks.json is not there; run the same command again")
        try:
            decided = Decided(gate["signature"], folder.decisions) if gate else None
            results = {opened.task.id: _score(opened, judge, folder, tally, watch, decided) for opened in tasks}
        finally:
            folder.close()
        names = {"model": header["model"]["id"], "judge": judge.id if judge else "", "gate": gate.get("id", "")}
        return _finish(RunResult(path, tasks=results, took=tally.total, **names))


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "command": plan.command,
        "tasks": {task.id: task.hash for task in plan.tasks},
        "limit": plan.limit or "all",
        "seed": plan.seed,
        "long": plan.policy,
        "allow_cut": plan.allow_cut,
        "batch": plan.batch or plan.model.batch,
        "gate": gate_identity(plan.gate) if plan.gate else {},
        "shard": str(plan.shard or ""),
    }


def _open(task: Task, plan: Plan, known: Mapping[str, Part], watch: Watch) -> OpenedTask:
    """Find out where the rows of a task are and how many; fetch them if they are on the hub."""
    if not task.hub_parts:
        return OpenedTask(task, _count(task, plan))

    def note(_name: str, done: int, total: int) -> None:
        if done == 1:
            watch(Begun(task.id, "fetch", total))
        watch(Counted("ok"))

    pinned = hub.pin(task, known)
    hub.hub_files(pinned, note)
    return OpenedTask(pinned, _count(pinned, plan))


def _count(task: Task, plan: Plan) -> int:
    count = count_samples(task, plan.limit)
    return plan.shard.count(task.id, count) if plan.shard else count


def _predict(opened: OpenedTask, plan: Plan, folder: RunFolder, predictor: Predictor, watch: Watch) -> OpenedTask:
    """Ask about the samples of a task; return it with the digest of its rows where others ask about the rest."""
    task, rows = opened.task, RowsDigest()
    watch(Begun(task.id, "answer", opened.samples or 0))
    folder.begin(task.id)
    with folder.samples.open("a", encoding="utf-8") as file:

        def tell(sample: Sample, keys: Keys) -> None:
            file.write(dump_json(_sample_row(sample, keys)) + "\n")

        samples = read_samples(task, plan.limit, plan.seed)
        samples = plan.shard.part(task.id, rows.over(samples)) if plan.shard else samples
        predictor.run(samples, tell, lambda status: watch(Counted(status)))
    return replace(opened, rows=rows.value)


def _judge(opened: OpenedTask, judge: Judge | None, folder: RunFolder, watch: Watch) -> None:
    task = opened.task
    if judge is None or task.kind == "sequence" or not opened.samples:
        return
    watch(Begun(task.id, "judge", opened.samples))
    rows = folder.rows(task.id)
    judge_task(task, rows, judge, folder.predictions, folder.judgements, lambda status: watch(Counted(status)))


def _score(
    opened: OpenedTask, judge: Judge | None, folder: RunFolder, tally: Tally, watch: Watch, decided: Decided | None
) -> TaskScores:
    task = opened.task
    if opened.samples is None:
        reason = opened.unavailable or "the run has not come to it; run the same command again"
        result = TaskScores(missing=[Missing(task.id, "", "error" if opened.unavailable else "missing", reason)])
    else:
        reader = Reader(task, judge, folder.predictions, folder.judgements, decided)
        result = TaskScorer(reader, tally).run(folder.rows(task.id), opened.samples)
    watch(Scored(task.id, result))
    return result


def _finish(result: RunResult) -> RunResult:
    from otoscope.report.markdown import write_report

    write_json(result.folder / "scores.json", result.to_json())
    write_report(result, read_header(result.folder))
    return result


def _sample_row(sample: Sample, keys: Keys) -> dict[str, Any]:
    row = {field.name: getattr(sample, field.name) for field in fields(sample) if field.name not in {"clips", "meta"}}
    names = [clip.name for clip in sample.clips]
    return {**row, "meta": _scalars(sample.meta), "audio": names, "content": keys.audio, "prediction": keys.prediction}


def _scalars(meta: Mapping[str, Any]) -> dict[str, str | float | bool]:
    """Return the columns that a table may be made by; lists, bytes, NaN and infinity are left out."""
    return {
        name: value
        for name, value in meta.items()
        if isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))
    }
