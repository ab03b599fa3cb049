"""Folder datasets: a JSONL, CSV or Parquet file of rows, with audio beside it or inside it."""

import csv
import itertools
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from otoscope.errors import TaskError, UsageError
from otoscope.records import Clip, Expect, Sample
from otoscope.task import Task

ROW_FILES = ("samples.jsonl", "samples.csv", "samples.parquet")

Row = Mapping[str, Any]


def count_samples(task: Task, limit: float | None = None) -> int:
    """Return how many samples a run over ``task`` has.

    Args:
        task: a task with a folder dataset.
        limit: a number of samples, or a fraction of them below 1.
    """
    file = rows_file(task)
    return _limited(_count_rows(file), limit)


def read_samples(task: Task, limit: float | None = None, seed: int = 0) -> Iterator[Sample]:
    """Yield the samples of ``task`` in the order of its rows, without decoding audio.

    Args:
        task: a task with a folder dataset.
        limit: a number of samples, or a fraction of them below 1; which ones, ``seed`` decides.
        seed: seed of the choice of samples.

    Raises:
        TaskError: the rows file is missing or a row is wrong; the message names the row.
    """
    file = rows_file(task)
    chosen = _choose(_count_rows(file), limit, seed) if limit is not None else None
    seen: set[str] = set()
    for number, row in enumerate(read_rows(file)):
        if chosen is not None and number not in chosen:
            continue
        sample = _to_sample(row, task, file, number + 1)
        if sample.id in seen:
            raise TaskError(f"{file}: row {number + 1}: id {sample.id!r} is used twice; ids must differ")
        seen.add(sample.id)
        yield sample


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


def _limited(count: int, limit: float | None) -> int:
    if limit is None:
        return count
    if limit <= 0 or (limit > 1 and limit != int(limit)):
        raise UsageError(f"--limit {limit:g}: give a number of samples (1, 2, ...) or a fraction between 0 and 1")
    return min(count, int(limit)) if limit >= 1 else max(1, round(count * limit))


def _choose(count: int, limit: float, seed: int) -> set[int]:
    """Choose rows so that a larger limit with the same seed holds every row of a smaller one."""
    order = list(range(count))
    random.Random(seed).shuffle(order)  # noqa: S311 - a reproducible choice, not a secret
    return set(order[: _limited(count, limit)])


def _count_rows(file: Path) -> int:
    if file.suffix == ".parquet":
        return int(_parquet(file).metadata.num_rows)
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
        parquet = _parquet(file)
        for group in range(parquet.num_row_groups):
            for batch in parquet.iter_batches(batch_size=64, row_groups=[group]):
                yield from batch.to_pylist()
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


def _parquet(file: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise TaskError(f"{file}: reading Parquet needs pyarrow: pip install 'otoscope[parquet]'") from None
    return pyarrow.parquet.ParquetFile(file)


def _to_sample(row: Row, task: Task, file: Path, number: int) -> Sample:
    where = f"{file}: row {number}"
    columns = task.columns
    audio = columns.audio or tuple(_audio_columns(row))
    clips = [to_clip(row[name], file, f"{where}: {name}") for name in audio if row.get(name)]
    expect = row.get("expect") or "answer"
    if expect not in get_args(Expect):
        raise TaskError(f"{where}: expect: {expect!r} is not one of {', '.join(get_args(Expect))}")
    columns_read = (columns.id, columns.instruction, columns.label, columns.text, columns.options, columns.cluster)
    named = {*audio, *columns_read, "expect"}
    options = row.get(columns.options) or task.options
    if isinstance(options, str):
        options = tuple(option.strip() for option in options.split("|"))
    sample_id = str(row.get(columns.id) or row.get("file") or f"{number:06d}")
    return Sample(
        id=sample_id,
        task=task.id,
        clips=tuple(clips),
        instruction=_required(row, columns.instruction, where),
        target=_required(row, columns.label, where),
        text=str(row.get(columns.text) or ""),
        options=tuple(map(str, options)),
        expect=expect,
        cluster=str(row.get(columns.cluster) or sample_id),
        meta={name: value for name, value in row.items() if name not in named},
    )


def _audio_columns(row: Row) -> Iterator[str]:
    """Yield ``audio`` (or ``audio1``), ``audio2``, ``audio3`` and so on, as far as they go."""
    if "audio" in row:
        yield "audio"
    elif "audio1" in row:
        yield "audio1"
    yield from itertools.takewhile(lambda name: name in row, (f"audio{number}" for number in itertools.count(2)))


def _required(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if value is None:
        raise TaskError(f"{where}: {name}: missing; the row has {', '.join(map(str, row))}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def to_clip(value: Any, file: Path, where: str) -> Clip:
    """Return the clip that a cell of a row stands for.

    Args:
        value: a path that starts from the folder of ``file``, the bytes of an audio file, or an object with ``path``
            or ``bytes``.
        file: the rows file.
        where: how errors name the cell.

    Raises:
        TaskError: the cell is none of these.
    """
    if isinstance(value, str):
        return Clip(file.parent / value, value)
    if isinstance(value, dict) and value.get("bytes"):
        return Clip(value["bytes"], str(value.get("path") or where))
    if isinstance(value, dict) and value.get("path"):
        return Clip(file.parent / str(value["path"]), str(value["path"]))
    if isinstance(value, bytes):
        return Clip(value, where)
    raise TaskError(f"{where}: audio is a path, or bytes, not {type(value).__name__}")
