"""The files of one run folder: what was asked, what came back, and how."""

import io
import json
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from otoscope.errors import CorruptLogError, RunError
from otoscope.judges.judge import Judge, StoredChat
from otoscope.models.protocol import Model
from otoscope.records import dump_document, dump_json
from otoscope.runner.gating import Gate
from otoscope.runner.log import Log
from otoscope.task import Task, task_from_json

SCHEMA = 1
SAMPLES, TASKS, PART = "samples.jsonl", "tasks.json", ".part"
LIBRARIES = ("otoscope", "numpy", "scipy", "soundfile", "soxr", "rapidfuzz", "ctranslate2", "xllamacpp", "openai")


@dataclass(frozen=True, slots=True)
class OpenedTask:
    """A task as a run found it.

    Attributes:
        task: the task, with the commits of its datasets.
        samples: how many samples the run has of it; None if it has not come to it.
        unavailable: why its rows cannot be had, or an empty string.
        rows: digest of all rows that were dealt out, where the run is one shard; else an empty string.
    """

    task: Task
    samples: int | None = None
    unavailable: str = ""
    rows: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the task's file content and what was found."""
        state: dict[str, Any] = {"unavailable": self.unavailable} if self.unavailable else {}
        return {
            "content": dict(self.task.content),
            "file": str(self.task.file.resolve()),
            **({"samples": self.samples} if self.samples is not None else state),
            **({"rows": self.rows} if self.rows else {}),
        }


@dataclass(slots=True)
class RunFolder:
    """The files of one run folder. Who writes to them holds the ``RunLock``.

    Attributes:
        path: the folder.
        decisions: what gates said of the audio.
        predictions: what the model answered.
        judgements: what judges said of that.
    """

    path: Path
    fresh: bool = False
    """Whether new samples and tasks are written beside those of the last run, until ``publish``."""
    decisions: Log = field(init=False)
    predictions: Log = field(init=False)
    judgements: Log = field(init=False)
    _starts: dict[str, int] = field(default_factory=dict, init=False)
    """Where the rows of a task begin, as far as that is known."""

    def __post_init__(self) -> None:
        self.fresh = self.fresh or not (self.path / TASKS).exists()
        self.decisions = Log(self.path / "decisions.jsonl")
        self.predictions = Log(self.path / "predictions.jsonl")
        self.judgements = Log(self.path / "judgements.jsonl")

    @property
    def samples(self) -> Path:
        """The file of samples, each with the key of its prediction."""
        return self.path / (SAMPLES + PART if self.fresh else SAMPLES)

    def begin(self, task: str) -> None:
        """Remember that the rows of a task will stand where the file of samples ends now."""
        self._starts[task] = self.samples.stat().st_size

    def rows(self, task: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of one task from ``samples.jsonl``, where the rows of a task stand together."""
        with self.samples.open("rb") as lines:
            lines.seek(self._starts.get(task, 0))
            begun = False
            for line in iter(lines.readline, b""):
                row = _parse(self.samples, line.decode("utf-8", "replace")) if line.endswith(b"\n") else {"task": None}
                if row["task"] == task:
                    begun = True
                    yield row
                elif begun:
                    self._starts[str(row["task"])] = lines.tell() - len(line)
                    return

    def write_tasks(self, tasks: Iterable[OpenedTask]) -> None:
        """Write the tasks of a run, so that it can be scored from its folder alone."""
        write_json(self.path / (TASKS + PART), [task.to_json() for task in tasks])

    def publish(self) -> None:
        """Let the new samples and tasks take the place of those of the last run."""
        for name in (SAMPLES, TASKS):
            (self.path / (name + PART)).replace(self.path / name)
        self.fresh = False

    def write_header(self, header: Mapping[str, Any]) -> None:
        """Add a line that says what is done to the run from now on."""
        with (self.path / "header.jsonl").open("a", encoding="utf-8") as file:
            file.write(dump_json(header) + "\n")

    def close(self) -> None:
        """Close the logs."""
        self.decisions.close()
        self.predictions.close()
        self.judgements.close()


def existing_run(path: Path) -> Path:
    """Return ``path`` if it is a run folder.

    Raises:
        RunError: it is not.
    """
    if not (path / "header.jsonl").is_file():
        raise RunError(f"{path}: not a run folder: there is no header.jsonl in it")
    return path


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of the last command that wrote to the run folder.

    Raises:
        RunError: the folder is not a run.
    """
    file = existing_run(path) / "header.jsonl"
    lines = [line for line in io.StringIO(file.read_text("utf-8")) if line.endswith("\n")]
    if not lines:
        raise RunError(f"{file}: no header; the run ended before it began, start it again")
    return dict(_parse(file, lines[-1]))


def read_tasks(path: Path) -> list[OpenedTask]:
    """Return the tasks of a run folder as they were when it ran; none where there is no run yet."""
    file = next((path / name for name in (TASKS, TASKS + PART) if (path / name).exists()), None)
    if file is None:
        return []
    rows = _parse(file, file.read_text("utf-8"))
    return [
        OpenedTask(
            task_from_json(row["content"], Path(row.get("file", file))),
            row.get("samples"),
            row.get("unavailable", ""),
            row.get("rows", ""),
        )
        for row in rows
    ]


def _parse(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise CorruptLogError(f"{file}: not what a run wrote; delete the file and run the same command again") from None


def write_json(path: Path, content: Any) -> None:
    """Replace ``path`` at once, so that a reader never sees half of it."""
    part = path.with_name(path.name + ".new")
    part.write_text(dump_document(content), "utf-8")
    part.replace(path)


def make_header(model: Model, judge: Judge | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line that says with which versions, model, judge and settings a command ran."""
    return {
        "schema": SCHEMA,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name))},
        "model": {"id": model.id, "settings": dict(model.settings), "intake": asdict(model.intake)},
        "judge": judge_identity(judge),
        **settings,
    }


def gate_identity(gate: Gate) -> dict[str, Any]:
    """Return what a header says of the gate."""
    return {"id": gate.id, "signature": gate.signature, "settings": dict(gate.settings)}


def judge_identity(judge: Judge | None) -> dict[str, Any]:
    """Return what a header says of the judge."""
    if judge is None:
        return {}
    llm = {"id": judge.chat.id, "settings": dict(judge.chat.settings)} if judge.chat else {}
    return {"spec": judge.spec, "id": judge.id, "rules": judge.rules, "llm": llm}


def stored_judge(identity: Mapping[str, Any]) -> Judge | None:
    """Return the judge that a header names, for what it has judged already; None where nothing was judged."""
    if not identity:
        return None
    llm = identity["llm"]
    return Judge(identity["spec"], StoredChat(**llm) if llm else None, identity["rules"])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
