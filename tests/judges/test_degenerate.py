"""Answers that no person would write: loops, megabytes, and characters that are no text."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.judges import Question, decide, extract
from otoscope.judges.form import Form
from otoscope.judges.judge import load_judge
from otoscope.judges.quantities import read_words
from otoscope.judges.question import MOST_CHARACTERS
from otoscope.judges.wording import tokens

CHOICE = Question("Which letter is it?", "a", "", ("a", "b", "c"))
EMOTION = Question("Which emotion? Choose from happy, sad, angry, or neutral.", "happy", "")
COUNT = Question("How many speakers?", "2", "")
WORDS = Question("How many words are spoken?", "1", "")

STRANGE = (
    "\ud800",
    "\udfff yes",
    "\0",
    "\x1b[31m",
    "\x1b",
    "yes\0no",
    "['\ud800']",
    '["\\ud800"]',
    "\0" * 99,
    "\x1b[" * 99,
)


def answered(question: Question, answer: str) -> Question:
    return Question(question.instruction, question.target, answer, question.options)


def loop(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def loops(unit: str) -> list[str]:
    """Return loops of whole units: a short one, and the longest two that rules read."""
    most = MOST_CHARACTERS // len(unit)
    return [unit * min(40, most), unit * (most - 1), unit * most]


@pytest.mark.parametrize(
    ("question", "unit", "expected"),
    [
        (CHOICE, "a ", None),
        (CHOICE, "a. ", "yes"),
        (CHOICE, "(b) ", "no"),
        (CHOICE, "a, b, ", "no"),
        (CHOICE, "not a, ", None),
        (CHOICE, "not a. ", "no"),
        (EMOTION, "happy. ", "yes"),
        (EMOTION, "sad ", "no"),
        (EMOTION, "sad, angry, ", "no"),
        (EMOTION, "not happy, sad, ", None),
        (EMOTION, "the answer ", None),
        (EMOTION, f"answer{' ' * 9_000}", None),
        (COUNT, "2. ", "yes"),
        (COUNT, "3 ", None),
        (COUNT, "2 3 ", None),
    ],
)
def test_a_loop_up_to_the_limit_is_judged_as_a_short_one(question: Question, unit: str, expected: str | None) -> None:
    assert [decide(answered(question, answer)).verdict for answer in loops(unit)] == [expected] * 3


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("1 ", "1"),
        ("one ", "1"),
        ("1:", "1"),
        ("1 2 ", None),
        ("not words. ", "0"),
        ("not words often. ", None),
        ("no no ", None),
        ("he says that 1 ", None),
    ],
)
def test_a_loop_up_to_the_limit_is_read_as_a_short_one(unit: str, expected: str | None) -> None:
    assert [extract(answered(WORDS, answer)).value for answer in loops(unit)] == [expected] * 3


@pytest.mark.parametrize("length", [MOST_CHARACTERS + 1, 1_000_000])
@pytest.mark.parametrize("unit", ["a ", "a, ", "not a. ", "1 ", "one ", "1:", "[1, ", "<", "yes"])
def test_an_answer_beyond_the_limit_is_undecided(unit: str, length: int) -> None:
    rulings = [decide(answered(CHOICE, loop(unit, length))), extract(answered(WORDS, loop(unit, length)))]
    assert {ruling.status for ruling in rulings} == {"undecided"}
    assert all("20000 characters" in ruling.explanation for ruling in rulings)


def test_thoughts_do_not_count_toward_the_limit() -> None:
    thoughts = f"<think>{loop('a or b? ', 1_000_000)}</think>"
    assert decide(answered(CHOICE, f"{thoughts}b")).verdict == "no"
    assert extract(answered(WORDS, f"{thoughts}7")).value == "7"


@pytest.mark.parametrize("blank", [" ", "\n", "\t \n"])
def test_blanks_beyond_the_limit_are_an_empty_answer(blank: str) -> None:
    assert decide(answered(CHOICE, loop(blank, 1_000_000))).verdict == "no"
    assert extract(answered(WORDS, loop(blank, 1_000_000))).status == "na"


@pytest.mark.parametrize(("one", "two"), list(itertools.permutations(STRANGE, 2)))
def test_strange_characters_get_a_ruling(one: str, two: str) -> None:
    rules = load_judge("rules")
    for question in (Question(one, f"x{two}", one), Question("How many?", f"1{one}", two), Question(one, '["x"]', two)):
        said = [rules.ask(question, "classification", "1"), rules.ask(question, "regression", "1")]
        assert {judgement.status for judgement in said} <= {"ok", "na", "undecided"}
        assert not any(re.search("[\ud800-\udfff]", judgement.value or "") for judgement in said)


def test_half_of_a_surrogate_pair_in_a_value_stays_escaped() -> None:
    assert extract(Question("Which?", '["x"]', '["\\ud800", "é"]')).value == '["\\ud800", "é"]'


def test_the_colours_of_a_terminal_are_not_read() -> None:
    assert decide(answered(EMOTION, "\x1b[1;31mhappy\x1b[0m")).verdict == "yes"
    assert extract(answered(WORDS, "\x1b[31m7\x1b[0m")).value == "7"


@given(st.text("- \n•x1", max_size=30))
def test_bullets_and_the_blank_lines_before_them_are_left_out(text: str) -> None:
    plain = re.sub(r"^\s*[-*•]\s+", "", text, flags=re.MULTILINE)
    assert read_words(text, Form("number")) == tokens(plain)
