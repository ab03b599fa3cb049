"""Answers where several labels are right, or slots are filled."""

import re

from otoscope.judges.labels import name_of
from otoscope.judges.question import Question, Ruling
from otoscope.judges.reading import Reading
from otoscope.judges.verdicts import choice, no, undecided
from otoscope.judges.wording import (
    DENIALS,
    tokens,
)

_PARTS = re.compile(r"[,;:.?()]|\b(?:and|or)\b")


def several(reading: Reading) -> Ruling | None:
    """Judge an answer whose target may name several labels."""
    if not reading.question.multi:
        return None
    fits = reading.chosen <= reading.labels.target
    unknown = _unknown_words(reading) and (fits or not reading.labels.closed)
    if fits and reading.passed_over & reading.labels.target - reading.chosen:
        return undecided("A label may be named as a common word.")
    if not reading.chosen or unknown or any(mention.doubtful for mention in reading.mentions):
        return undecided("Which labels the answer chooses is not certain.")
    return choice(reading, reading.chosen, "names exactly")


def _unknown_words(reading: Reading) -> list[str]:
    """Return the words of an answer that may name something more; what announces a list names nothing."""
    start = next((at + 1 for at, word in enumerate(reading.words) if word == ":"), 0)
    announced = start and not any(mention.start < start for mention in reading.mentions)
    announced = announced and not DENIALS & set(reading.words[:start])
    known = set(reading.words[:start]) if announced else set()
    return [word for word in reading.other_words if word not in known]


def slots(reading: Reading) -> Ruling | None:
    """Judge an answer that fills slots, such as "increase, volume, none", from what the question lists."""
    question = reading.question
    target = _slots_of(question.target)
    slots = _slots_of(question.answer.strip().strip("."))
    if question.multi or len(target) == 1 or len(slots) != len(target) or question.target in question.options:
        return None
    if not _in_order(question):
        return None
    if sorted(slots) == sorted(target):
        return choice(reading, reading.labels.target, "fills all slots as") if slots == target else None
    listed = {name_of(part) for part in _PARTS.split(question.instruction)}
    changed = [{one, two} for one, two in zip(slots, target, strict=True) if one != two]
    return no("The answer fills a slot otherwise.") if all(pair <= listed for pair in changed) else None


def _in_order(question: Question) -> bool:
    """Return whether the slots that an answer names come in the order of the instruction."""
    names = [name_of(part.rpartition(":")[0]) for part in re.split(r"[,;\n]", question.answer)]
    asked = " ".join(tokens(question.instruction))
    places = [asked.find(name) for name in names if name]
    return -1 not in places and places == sorted(places)


def _slots_of(text: str) -> list[str]:
    """Return what stands between commas, semicolons or lines, or before and after the only "to"."""
    parts = re.split(r"[,;\n]", text)
    match text.split(" to "):
        case [one, two] if len(parts) == 1 and one.isalpha() and two.isalpha():
            parts = [one, two]
    return [name_of(part.rpartition(":")[2]) for part in parts]
