"""Which value an answer holds, by rules alone: a value or N/A only where no doubt is left, else undecided.

The value of the target is never looked at; its form is, where the task does not declare one.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from otoscope.judges.form import UNITS, Form, form_of, is_real, literal
from otoscope.judges.question import Question, Ruling
from otoscope.judges.wording import (
    CLAUSE_END,
    FILLER,
    TOPICS,
    is_doubtful,
    is_number,
    is_refusal,
    is_word,
    plain_number,
    singular,
    tokens,
    without_quotes,
)

_TOO_LARGE = Decimal(10) ** 15
_PLACES = Decimal("0.000001")

#: A number after one of these names a thing.
_NAMED_THINGS = frozenset(
    """speaker audio clip recording track step option channel sample section segment part figure file question example
    version utterance sentence person voice task""".split()
)
_BOUNDS = frozenset("least most than over under above below exceeding beyond minimum maximum".split())
_CUES = frozenset("answer total conclusion therefore thus overall hence final sum rate score rating".split())
_VAGUE_COUNTS = frozenset("a an single both couple only pair dozen half once twice thrice solo alone sole never".split())
_VAGUE_VALUES = frozenset(
    """half quarter dozen maximum highest full perfect lowest minimum top best worst zero middle instant first second
    third fourth fifth sixth seventh eighth ninth tenth last""".split()
)
_TIMES = {"once": "1", "twice": "2", "thrice": "3"}
_INSTANCES = frozenset("instance occurrence time case example sign evidence such".split())
_CLOCK = re.compile(r"(?<![\d:.])(?:(\d{1,2}):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)(?![\d:])")
_NOTE = re.compile(r"(?<![\w#])([A-G])([#♯b♭])?(-?\d)(?!\w)")
_PITCHES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])\d+,\d{1,2}(?![\d,])")
_SPOKEN_PAIR = re.compile(r"\b(?:start(?:s|ing|ed)?|begin(?:s|ning)?|onset|from)\b[^\d\-]{0,20}")


@dataclass(frozen=True, slots=True)
class _Found:
    """A number in an answer, in the wanted unit; ``value`` is None where its scale cannot be told."""

    value: Decimal | None
    start: int
    end: int


def extract(question: Question) -> Ruling:
    """Find the value in the answer to a regression question without a model.

    Returns:
        A ruling with status ``ok`` and the value as text (a number in figures, or JSON), ``na`` if the answer certainly
        holds no single value, or ``undecided``. A value outside the declared range is a value all the same.
    """
    form = form_of(question)
    if form.type is None:
        return _undecided("The form of the target is not known.")
    if not any(map(is_word, tokens(question.answer))) and not re.search(r"[\[{]", question.answer):
        return _na("The answer is empty.")
    value = canonical(question.answer, question)
    if value is not None:
        return _ok(value, "The answer is a value.")
    if is_refusal(question.answer):
        digits = any(map(str.isdigit, question.answer))
        return _undecided("The answer refuses and yet holds a number.") if digits else _na("The answer refuses.")
    match form.type:
        case "number":
            return _number(question, form)
        case "list":
            return _list(question, form)
        case "intervals":
            return _intervals(question, form)
        case _:
            return _json(question, form)


def canonical(text: str, question: Question) -> str | None:
    """Return a text that is nothing but a value of the wanted form in its canonical form, else None."""
    form = form_of(question)
    text = text.strip().strip("`").strip()
    if form.type == "number":
        return _bare_number(text, form)
    value = literal(text)
    if form.type == "json":
        fits = isinstance(value, form.container or (dict | list)) or (form.container is list and isinstance(value, tuple))
        return json.dumps(value, ensure_ascii=False) if fits else None
    return _canonical_list(value, form)


def _ok(value: str, why: str) -> Ruling:
    return Ruling("ok", value=value, explanation=why)


def _na(why: str) -> Ruling:
    return Ruling("na", explanation=why)


def _undecided(why: str) -> Ruling:
    return Ruling("undecided", explanation=why)


def _bare_number(text: str, form: Form) -> str | None:
    if _DECIMAL_COMMA.search(text):
        return None
    words = _words(text, form)
    found = _numbers(words, form)
    if len(found) != 1 or found[0].value is None:
        return None
    (number,) = found
    rest = [word for word in words[: number.start] + words[number.end :] if word not in {".", "\n", '"'}]
    return _text(number.value) if not rest and number.value is not None else None


def _canonical_list(value: Any, form: Form) -> str | None:
    if not isinstance(value, list | tuple):
        return None
    if form.type == "intervals":
        pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_real, pair)) for pair in value)
        return json.dumps(value) if pairs and all(start <= end for start, end in value) else None
    fits = all(isinstance(item, str) for item in value) if form.texts else all(map(is_real, value))
    return json.dumps(value, ensure_ascii=False) if fits else None


def _words(text: str, form: Form) -> list[str]:
    """Return the tokens of an answer, with clock times in seconds where times are asked for."""
    if form.unit and UNITS[form.unit][0] == "time":
        text = _CLOCK.sub(lambda match: f"{_seconds(match)} s ", text)
    words = tokens(re.sub(r"\bbeats per minute\b", "bpm", text, flags=re.IGNORECASE).replace("°", " deg "))
    if not form.count:
        return words
    return [_TIMES.get(word, word) if words[at - 1 : at] != ["at"] else word for at, word in enumerate(words)]


def _is_number_text(text: str) -> bool:
    words = tokens(text)
    return len(words) == 1 and is_number(words[0])


def _seconds(match: re.Match[str]) -> str:
    hours, minutes, seconds = match.groups()
    return plain_number(Decimal(hours or 0) * 3600 + Decimal(minutes) * 60 + Decimal(seconds))


def _text(value: Decimal) -> str:
    return plain_number(value if value == value.to_integral() else value.quantize(_PLACES) if _long(value) else value)


def _long(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent < -12


def _numbers(words: Sequence[str], form: Form) -> list[_Found]:
    """Return the numbers that may be values, leaving out those of another dimension and those that name a thing."""
    found: list[_Found] = []
    at = 0
    while at < len(words):
        if not is_number(words[at]) or abs(Decimal(words[at])) >= _TOO_LARGE:
            at += 1
            continue
        number, foreign = _measured(words, at, form)
        named = at > 0 and words[at - 1] in _NAMED_THINGS and number.end == at + 1
        if not foreign and not named:
            found.append(number)
        at = number.end
    return found


def _measured(words: Sequence[str], at: int, form: Form) -> tuple[_Found, bool]:
    """Return the number at ``at`` with its unit or its scale, and whether it is of another dimension."""
    value, end = Decimal(words[at]), at + 1
    unit = words[end] if end < len(words) else ""
    if unit in {"percent", "%"} and form.unit != "%":
        scaled = form.low == 0 and form.high is not None and not form.unit
        return _Found(value * (form.high or 0) / 100 if scaled else None, at, end + 1), form.count
    of = 2 if words[end : end + 2] == ["out", "of"] else 1 if unit == "/" else 0
    if of and end + of < len(words) and is_number(words[end + of]):
        return _Found(value if Decimal(words[end + of]) == form.high else None, at, end + of + 1), False
    if unit not in UNITS or (unit == "m" and not form.unit) or unit == "s" and not form.unit:
        return _Found(value, at, end), False
    if not form.unit or UNITS[unit][0] != UNITS[form.unit][0]:
        return _Found(None, at, end + 1), True
    total, end = value * UNITS[unit][1], end + 1
    while UNITS[unit][1] >= 60 and UNITS[unit][0] == "time":
        skip = 1 if words[end : end + 1] in (["and"], [","]) else 0
        part, smaller = words[end + skip : end + skip + 1], words[end + skip + 1 : end + skip + 2]
        if not part or not smaller or not is_number(part[0]) or UNITS.get(smaller[0], ("", 0))[0] != "time":
            break
        unit = smaller[0]
        total, end = total + Decimal(part[0]) * UNITS[unit][1], end + skip + 2
    return _Found(total / UNITS[form.unit][1], at, end), False


def _number(question: Question, form: Form) -> Ruling:
    words = _without_scale(_words(without_quotes(question.answer, _is_number_text), form), form)
    found = _numbers(words, form)
    zero = form.count and _says_none(words, question)
    if zero and all(number.value == 0 for number in found):
        return _ok("0", "The answer says that there are none.")
    if not found:
        return _no_number(question, form, words)
    if {"half", "quarter", "quarters"} & set(words):
        return _undecided("The answer holds a fraction in words.")
    if zero or is_doubtful(question.answer) or _DECIMAL_COMMA.search(question.answer):
        return _undecided("The answer is not clear about its number.")
    ranged = _ranged(words, found)
    if ranged and ranged[0].value == 0 and form.unit and UNITS[form.unit][0] == "time":
        return _undecided("A range from 0 may be a length.")
    if ranged:
        alone = len(ranged) == len(found)
        return _na("The answer gives a range or alternatives.") if alone else _undecided("A range stands beside a number.")
    stated = [number for number in found if not _denied(words, number.start)]
    values = {number.value for number in stated}
    if len(values) > 1:
        stated = _concluded(words, stated)
        values = {number.value for number in stated}
    if len(values) != 1 or None in values or any(_bounded(words, number) for number in stated):
        return _undecided("Which number is the value is not certain.")
    value = next(value for value in values if value is not None)
    if value == 1 and not form.count and "1" not in question.answer:
        return _undecided("One may be a word for a thing.")
    return _ok(_text(value), "The answer states one number.")


def _no_number(question: Question, form: Form, words: Sequence[str]) -> Ruling:
    note = _note(question.answer, form)
    if note is not None:
        return _ok(note, "The answer names one note.")
    vague = _VAGUE_COUNTS | _VAGUE_VALUES if form.count else _VAGUE_VALUES
    if any(map(str.isdigit, question.answer)) or vague & set(words) or any(map(is_number, tokens(question.answer))):
        return _undecided("The answer may hold a number in other words.")
    if any(not word.isascii() for word in words):
        return _undecided("The answer is in another script.")
    return _na("The answer holds no number.")


def _without_scale(words: list[str], form: Form) -> list[str]:
    """Drop the range of the scale where the answer repeats it."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        ends = _range_at(words, at)
        if ends and (ends[:2] == (form.low, form.high) or {"scale", "range", "ranging"} & set(words[max(0, at - 3) : at])):
            kept += ["scale"]
            at = ends[2]
        elif words[at : at + 2] == ["out", "of"] and words[at + 2 : at + 3] == [str(form.high)] and not (
            at and is_number(words[at - 1])
        ):
            at += 3
        else:
            kept.append(words[at])
            at += 1
    return kept if any(map(is_number, kept)) else words


