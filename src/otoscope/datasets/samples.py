"""The samples of a task, read one at a time from a folder or from the hub."""

import random
from array import array
from collections.abc import Iterator
from pathlib import Path

from otoscope.datasets import folder, hub
from otoscope.datasets.rows import Row, to_sample
from otoscope.errors import TaskError, UsageError
from otoscope.keys import KeyIndex
from otoscope.records import Sample, digest
from otoscope.task import Task

_OPTIONAL = ("id", "text", "options", "cluster")
"""Keys of ``columns`` that rows may leave out; of the others each row is checked."""


def count_samples(task: Task, limit: float | None = None) -> int:
    """Return how many samples a run over ``task`` has.

    Args:
        task: the task; if its rows are on the hub it is pinned, and its files are fetched.
        limit: a number of samples, or a fraction of them below 1.

    Raises:
        TaskError: there are no rows.
        UsageError: the limit makes no sense.
    """
    return _limited(_count(task), limit)


def read_samples(task: Task, limit: float | None = None, seed: int = 0) -> Iterator[Sample]:
    """Yield the samples of ``task`` in the order of its rows, without decoding audio.

    Args:
        task: the task; if its rows are on the hub it is pinned.
        limit: a number of samples, or a fraction of them below 1; which ones, ``seed`` decides.
        seed: seed of the choice of samples.

    Raises:
        TaskError: the rows file is missing or a row is wrong; the message names the row.
    """
    for found in _read(task, limit, seed):
        if isinstance(found, TaskError):
            raise found
        yield found


def try_samples(task: Task) -> Iterator[Sample | TaskError]:
    """Yield every sample of ``task`` in order, and in place of each wrong row the error that names it.

    What keeps the file from being read on, such as a line that is not JSON, is the last error.
    """
    try:
        yield from _read(task)
    except TaskError as error:
        yield error


def _read(task: Task, limit: float | None = None, seed: int = 0) -> Iterator[Sample | TaskError]:
    chosen = _choose(_count(task), limit, seed) if limit is not None else None
    yield from _absent_columns(task)
    seen = KeyIndex()
    number = 0
    for number, (file, where, row) in enumerate(_rows(task), 1):
        if chosen is not None and not chosen[number - 1]:
            continue
        try:
            sample = to_sample(row, task, file, where, number)
        except TaskError as error:
            yield error
            continue
        key = digest(sample.id)
        first = seen.get(key)
        if first is not None:
            yield TaskError(f"{where}: id {sample.id!r} is used twice, first in row {first}; ids must differ")
            continue
        seen[key] = number
        yield sample
    if not number:
        raise _without_rows(task)


def _absent_columns(task: Task) -> Iterator[TaskError]:
    """Yield an error for each column that the task names and no row has, which would pass for one left empty.

    Rows may leave a column out, so one that has it is enough, and mostly the first.
    """
    named = {key: name for key in _OPTIONAL if (name := task.content.get("columns", {}).get(key))}
    found: dict[str, None] = {}
    for _, _, row in _rows(task) if named else ():
        found.update(dict.fromkeys(row))
        if found.keys() >= set(named.values()):
            return
    for key, name in named.items() if found else ():
        if name not in found:
            yield TaskError(
                f"{task.file}: columns.{key}: no row has a column {name!r}; there are {', '.join(found)}; name one of "
                "them, or leave the key out"
            )


def _count(task: Task) -> int:
    count = hub.count_rows(task) if task.hub_parts else folder.count_rows(folder.rows_file(task))
    if not count:
        raise _without_rows(task)
    return count


def _without_rows(task: Task) -> TaskError:
    where = f"{task.id}: split {task.split!r}" if task.hub_parts else f"{folder.rows_file(task)}:"
    return TaskError(f"{where} has no rows; a task has one or more")


def _rows(task: Task) -> Iterator[tuple[Path, str, Row]]:
    """Yield each row with the file it comes from and how errors name it."""
    if task.hub_parts:
        yield from hub.read_rows(task)
        return
    file = folder.rows_file(task)
    for number, row in enumerate(folder.read_rows(file), 1):
        yield file, f"{file}: row {number}", row


def _limited(count: int, limit: float | None) -> int:
    if limit is None:
        return count
    if limit <= 0 or (limit > 1 and limit != int(limit)):
        raise UsageError(f"--limit {limit:g}: give a number of samples (1, 2, ...) or a fraction between 0 and 1")
    return min(count, int(limit)) if limit >= 1 else max(1, round(count * limit))


def _choose(count: int, limit: float, seed: int) -> bytearray:
    """Mark the chosen rows with 1, so that a larger limit with the same seed holds every row of a smaller one."""
    order = array("Q", range(count))
    random.Random(seed).shuffle(order)  # noqa: S311 - a reproducible choice, not a secret
    chosen = bytearray(count)
    for number in order[: _limited(count, limit)]:
        chosen[number] = 1
    return chosen
