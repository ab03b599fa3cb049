"""What an answer says to a question whether something, or more than one person, is there."""

import re
from collections.abc import Sequence

from otoscope.judges.reading import Reading
from otoscope.judges.wording import (
    FILLER,
    HEDGES,
    NEGATORS,
    is_number,
    is_word,
    singular,
    stem,
    straight,
    tokens,
    word_set,
)

_PERSONS = word_set("persons")
#: What a question looks for.
_SOUGHT = re.compile(
    r"(?:\b(?:is|are) there|\b(?:do|can) you hear|\b(?:does|do) [^.?!]{1,40} (?:contain|have|include)|"
    r"\b(?:if|whether) [^.?!]{1,40} (?:contains|has|includes)|\b(?:is|are)(?= [^.?!]{1,30} audible))\s+"
    r"(?:(?:an?|any|some|the sound of)\s+)*([^.?!]*?)(?:\s+(?:in|on|at|within|during|audible|present)\b[^.?!]*)?[.?!]",
    re.IGNORECASE,
)
_MOST_SOUGHT = 2
_SEVERAL = re.compile(r"\b(?:more than one|multiple|several) (?:speaker|person|people|voice|talker)", re.IGNORECASE)
#: With one of these in the answer, what is named need not be there.
_SPOILERS = NEGATORS | HEDGES | {"nobody", "none"} | word_set("imitating")


def found(reading: Reading) -> set[str]:
    """Return yes or no for an answer that names what a question like "is there a bird?" looks for, or denies it."""
    asked = _SOUGHT.search(straight(reading.question.instruction))
    if asked is None or reading.doubtful or " or " in asked[1]:
        return set()
    sought = [word for word in tokens(asked[1]) if is_word(word)]
    if not 0 < len(sought) <= _MOST_SOUGHT or set(sought) & (FILLER | {"more"}) or any(map(is_number, sought)):
        return set()
    words = set(reading.words)
    if _is_none(reading.words, sought) and not words & HEDGES:
        return {"no"}
    return {"yes"} if {*map(stem, sought)} <= {*map(stem, words)} and not words & _SPOILERS else set()


def _is_none(words: Sequence[str], sought: Sequence[str]) -> bool:
    """Return whether "there is no" stands right before what is sought."""
    wanted = ["no", *map(singular, sought)]
    ends = (at for at, word in enumerate(words) if word == "there")
    return any([*map(singular, words[at + 2 : at + 2 + len(wanted)])] == wanted for at in ends)


def counted(reading: Reading) -> set[str]:
    """Return yes or no for an answer that counts the persons, if it is asked whether there is more than one."""
    if _SEVERAL.search(reading.question.instruction) is None or set(reading.words) & (NEGATORS | HEDGES):
        return set()
    words = ["1" if word == "single" else word for word in reading.words]
    numbers = {word for at, word in enumerate(words) if is_number(word) and _is_person(words[at + 1 : at + 3])}
    return {"no" if numbers == {"1"} else "yes"} if len(numbers) == 1 and "0" not in numbers else set()


def _is_person(words: Sequence[str]) -> bool:
    return bool(set(map(singular, words)) & _PERSONS)