def _range_at(words: Sequence[str], at: int) -> tuple[Decimal, Decimal, int] | None:
    """Return the two ends of a range that starts at a token, and where it ends."""
    if not is_number(words[at]):
        return None
    end = at + 1 + (words[at + 1 : at + 2] != [] and words[at + 1] in UNITS)
    joint = words[end : end + 1]
    between = at > 0 and words[at - 1] == "between"
    if joint not in (["~"], ["to"]) and not (joint == ["and"] and between):
        return None
    if not words[end + 1 : end + 2] or not is_number(words[end + 1]):
        return None
    last = end + 2 + (words[end + 2 : end + 3] != [] and words[end + 2] in UNITS)
    return Decimal(words[at]), Decimal(words[end + 1]), last


def _ranged(words: Sequence[str], found: Sequence[_Found]) -> list[_Found]:
    """Return the numbers that are ends of a range or alternatives to one another."""
    ranged: list[_Found] = []
    for one, two in zip(found, found[1:], strict=False):
        joint = [word for word in words[one.end : two.start] if word not in UNITS]
        between = one.start > 0 and "between" in words[max(0, one.start - 2) : one.start]
        joined = joint in (["~"], ["to"], ["or"], [",", "or"], ["or", "even"], ["or", "maybe"]) or (joint == ["and"] and between)
        if joined and one.value != two.value:
            ranged += [number for number in (one, two) if number not in ranged]
    return ranged


