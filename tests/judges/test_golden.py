import json
from collections.abc import Callable
from typing import Any

import pytest
from golden import CASES, golden, question

from otoscope.judges import Question, Ruling, decide, extract

JUDGES: dict[str, Callable[[Question], Ruling]] = {"classification": decide, "regression": extract}
FILES = sorted(CASES.glob("*/*.json"))


def said(ruling: Ruling) -> str | None:
    return "N/A" if ruling.status == "na" else ruling.verdict or ruling.value


def equal(one: str, two: str) -> bool:
    return one == two or parsed(one) == parsed(two)


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_rules_agree_with_people_where_they_decide(path: Any) -> None:
    judge = JUDGES[path.parent.name]
    for group in json.loads(path.read_text(encoding="utf-8")):
        for answer, label in group["answers"].items():
            ruling = judge(question(group, answer))
            if ruling.status != "undecided":
                assert equal(str(said(ruling)), label), (group["task"], answer, ruling)


@pytest.mark.parametrize(("kind", "least", "number"), [("classification", 0.75, 700), ("regression", 0.7, 350)])
def test_rules_decide_most_answers(kind: str, least: float, number: int) -> None:
    statuses = [JUDGES[kind](case).status for case, _ in golden(kind, attacks=False)]
    assert len(statuses) >= number
    assert sum(status != "undecided" for status in statuses) >= least * len(statuses)
