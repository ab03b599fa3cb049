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
    chosen = _choose(_count(task), limit, seed) if limit is not None else None
    seen = KeyIndex()
    for number, (file, where, row) in enumerate(_rows(task), 1):
        if chosen is not None and not chosen[number - 1]:
            continue
        sample = to_sample(row, task, file, where, number)
        first = seen.get(digest(sample.id))
        if first is not None:
            raise TaskError(f"{where}: id {sample.id!r} is used twice, first in row {first}; ids must differ")
        seen[digest(sample.id)] = number
        yield sample


def _count(task: Task) -> int:
    return hub.count_rows(task) if task.hub_parts else folder.count_rows(folder.rows_file(task))


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
