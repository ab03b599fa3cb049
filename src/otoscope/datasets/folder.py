"""Folder datasets: a JSONL, CSV or Parquet file of rows, with audio beside it or inside it."""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from otoscope.datasets.rows import Row, check_names, parquet_file, parquet_rows
from otoscope.errors import TaskError
from otoscope.jsonfile import load_json, numbered_lines
from otoscope.task import Task

ROW_FILES = ("samples.jsonl", "samples.csv", "samples.parquet")

_UNDECODED = re.compile("[\\udc80-\\udcff]")


def rows_file(task: Task) -> Path:
    """Return the file that holds the rows of ``task``.

    Raises:
        TaskError: there is none, or more than one.
    """
    folder = task.file.parent
    if task.path:
        path = folder / task.path
        if path.is_file():
            return path
        folder = path
    files = [folder / name for name in ROW_FILES if (folder / name).is_file()]
    if len(files) > 1:
        names = " and ".join(map(str, files))
        raise TaskError(f"{task.file}: path: the rows may be in {names}; remove all but one, or name it in path")
    if files:
        return files[0]
    raise TaskError(
        f"{task.file}: path: no rows: neither {task.path or 'path'} nor any of {', '.join(ROW_FILES)} is in {folder}"
    )


def count_rows(file: Path) -> int:
    """Return how many rows a file has."""
    if file.suffix == ".parquet":
        with parquet_file(file) as parquet:
            return int(parquet.metadata.num_rows)
    if file.suffix == ".jsonl":
        return sum(1 for _ in numbered_lines(file))
    return sum(1 for _ in read_rows(file))


def read_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a JSONL, CSV or Parquet file.

    Raises:
        TaskError: the file is of another kind, a line is not a row, or a key or column is there twice.
    """
    if file.suffix == ".jsonl":
        yield from _read_jsonl(file)
    elif file.suffix == ".csv":
        yield from _read_csv(file)
    elif file.suffix == ".parquet":
        yield from parquet_rows(file)
    else:
        raise TaskError(f"{file}: rows are read from .jsonl, .csv or .parquet files")


def _read_jsonl(file: Path) -> Iterator[Row]:
    for number, line in numbered_lines(file):
        row = load_json(line, f"{file}: line {number}")
        if not isinstance(row, dict):
            raise TaskError(f"{file}: line {number}: a row is an object with keys, not {type(row).__name__}")
        yield row


def _read_csv(file: Path) -> Iterator[Row]:
    # Bytes that are not UTF-8 come through as surrogates, so that the line that holds them can be named.
    with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        reader = csv.DictReader(_decoded(lines, file))
        number = 0
        try:
            check_names(reader.fieldnames or (), f"{file}: line 1")
            for number, row in enumerate(reader, 1):
                if None in row:
                    raise TaskError(
                        f"{file}: row {number}: more cells than the first line names; "
                        "put cells that hold commas in double quotes"
                    )
                yield row
        except csv.Error as error:
            raise TaskError(
                f"{file}: row {number + 1}: {error}; close every quote, and write long texts as .jsonl"
            ) from None


def _decoded(lines: Iterable[str], file: Path) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if _UNDECODED.search(line):
            raise TaskError(f"{file}: line {number}: not UTF-8; save the file as UTF-8")
        yield line
