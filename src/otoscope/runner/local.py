"""One run: every stage over every task, in this process, into one run folder."""

import json
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from otoscope.audio import LimitPolicy
from otoscope.datasets import count_samples, read_samples
from otoscope.errors import RunError
from otoscope.judges.judge import Judge, StoredChat
from otoscope.models.protocol import Model
from otoscope.records import Sample, Score, dump_json
from otoscope.runner.judging import judge_task
from otoscope.runner.log import Log, RunLock
from otoscope.runner.predict import Predictor
from otoscope.score import Missing, TaskScorer, TaskScores, summarise
from otoscope.task import Task, task_from_json

SCHEMA = 1
LIBRARIES = ("otoscope", "numpy", "scipy", "soundfile", "soxr", "rapidfuzz", "ctranslate2", "xllamacpp", "openai")


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


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to.

    Attributes:
        folder: where its records lie.
        model: the id of the model.
        judge: the id of the judge, or an empty string.
        tasks: the scores by task id.
        made: how many predictions and judgements this call added; 0 if the run was finished before.
    """

    folder: Path
    model: str
    judge: str
    tasks: Mapping[str, TaskScores]
    made: int = 0

    @property
    def scores(self) -> list[Score]:
        """Every score, task by task, the primary metric of each first."""
        return [score for task in self.tasks.values() for score in task.scores]

    @property
    def missing(self) -> list[Missing]:
        """Every sample without an outcome, with the reason."""
        return [row for task in self.tasks.values() for row in task.missing]

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``scores.json``."""
        judged_by: Counter[str] = sum((task.judged_by for task in self.tasks.values()), Counter())
        return {
            "schema": SCHEMA,
            "otoscope": version("otoscope"),
            "model": self.model,
            "judge": self.judge,
            "judged_by": dict(judged_by),
            "complete": not self.missing,
            "tasks": [score.to_json() for score in self.scores],
            "kinds": summarise(self.tasks.values()),
            "missing": [row._asdict() for row in self.missing],
        }


