"""How a judge is compared with people, and what the shipped labels say of the rules."""

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.errors import ModelCallError, TaskError
from otoscope.judges import decide, extract
from otoscope.judges.agreement import Share, label_of, measure, same
from otoscope.judges.judge import Judge
from otoscope.judges.llm import JudgedKind
from otoscope.judges.rows import AnswerRow, read_answers
from otoscope.models import Reply

KINDS: tuple[JudgedKind, JudgedKind] = ("classification", "regression")
WHICH = ("", "-2", "-3", "-5", "-6", "-7")
SETS: tuple[tuple[JudgedKind, str], ...] = tuple((kind, f"{kind}{which}") for kind in KINDS for which in WHICH)
LABELLED = Path(str(files("otoscope.judges").joinpath("labelled")))


class FakeChat:
    """Replies in turn, whatever it is asked; an error in the list is raised."""

    id = "fake"
    settings: dict[str, Any] = {}  # noqa: RUF012 - the protocol asks for a mapping
    concurrency = 1

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def chat(self, system: str, user: str) -> Reply:
        assert system
        self.asked.append(user)
        reply = self.replies.pop(0)
        if reply == "down":
            raise ModelCallError("the server is down")
        return Reply(reply)


def rows(tmp_path: Path, *contents: dict[str, Any]) -> list[AnswerRow]:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(content) + "\n" for content in contents), "utf-8")
    found = list(read_answers(file))
    assert all(isinstance(row, AnswerRow) for row in found), found
    return [row for row in found if isinstance(row, AnswerRow)]


def choice(answer: str, verdict: str, name: str = "x") -> dict[str, Any]:
    row = {"id": name, "instruction": "Is it a dog or a cat?", "target": "dog", "answer": answer}
    return {**row, "verdict": verdict}


def value(answer: str, label: Any, target: str = "3", instruction: str = "How many dogs bark?") -> dict[str, Any]:
    return {"id": answer, "instruction": instruction, "target": target, "answer": answer, "value": label}


def labelled(name: str) -> list[AnswerRow]:
    found = list(read_answers(LABELLED / f"{name}.jsonl"))
    return [row for row in found if isinstance(row, AnswerRow)]


@pytest.mark.parametrize(
    ("kind", "name", "least_decided"),
    [
        ("classification", "classification", 0.8),
        ("classification", "classification-2", 0.75),
        ("classification", "classification-3", 0.75),
        ("classification", "hard-classification", 0.75),
        ("classification", "classification-5", 0.75),
        ("classification", "classification-6", 0.8),
        ("classification", "classification-7", 0.75),
        ("regression", "regression", 0.85),
        ("regression", "regression-2", 0.85),
        ("regression", "regression-3", 0.8),
        ("regression", "hard-regression", 0.75),
        ("regression", "regression-5", 0.8),
        ("regression", "regression-6", 0.8),
        ("regression", "regression-7", 0.85),
    ],
)
def test_the_rules_agree_with_the_shipped_labels(kind: JudgedKind, name: str, least_decided: float) -> None:
    result = measure(labelled(name), Judge("rules", None), kind)
    assert result.agreement.count >= 0.99 * result.agreement.n
    assert result.decided.count >= least_decided * result.decided.n


@pytest.mark.parametrize(("kind", "name"), SETS)
def test_every_shipped_row_can_be_read_and_has_a_label(kind: JudgedKind, name: str) -> None:
    lines = (LABELLED / f"{name}.jsonl").read_text("utf-8").splitlines()
    found = labelled(name)
    assert len(found) == len(lines) >= 160
    assert len({row.id for row in found}) == len(found)
    assert len(set(Counter(label_of(row, kind) for row in found))) >= 2
    for row in found:
        assert row.content["domain"]


@pytest.mark.parametrize("which", WHICH)
def test_the_shipped_rows_cover_all_domains(which: str) -> None:
    assert len({row.content["domain"] for kind in KINDS for row in labelled(f"{kind}{which}")}) == 17


@pytest.mark.parametrize("which", WHICH)
def test_a_right_answer_matches_no_other_label(which: str) -> None:
    found = labelled(f"classification{which}")
    targets = {row.question.instruction: set(row.question.options) for row in found}
    for row in found:
        targets[row.question.instruction].add(row.question.target)
    right = [row.question for row in found if label_of(row, "classification") == "yes"]
    others = [(one, other) for one in right for other in sorted(targets[one.instruction] - {one.target})]
    assert len(others) > 100
    assert [pair for pair in others if decide(replace(pair[0], target=pair[1])).verdict == "yes"] == []


@pytest.mark.parametrize("which", ["", "-2"])
def test_no_value_depends_on_that_of_the_target(which: str) -> None:
    found = [row.question for row in labelled(f"regression{which}")]
    pairs = [(one, two.target) for one in found for two in found if one.instruction == two.instruction]
    assert len(pairs) > len(found)
    assert [pair for pair in pairs if extract(pair[0]) != extract(replace(pair[0], target=pair[1]))] == []


