"""Answers where several labels are right, or slots are filled."""

import re

from otoscope.judges.labels import name_of
from otoscope.judges.question import Ruling
from otoscope.judges.reading import Reading
from otoscope.judges.verdicts import choice, no, undecided
from otoscope.judges.wording import (
    HEDGES,
    NEGATORS,
)

_PARTS = re.compile(r"[,;:.?()]|\b(?:and|or)\b")
_MOST_WORDS = 2
_DENIALS = NEGATORS | HEDGES


def several(reading: Reading) -> Ruling | None:
    """Judge an answer whose target may name several labels."""
    if not reading.question.multi:
        return None
    fits = reading.chosen <= reading.labels.target
    unknown = _unknown_words(reading) and (fits or not reading.labels.closed)
    fewer = _plain_items(reading)
    if fewer and fewer != len(reading.labels.target) and not reading.planted:
        return no("The answer lists more or fewer labels.")
    if fits and reading.passed_over & reading.labels.target - reading.chosen:
        return undecided("A label may be named as a common word.")
    if not reading.chosen or unknown or any(mention.doubtful for mention in reading.mentions):
        return undecided("Which labels the answer chooses is not certain.")
    return choice(reading, reading.chosen, "names exactly")


def _plain_items(reading: Reading) -> int:
    """Return how many items an answer lists that is nothing but a list with commas, or 0."""
    items = [item.split() for item in reading.question.answer.strip(" .\n").split(",")]
    plain = all(0 < len(item) <= _MOST_WORDS and all(word.isalpha() for word in item) for item in items)
    grammar = NEGATORS | HEDGES | {"and", "or", "with", "is", "are", "the"}
    known = {word.casefold() for item in items for word in item}
    parted = any("," in name for name in reading.labels.names)
    return len(items) if plain and len(items) > 1 and not parted and not grammar & known else 0


def _unknown_words(reading: Reading) -> list[str]:
    """Return the words of an answer that may name something more; what announces a list names nothing."""
    start = next((at + 1 for at, word in enumerate(reading.words) if word == ":"), 0)
    announced = start and not any(mention.start < start for mention in reading.mentions)
    announced = announced and not _DENIALS & set(reading.words[:start])
    known = set(reading.words[:start]) if announced else set()
    return [word for word in reading.other_words if word not in known]


def slots(reading: Reading) -> Ruling | None:
    """Judge an answer that fills slots, such as "increase, volume, none", from what the question lists."""
    question = reading.question
    target = _slots_of(question.target)
    slots = _slots_of(question.answer.strip().strip("."))
    if question.multi or len(target) == 1 or len(slots) != len(target) or question.target in question.options:
        return None
    if sorted(slots) == sorted(target):
        return choice(reading, reading.labels.target, "fills all slots as") if slots == target else None
    listed = {name_of(part) for part in _PARTS.split(question.instruction)}
    changed = [{one, two} for one, two in zip(slots, target, strict=True) if one != two]
    return no("The answer fills a slot otherwise.") if all(pair <= listed for pair in changed) else None


def _slots_of(text: str) -> list[str]:
    """Return what stands between commas, semicolons or lines, or before and after the only "to"."""
    parts = re.split(r"[,;\n]", text)
    match text.split(" to "):
        case [one, two] if len(parts) == 1 and one.isalpha() and two.isalpha():
            parts = [one, two]
    return [name_of(part.rpartition(":")[2]) for part in parts]
