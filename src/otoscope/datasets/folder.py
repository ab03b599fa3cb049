"""Folder datasets: a JSONL, CSV or Parquet file of rows, with audio beside it or inside it."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from otoscope.datasets.rows import Row, parquet_file, parquet_rows
from otoscope.errors import TaskError
from otoscope.task import Task

ROW_FILES = ("samples.jsonl", "samples.csv", "samples.parquet")


def rows_file(task: Task) -> Path:
    """Return the file that holds the rows of ``task``.

    Raises:
        TaskError: there is none.
    """
    folder = task.file.parent
    if task.path:
        path = folder / task.path
        if path.is_file():
            return path
        folder = path
    for name in ROW_FILES:
        if (folder / name).is_file():
            return folder / name
    raise TaskError(
        f"{task.file}: path: no rows: neither {task.path or 'path'} nor any of {', '.join(ROW_FILES)} is in {folder}"
    )


def count_rows(file: Path) -> int:
    """Return how many rows a file has."""
    if file.suffix == ".parquet":
        with parquet_file(file) as parquet:
            return int(parquet.metadata.num_rows)
    if file.suffix == ".jsonl":
        with file.open("rb") as lines:
            return sum(1 for line in lines if line.strip())
    return sum(1 for _ in read_rows(file))


def read_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a JSONL, CSV or Parquet file.

    Raises:
        TaskError: the file is of another kind, or a line is not a row.
    """
    if file.suffix == ".jsonl":
        yield from _read_jsonl(file)
    elif file.suffix == ".csv":
        with file.open(encoding="utf-8-sig", newline="") as lines:
            yield from csv.DictReader(lines)
    elif file.suffix == ".parquet":
        yield from parquet_rows(file)
    else:
        raise TaskError(f"{file}: rows are read from .jsonl, .csv or .parquet files")


def _read_jsonl(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise TaskError(f"{file}: line {number}: not JSON: {error.msg}") from None
            if not isinstance(row, dict):
                raise TaskError(f"{file}: line {number}: a row is an object with keys, not {type(row).__name__}")
            yield row
