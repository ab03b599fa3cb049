"""Answers to a question whose labels are numbers."""

from collections.abc import Sequence
from itertools import pairwise

from otoscope.judges.form import UNITS
from otoscope.judges.notation import is_expression
from otoscope.judges.question import Ruling
from otoscope.judges.reading import Reading
from otoscope.judges.verdicts import choice, no, undecided
from otoscope.judges.wording import (
    FILLER,
    is_number,
    is_word,
    singular,
    tokens,
)


def part_of_number(reading: Reading) -> Ruling | None:
    """Leave an answer whose number, or the one after its last sign of equality, may be part of another number."""
    words = reading.words
    equality = max((at for at, word in enumerate(words) if word == "="), default=-1)
    after = {at for at in range(equality + 1, len(words)) if is_number(words[at])}
    if not reading.labels.numbers or not after:
        return None
    if is_expression(reading.question.answer.rpartition("=")[2]) or any(at + 1 in after for at in after):
        return undecided("The number may be part of another one.")
    return None


def numbered(reading: Reading) -> Ruling | None:
    """Judge an answer to a question whose labels are numbers."""
    numbers = [at for at, word in enumerate(reading.words) if is_number(word)]
    values = {reading.words[at] for at in numbers}
    if not reading.labels.numbers or not values:
        return None
    if len(values) > 1:
        between = _between(reading, numbers) and not any("~" in name for name in reading.labels.names)
        return no("The answer does not choose one number.") if between else _counted(reading, numbers)
    if not reading.mentions and _in_other_unit(reading, numbers[0]):
        return undecided("The number has another unit.")
    if not reading.mentions and not reading.doubtful:
        return no("The answer gives another number.")
    other = reading.chosen != reading.labels.target and any(_counts_other_things(reading, at) for at in numbers)
    if other or _is_given(reading, numbers[0]):
        return undecided("The number need not be the answer.")
    return None


def _between(reading: Reading, numbers: Sequence[int]) -> bool:
    """Return whether an answer gives a range of two numbers and no other."""
    match numbers:
        case [low, high]:
            gap = reading.words[low + 1 : high]
            return reading.words[low - 1 : low] == ["between"] and gap == ["and"]
        case _:
            return False


def _counted(reading: Reading, numbers: Sequence[int]) -> Ruling | None:
    """Judge by the number of what the instruction asks for, or by the one that the answer ends on."""
    words = reading.words
    counting = {at for at in numbers if singular("".join(words[at + 1 : at + 2])) in reading.asked}
    last = numbers[-1]
    if words[last - 1] in {"is", "=", "equals"} and not any(map(is_word, words[last + 1 :])):
        counting = {last}
    chosen = {named[0] for at in counting if (named := reading.named[at])}
    doubtful = any(mention.doubtful or mention.negated for mention in reading.mentions if mention.start in counting)
    if len(chosen) == 1 and not doubtful and not any("~" in words[at - 1 : at + 2] for at in counting):
        return choice(reading, chosen, "counts")
    if reading.labels.closed and reading.joined:
        return None
    return undecided("Which number is the answer is not certain.")


def _in_other_unit(reading: Reading, at: int) -> bool:
    """Return whether a number has a unit of the labels' own dimension, but another one."""
    unit = "".join(reading.words[at + 1 : at + 2])
    units = {word for name in reading.labels.names for word in name.split()[1:] if word in UNITS}
    return unit in UNITS and unit not in units and UNITS[unit][0] in {UNITS[word][0] for word in units}


def _is_given(reading: Reading, at: int) -> bool:
    """Return whether a number stands before a word as in the instruction, such as "the two sentences"."""
    asked = tokens(reading.question.instruction)
    pair = reading.words[at : at + 2]
    given = pair[1:] and is_word(pair[1]) and pair[1] not in UNITS and pair in ([*both] for both in pairwise(asked))
    return bool(given) and "many" not in asked


def _counts_other_things(reading: Reading, at: int) -> bool:
    """Return whether a number counts what the instruction does not speak of, or has a unit that does not belong."""
    after = "".join(reading.words[at + 1 : at + 2])
    if after and is_word(after) and after not in UNITS and after not in FILLER:
        return singular(after) not in reading.asked
    return reading.labels.closed and at in reading.doubtful_places
