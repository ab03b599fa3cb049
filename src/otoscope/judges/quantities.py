"""The numbers of an answer: in the wanted unit, on the wanted scale, and of what."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from otoscope.judges.form import UNITS, Form
from otoscope.judges.music import PITCHES
from otoscope.judges.wording import (
    BOUNDS,
    CLAUSE_END,
    FILLER,
    SENTENCE_END,
    TIMES,
    TOPICS,
    is_number,
    is_word,
    plain_number,
    singular,
    tokens,
    word_set,
)

_YEARS = range(1000, 2100)
_TOO_LARGE = Decimal(10) ** 15
_HUNDRED = Decimal(100)
_FEWEST_IN_LOOP = 3
_MOST_DECIMALS = Decimal("1e-9")

_NAMED_THINGS = word_set("named_things")
_AFTER_VALUE = word_set("after_value")
_COUNTED = word_set("counted")
_REPORTING = word_set("reporting")
_SPEECH_LINKS = frozenset({"that", "about", "how"})
_ENDS_NOUN = CLAUSE_END | {"and", "or"}
_EMPTY = FILLER - TOPICS
_OPEN_ENDS = (
    *(["or", "more"], ["or", "less"], ["or", "fewer"]),
    *(["at", "most"], ["at", "least"], ["and", "counting"], ["and", "up"]),
)
_SHARES = frozenset({"each", "apiece"})
_SCALE_WORDS = frozenset({"scale", "range", "ranging"})
#: Stand in a number that is spelled otherwise than the rules read, such as "twenty oh five" or "point five".
_SPELLING = frozenset({"oh", "o", "point", "double", "triple"})
#: Units of which a quantity is often stated in two, and what may stand between them.
_COMPOUND = word_set("compound_units")
_COMPOUND_DIMENSIONS = frozenset({"time", "length"})
_ADDING: tuple[list[str], ...] = ([], ["and"], [","], [",", "and"])
_ALTERNATIVES = (["~"], ["to"], ["or"], [",", "or"], ["or", "even"], ["or", "maybe"])

_CLOCK = re.compile(r"(?<![\d:.])(?:(\d{1,2}):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)(?![\d:])")
_NOTE = re.compile(r"(?<![\w#])([A-G])([#♯b♭])?(-?\d)(?!\w)")
_ACCIDENTALS = {"": 0, "#": 1, "♯": 1, "b": -1, "♭": -1}
#: Blank lines before a bullet, and the bullet; what stands before their first line break is kept.
_BULLET = re.compile(r"(\A|(?<!\s)[^\S\n]*\n)\s*[-*•]\s+(?:(?<=\n)[-*•]\s+)*")
_RATES = (
    (re.compile(r"\bbeats (?:per|a) minute\b", re.IGNORECASE), "bpm"),
    (re.compile(r"\bbeats (?:per|a) second\b", re.IGNORECASE), "bps"),
    (re.compile(r"\bcycles (?:per|a) second\b", re.IGNORECASE), "hz"),
)
_CLOCK_DASH = re.compile(r"(?<=:\d\d)\s*[-\u2013]\s*(?=\d{1,2}:\d\d)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number at tokens ``start`` to ``end``, in the wanted unit; ``value`` is None where its scale is not known.

    It is ``reported`` if it is part of what the answer says was said.
    """

    value: Decimal | None
    start: int
    end: int
    reported: bool = False


def read_words(text: str, form: Form) -> list[str]:
    """Return the tokens of an answer; clock times are in seconds, "twice" is a number, and notes are left out."""
    text = _BULLET.sub(r"\1", text)
    if form.unit in {"hz", "midi"}:
        text = _NOTE.sub(" ", text)
    if form.dimension == "time":
        text = _CLOCK.sub(_seconds, _CLOCK_DASH.sub(" to ", text))
    for rate, unit in _RATES:
        text = rate.sub(unit, text)
    words = tokens(text.replace("°", " deg "))
    if not form.count:
        return words
    pairs = zip(["", *words], words, strict=False)
    return [part for before, word in pairs for part in (TIMES.get(word, (word,)) if before != "at" else (word,))]


def quantities(words: Sequence[str], form: Form) -> list[Quantity]:
    """Return the numbers that may be values, without those of another dimension and those that name a thing."""
    found: list[Quantity] = []
    reported = _reported(words)
    at = 0
    while at < len(words):
        if not is_number(words[at]) or abs(Decimal(words[at])) >= _TOO_LARGE:
            at += 1
            continue
        number, wanted = _measured(words, at, form)
        named = at > 0 and words[at - 1] in _NAMED_THINGS and number.end == at + 1
        named = named or _is_year(words, at, form)
        if wanted and not named:
            found.append(Quantity(number.value, at, number.end, reported[at]))
        at = number.end
    return found