def _denied(words: Sequence[str], start: int) -> bool:
    clause = start
    while clause > max(0, start - 4) and words[clause - 1] not in CLAUSE_END:
        clause -= 1
    before = set(words[clause:start])
    return bool(before & {"not", "never", "rather", "instead", "excluding"})


def _bounded(words: Sequence[str], number: _Found) -> bool:
    before, after = words[max(0, number.start - 2) : number.start], words[number.end : number.end + 2]
    return bool(_BOUNDS & set(before)) or "+" in after[:1] or after in (["or", "more"], ["or", "less"], ["or", "fewer"])


def _concluded(words: Sequence[str], stated: list[_Found]) -> list[_Found]:
    """Return the numbers after the last word that announces an answer, or all of them."""
    for at in range(len(words) - 1, -1, -1):
        if words[at] in _CUES:
            after = [number for number in stated if number.start > at]
            if after:
                return after
    return stated


def _says_none(words: Sequence[str], question: Question) -> bool:
    """Return whether the answer to a count says that there is nothing of what is counted."""
    instruction = tokens(question.instruction)
    counted = {
        near for at, word in enumerate(instruction) if word in {"many", "of"} for near in instruction[at + 1 : at + 3]
    }
    asked = {singular(word) for word in instruction} - FILLER | _INSTANCES | ({singular(word) for word in counted} & TOPICS)
    for at, word in enumerate(words):
        following = [singular(near) for near in words[at + 1 : at + 4] if is_word(near)]
        if word == "no" and asked & set(following):
            return True
        if word in {"not", "without"} and "any" in words[at + 1 : at + 5] and asked & {
            singular(near) for near in words[at + 1 : at + 9]
        }:
            return True
    return [word for word in words if is_word(word)] == ["none"]


