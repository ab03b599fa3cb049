"""Reads the golden cases: questions with many answers, each with the ruling that a person gave before any code ran."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from otoscope.judges import Question

CASES = Path(__file__).parent / "cases"


def golden(kind: str, *, attacks: bool = True) -> Iterator[tuple[Question, str]]:
    """Yield the cases of a kind; attacks are written to mislead, so that most of them are best left undecided."""
    for path in sorted((CASES / kind).glob("*.json")):
        if path.stem.startswith("attack") and not attacks:
            continue
        for group in json.loads(path.read_text(encoding="utf-8")):
            for answer, label in group["answers"].items():
                yield question(group, answer), label


def question(group: dict[str, Any], answer: str) -> Question:
    return Question(
        group["instruction"],
        group["target"],
        answer,
        tuple(group.get("options", ())),
        group.get("multi", False),
        {label: tuple(others) for label, others in group.get("synonyms", {}).items()},
        group.get("target_format", {}),
    )
