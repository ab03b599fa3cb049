"""Whether an answer is a refusal: a list of phrases that people can read, and nothing cleverer.

An answer that only might be a refusal is an answer. A speaker may say the words of a refusal, so an answer that is
right is none, nor is one that matches what the target matches too: that may be a transcript, and a bad one.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from otoscope.sure.score import mark
from otoscope.text import standard

FILE = Path(__file__).parent / "refusals.txt"

NOTHING = "(nothing)"
"""Stands for an empty answer, which is how a recogniser abstains."""


_CONTRACTED = (
    (re.compile(r"\bcan(?:'t| not)\b"), "cannot"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\b(there|it|that|here)'s\b"), r"\1 is"),
)
"""What is contracted, and what it is in full. After other words 's is no verb as often as not."""


class _Phrase(NamedTuple):
    """A line of the list, and what it matches."""

    text: str
    pattern: re.Pattern[str]


def find_refusal(answer: str, target: str = "", asked: str = "") -> str | None:
    """Return the phrase of the list that the answer is or begins with, ``(nothing)`` for an empty answer, or None.

    Args:
        answer: what a model answered.
        target: what it should have answered; an answer that is right, or begins as this does, is no refusal.
        asked: what was asked for, as ``mark`` takes it.
    """
    said = _normal(answer)
    if not said:
        return NOTHING
    if target and mark(target, answer, asked).right:
        return None
    found = next((phrase for phrase in _phrases() if phrase.pattern.fullmatch(said)), None)
    return None if found is None or found.pattern.fullmatch(_normal(target)) else found.text


@functools.cache
def phrases() -> tuple[str, ...]:
    """Return every phrase as it stands in the list."""
    return tuple(phrase.text for phrase in _phrases())


@functools.cache
def openers() -> tuple[str, ...]:
    """Return everything that may stand before a phrase, as it stands in the list."""
    return tuple(line.removeprefix("+").strip() for line in _lines() if line.startswith("+"))


@functools.cache
def _phrases() -> tuple[_Phrase, ...]:
    before = "|".join(map(_words, openers()))
    return tuple(_compile(line, before) for line in _lines() if not line.startswith("+"))


def _lines() -> list[str]:
    lines = (line.strip() for line in FILE.read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _compile(line: str, before: str) -> _Phrase:
    end = r"(?: .*)?" if line.endswith("...") else ""
    return _Phrase(line, re.compile(rf"(?:(?:{before}) )?{_words(line.removesuffix('...'))}{end}"))


def _normal(text: str) -> str:
    """Return the words, with what is contracted in full."""
    said = standard(text)
    for short, full in _CONTRACTED:
        said = short.sub(full, said)
    return said


def _words(line: str) -> str:
    """Return a pattern of the line's words; of words joined by a bar one is said."""
    return " ".join(_alternatives(line))


def _alternatives(line: str) -> Iterator[str]:
    for word in line.split():
        choices = [re.escape(standard(choice)) for choice in word.split("|")]
        yield choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"
