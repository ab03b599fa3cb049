"""Read the strings that targets and extracted values are: numbers, lists, spans, labelled spans.

Times are seconds. Lists are written as JSON or as Python prints them, since published labels hold both.
"""

import ast
import json
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from otoscope.errors import MetricError, UnreadableValueError

#: Squares of numbers up to this size can still be summed.
_LARGEST = 1e100

T = TypeVar("T")


class Span(NamedTuple):
    """A stretch of time, in seconds."""

    start: float
    end: float


class LabelledSpan(NamedTuple):
    """A stretch of time, in seconds, and what or who is heard in it."""

    label: str
    start: float
    end: float


def answered(read: Callable[[str], T], answer: str) -> T:
    """Return what ``read`` makes of an answer.

    Raises:
        UnreadableValueError: ``read`` raised MetricError, of which the target is not guilty.
    """
    try:
        return read(answer)
    except MetricError as error:
        raise UnreadableValueError(str(error)) from None


def number(text: str) -> float:
    """Return the finite number that the text is.

    Raises:
        MetricError: it is not one.
    """
    try:
        found = float(text)
    except ValueError:
        raise MetricError(f"{text[:80]!r} is not a number; write it in digits, such as 3.5") from None
    return _finite(found, text)


def literal(text: str) -> Any:
    """Return the value that the text writes in JSON or in Python.

    Raises:
        MetricError: it writes none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler comments on what models write
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise MetricError(f"{text[:80]!r} is neither JSON nor a Python literal") from None


def spans(text: str) -> list[Span]:
    """Return the spans that the text lists: ``[start, end]``, a list of such pairs, or objects with start and end.

    Raises:
        MetricError: it lists something else, or a span that ends before it starts.
    """
    found = literal(text)
    if isinstance(found, dict) or (_is_list(found) and found and all(_is_number(item) for item in found)):
        found = [found]
    if not _is_list(found):
        raise MetricError(f"{text[:80]!r} is no list of spans, such as [[0.5, 1.2], [3.0, 4.0]]")
    return [_span(item, text) for item in found]


def labelled_spans(text: str) -> list[LabelledSpan]:
    """Return the labelled spans that the text lists.

    An item is ``[label, start, end]``, ``[start, end, label]`` with a label in quotes, or an object with start (or
    onset), end (or offset) and label (or event, or speaker).

    Raises:
        MetricError: it lists something else, or a span that ends before it starts.
    """
    found = literal(text)
    if isinstance(found, dict):
        found = [found]
    if not _is_list(found):
        raise MetricError(f'{text[:80]!r} is no list of labelled spans, such as [["dog", 0.5, 1.2]]')
    return [_labelled_span(item, text) for item in found]


def _finite(value: float, text: str) -> float:
    if not abs(value) <= _LARGEST:  # also where value is not a number
        raise MetricError(f"{text[:80]!r} holds a number that is not finite or too large to be scored")
    return float(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _span(item: Any, text: str) -> Span:
    if isinstance(item, dict):
        item = [item.get("start", item.get("onset")), item.get("end", item.get("offset"))]
    match item:
        case [start, end] if _is_number(start) and _is_number(end):
            found = Span(_finite(start, text), _finite(end, text))
        case _:
            raise MetricError(f"in {text[:80]!r}, {str(item)[:40]!r} is no span; write [start, end] in seconds")
    if found.end < found.start:
        raise MetricError(f"in {text[:80]!r}, a span ends at {found.end} s, before it starts at {found.start} s")
    return found


def _labelled_span(item: Any, text: str) -> LabelledSpan:
    match item:
        case {"label": str() | int() | float() as label} | {"event": str(label)} | {"speaker": str() | int() as label}:
            times = item
        case [start, end, str(label)] | [str() | int() | float() as label, start, end]:
            times = [start, end]
        case _:
            raise MetricError(f"in {text[:80]!r}, {str(item)[:40]!r} is no labelled span; write [label, start, end]")
    return LabelledSpan(str(label), *_span(times, text))
