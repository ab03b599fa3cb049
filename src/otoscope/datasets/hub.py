"""Hub datasets: Parquet files of a dataset repository at one commit, read row group by row group.

The hub's own client is used, so ``HF_HOME``, ``HF_TOKEN``, ``HF_ENDPOINT`` and ``HF_HUB_OFFLINE`` hold, and files that
its cache has are not fetched again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from otoscope.datasets.rows import Row, parquet_file, parquet_rows
from otoscope.errors import DataUnavailableError
from otoscope.task import Part, Task

_SHARD = re.compile(r"-of-(\d+)\.parquet$")

Fetched = Callable[[str, int, int], None]
"""Called with a file's name, how many files of the task are there, and how many it has."""


def pin(task: Task, known: Mapping[str, Part]) -> Task:
    """Return the task with a full commit and the names of the files for each of its datasets.

    Args:
        task: a task whose rows are on the hub.
        known: by dataset, what an earlier command of the same run found; it holds unless the task names another commit.

    Raises:
        DataUnavailableError: a dataset is gone, gated, has no such split, or the hub cannot be reached.
    """
    parts = tuple(_pin(task, part, known.get(part.path)) for part in task.hub_parts)
    rest = {key: value for key, value in task.content.items() if key not in {"path", "version", "phase1_version"}}
    content = {**rest, "parts": [_named(part) for part in parts]}
    return replace(task, path="", version="", parts=parts, content=content)


def _pin(task: Task, part: Part, earlier: Part | None) -> Part:
    if earlier is not None and earlier.files and part.version in {"", earlier.version}:
        return replace(part, version=earlier.version, files=earlier.files)
    if not part.version:
        part = _at_commit(task.id, part)
    return part if part.files else replace(part, files=tuple(_names(task, part)))


def _named(part: Part) -> dict[str, Any]:
    """Return a part as a task file has it, without what is empty."""
    return {key: list(value) if key == "files" else value for key, value in asdict(part).items() if value}


def hub_files(task: Task, note: Fetched = lambda _name, _done, _total: None) -> list[tuple[Part, Path]]:
    """Return the Parquet files of the task's split, fetched into the hub's cache where they are not there yet.

    Args:
        task: a pinned task.
        note: called after each file.

    Raises:
        DataUnavailableError: a file cannot be had, or the dataset has no such split.
    """
    wanted = [(part, name) for part in task.hub_parts for name in part.files]
    found = []
    for number, (part, name) in enumerate(wanted, 1):
        found.append((part, _fetch(task.id, part, name)))
        note(name, number, len(wanted))
    return found


def count_rows(task: Task) -> int:
    """Return how many rows a pinned task has; its files are fetched for that."""
    total = 0
    for _, path in hub_files(task):
        with parquet_file(path) as parquet:
            total += parquet.metadata.num_rows
    return total


def read_rows(task: Task) -> Iterator[tuple[Path, str, Row]]:
    """Yield each row with its file and how errors name it, in the order of the parts and their files."""
    for part, path in hub_files(task):
        for number, row in enumerate(parquet_rows(path), 1):
            yield path, f"{part.path}: {path.name}: row {number}", row


def read_dataset(asked: str, part: Part, beginning: str) -> tuple[Part, Iterator[tuple[Path, str, Row]]]:
    """Return a dataset at its commit, and its rows with their file and how errors name them, in the order of the files.

    A file is fetched when its first row is asked for, so the first rows of a large dataset need one file.

    Args:
        asked: how errors name what the user asked for.
        part: the dataset; without a version, what its main branch holds now.
        beginning: what the names of its Parquet files begin with, such as ``data/train``.

    Raises:
        DataUnavailableError: it is gone, gated, has no such file, or the hub cannot be reached.
    """
    part = _at_commit(asked, part)
    tables = _tables(asked, part)
    part = replace(part, files=tuple(name for name in tables if name.startswith(beginning)))
    if not part.files:
        raise DataUnavailableError(
            f"{asked}: {part.path} at {part.version[:12]} has no Parquet file whose name begins with {beginning!r}: "
            f"{_some(tables)}"
        )
    return part, _rows_of_files(asked, part)


