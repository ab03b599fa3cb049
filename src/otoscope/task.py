"""A task is a JSON file; a suite is a JSON file that lists tasks. Read, validate, select.

Files of users are validated when they are read. Those of the package are validated by its tests, so that 180 of them
can be listed at once.
"""

import difflib
import fnmatch
import functools
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError, UnknownNameError
from otoscope.records import Better, Kind, digest, dump_json

PACKAGE = Path(__file__).parent

SUITES: dict[str, Path] = {"starter": PACKAGE / "starter" / "suite.json"}
"""Suites that come with the package."""

CATALOGUE = PACKAGE / "catalogue" / "tasks"

CORE_SETS = ("superb", "hear", "marble")
"""Reduced sets of the catalogue; ``core`` stands for all three."""

UNKNOWN = "unknown"
"""Stands for a licence or a number of clips that is not known."""

_HUB_PATH = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_DEEPEST = 100
"""Levels of nesting that JSON may have; far below what the interpreter's stack can take."""

SEQUENCE_METRICS = frozenset({"wer", "wer_raw", "cer", "cer_raw", "mer", "per", "pos_error_rate", "sacrebleu"})
"""A six-key task file names no kind; with one of these metrics it is a sequence task, else a classification."""

NA_RATE = "na_rate"


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
class Part:
    """One dataset on the hub, of several that make a task."""

    path: str
    version: str = ""
    """The commit, or an empty string where it is unknown."""
    variant: str = ""
    """Parts with different variants are scored apart; see ``variants``."""
    phase1_version: str = ""
    files: tuple[str, ...] = ()
    """The Parquet files of the split; empty: those whose name has the split's name."""


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
    parts: tuple[Part, ...] = ()
    """Datasets on the hub that make the task together; then ``path`` is empty."""
    phase1_version: str = ""
    phase: int | None = None
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
    better: Mapping[str, Better] = field(default_factory=dict)
    audios: int | None = None
    """Clips a sample, or None where unknown."""
    text_input: bool | None = None
    implied_samples: int | None = None
    """The least number of samples that fits the published percentages."""
    license: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    published: Mapping[str, Any] = field(default_factory=dict)
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The JSON that the task was read from."""

    @property
    def primary(self) -> str:
        """The metric that tables show first."""
        return self.primary_metric or self.metrics[0]

    @property
    def hash(self) -> str:
        """Digest of the task file's content."""
        return digest(dump_json(self.content))

    @property
    def hub_parts(self) -> tuple[Part, ...]:
        """The datasets on the hub that hold the rows; none where the rows are files beside the task file."""
        if self.parts or not _on_hub(self.path, self.file):
            return self.parts
        return (Part(self.path, self.version, phase1_version=self.phase1_version),)


def read_task(path: Path) -> Task:
    """Read a task file, or the ``task.json`` of a folder.

    Raises:
        TaskError: the file is missing, is not JSON, or breaks the schema; the message names the key.
    """
    file = path / "task.json" if path.is_dir() else path
    content = _read_json(file, "task file")
    _validate(content, file)
    _check_version(content, file)
    return _to_task(content, file)


def task_from_json(content: Mapping[str, Any], file: Path) -> Task:
    """Return the task that ``content``, the JSON of ``file``, describes.

    Raises:
        TaskError: the content breaks the schema.
    """
    _validate(content, file)
    return _to_task(content, file)


def variants(task: Task) -> list[Task]:
    """Return the tasks that are scored apart: one a variant, with the id ``TASK/VARIANT``, or the task alone."""
    names = list(dict.fromkeys(part.variant for part in task.parts))
    if len(names) < 2:  # noqa: PLR2004 - one variant is the whole task
        return [task]
    return [_variant(task, name) for name in names]


def _variant(task: Task, name: str) -> Task:
    parts = [part for part in task.content["parts"] if part["variant"] == name]
    return _to_task({**task.content, "id": f"{task.id}/{name}", "parts": parts}, task.file)