def _note(answer: str, form: Form) -> str | None:
    """Return the one note that an answer names, as a frequency or a MIDI number."""
    if form.unit not in {"hz", "midi"}:
        return None
    accidental = {"": 0, "#": 1, "♯": 1, "b": -1, "♭": -1}
    notes = {
        _PITCHES[letter] + accidental[sign] + 12 * (int(octave) + 1) for letter, sign, octave in _NOTE.findall(answer)
    }
    if len(notes) != 1:
        return None
    note = notes.pop()
    return str(note) if form.unit == "midi" else plain_number(Decimal(f"{440 * 2 ** ((note - 69) / 12):.3f}"))


def _containers(text: str) -> list[Any]:
    """Return the outermost lists and objects that are written in a text."""
    found: list[Any] = []
    at = 0
    while at < len(text):
        end = _closing(text, at) if text[at] in "[{" else None
        value = literal(text[at:end]) if end else None
        if end and isinstance(value, list | dict):
            found.append(value)
            at = end
        else:
            at += 1
    return found


def _closing(text: str, start: int) -> int | None:
    """Return the place after the bracket that closes the one at ``start``, quotations left out of account."""
    depth, quote, at = 0, "", start
    while at < len(text):
        mark = text[at]
        if quote:
            at += mark == "\\"
            quote = "" if mark == quote else quote
        elif mark == '"' or (mark == "'" and not text[at - 1].isalnum()):
            quote = mark
        elif mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return None


