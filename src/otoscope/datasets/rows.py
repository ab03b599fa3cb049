"""One row of a dataset, wherever it lies, becomes one Sample; Parquet files, read a few rows at a time."""

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError
from otoscope.records import Clip, Expect, Sample
from otoscope.task import Task

Row = Mapping[str, Any]

_ROWS_AT_ONCE = 16


def to_sample(row: Row, task: Task, file: Path, where: str, number: int) -> Sample:
    """Return the sample that a row stands for.

    The clips are the columns that the task names; else ``audio`` (or ``audio1``), ``audio2`` and so on; else every
    column that holds audio, in order, as ``enrollment`` and ``testing``. A label may go on in ``label2``, ``label3``
    and so on; empty ones are left out.

    Args:
        row: the row.
        task: its task.
        file: the file it comes from; relative audio paths start from its folder.
        where: how errors name the row.
        number: its number among the task's rows, from 1; the id of a row that has none.

    Raises:
        TaskError: a column is missing or wrong; the message names it.
    """
    columns = task.columns
    audio = columns.audio or tuple(_audio_columns(row)) or tuple(_columns_with_audio(row, columns.label))
    clips = [to_clip(row[name], file, f"{where}: {name}") for name in audio if row.get(name)]
    expect: Expect = "abstain" if row.get("expect") == "abstain" else "answer"
    if row.get("expect") not in {expect, None, ""}:
        raise TaskError(f"{where}: expect: {row['expect']!r} is not one of answer, abstain")
    columns_read = (columns.id, columns.instruction, columns.text, columns.options, columns.cluster)
    labels = list(_label_columns(row, columns.label))
    named = {*audio, *labels, *columns_read, "expect"}
    options = row.get(columns.options) or task.options
    if isinstance(options, str):
        options = tuple(option.strip() for option in options.split("|"))
    sample_id = str(row.get(columns.id) or row.get("file") or f"{number:06d}")
    return Sample(
        id=sample_id,
        task=task.id,
        clips=tuple(clips),
        instruction=_text(row, columns.instruction, where),
        target=", ".join(_text(row, name, where) for name in labels),
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


def _columns_with_audio(row: Row, label: str) -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, dict) and "bytes" in value and not name.startswith(label):
            yield name


def _label_columns(row: Row, label: str) -> Iterator[str]:
    """Yield the label (or ``label1``), then ``label2`` and so on as far as they are filled."""
    yield label if label in row or f"{label}1" not in row else f"{label}1"
    for number in itertools.count(2):
        name = f"{label}{number}"
        if name not in row:
            return
        if row[name] is not None:
            yield name


def _text(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if value is None:
        raise TaskError(f"{where}: {name}: missing; the row has {', '.join(map(str, row))}")
    if isinstance(value, dict) and "bytes" in value:
        raise TaskError(f"{where}: {name}: holds audio; only text answers can be scored")
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


def parquet_file(file: Path) -> Any:
    """Open a Parquet file.

    Raises:
        TaskError: pyarrow is not installed, or the file is damaged.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise TaskError(f"{file}: reading Parquet needs pyarrow: pip install 'otoscope[hub]'") from None
    try:
        return pyarrow.parquet.ParquetFile(file)
    except pyarrow.ArrowInvalid as error:
        raise TaskError(f"{file}: not a Parquet file, or damaged: {error}") from None


def parquet_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file, row group by row group."""
    with parquet_file(file) as parquet:
        for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE):
            yield from batch.to_pylist()