@dataclass(slots=True)
class _Folder:
    """The files of one run folder."""

    path: Path
    predictions: Log = field(init=False)
    judgements: Log = field(init=False)

    def __post_init__(self) -> None:
        self.predictions = Log(self.path / "predictions.jsonl")
        self.judgements = Log(self.path / "judgements.jsonl")

    @property
    def samples(self) -> Path:
        return self.path / "samples.jsonl"

    def rows(self, task: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of one task from ``samples.jsonl``."""
        with self.samples.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line) if line.endswith("\n") else {"task": None}
                if row["task"] == task:
                    yield row

    def write_header(self, header: Mapping[str, Any]) -> None:
        with (self.path / "header.jsonl").open("a", encoding="utf-8") as file:
            file.write(dump_json(header) + "\n")

    def close(self) -> None:
        self.predictions.close()
        self.judgements.close()


def execute(plan: Plan, watch: Watch) -> RunResult:
    """Run every stage over every task; what the folder already holds is not done again.

    Raises:
        RunLockedError: another process writes to the folder.
        TaskError: a task's rows cannot be read.
    """
    counts = {task.id: count_samples(task, plan.limit) for task in plan.tasks}
    results: dict[str, TaskScores] = {}
    with RunLock(plan.folder):
        folder = _Folder(plan.folder)
        before = len(folder.predictions) + len(folder.judgements)
        folder.write_header(_header(plan, counts))
        _write_json(plan.folder / "tasks.json", [dict(task.content) for task in plan.tasks])
        predictor = Predictor(plan.model, folder.predictions, plan.policy, plan.batch)
        try:
            folder.samples.write_text("")
            for task in plan.tasks:
                _predict(task, plan, folder, predictor, counts[task.id], watch)
                _judge(task, plan.judge, folder, counts[task.id], watch)
                results[task.id] = _score(task, plan.judge, folder, counts[task.id], watch)
            made = len(folder.predictions) + len(folder.judgements) - before
            return _finish(RunResult(plan.folder, plan.model.id, plan.judge.id if plan.judge else "", results, made))
        finally:
            folder.close()


def rejudge(path: Path, judge: Judge, watch: Watch) -> RunResult:
    """Judge the answers of a run with ``judge``, and score it by that judge from now on.

    Raises:
        RunError: the folder is not a run.
        RunLockedError: another process writes to it.
    """
    with RunLock(_existing(path)):
        header = read_header(path)
        folder = _Folder(path)
        try:
            for task in read_tasks(path):
                _judge(task, judge, folder, header["counts"][task.id], watch)
        finally:
            folder.close()
        folder.write_header(
            {**header, "judge": _judge_identity(judge), "command": f"otoscope judge --judge {judge.spec}"}
        )
    return rescore(path, watch)


def rescore(path: Path, watch: Watch) -> RunResult:
    """Score a run anew from its files, by the judge that its header names.

    Raises:
        RunError: the folder is not a run.
        RunLockedError: another process writes to it.
    """
    with RunLock(_existing(path)):
        header = read_header(path)
        judge = _stored_judge(header["judge"])
        folder = _Folder(path)
        try:
            tasks = read_tasks(path)
            results = {task.id: _score(task, judge, folder, header["counts"][task.id], watch) for task in tasks}
        finally:
            folder.close()
        return _finish(RunResult(path, header["model"]["id"], judge.id if judge else "", results))


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of the last command that wrote to the run folder.

    Raises:
        RunError: the folder is not a run.
    """
    file = _existing(path) / "header.jsonl"
    lines = [line for line in file.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
    if not lines:
        raise RunError(f"{file}: no header; the run ended before it began, start it again")
    return dict(json.loads(lines[-1]))


def read_tasks(path: Path) -> list[Task]:
    """Return the tasks of a run folder as they were when it ran."""
    file = path / "tasks.json"
    return [task_from_json(content, file) for content in json.loads(file.read_text("utf-8"))]


def _existing(path: Path) -> Path:
    if not (path / "header.jsonl").is_file():
        raise RunError(f"{path}: not a run folder: there is no header.jsonl in it")
    return path


def _predict(task: Task, plan: Plan, folder: _Folder, predictor: Predictor, total: int, watch: Watch) -> None:
    watch(Begun(task.id, "answer", total))
    with folder.samples.open("a", encoding="utf-8") as file:

        def tell(sample: Sample, key: str) -> None:
            file.write(dump_json(_sample_row(sample, key)) + "\n")

        samples = read_samples(task, plan.limit, plan.seed)
        predictor.run(samples, tell, lambda status: watch(Counted(status)))


def _judge(task: Task, judge: Judge | None, folder: _Folder, total: int, watch: Watch) -> None:
    if judge is None or task.kind == "sequence":
        return
    watch(Begun(task.id, "judge", total))
    rows = folder.rows(task.id)
    judge_task(task, rows, judge, folder.predictions, folder.judgements, lambda status: watch(Counted(status)))


def _score(task: Task, judge: Judge | None, folder: _Folder, total: int, watch: Watch) -> TaskScores:
    scorer = TaskScorer(task, None if task.kind == "sequence" else judge, folder.predictions, folder.judgements)
    result = scorer.run(folder.rows(task.id), total)
    watch(Scored(task.id, result))
    return result


def _finish(result: RunResult) -> RunResult:
    from otoscope.report.markdown import write_report

    _write_json(result.folder / "scores.json", result.to_json())
    write_report(result, read_header(result.folder))
    return result


def _write_json(path: Path, content: Any) -> None:
    """Replace ``path`` at once, so that a reader never sees half of it."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n", "utf-8")
    part.replace(path)


def _sample_row(sample: Sample, key: str) -> dict[str, Any]:
    row = asdict(sample)
    del row["clips"], row["meta"]
    return {**row, "audio": [clip.name for clip in sample.clips], "prediction": key}


def _header(plan: Plan, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": plan.command,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
        "tasks": {task.id: task.hash for task in plan.tasks},
        "counts": dict(counts),
        "model": {"id": plan.model.id, "settings": dict(plan.model.settings), "intake": asdict(plan.model.intake)},
        "judge": _judge_identity(plan.judge),
        "limit": plan.limit or "all",
        "seed": plan.seed,
        "long": plan.policy,
        "batch": plan.batch or plan.model.batch,
    }


def _judge_identity(judge: Judge | None) -> dict[str, Any]:
    if judge is None:
        return {}
    llm = {"id": judge.chat.id, "settings": dict(judge.chat.settings)} if judge.chat else {}
    return {"spec": judge.spec, "id": judge.id, "llm": llm}


def _stored_judge(identity: Mapping[str, Any]) -> Judge | None:
    if not identity:
        return None
    llm = identity["llm"]
    return Judge(identity["spec"], StoredChat(**llm) if llm else None)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
