import json
from typing import Any

import pytest
from golden import golden
from hypothesis import given
from hypothesis import strategies as st

from otoscope.judges import Question, Ruling, extract

COUNT = "How many words are spoken?"


def value(answer: str, instruction: str = "Predict the value.", target: str = "1", **form: Any) -> str:
    ruling = extract(Question(instruction, target, answer, target_format=form))
    assert (ruling.value is None) == (ruling.status != "ok")
    return ruling.value or ruling.status


def retargeted(question: Question, target: str) -> Ruling:
    return extract(Question(question.instruction, target, question.answer, target_format=question.target_format))


def other_value(node: object, numbers: st.DataObject) -> object:
    """Return a value of the same form with other leaves."""
    if isinstance(node, list):
        return [other_value(item, numbers) for item in node]
    if isinstance(node, dict):
        return {key: other_value(item, numbers) for key, item in node.items()}
    if isinstance(node, str):
        return numbers.draw(st.text("abcxyz", max_size=5))
    return numbers.draw(st.integers(-1000, 1000) | st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 4)))


@given(st.sampled_from(list(golden("regression"))), st.data())
def test_the_value_of_the_target_never_changes_the_ruling(case: tuple[Question, str], data: st.DataObject) -> None:
    question, _ = case
    target = json.dumps(other_value(json.loads(question.target), data))
    assert retargeted(question, target) == extract(question)


@given(st.text(max_size=200), st.sampled_from(["3", "[1, 2]", "[[1, 2]]", '{"a": 1}', '["a"]', "?"]))
def test_any_text_gets_a_ruling(answer: str, target: str) -> None:
    ruling = extract(Question("Give the value.", target, answer))
    assert ruling.status in {"ok", "na", "undecided"}
    if ruling.value is not None:
        json.loads(ruling.value)


@given(st.decimals(-10_000, 10_000, places=3, allow_nan=False))
def test_a_bare_number_is_its_own_value(number: object) -> None:
    assert float(value(f"{number}")) == float(f"{number}")


@given(st.integers(0, 10_000))
def test_milliseconds_become_seconds(milliseconds: int) -> None:
    said = value(f"It lasts {milliseconds} ms.", "How long is it?", unit="s")
    assert float(said) == milliseconds / 1000


@given(st.integers(0, 100))
def test_a_percentage_becomes_a_value_on_a_scale_from_zero(percent: int) -> None:
    assert float(value(f"{percent}%", low=0, high=10)) == percent / 10


@pytest.mark.parametrize(
    ("answer", "form", "expected"),
    [
        ("1.2 kHz", {"unit": "Hz"}, "1200"),
        ("150 cm", {"unit": "m"}, "1.5"),
        ("2 minutes and 5 seconds", {"unit": "s"}, "125"),
        ("1:05", {"unit": "s"}, "65"),
        ("7 out of 10", {"low": 0, "high": 10}, "7"),
        ("7 out of 100", {"low": 0, "high": 10}, "undecided"),
        ("90%", {"low": 1, "high": 5}, "undecided"),
        ("12", {"low": 0, "high": 10}, "12"),
        ("2,5", {}, "undecided"),
        ("1,234", {}, "1234"),
        ("3 or 4", {}, "na"),
        ("9" * 40, {}, "undecided"),
        ("A4", {"unit": "Hz"}, "440"),
        ("C4", {"unit": "MIDI"}, "60"),
        ("at least 3", {}, "undecided"),
    ],
)
def test_units_scales_and_bounds(answer: str, form: dict[str, Any], expected: str) -> None:
    assert value(answer, **form) == expected


@pytest.mark.parametrize(
    "answer", ["There are no words.", "No words are spoken.", "zero", "none", "I do not hear any words."]
)
def test_saying_that_there_are_none_counts_zero(answer: str) -> None:
    assert value(answer, COUNT) == "0"


def test_none_is_no_count_where_nothing_is_counted() -> None:
    assert value("There is no sign of an accent.", "Rate the accent from 0 to 10.") == "na"


def test_brackets_in_quotations_do_not_end_a_value() -> None:
    assert json.loads(value('So: {"text": "a ] b }"} is it.', target='{"text": "x"}')) == {"text": "a ] b }"}


def test_infinite_numbers_are_no_values() -> None:
    assert value("[NaN, Infinity]", target="[1, 2]") in {"na", "undecided"}


def test_an_interval_that_ends_before_it_starts_is_no_value() -> None:
    assert value("[[3, 1]]", target="[[1, 2]]") == "undecided"