def _on_hub(path: str, file: Path) -> bool:
    """Return whether ``path`` is a dataset on the hub, and not a rows file or folder beside the task file."""
    is_name = _HUB_PATH.fullmatch(path) is not None and not path.endswith((".jsonl", ".csv", ".parquet"))
    return is_name and not (file.parent / path).exists()


def _read_json(file: Path, what: str) -> Any:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise TaskError(f"{file}: there is no such {what}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise TaskError(f"{str(file)!r}: the {what} cannot be read: {error}") from None
    return load_json(data, str(file))


def load_json(data: bytes, where: str) -> Any:
    """Return what JSON in UTF-8 says. Half a surrogate pair, which JSON can spell and UTF-8 cannot, becomes U+FFFD.

    Raises:
        TaskError: it is no JSON in UTF-8, nests too deep, has a key twice or holds too long an integer; the message
            begins with ``where``.
    """

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
            raise TaskError(f"{where}: {twice}: the key is there twice; leave one out")
        return found

    try:
        text = data.decode("utf-8-sig")
        content = json.loads(text, object_pairs_hook=distinct)
    except TaskError:
        raise
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        place = _place(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise TaskError(f"{where}: {place}: not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        place = _place(error.lineno, error.colno)
        raise TaskError(f"{where}: not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError:
        digits = sys.get_int_max_str_digits()
        raise TaskError(f"{where}: an integer has more than {digits} digits; write it as a string") from None
    if text.count("[") + text.count("{") > _DEEPEST and _is_deep(content):
        raise _too_deep(where)
    if _SURROGATE.search(text):
        from otoscope.text import clean_text

        return json.loads(clean_text(json.dumps(content, ensure_ascii=False)))
    return content


def _place(line: int, column: int) -> str:
    """Return a place in JSON; that all stands on one line goes without saying."""
    return f"line {line}, column {column}" if line > 1 else f"column {column}"


def _too_deep(where: str) -> TaskError:
    return TaskError(f"{where}: lists and objects nest deeper than {_DEEPEST} levels")


def _is_deep(content: Any) -> bool:
    level = [content]
    for _ in range(_DEEPEST + 1):
        held = (
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, dict | list)
        )
        level = [value for values in held for value in values]
    return bool(level)


@functools.cache
def _schema() -> Any:
    return json.loads((PACKAGE / "task.schema.json").read_text(encoding="utf-8"))


@functools.cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_schema())


def _validate(content: Any, file: Path) -> None:
    for error in sorted(_validator().iter_errors(content), key=lambda error: list(map(str, error.path))):
        where = ".".join(str(part) for part in error.path) or "the file"
        raise TaskError(f"{file}: {where}: {error.message}{_nearest_key(error, content)}")
    for key, value in content.items():
        try:
            dump_json(value)
        except ValueError:
            raise TaskError(f"{file}: {key}: NaN and infinity are no JSON numbers; leave them out") from None
    if content.get("path") and "parts" in content:
        raise TaskError(f"{file}: parts: give either path or parts")
    _check_metrics(content, file)


def _check_metrics(content: Mapping[str, Any], file: Path) -> None:
    from otoscope.metrics import METRICS

    if content["metrics"] == [NA_RATE]:
        raise TaskError(f"{file}: metrics: {NA_RATE} alone says nothing of the values; give a metric of them too")
    if content.get("primary_metric") == NA_RATE:
        raise TaskError(f"{file}: metrics: {NA_RATE} goes with every regression and is no primary metric")
    for name in content["metrics"]:
        if name not in METRICS:
            near = difflib.get_close_matches(name, METRICS, n=3) or sorted(METRICS)
            raise TaskError(f"{file}: metrics: {name!r} is not a metric; did you mean {', '.join(near)}?")
    primary = content.get("primary_metric")
    if primary and primary not in content["metrics"]:
        raise TaskError(f"{file}: primary_metric: {primary!r} is not among metrics {content['metrics']}")
    for name, better in content.get("better", {}).items():
        if name not in content["metrics"] or METRICS[name].better != better:
            raise TaskError(
                f"{file}: better: {name}: not {better!r}; give the direction of each of the metrics or none"
            )


def _check_version(content: Mapping[str, Any], file: Path) -> None:
    """A dataset on the hub is named by its commit; the version of rows beside the task file is free."""
    version = content.get("version", "")
    if version and not _COMMIT.fullmatch(version) and _on_hub(content.get("path", ""), file):
        raise TaskError(
            f"{file}: version: {version!r} is no commit of a dataset on the hub; give all 40 hexadecimal digits"
        )


def _nearest_key(error: Any, content: Any) -> str:
    if error.validator != "additionalProperties" or error.path:
        return ""
    known = _schema()["properties"]
    unknown = next(key for key in content if key not in known)
    near = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _to_task(content: Mapping[str, Any], file: Path) -> Task:
    values = dict(content)
    # Each score of a regression tells its N/A rate, so that needs no score of its own.
    values["metrics"] = [name for name in content["metrics"] if name != NA_RATE]
    for key in ("metrics", "domain", "core", "languages", "options", "notes"):
        values[key] = tuple(values.get(key, ()))
    keywords = values.get("keywords", ())
    values["keywords"] = tuple(keywords.split(",")) if isinstance(keywords, str) and keywords else tuple(keywords)
    values["synonyms"] = {label: tuple(words) for label, words in values.get("synonyms", {}).items()}
    columns = values.get("columns", {})
    values["columns"] = Columns(**{**columns, "audio": tuple(columns.get("audio", ()))})
    values["parts"] = tuple(Part(**{**part, "files": tuple(part.get("files", ()))}) for part in values.get("parts", ()))
    values.setdefault("id", values["name"].replace(" ", "-"))
    sequence = bool(SEQUENCE_METRICS & set(values["metrics"]))
    values.setdefault("kind", "sequence" if sequence else "classification")
    return Task(file=file, content=content, **values)


def read_suite(path: Path) -> list[Task]:
    """Read a suite file, or the ``suite.json`` of a folder, and every task it lists.

    Raises:
        TaskError: the suite or one of its tasks is wrong, or two tasks have one id.
    """
    file = path / "suite.json" if path.is_dir() else path
    content = _read_json(file, "suite file")
    if not isinstance(content, dict) or not isinstance(content.get("tasks"), list):
        raise TaskError(f"{file}: tasks: a suite is an object with a list of task files under 'tasks'")
    read = _read_packaged if file in SUITES.values() else read_task
    return _distinct([read(file.parent / str(name)) for name in content["tasks"]])


def _read_packaged(file: Path) -> Task:
    return _to_task(json.loads(file.read_bytes()), file)


@functools.cache
def catalogue() -> tuple[Task, ...]:
    """Return the tasks of the benchmark, in the order of their ids. Their rows are on the hub."""
    return tuple(sorted((_read_packaged(file) for file in CATALOGUE.glob("*.json")), key=lambda task: task.id))


@functools.cache
def taxonomy() -> Mapping[str, Sequence[str]]:
    """Return the domains of the catalogue, each with the classifications that have a matching area."""
    found: Mapping[str, Sequence[str]] = json.loads((CATALOGUE.parent / "taxonomy.json").read_bytes())
    return found


def _distinct(tasks: Iterable[Task]) -> list[Task]:
    seen: dict[str, Task] = {}
    for task in tasks:
        other = seen.setdefault(task.id, task)
        if other is not task and other.file.resolve() != task.file.resolve():
            raise TaskError(f"{task.file}: id: {task.id!r} is also the id of {other.file}; give one of them another id")
    return list(seen.values())


def known_tasks() -> list[Task]:
    """Return every task that comes with the package: the suites, then the catalogue."""
    return [*(task for suite in SUITES.values() for task in read_suite(suite)), *catalogue()]


def select_tasks(names: Sequence[str]) -> list[Task]:
    """Return the tasks that the names stand for, each once, in order.

    Args:
        names: each a suite of the package, ``catalogue``, a core set (``superb``, ``hear``, ``marble`` or ``core`` for
            all), the path of a task or suite, a task id or a glob over ids, or a domain of the catalogue or a glob over
            domains. Domains are compared in small letters, with a dash for everything that is no letter or digit.

    Raises:
        UnknownNameError: a name stands for nothing.
        TaskError: a task or suite file is wrong.
    """
    return _distinct(task for name in names for task in _select(name))


def _select(name: str) -> Iterable[Task]:
    if name in SUITES:
        return read_suite(SUITES[name])
    if name == "catalogue":
        return catalogue()
    if name in (*CORE_SETS, "core"):
        return filter_tasks(catalogue(), core=name)
    path = Path(name)
    if path.exists():
        is_suite = path.name == "suite.json" or (path / "suite.json").is_file()
        return read_suite(path) if is_suite else [read_task(path)]
    tasks = known_tasks()
    chosen = [task for task in tasks if fnmatch.fnmatchcase(task.id, name)]
    chosen = chosen or [task for task in catalogue() if in_domain(task, name)]
    if not chosen:
        raise UnknownNameError("suite, task, domain or path", name, _near(name, [task.id for task in tasks]))
    return chosen


def _near(name: str, ids: Sequence[str]) -> Sequence[str]:
    """Return what a name that stands for nothing may have meant; every suite if it is like no name."""
    suites = [*SUITES, "catalogue", *CORE_SETS, "core"]
    tails = {known.rpartition("/")[2]: known for known in ids}
    word = _slug(name)
    return (
        difflib.get_close_matches(name, [*suites, *ids], cutoff=0.6)
        or [known for known in ids if word and word in known]
        or [tails[tail] for tail in difflib.get_close_matches(name, tails, cutoff=0.6)]
        or difflib.get_close_matches(name, [*ids, *taxonomy()], cutoff=0.5)
        or suites
    )


def in_domain(task: Task, domain: str) -> bool:
    """Return whether one of the task's domains is ``domain``, lies below it, or fits it if it is a glob."""
    pattern = _slug(domain)
    return any(
        fnmatch.fnmatchcase(f"{_slug(path)}/", f"{pattern}{end}") for path in task.domain for end in ("/*", "/", "")
    )


@functools.cache
def _slug(domain: str) -> str:
    return re.sub(r"[^a-z0-9/*?\[\]]+", "-", domain.casefold()).strip("-/")


def filter_tasks(
    tasks: Iterable[Task],
    *,
    core: str = "",
    domain: str = "",
    kind: str = "",
    field: str = "",
    license: str = "",  # noqa: A002 - the key of the task file
    max_audios: int | None = None,
) -> list[Task]:
    """Return the tasks that fit everything that is asked; an empty string asks nothing.

    Args:
        tasks: tasks to choose from.
        core: ``superb``, ``hear``, ``marble``, or ``core`` for any of them.
        domain: a domain or a glob over domains, as ``select_tasks`` compares them.
        kind: ``classification``, ``regression`` or ``sequence``.
        field: the first level of a domain, ``speech``, ``audio`` or ``music``.
        license: a glob over licences, or ``unknown``.
        max_audios: most clips a sample; tasks of which the number is unknown do not fit.
    """
    return [
        task
        for task in tasks
        if (not core or core in task.core or (core == "core" and task.core))
        and (not domain or in_domain(task, domain))
        and (not kind or task.kind == kind)
        and (not field or any(path.split("/")[0].casefold() == field.casefold() for path in task.domain))
        and (not license or fnmatch.fnmatchcase((task.license or UNKNOWN).casefold(), license.casefold()))
        and (max_audios is None or (task.audios is not None and task.audios <= max_audios))
    ]