def _rows_of_files(asked: str, part: Part) -> Iterator[tuple[Path, str, Row]]:
    for name in part.files:
        path = _fetch(asked, part, name)
        for number, row in enumerate(parquet_rows(path), 1):
            yield path, f"{part.path}: {name}: row {number}", row


def _at_commit(asked: str, part: Part) -> Part:
    if re.fullmatch(r"[0-9a-f]{40}", part.version):
        return part
    revision = part.version or None
    return replace(part, version=str(_ask(asked, part, lambda api: api.dataset_info(part.path, revision=revision).sha)))


def _fetch(asked: str, part: Part, name: str) -> Path:
    def fetch() -> str:
        import huggingface_hub

        return str(huggingface_hub.hf_hub_download(part.path, name, repo_type="dataset", revision=part.version))

    return Path(_guard(asked, part, fetch))


def _tables(asked: str, part: Part) -> list[str]:
    """Return the names of all Parquet files."""
    files = _guard(asked, part, lambda: _offline_files(part))
    if files is None:
        files = _ask(
            asked, part, lambda api: api.list_repo_files(part.path, repo_type="dataset", revision=part.version)
        )
    return sorted(name for name in files if name.endswith(".parquet"))


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) or "no Parquet file"


def _names(task: Task, part: Part) -> list[str]:
    tables = _tables(task.id, part)
    chosen = [name for name in tables if task.split in re.split(r"[/_.\-]", name)]
    if not chosen:
        raise DataUnavailableError(
            f"{task.id}: {part.path} at {part.version[:12]} has no split {task.split!r}: {_some(tables)}"
        )
    announced = {int(found[1]) for name in chosen if (found := _SHARD.search(name))}
    if announced and sum(announced) != len(chosen):
        raise DataUnavailableError(
            f"{task.id}: {part.path} at {part.version[:12]}: {len(chosen)} of {sum(announced)} files are here; "
            "unset HF_HUB_OFFLINE, or fetch the task first"
        )
    return chosen


def _offline_files(part: Part) -> list[str] | None:
    """Return the names in the hub's cache where the network must not be used, since then the hub cannot be asked."""
    import huggingface_hub
    from huggingface_hub import constants

    if not constants.HF_HUB_OFFLINE:
        return None
    folder = Path(huggingface_hub.snapshot_download(part.path, repo_type="dataset", revision=part.version))
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _ask(asked: str, part: Part, question: Callable[[Any], Any]) -> Any:
    def ask() -> Any:
        import huggingface_hub

        return question(huggingface_hub.HfApi())

    return _guard(asked, part, ask)


def hub_failures() -> tuple[type[Exception], ...]:
    """Return what the hub's client raises when something fails, the errors of its HTTP library included."""
    from huggingface_hub.errors import HfHubHTTPError

    return (*HfHubHTTPError.__bases__, OSError, ValueError)


def _guard(asked: str, part: Part, call: Callable[[], Any]) -> Any:
    """Call the hub's client, and say what went wrong and what to do in words of what was asked for."""
    try:
        from huggingface_hub import errors
    except ImportError:
        raise DataUnavailableError(f"{asked}: needs the hub's client: pip install 'otoscope[hub]'") from None
    where = f"{asked}: {part.path}"
    try:
        return call()
    except errors.GatedRepoError:
        message = "is gated: ask for access on its page, then set HF_TOKEN"
    except errors.RepositoryNotFoundError:
        message = "is not there, or private: check the path, or set HF_TOKEN"
    except errors.RevisionNotFoundError:
        message = f"has no revision {part.version}"
    except errors.LocalEntryNotFoundError:
        message = "is not in the hub's cache, and the hub cannot be reached: try again, or fetch the task first"
    except errors.EntryNotFoundError as error:
        message = f"lacks a file: {error}"
    except errors.OfflineModeIsEnabled:
        message = "is not in the hub's cache, and HF_HUB_OFFLINE is set: unset it or fetch the task first"
    except hub_failures() as error:
        message = f"cannot be fetched now: {type(error).__name__}: {error}"
    raise DataUnavailableError(f"{where} {message}")
