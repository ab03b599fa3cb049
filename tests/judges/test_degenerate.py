"""Answers that no person would write: loops, megabytes, and characters that are no text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.judges import Question, decide, extract
from otoscope.judges.form import Form
from otoscope.judges.judge import load_judge
from otoscope.judges.quantities import read_words
from otoscope.judges.question import MOST_CHARACTERS

CHOICE = Question("Which letter is it?", "a", "", ("a", "b", "c"))
EMOTION = Question("Which emotion? Choose from happy, sad, angry, or neutral.", "happy", "")
COUNT = Question("How many speakers?", "2", "")
WORDS = Question("How many words are spoken?", "1", "")
SPAN = Question("When does the speech start and end, in seconds?", "[[1, 2]]", "")

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


def loop(unit: str, length: int = MOST_CHARACTERS) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@pytest.mark.parametrize(
    ("question", "unit", "expected"),
    [
        (CHOICE, "a ", "yes"),
        (CHOICE, "b ", "no"),
        (CHOICE, "a, b, ", "no"),
        (CHOICE, "a and not a ", None),
        (CHOICE, "not a, ", "no"),
        (CHOICE, "not a. ", "no"),
        (EMOTION, "sad ", "no"),
        (EMOTION, "sad, angry, ", "no"),
        (EMOTION, "not happy, sad, ", "no"),
        (EMOTION, "the answer ", None),
        (EMOTION, f"answer{' ' * 9_000}", None),
        (EMOTION, "say 'happy' ", None),
        (COUNT, "3 ", "no"),
        (COUNT, "2 3 ", None),
    ],
)
def test_a_loop_up_to_the_limit_is_judged(question: Question, unit: str, expected: str | None) -> None:
    assert {decide(answered(question, loop(unit, MOST_CHARACTERS - spare))).verdict for spare in range(20)} == {
        expected
    }


@pytest.mark.parametrize(
    ("question", "unit", "expected"),
    [
        (WORDS, "1 ", "1"),
        (WORDS, "one ", "1"),
        (WORDS, "not words. ", "0"),
        (WORDS, "not words often. ", None),
        (WORDS, "no no ", None),
        (WORDS, "he says that 1 ", None),
        (WORDS, "1:", "1"),
        (WORDS, "1 2 ", None),
        (SPAN, "1 2 ", None),
        (SPAN, "\n", None),
    ],
)
def test_a_loop_up_to_the_limit_is_read(question: Question, unit: str, expected: str | None) -> None:
    assert {extract(answered(question, loop(unit, MOST_CHARACTERS - spare))).value for spare in range(20)} == {expected}


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


@pytest.mark.parametrize(("one", "two"), list(itertools.product(STRANGE, repeat=2)))
def test_strange_characters_get_a_ruling(one: str, two: str) -> None:
    rules = load_judge("rules")
    for question in (Question(one, f"x{two}", one), Question("How many?", f"1{one}", two), Question(one, '["x"]', two)):
        said = [rules.ask(question, "classification", "1"), rules.ask(question, "regression", "1")]
        assert {judgement.status for judgement in said} <= {"ok", "na", "undecided"}
        assert all((judgement.value or "").encode() is not None for judgement in said)


def test_half_of_a_surrogate_pair_in_a_value_stays_escaped() -> None:
    assert extract(Question("Which?", '["x"]', '["\\ud800", "é"]')).value == '["\\ud800", "é"]'


def test_the_colours_of_a_terminal_are_not_read() -> None:
    assert decide(answered(EMOTION, "\x1b[1;31mhappy\x1b[0m")).verdict == "yes"
    assert extract(answered(WORDS, "\x1b[31m7\x1b[0m")).value == "7"


@given(st.text("- \n•x1", max_size=30))
def test_bullets_and_the_blank_lines_before_them_are_left_out(text: str) -> None:
    import re

    plain = re.sub(r"^\s*[-*•]\s+", "", text, flags=re.MULTILINE)
    assert read_words(text, Form("number")) == read_words(re.sub(r"^(?=[-*•])", "", plain), Form("number"))