def _list(question: Question, form: Form) -> Ruling:
    written = [value for value in _containers(question.answer) if isinstance(value, list)]
    values = {value for item in written if (value := _canonical_list(item, form)) is not None}
    if len(values) == 1 and len(written) == 1:
        return _ok(values.pop(), "The answer writes one list.")
    if written or form.texts:
        return _undecided("Which list is the value is not certain.")
    words = _words(re.sub(r"(?<=\d),(?=\d)", ", ", without_quotes(question.answer, _is_number_text)), form)
    found = _numbers(words, form)
    if not found:
        return _no_list(question, words)
    gaps = [words[one.end : two.start] for one, two in zip(found, found[1:], strict=False)]
    listed = all(gap in ([","], ["and"], [",", "and"], ["\n"], [";"], [",", "\n"], []) for gap in gaps)
    if not listed or any(number.value is None for number in found) or is_doubtful(question.answer):
        return _undecided("Which numbers are the list is not certain.")
    if len(found) == 1 and len(words) > 12:
        return _undecided("One number in a long answer need not be the list.")
    return _ok(_json_numbers([number.value for number in found]), "The answer lists numbers.")


def _json_numbers(values: Sequence[Decimal | None]) -> str:
    return f"[{', '.join(_text(value) for value in values if value is not None)}]"


def _intervals(question: Question, form: Form) -> Ruling:
    written = _containers(question.answer)
    values = [_canonical_list(value, form) for value in written]
    if len(written) == 1 and values[0] is not None:
        return _ok(values[0], "The answer writes its intervals.")
    flat = all(isinstance(value, list) and len(value) == 2 and all(map(is_real, value)) for value in written)
    if written and not flat:
        return _undecided("Which list holds the intervals is not certain.")
    words = _words(without_quotes(question.answer, _is_number_text), form)
    found = _numbers(words, form)
    if not found:
        return _no_list(question, words)
    pairs = _pairs(words, found)
    if pairs is None or is_doubtful(question.answer):
        return _undecided("Which numbers are the intervals is not certain.")
    return _ok(f"[{', '.join(_json_numbers(pair) for pair in pairs)}]", "The answer states intervals.")


def _pairs(words: Sequence[str], found: Sequence[_Found]) -> list[tuple[Decimal, Decimal]] | None:
    """Return the intervals if every number is the start or the end of one."""
    if len(found) % 2:
        return None
    pairs = []
    for one, two in zip(found[::2], found[1::2], strict=True):
        between = [word for word in words[one.end : two.start] if is_word(word) or word in {"~", ","}]
        before = set(words[max(0, one.start - 4) : one.start])
        ends = {"end", "ends", "ending", "offset", "until", "till", "stops", "finishes", "to", "~"} & set(between)
        opened = {"between", "[", "("} & before
        if len(between) > 5 or not (ends or (opened and set(between) <= {"and", ","})):
            return None
        if one.value is None or two.value is None or one.value > two.value:
            return None
        pairs.append((one.value, two.value))
    return pairs


def _no_list(question: Question, words: Sequence[str]) -> Ruling:
    """Rule on an answer without numbers; that there is nothing may be an empty list, so it stays undecided."""
    if any(map(str.isdigit, question.answer)) or {"no", "none", "empty", "not", "without"} & set(words):
        return _undecided("The answer may mean an empty list.")
    if any(not word.isascii() for word in words) or _VAGUE_VALUES & set(words):
        return _undecided("The answer may hold numbers in other words.")
    return _na("The answer holds no numbers.")


def _json(question: Question, form: Form) -> Ruling:
    written = [value for value in _containers(question.answer) if isinstance(value, form.container or (list | dict))]
    if len(written) == 1:
        return _ok(json.dumps(written[0], ensure_ascii=False), "The answer writes one JSON value.")
    return _undecided("Prose may hold the value; rules cannot tell." if not written else "Several JSON values are written.")