def _is_year(words: Sequence[str], at: int, form: Form) -> bool:
    """Return whether "in" stands before a number such as 1992, and what is asked for has a unit that it lacks."""
    alone = "".join(words[at + 1 : at + 2]) not in UNITS
    return words[at - 1 : at] == ["in"] and bool(form.unit) and alone and Decimal(words[at]) in _YEARS


def number_text(value: Decimal) -> str:
    """Return a number in figures; more decimals than nine come from a change of units and are rounded."""
    return plain_number(value if value == value.quantize(_MOST_DECIMALS) else value.quantize(_MOST_DECIMALS))


def note(answer: str, form: Form) -> str | None:
    """Return the one note that an answer names, as a frequency in Hz or a MIDI number."""
    if form.unit not in {"hz", "midi"}:
        return None
    notes = {
        PITCHES[letter.lower()] + _ACCIDENTALS[sign] + 12 * (int(octave) + 1)
        for letter, sign, octave in _NOTE.findall(answer)
    }
    if len(notes) != 1:
        return None
    midi = notes.pop()
    return str(midi) if form.unit == "midi" else number_text(Decimal(f"{440 * 2 ** ((midi - 69) / 12):.3f}"))


def without_scale(words: Sequence[str], form: Form) -> list[str]:
    """Drop the ends of the scale where the answer repeats them, unless it holds no other number."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        end = _scale_end(words, at, form)
        if end is None:
            kept.append(words[at])
        at = end or at + 1
    return kept if any(map(is_number, kept)) else list(words)


def compounded(words: Sequence[str], form: Form) -> bool:
    """Return whether two numbers of an answer may be one, such as "1 234", "2 minutes 30" or "5 years and 6 months"."""
    numbers = _numbers(words, form)
    if len(numbers) > 1 and any(_SHARES & set(words[number.end : number.end + 1]) for number in numbers):
        return True
    spelling = _SPELLING if form.count else _SPELLING | {"times"}
    if any(number.start and words[number.start - 1] in spelling for number in numbers):
        return True
    if any(one.end == two.start for one, two in pairwise(numbers)) and not _is_loop(numbers):
        return True
    first = ((at + 1, word) for at, word in enumerate(words) if _is_compound_unit(word) and _is_one(words, at))
    return any(_adds(words, end, unit) for end, unit in first)


def _numbers(words: Sequence[str], form: Form) -> list[Quantity]:
    """Return all numbers with their units, of whatever dimension."""
    found: list[Quantity] = []
    for at, word in enumerate(words):
        if is_number(word) and abs(Decimal(word)) < _TOO_LARGE and (not found or at >= found[-1].end):
            found.append(_measured(words, at, form)[0])
    return found


def _is_loop(numbers: Sequence[Quantity]) -> bool:
    """Return whether the numbers are one of at most two digits, three times or more."""
    values = {number.value for number in numbers}
    return len(numbers) >= _FEWEST_IN_LOOP and len(values) == 1 and all(one and abs(one) < _HUNDRED for one in values)


def _is_compound_unit(word: str) -> bool:
    return singular(word) in _COMPOUND


def _is_one(words: Sequence[str], at: int) -> bool:
    """Return whether the unit at a place has a number or an article before it."""
    return at > 0 and (words[at - 1] in {"a", "an"} or is_number(words[at - 1]))


def _adds(words: Sequence[str], at: int, unit: str) -> bool:
    """Return whether a number of another unit follows, to be added to one that the rules cannot convert."""
    for link in _ADDING:
        end = at + len(link)
        match words[at:end] == link, words[end : end + 2]:
            case True, [number, other] if is_number(number) and _is_compound_unit(other):
                known = unit in UNITS and other in UNITS and is_number(words[at - 2])
                return singular(other) != singular(unit) and not known
            case _:
                continue
    return False


def alternatives(words: Sequence[str], found: Sequence[Quantity]) -> list[Quantity]:
    """Return the numbers that are ends of a range or alternatives to one another."""
    joined: list[Quantity] = []
    for one, two in pairwise(found):
        joint = [word for word in words[one.end : two.start] if word not in UNITS]
        between = "between" in words[max(0, one.start - 2) : one.start]
        if one.value != two.value and (joint in _ALTERNATIVES or (between and joint == ["and"])):
            joined += [two] if joined[-1:] == [one] else [one, two]
    return joined


def best(words: Sequence[str], found: Sequence[Quantity], form: Form, asked: frozenset[str]) -> list[Quantity]:
    """Return the numbers with the wanted unit or of what is counted; if there are none, those that stand alone."""
    ranks = [rank(words, number, form, asked) for number in found]
    highest = max(ranks, default=0)
    return [number for number, at in zip(found, ranks, strict=True) if at and at == highest]


def rank(words: Sequence[str], number: Quantity, form: Form, asked: frozenset[str]) -> int:
    """Return 2 for a number with the wanted unit or of what is counted, 1 for one alone, 0 for one of other things."""
    following: list[str] = []
    for word in words[number.end : number.end + 3]:
        if not is_word(word) or is_number(word) or word in _ENDS_NOUN:
            break
        following.append(singular(word))
    if number.reported:
        return 0
    if form.count:
        counted = any(word in _COUNTED or (word in asked and word not in _EMPTY) for word in following)
        alone = not following or following[0] in FILLER
        return 2 if counted else int(alone)
    alone = not following or any(following[0] in known for known in (FILLER, asked, _AFTER_VALUE))
    return int(alone) * (2 if words[number.end - 1] in UNITS else 1)


def bounded(words: Sequence[str], number: Quantity) -> bool:
    """Return whether a number is a bound or an interval and no value."""
    before, after = words[max(0, number.start - 2) : number.start], words[number.end : number.end + 2]
    return bool(BOUNDS & set(before)) or "~" in (*before[-1:], *after[:1]) or after[:1] == ["+"] or after in _OPEN_ENDS


def _reported(words: Sequence[str]) -> list[bool]:
    """Return for each token whether "says that" or the like stands before it in its sentence."""
    found: list[bool] = []
    reported, reach = False, 0
    for word in words:
        found.append(reported)
        if word in SENTENCE_END:
            reported, reach = False, 0
            continue
        reported = reported or (reach > 0 and word in _SPEECH_LINKS)
        reach = 2 if word in _REPORTING else reach - 1
    return found


def _seconds(match: re.Match[str]) -> str:
    hours, minutes, seconds = match.groups()
    return f"{plain_number(Decimal(hours or 0) * 3600 + Decimal(minutes) * 60 + Decimal(seconds))} s "


def _measured(words: Sequence[str], at: int, form: Form) -> tuple[Quantity, bool]:
    """Return the number at ``at`` with its unit or scale, and whether it is of the wanted dimension."""
    value, end = Decimal(words[at]), at + 1
    unit = words[end] if end < len(words) else ""
    if unit in {"percent", "%"} and form.unit != "%":
        share = value * form.high / 100 if form.low == 0 and form.high is not None and not form.unit else None
        return Quantity(share, at, end + 1), not form.count
    whole = _whole(words, end)
    if whole is not None:
        return Quantity(value if whole[0] == form.high else None, at, whole[1]), True
    if unit not in UNITS or (unit in {"m", "s"} and not form.unit):
        return Quantity(value, at, end), True
    if UNITS[unit][0] != form.dimension:
        return Quantity(None, at, end + 1), False
    total, end = _with_smaller_units(words, value * UNITS[unit][1], end)
    return Quantity(total / UNITS[form.unit][1], at, end), True


def _whole(words: Sequence[str], at: int) -> tuple[Decimal, int] | None:
    """Return the number after "out of" or a slash, and where it ends."""
    match words[at : at + 3]:
        case ["out", "of", number] if is_number(number):
            return Decimal(number), at + 3
        case ["/", number, *_] if is_number(number):
            return Decimal(number), at + 2
        case _:
            return None


def _with_smaller_units(words: Sequence[str], total: Decimal, at: int) -> tuple[Decimal, int]:
    """Add "30 seconds" to minutes that it follows, "6 inches" to feet, and so on; ``at`` is the place of the unit."""
    while (dimension := UNITS[words[at]][0]) in _COMPOUND_DIMENSIONS:
        skip = 2 if words[at + 1 : at + 2] in (["and"], [","]) else 1
        match words[at + skip : at + skip + 2]:
            case [number, unit] if is_number(number) and unit in UNITS and UNITS[unit][0] == dimension:
                part = Decimal(number) * UNITS[unit][1]
            case _:
                break
        if UNITS[unit][1] >= UNITS[words[at]][1] or part >= UNITS[words[at]][1]:
            break
        total, at = total + part, at + skip + 1
    return total, at + 1


def _scale_end(words: Sequence[str], at: int, form: Form) -> int | None:
    """Return where the scale that starts at ``at`` ends, such as "0 to 10" or "out of 10" without a number before."""
    match words[at : at + 3]:
        case ["out", "of", number] if is_number(number) and Decimal(number) == form.high:
            return None if at and is_number(words[at - 1]) else at + 3
    ends = _range_at(words, at)
    if ends is None:
        return None
    low, high, end = ends
    announced = bool(_SCALE_WORDS & set(words[max(0, at - 3) : at]))
    return end if announced or (low, high) == (form.low, form.high) else None


def _range_at(words: Sequence[str], at: int) -> tuple[Decimal, Decimal, int] | None:
    """Return the two ends of a range that starts at a token, and where it ends."""
    between = at > 0 and words[at - 1] == "between"
    unit = set(words[at + 1 : at + 2]) <= UNITS.keys()
    joint = at + 2 if unit else at + 1
    match words[at : at + 1], words[joint : joint + 2]:
        case [low], ["~" | "to" | "and" as word, high] if is_number(low) and is_number(high):
            if word == "and" and not between:
                return None
            end = joint + 2
            return Decimal(low), Decimal(high), end + (end < len(words) and words[end] in UNITS)
        case _:
            return None
