"""Answers outside a run: rows of a JSONL file, each with its question, and perhaps with a person's label."""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError
from otoscope.jsonfile import load_json, numbered_lines
from otoscope.judges.judge import Judge
from otoscope.judges.llm import JudgedKind
from otoscope.judges.question import Question
from otoscope.records import Judgement

_TEXTS = ("id", "instruction", "target", "answer")


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer to judge.

    Attributes:
        id: names the row in what is printed; it need not be unique.
        where: the file and line, for errors.
        question: what a judge may look at.
        content: the whole row.
    """

    id: str
    where: str
    question: Question
    content: Mapping[str, Any]


def read_answers(file: Path) -> Iterator[AnswerRow | TaskError]:
    """Yield the rows of a JSONL file in order, and in place of each wrong one the error that names its line and key."""
    for number, line in numbered_lines(file):
        try:
            yield _row(line, f"{file}: line {number}")
        except TaskError as error:
            yield error


def judge_answers(rows: Sequence[AnswerRow], judge: Judge, kind: JudgedKind) -> Iterator[Judgement]:
    """Yield the judgement of each row, in order and as soon as it is there."""
    pool = ThreadPoolExecutor(judge.concurrency)
    try:
        yield from pool.map(lambda row: judge.ask(row.question, kind, row.id), rows)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _row(line: bytes, where: str) -> AnswerRow:
    row = load_json(line, where)
    if not isinstance(row, dict):
        raise TaskError(f"{where}: a row is an object with keys, not {type(row).__name__}")
    faults = [f"{key}: missing" for key in _TEXTS if key not in row]
    faults += [f"{'.'.join(map(str, fault.path))}: {fault.message}" for fault in _validator().iter_errors(row)]
    if faults:
        raise TaskError(f"{where}: {'; '.join(faults)}")
    question = Question(
        instruction=row["instruction"],
        target=row["target"],
        answer=row["answer"],
        options=tuple(row.get("options", ())),
        multi=row.get("multi", False),
        synonyms={label: tuple(others) for label, others in row.get("synonyms", {}).items()},
        target_format=row.get("target_format", {}),
    )
    return AnswerRow(row["id"], where, question, row)


@functools.cache
def _validator() -> Any:
    """Return what checks the keys of a row; those that a task has too are as in a task."""
    from jsonschema import Draft202012Validator

    task = json.loads(files("otoscope").joinpath("task.schema.json").read_text(encoding="utf-8"))["properties"]
    properties: dict[str, Any] = {
        **{key: {"type": "string"} for key in _TEXTS},
        "target": {"type": "string", "minLength": 1},
        "options": {"type": "array", "items": {"type": "string"}},
        "multi": task["multi_label"],
        "synonyms": task["synonyms"],
        "target_format": task["target_format"],
    }
    return Draft202012Validator({"properties": properties})
