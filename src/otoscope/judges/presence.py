"""What an answer says to a question whether something, or more than one person, is there."""

import re
from collections.abc import Sequence
from decimal import Decimal

from otoscope.judges.reading import ABSENT, ANNOUNCING, Reading
from otoscope.judges.wording import (
    BOUNDS,
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
    r"\b(?:is|are)(?= [^.?!]{1,30} audible))\s+"
    r"(?:(?:an?|any|some|the sound of)\s+)*([^.?!]*?)(?:\s+(?:in|on|at|within|during|audible|present)\b[^.?!]*)?[.?!]",
    re.IGNORECASE,
)
#: Say of persons that they are not heard, or are one.
_UNHEARD = word_set("unheard")
_SEXES = frozenset({"male", "female", "human", "different", "distinct"})
_MOST_SOUGHT = 2
#: The second one asks for no more than the number of persons.
_SEVERAL = re.compile(r"\b(?:more than one|multiple|several) (?:speaker|person|people|voice|talker)", re.IGNORECASE)
_ONLY_SEVERAL = re.compile(rf"{_SEVERAL.pattern}s?(?: in the \w+)?[.?!,]", re.IGNORECASE)
_ARTICLES = frozenset({"a", "an", "the", "some"})
_BEING = frozenset({"is", "are"})
_HEARD = frozenset({"heard", "audible", "present", "noticeable", "detected"})
_PLACING = word_set("placing")


def found(reading: Reading) -> set[str]:
    """Return yes for an answer that says no more than that what a question like "is there a bird?" looks for is there.

    That is "there is a bird" and the like, or "birds are singing" with whatever it is that they do.
    """
    asked = _SOUGHT.search(straight(reading.question.instruction))
    if asked is None or reading.doubtful or " or " in asked[1]:
        return set()
    sought = [stem(word) for word in tokens(asked[1]) if is_word(word)]
    if not 0 < len(sought) <= _MOST_SOUGHT or set(sought) & (FILLER | {"more"}) or any(map(is_number, sought)):
        return set()
    words = list(filter(is_word, reading.words))
    at = next((at for at in range(len(words)) if [*map(stem, words[at : at + len(sought)])] == sought), len(words))
    before, after = set(words[:at]), words[at + len(sought) :]
    if at == len(words) or not before <= ANNOUNCING or set(after) & ABSENT or "?" in reading.words:
        return set()
    acts = set(after[:1]) <= _BEING and "".join(after[1:2]).endswith("ing")
    heard = next((place for place, word in enumerate(after) if word in _HEARD), None)
    acts = acts or (heard is not None and set(after[:heard]) <= {"is", "are", "can", "be"})
    there = set(after) <= _PLACING if before - _ARTICLES else acts
    return {"yes"} if there else set()


def counted(reading: Reading) -> set[str]:
    """Return yes or no for an answer that only counts the persons, if it is asked whether there is more than one."""
    instruction = reading.question.instruction
    if _SEVERAL.search(instruction) is None:
        return set()
    words = ["1" if word == "single" else word for word in reading.words if is_word(word)]
    numbers = [word for at, word in enumerate(words) if is_number(word) and _is_person(words[at + 1 : at + 2])]
    others = [word for word in words if not is_number(word) and not _is_person([word])]
    if _several_first(words, numbers, reading):
        return {"yes"} if _ONLY_SEVERAL.search(instruction) else set()
    if (
        len(numbers) != 1
        or sum(map(is_number, words)) != 1
        or "0" in numbers
        or not set(others) <= (FILLER | _SEXES) - BOUNDS
        or "?" in reading.words
    ):
        return set()
    if numbers == ["1"]:
        return {"no"}
    return {"yes"} if _ONLY_SEVERAL.search(instruction) else set()


def _several_first(words: Sequence[str], numbers: Sequence[str], reading: Reading) -> bool:
    """Return whether an answer opens with two persons or more that are there, and denies and doubts nothing."""
    start = next((at for at, word in enumerate(words) if is_number(word)), len(words))
    one_number = len(numbers) == 1 and sum(map(is_number, words)) == 1 and Decimal(numbers[0]) > 1
    persons = words[start + 1 : start + 2]
    plural = persons == ["people"] or [*map(singular, persons)] != persons
    opens = set(words[:start]) <= ANNOUNCING | {"at", "least"} and plural and _is_person(persons)
    clear = not (NEGATORS | HEDGES | {"?"}) & set(reading.words) and not reading.doubtful
    return one_number and opens and clear and not _UNHEARD & set(reading.words)


def _is_person(words: Sequence[str]) -> bool:
    return bool(set(map(singular, words)) & _PERSONS)