def test_undecided_rows_do_not_count_where_the_judge_decides(tmp_path: Path) -> None:
    given_rows = rows(
        tmp_path,
        choice("dog", "yes", "a"),
        choice("cat", "yes", "b"),
        choice("A man speaks.", "no", "c"),
        choice("cat", "no", "d"),
    )
    result = measure(given_rows, Judge("rules", None), "classification")
    assert (result.decided, result.agreement, result.agreement_of_all) == (Share(3, 4), Share(2, 3), Share(2, 4))
    assert result.disagreed == ["b"]
    assert result.confusion == {"yes": {"yes": 1, "no": 1}, "no": {"undecided": 1, "no": 1}}
    assert result.unruled() == {"undecided": 1, "unparsed": 0, "error": 0}


def test_values_are_compared_as_values(tmp_path: Path) -> None:
    given_rows = rows(
        tmp_path,
        value("There are three dogs.", "3.0"),
        value("Four.", "5"),
        value("I can't tell.", "N/A"),
        value("none", "N/A"),
    )
    result = measure(given_rows, Judge("rules", None), "regression")
    assert result.confusion == {"value": {"the value": 1, "another value": 1}, "N/A": {"N/A": 1, "another value": 1}}
    assert result.agreement == Share(2, 4)


def test_a_broken_judge_is_counted_apart(tmp_path: Path) -> None:
    chat = FakeChat("Result: YES", "Hm.", "Hm.", "down")
    given_rows = rows(tmp_path, *(choice("dog", "yes", name) for name in "abc"))
    result = measure(given_rows, Judge("llm:fake", chat), "classification")
    assert result.unruled() == {"undecided": 0, "unparsed": 1, "error": 1}
    assert (result.decided, result.agreement) == (Share(1, 3), Share(1, 1))
    assert result.judge == "llm:fake"


def test_rows_that_flip_in_a_repeat_are_named(tmp_path: Path) -> None:
    given_rows = rows(tmp_path, *(choice(name, "yes", name) for name in ("poodle", "beagle", "collie")))

    class Moody(FakeChat):
        def chat(self, system: str, user: str) -> Reply:
            seen = sum("beagle" in asked for asked in self.asked)
            self.replies = ["Result: NO" if "beagle" in user and seen else "Result: YES"]
            return super().chat(system, user)

    chat = Moody()
    result = measure(given_rows, Judge("llm:fake", chat), "classification", repeats=3)
    assert result.repeats is not None
    assert (result.repeats.flipped, result.repeats.flips) == (["beagle"], Share(1, 3))
    assert result.repeats.agreed == [2, 2, 2]
    assert result.agreement == Share(3, 3)
    orders = [tuple(chat.asked[start : start + 3]) for start in range(0, 12, 3)]
    assert len(set(orders)) > 1
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert result.to_json()["repeats"]["flipped"] == ["beagle"]


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("classification", {"verdict": "maybe"}, "line 1: verdict: must be yes or no"),
        ("classification", {"verdict": True}, "line 1: verdict: must be yes or no"),
        ("classification", {"verdict": ["yes"]}, "line 1: verdict: must be yes or no"),
        ("regression", {"value": "a few"}, "line 1: value: must be N/A or the value"),
        ("regression", {"value": 3}, "line 1: value: must be N/A or the value"),
        ("regression", {}, "line 1: value: must be N/A or the value"),
    ],
)
def test_a_wrong_label_is_named(tmp_path: Path, kind: JudgedKind, content: dict[str, Any], message: str) -> None:
    [row] = rows(tmp_path, {"id": "x", "instruction": "How many?", "target": "3", "answer": "4", **content})
    with pytest.raises(TaskError, match=message):
        label_of(row, kind)


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        ("3", "3.0", True),
        ("1.5708", "1.570796327", True),
        ("3", "3.01", False),
        ("0", "0.0", True),
        ("-1", "1", False),
        ("[1, 2.50]", "[1.0, 2.5]", True),
        ("[1, 2]", "[1, 2, 3]", False),
        ('{"a": [1]}', '{"a": [1.0]}', True),
        ('{"a": 1}', '{"b": 1}', False),
        ('["Rome"]', '["rome"]', False),
        ("N/A", "0", False),
        ("N/A", "undecided", False),
    ],
)
def test_equal_values(one: str, two: str, equal: bool) -> None:
    assert same(one, two) is equal
    assert same(two, one) is equal


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_value_is_itself(number: float) -> None:
    assert same(repr(number), json.dumps(number))


@given(st.integers(0, 400), st.integers(0, 400))
def test_a_share_lies_in_its_interval(one: int, two: int) -> None:
    share = Share(min(one, two), max(one, two)).to_json()
    if not max(one, two):
        assert share["share"] == share["low"] == share["high"] == "undefined"
    else:
        assert 0 <= share["low"] <= share["share"] <= share["high"] <= 1
