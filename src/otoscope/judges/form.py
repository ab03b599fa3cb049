"""The form of the value that a regression asks for, read from anything but the value of its target."""

import ast
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, Literal

from otoscope.judges.question import Question
from otoscope.judges.wording import is_number, normal, tokens

FormKind = Literal["number", "list", "intervals", "json"]


@dataclass(frozen=True, slots=True)
class Form:
    """What a value looks like.

    Attributes:
        kind: a number, a list (of numbers or of texts), pairs of numbers, or any JSON value; None if unknown.
        unit: the unit of its numbers as ``UNITS`` names it, or "".
        low: the least value of the scale, if it is known.
        high: the greatest value of the scale, if it is known.
        count: whether the value counts something.
        texts: whether the items of a list are texts.
        numeric: whether every item of JSON has numbers in it.
        container: ``list`` or ``dict`` for JSON whose outermost kind is known.
    """

    kind: FormKind | None
    unit: str = ""
    low: Decimal | None = None
    high: Decimal | None = None
    count: bool = False
    texts: bool = False
    numeric: bool = False
    container: type[list[Any]] | type[dict[str, Any]] | None = None

    @property
    def dimension(self) -> str:
        """The dimension of the unit, or ""."""
        return UNITS[self.unit][0] if self.unit else ""

    def describe(self) -> str:
        """Return the form in words for a prompt."""
        of_unit = f" in {self.unit}" if self.unit else ""
        match self.kind:
            case "list":
                return "a JSON list of texts" if self.texts else f"a JSON list of numbers{of_unit}"
            case "intervals":
                return f"a JSON list of [start, end] pairs of numbers{of_unit}"
            case "json":
                return "JSON" if self.container is None else f"a JSON {'object' if self.container is dict else 'list'}"
            case _:
                scale = f" on a scale from {self.low} to {self.high}" if self.low is not None and self.high else ""
                return f"a number in figures, without a unit{f', counted{of_unit}' if of_unit else ''}{scale}"


#: Each unit's dimension and its size in the dimension's base unit (s, Hz, m, dB, degree, %, bpm, MIDI note).
UNITS: Mapping[str, tuple[str, Decimal]] = {
    word: (dimension, Decimal(size))
    for dimension, size, words in (
        ("time", "1", "s sec secs second seconds"),
        ("time", "0.001", "ms msec millisecond milliseconds"),
        ("time", "60", "min mins minute minutes"),
        ("time", "3600", "h hr hrs hour hours"),
        ("frequency", "1", "hz hertz"),
        ("frequency", "1000", "khz kilohertz"),
        ("length", "1", "m meter meters metre metres"),
        ("length", "0.01", "cm centimeter centimeters centimetre centimetres"),
        ("length", "0.001", "mm millimeter millimeters millimetre millimetres"),
        ("length", "1000", "km kilometer kilometers kilometre kilometres"),
        ("length", "0.3048", "ft foot feet"),
        ("length", "0.0254", "inch inches"),
        ("level", "1", "db decibel decibels"),
        ("angle", "1", "deg degree degrees °"),
        ("angle", "57.29577951308232", "rad radian radians"),
        ("percent", "1", "% percent percentage"),
        ("tempo", "1", "bpm"),
        ("tempo", "60", "bps"),
        ("note", "1", "midi"),
    )
    for word in words.split()
}
_BASE = {"time": "s", "frequency": "hz", "length": "m", "level": "db", "angle": "deg", "percent": "%", "tempo": "bpm"}
_LONG_NAMES = {"beats per minute": "bpm", "cycles per second": "hz", "midi note": "midi", "midi pitch": "midi"}

_SPACED_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:(?:\s+|\s*,\s*)-?\d+(?:\.\d+)?)+")
_COUNT_ASKED = re.compile(r"\b(?:how many|number of|count|counts|counting|total times|times of|how often)\b")
_UNIT_ASKED = re.compile(
    r"\b(?:in|unit:?|using|measured in|how many|number of|which|what)\s+(?:the unit of\s+)?(\w+|%)"
)
_DIMENSION_ASKED = (
    ("time", re.compile(r"\b(?:how long|duration|length of the (?:audio|clip|recording|speech|file)|timestamps?)\b")),
    ("length", re.compile(r"\b(?:how far|distance)\b")),
    ("tempo", re.compile(r"\b(?:tempo|bpm|beats per minute)\b")),
)


