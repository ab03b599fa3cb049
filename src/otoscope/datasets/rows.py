"""One row of a dataset, wherever it lies, becomes one Sample; Parquet files, read a few rows at a time."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError
from otoscope.records import Clip, Expect, Sample
from otoscope.task import Task

Row = Mapping[str, Any]

_ROWS_AT_ONCE = 16
_AUDIO_NAME = re.compile(r"audio\d*")


def to_sample(row: Row, task: Task, file: Path, where: str, number: int) -> Sample:
    """Return the sample that a row stands for.

    The clips are the columns that the task names; else ``audio`` (or ``audio1``), ``audio2`` and so on; else every
    column that holds audio, in order, as ``enrollment`` and ``testing``. A row may leave its last columns of audio
    empty, but not the first, unless the task says that it has no audio. A label may go on in ``label2``, ``label3`` and
    so on; empty ones are left out.

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
    audio = columns.audio or _audio_columns(row, where) or tuple(_columns_with_audio(row, columns.label))
    filled = _filled(row, audio, where, silent=task.audios == 0)
    clips = [to_clip(row[name], file, f"{where}: {name}") for name in filled]
    expect: Expect = "abstain" if row.get("expect") == "abstain" else "answer"
    if row.get("expect") != expect and not _is_empty(row.get("expect")):
        raise TaskError(f"{where}: expect: {row['expect']!r} is not one of answer, abstain")
    columns_read = (columns.id, columns.instruction, columns.text, columns.options, columns.cluster)
    labels = list(_label_columns(row, columns.label, where))
    named = {*audio, *labels, *columns_read, "expect"}
    names = (row.get(columns.id), row.get("file"))
    sample_id = next((str(name) for name in names if not _is_empty(name)), f"{number:06d}")
    cluster, text = row.get(columns.cluster), row.get(columns.text)
    return Sample(
        id=sample_id,
        task=task.id,
        clips=tuple(clips),
        instruction=_text(row, columns.instruction, where),
        target=", ".join(_text(row, name, where) for name in labels),
        text="" if _is_empty(text) else str(text),
        options=_options(row.get(columns.options), where, columns.options) or task.options,
        expect=expect,
        cluster=sample_id if _is_empty(cluster) else str(cluster),
        clustered=not _is_empty(cluster),
        meta={name: value for name, value in row.items() if name not in named},
    )


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse two columns of one name, of which a row would hold the last; those without a name hold nothing read.

    Raises:
        TaskError: a name is there twice; the message begins with ``where``.
    """
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise TaskError(f"{where}: {twice[0]}: two columns have this name; rename one or leave it out")


def _is_null(value: Any) -> bool:
    """Return whether a cell is null, or NaN, which tables of numbers have in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_empty(value: Any) -> bool:
    """Return whether a cell holds nothing. Zero and False are something: a speaker may well have the number 0."""
    return _is_null(value) or value in ("", b"", [])


def _audio_columns(row: Row, where: str) -> tuple[str, ...]:
    """Return ``audio`` (or ``audio1``), ``audio2``, ``audio3`` and so on; a gap would lose what follows it."""
    numbered = [name for name in row if _AUDIO_NAME.fullmatch(name)]
    first = "audio" if "audio" in row else "audio1"
    found = (first, *(f"audio{number}" for number in range(2, len(numbered) + 1))) if numbered else ()
    stray = [name for name in numbered if name not in found]
    if stray:
        raise TaskError(
            f"{where}: {stray[0]}: columns of audio are audio (or audio1), audio2, audio3 and so on without a gap; "
            "name others in the task's columns.audio"
        )
    return found


def _filled(row: Row, audio: Sequence[str], where: str, *, silent: bool) -> Sequence[str]:
    """Return the columns of audio that hold a clip; only the last may be empty, and all only in a ``silent`` task."""
    for name in audio or ([] if silent else ["audio"]):
        if name not in row:
            raise TaskError(
                f"{where}: {name}: missing; the row has {', '.join(row)}; columns of audio are named in the task's "
                'columns.audio, and a task without audio says "audios": 0'
            )
    filled = [name for name in audio if not _is_empty(row[name])]
    if filled != list(audio[: len(filled)]) or not (filled or silent):
        empty = next(name for name in audio if name not in filled)
        raise TaskError(f"{where}: {empty}: empty; only the last columns of audio may be, and not all of them")
    return filled


def _columns_with_audio(row: Row, label: str) -> Iterator[str]:
    for name, value in row.items():
        if isinstance(value, dict) and "bytes" in value and not name.startswith(label):
            yield name


def _label_columns(row: Row, label: str, where: str) -> Iterator[str]:
    """Yield the label (or ``label1``), then ``label2`` and so on as far as they are filled; a gap is an error."""
    first = label if label in row or f"{label}1" not in row else f"{label}1"
    numbered = [name for name in row if re.fullmatch(rf"{re.escape(label)}\d+", name) and name != first]
    found = [f"{label}{number}" for number in range(2, len(numbered) + 2)]
    stray = [name for name in numbered if name not in found]
    if stray:
        raise TaskError(f"{where}: {stray[0]}: labels are {label}, {label}2, {label}3 and so on without a gap")
    yield first
    yield from (name for name in found if not _is_empty(row[name]))


def _options(value: Any, where: str, name: str) -> tuple[str, ...]:
    """Return the options that a row declares, as a list or with ``|`` between them; none if it leaves that to its task.

    Raises:
        TaskError: they are something else, or no choice.
    """
    if _is_empty(value):
        return ()
    found = [option.strip() for option in value.split("|")] if isinstance(value, str) else value
    if isinstance(found, list) and all(isinstance(option, str | int | float) for option in found):
        options = tuple(map(str, found))
        if len(set(options)) == len(options) > 1 and "" not in options:
            return options
    raise TaskError(f"{where}: {name}: {value!r:.80} is no list of two or more different options")


def _text(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if _is_null(value):
        raise TaskError(f"{where}: {name}: missing; the row has {', '.join(row)}")
    if isinstance(value, dict) and "bytes" in value:
        raise TaskError(f"{where}: {name}: holds audio; only text answers can be scored")
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise TaskError(f"{where}: {name}: holds a {type(value).__name__}; write it as text or a number") from None


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
    if isinstance(value, dict):
        data, path = value.get("bytes"), value.get("path")
    else:
        data, path = (value, None) if isinstance(value, bytes) else (None, value)
    if isinstance(data, bytes) and (data or not path):
        return Clip(data, str(path or where))
    if not data and isinstance(path, str) and path and "\0" not in path:
        return Clip(file.parent / path, path)
    raise TaskError(f"{where}: audio is a path, or bytes, or an object with one of them, not {value!r:.80}")


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
    except (pyarrow.ArrowException, OSError) as error:
        raise TaskError(f"{file}: not a Parquet file, or damaged: {error}") from None


def parquet_rows(file: Path) -> Iterator[Row]:
    """Yield the rows of a Parquet file, row group by row group.

    Raises:
        TaskError: pyarrow is not installed, the file is damaged, or two columns have one name.
    """
    with parquet_file(file) as parquet:
        import pyarrow as pa

        check_names(parquet.schema_arrow.names, str(file))
        try:
            for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE):
                yield from batch.to_pylist()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise TaskError(f"{file}: damaged, or its text is not UTF-8: {error}") from None
