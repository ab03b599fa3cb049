"""A task is a JSON file; a suite is a JSON file that lists tasks. Read, validate, select."""

import difflib
import fnmatch
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError, UnknownNameError
from otoscope.records import Kind, digest, dump_json

PACKAGE = Path(__file__).parent

SUITES: dict[str, Path] = {"starter": PACKAGE / "starter" / "suite.json"}
"""Suites that come with the package."""

SEQUENCE_METRICS = frozenset({"wer", "wer_raw", "cer", "cer_raw", "mer", "per", "pos_error_rate", "sacrebleu"})
"""A six-key task file names no kind; with one of these metrics it is a sequence task, else a classification."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column of a row holds what. An empty ``audio`` means ``audio``, ``audio2``, ``audio3`` and so on."""

    id: str = "id"
    audio: tuple[str, ...] = ()
    instruction: str = "instruction"
    label: str = "label"
    text: str = "text"
    options: str = "options"
    cluster: str = "cluster"


@dataclass(frozen=True, slots=True)
class Task:
    """One task: what is asked, how it is scored, and where its rows are."""

    id: str
    name: str
    kind: Kind
    metrics: tuple[str, ...]
    file: Path
    """The task file; relative paths start from its folder."""
    description: str = ""
    keywords: tuple[str, ...] = ()
    path: str = ""
    version: str = ""
    domain: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    split: str = "test"
    columns: Columns = field(default_factory=Columns)
    target_format: Mapping[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    multi_label: bool = False
    primary_metric: str = ""
    license: str = ""
    source: str = ""
    published: Mapping[str, Any] = field(default_factory=dict)

    @property
    def primary(self) -> str:
        """The metric that tables show first."""
        return self.primary_metric or self.metrics[0]

    @property
    def hash(self) -> str:
        """Digest of the task file's content."""
        return digest(dump_json(json.loads(self.file.read_text(encoding="utf-8"))))


def read_task(path: Path) -> Task:
    """Read a task file, or the ``task.json`` of a folder.

    Raises:
        TaskError: the file is missing, is not JSON, or breaks the schema; the message names the key.
    """
    file = path / "task.json" if path.is_dir() else path
    content = _read_json(file, "task file")
    _validate(content, file)
    return _to_task(content, file)


def task_from_json(content: Mapping[str, Any], file: Path) -> Task:
    """Return the task that ``content``, the JSON of ``file``, describes.

    Raises:
        TaskError: the content breaks the schema.
    """
    _validate(content, file)
    return _to_task(content, file)


def _read_json(file: Path, what: str) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaskError(f"{file}: there is no such {what}") from None
    except json.JSONDecodeError as error:
        raise TaskError(f"{file}: line {error.lineno}: not JSON: {error.msg}") from None


@functools.cache
def _schema() -> Any:
    return json.loads((PACKAGE / "task.schema.json").read_text(encoding="utf-8"))


@functools.cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_schema())


def _validate(content: Any, file: Path) -> None:
    from otoscope.metrics import METRICS

    for error in sorted(_validator().iter_errors(content), key=lambda error: list(map(str, error.path))):
        where = ".".join(str(part) for part in error.path) or "the file"
        raise TaskError(f"{file}: {where}: {error.message}{_nearest_key(error, content)}")
    for name in content["metrics"]:
        if name not in METRICS:
            near = difflib.get_close_matches(name, METRICS, n=3) or sorted(METRICS)
            raise TaskError(f"{file}: metrics: {name!r} is not a metric; did you mean {', '.join(near)}?")
    primary = content.get("primary_metric")
    if primary and primary not in content["metrics"]:
        raise TaskError(f"{file}: primary_metric: {primary!r} is not among metrics {content['metrics']}")


def _nearest_key(error: Any, content: Any) -> str:
    if error.validator != "additionalProperties" or error.path:
        return ""
    known = _schema()["properties"]
    unknown = next(key for key in content if key not in known)
    near = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _to_task(content: Mapping[str, Any], file: Path) -> Task:
    values = dict(content)
    for key in ("metrics", "domain", "core", "languages", "options"):
        values[key] = tuple(values.get(key, ()))
    keywords = values.get("keywords", ())
    values["keywords"] = tuple(keywords.split(",")) if isinstance(keywords, str) and keywords else tuple(keywords)
    values["synonyms"] = {label: tuple(words) for label, words in values.get("synonyms", {}).items()}
    columns = values.get("columns", {})
    values["columns"] = Columns(**{**columns, "audio": tuple(columns.get("audio", ()))})
    values.setdefault("id", values["name"].replace(" ", "-"))
    sequence = bool(SEQUENCE_METRICS & set(values["metrics"]))
    values.setdefault("kind", "sequence" if sequence else "classification")
    return Task(file=file, **values)


def read_suite(path: Path) -> list[Task]:
    """Read a suite file, or the ``suite.json`` of a folder, and every task it lists.

    Raises:
        TaskError: the suite or one of its tasks is wrong, or two tasks have one id.
    """
    file = path / "suite.json" if path.is_dir() else path
    content = _read_json(file, "suite file")
    if not isinstance(content, dict) or not isinstance(content.get("tasks"), list):
        raise TaskError(f"{file}: tasks: a suite is an object with a list of task files under 'tasks'")
    return _distinct([read_task(file.parent / str(name)) for name in content["tasks"]])


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    seen: dict[str, Task] = {}
    for task in tasks:
        other = seen.setdefault(task.id, task)
        if other.file.resolve() != task.file.resolve():
            raise TaskError(f"{task.file}: id: {task.id!r} is also the id of {other.file}; give one of them another id")
    return list(seen.values())


def known_tasks() -> list[Task]:
    """Return every task that comes with the package."""
    return [task for suite in SUITES.values() for task in read_suite(suite)]


def select_tasks(names: Sequence[str]) -> list[Task]:
    """Return the tasks that the names stand for, each once, in order.

    Args:
        names: each a suite of the package, a task id, a glob over task ids, or the path of a task or suite.

    Raises:
        UnknownNameError: a name stands for nothing.
        TaskError: a task or suite file is wrong.
    """
    return _distinct(task for name in names for task in _select(name))


def _select(name: str) -> list[Task]:
    if name in SUITES:
        return read_suite(SUITES[name])
    path = Path(name)
    if path.exists():
        is_suite = path.name == "suite.json" or (path / "suite.json").is_file()
        return read_suite(path) if is_suite else [read_task(path)]
    tasks = known_tasks()
    chosen = [task for task in tasks if fnmatch.fnmatchcase(task.id, name)]
    if not chosen:
        raise UnknownNameError("suite, task or path", name, [*SUITES, *(task.id for task in tasks)])
    return chosen