def form_of(question: Question) -> Form:
    """Return the form of the value: as declared, else as the instruction and the kind of the target tell."""
    declared = question.target_format
    inferred = _inferred(question.target)
    asked = normal(question.instruction)
    named = str(declared.get("unit", "")).casefold()
    unit = _unit_name(_LONG_NAMES.get(named, named)) or ("" if declared.get("unit") else _asked_unit(asked))
    count = named == "count" or (not unit and "unit" not in declared and _COUNT_ASKED.search(asked) is not None)
    low, high = (_limit(declared, "low"), _limit(declared, "high"))
    if low is None and high is None:
        low, high = _asked_range(question.instruction)
    return replace(inferred, kind=declared.get("type", inferred.kind), unit=unit, low=low, high=high, count=count)


def literal(text: str) -> Any:
    """Return the JSON or Python literal that a text is, or None if it is neither.

    NaN and infinity are no JSON here, so None stands for them too.
    """
    # A backslash may be an escape that Python warns of; JSON has been tried by then.
    parsers = (_strict_json,) if "\\" in text else (_strict_json, ast.literal_eval)
    for parse in parsers:
        try:
            value = parse(text)
            json.dumps(value, allow_nan=False)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        return value
    return None


def spaced_numbers(text: str) -> list[float] | None:
    """Return the numbers of a text that has two or more, between blanks or commas, and nothing else."""
    if _SPACED_NUMBERS.fullmatch(text.strip()) is None:
        return None
    return [float(part) if "." in part else int(part) for part in re.split(r"[,\s]+", text.strip())]


def is_real(value: Any) -> bool:
    """Return whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_pair(value: Any) -> bool:
    """Return whether a JSON value is a pair of numbers."""
    match value:
        case [one, two]:
            return is_real(one) and is_real(two)
        case _:
            return False


def _strict_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def _inferred(target: str) -> Form:
    value = literal(target.strip())
    if isinstance(value, dict):
        return Form("json", numeric=_all_numeric(value.values()), container=dict)
    if isinstance(value, list | tuple):
        return _inferred_list(value)
    if spaced_numbers(target):
        return Form("list", container=list)
    numbers = [word for word in tokens(target) if word not in UNITS]
    return Form("number") if len(numbers) == 1 and is_number(numbers[0]) else Form(None)


def _inferred_list(items: Sequence[Any]) -> Form:
    if all(map(is_real, items)):
        return Form("list", container=list)
    if all(isinstance(item, str) for item in items):
        return Form("list", texts=True, container=list)
    if all(is_pair(item) for item in items):
        return Form("intervals", container=list)
    return Form("json", numeric=_all_numeric(items), container=list)


def _all_numeric(items: Collection[Any]) -> bool:
    """Return whether there are items and each is a number or holds one."""
    return bool(items) and all(map(_has_number, items))


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    return any(map(_has_number, value)) if isinstance(value, list | tuple) else is_real(value)


def _unit_name(word: str) -> str:
    """Return the first name of a unit, or "" for what is none."""
    if word not in UNITS:
        return ""
    return next(name for name, size in UNITS.items() if size == UNITS[word])


def _asked_unit(asked: str) -> str:
    units = {_unit_name(word) for word in _UNIT_ASKED.findall(asked)} - {""}
    words = tokens(asked)
    units |= {_unit_name(after) for word, after in pairwise(words) if is_number(word)} - {""}
    if not units:
        units = {_BASE[dimension] for dimension, cue in _DIMENSION_ASKED if cue.search(asked)}
    return units.pop() if len(units) == 1 else ""


def _asked_range(instruction: str) -> tuple[Decimal | None, Decimal | None]:
    words = [word for word in tokens(re.sub(r"(?<=\d)\s*\([^()]*\)", "", instruction)) if word not in UNITS]
    ranges = {
        (Decimal(words[at - 1]), Decimal(words[at + 1]))
        for at in range(1, len(words) - 1)
        if words[at] in {"~", "and"} and is_number(words[at - 1]) and is_number(words[at + 1])
    }
    if len(ranges) != 1:
        return None, None
    low, high = ranges.pop()
    return (low, high) if low < high else (None, None)


def _limit(declared: Mapping[str, Any], name: str) -> Decimal | None:
    return Decimal(str(declared[name])) if name in declared else None
