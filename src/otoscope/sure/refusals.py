"""Whether an answer is a refusal: a list of phrases that people can read, and nothing cleverer.

An answer that only might be a refusal is an answer. The words of a transcript may be those of a refusal, so the words
of the target never are one.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from otoscope.text import standard

FILE = Path(__file__).parent / "refusals.txt"

NOTHING = "(nothing)"
"""Stands for an empty answer, which is how a recogniser abstains."""


class _Phrase(NamedTuple):
    """A line of the list, and what it matches."""

    text: str
    pattern: re.Pattern[str]


def find_refusal(answer: str, target: str = "") -> str | None:
    """Return the phrase of the list that the answer is or begins with, ``(nothing)`` for an empty answer, or None.

    Args:
        answer: what a model answered.
        target: what it should have answered; an answer that says just this is no refusal.
    """
    said = _normal(answer)
    if not said:
        return NOTHING
    if target and said == _normal(target):
        return None
    return next((phrase.text for phrase in _phrases() if phrase.pattern.fullmatch(said)), None)


@functools.cache
def phrases() -> tuple[str, ...]:
    """Return every phrase as it stands in the list."""
    return tuple(phrase.text for phrase in _phrases())


@functools.cache
def _phrases() -> tuple[_Phrase, ...]:
    lines = [line.strip() for line in FILE.read_text("utf-8").splitlines()]
    openers = "|".join(_words(line.removeprefix("+")) for line in lines if line.startswith("+"))
    return tuple(_compile(line, openers) for line in lines if line and line[0] not in "#+")


def _compile(line: str, openers: str) -> _Phrase:
    end = r"(?: .*)?" if line.endswith("...") else ""
    return _Phrase(line, re.compile(rf"(?:(?:{openers}) )?{_words(line.removesuffix('...'))}{end}"))


def _normal(text: str) -> str:
    """Return the words, with what is contracted in full."""
    said = standard(text).replace("i'm", "i am").replace("can't", "cannot").replace("can not", "cannot")
    return said.replace("n't", " not")


def _words(line: str) -> str:
    """Return a pattern of the line's words; of words joined by a bar one is said."""
    return " ".join(_alternatives(line))


def _alternatives(line: str) -> Iterator[str]:
    for word in line.split():
        choices = [re.escape(standard(choice)) for choice in word.split("|")]
        yield choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"
