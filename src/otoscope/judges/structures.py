"""Values that are lists, intervals or any JSON: where an answer writes them, and where it states them in prose."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from otoscope.judges.form import UNITS, Form, is_pair, is_real, literal
from otoscope.judges.quantities import Quantity, bounded, number_text, quantities, rank
from otoscope.judges.wording import is_word

_BETWEEN_ITEMS: tuple[list[str], ...] = ([","], ["and"], [",", "and"], ["\n"], [";"], [",", "\n"], [])
_ENDS = frozenset({"end", "ends", "ending", "offset", "until", "till", "stops", "finishes", "to", "~"})
_OPENS = frozenset({"between", "[", "("})
_INSIDE_PAIR = 5


def canonical_structure(value: Any, form: Form) -> str | None:
    """Return a JSON value as canonical text if it has the wanted form; a pair of numbers is a list of one interval."""
    if form.kind == "intervals" and is_pair(value):
        value = [value]
    match form.kind:
        case "json":
            fits = isinstance(value, form.container or (list | dict))
            fits = fits or (isinstance(value, tuple) and form.container is not dict)
        case "intervals":
            fits = isinstance(value, list | tuple) and all(is_pair(pair) and pair[0] <= pair[1] for pair in value)
        case _:
            fits = isinstance(value, list | tuple) and all(
                isinstance(item, str) if form.texts else is_real(item) for item in value
            )
    # Half of a surrogate pair stays escaped: JSON can spell it and UTF-8 cannot.
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode() if fits else None


def written_structures(text: str, form: Form) -> list[Any]:
    """Return the outermost lists and objects that a text writes, of the wanted kind."""
    kinds = form.container if form.kind == "json" and form.container else list | dict
    values = (literal(text[start:end]) for start, end in _brackets(text))
    return [value for value in values if isinstance(value, kinds)]


def stated_list(words: Sequence[str], form: Form, asked: frozenset[str]) -> str | None:
    """Return the numbers of an answer as a list if nothing but commas and "and" stands between them."""
    found = quantities(words, form)
    values = [number.value for number in found if number.value is not None]
    listed = all(words[one.end : two.start] in _BETWEEN_ITEMS for one, two in pairwise(found))
    if any(bounded(words, number) for number in found):
        return None
    if not listed or len(values) != len(found) or not all(rank(words, number, form, asked) for number in found):
        return None
    if len(found) == 1 and words[found[0].end - 1] not in UNITS and words[found[0].end :] not in ([], ["."]):
        return None
    return _numbers_text(values)


def stated_intervals(words: Sequence[str], form: Form) -> str | None:
    """Return the intervals of an answer if every number is the start or the end of one."""
    found = quantities(words, form)
    if len(found) % 2:
        return None
    pairs = [_pair(words, one, two) for one, two in zip(found[::2], found[1::2], strict=True)]
    texts = [_numbers_text(pair) for pair in pairs if pair]
    return f"[{', '.join(texts)}]" if len(texts) == len(pairs) else None


def _pair(words: Sequence[str], one: Quantity, two: Quantity) -> tuple[Decimal, Decimal] | None:
    between = [word for word in words[one.end : two.start] if is_word(word) or word in {"~", ","}]
    opened = _OPENS & set(words[max(0, one.start - 4) : one.start]) and set(between) <= {"and", ","}
    if len(between) > _INSIDE_PAIR or not (opened or _ENDS & set(between)):
        return None
    if one.value is None or two.value is None or one.value > two.value:
        return None
    return one.value, two.value


def _numbers_text(values: Sequence[Decimal]) -> str:
    return f"[{', '.join(map(number_text, values))}]"


def _brackets(text: str) -> list[tuple[int, int]]:
    """Return the spans of outermost square brackets and braces; brackets in quotations inside them do not count."""
    spans: list[tuple[int, int]] = []
    depth, start, quote = 0, 0, ""
    for match in re.finditer(r"\\.|[\[\]{}\"]|(?<!\w)'|'(?!\w)", text):
        mark = match.group()
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "[{":
            start, depth = (match.start() if depth == 0 else start), depth + 1
        elif mark in "]}" and depth:
            depth -= 1
            spans += [(start, match.end())] if depth == 0 else []
        elif mark in "\"'" and depth:
            quote = mark
    return spans
