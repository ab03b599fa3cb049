"""Read JSON that people wrote: what is wrong with it is named by its line and column."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from otoscope.errors import TaskError
from otoscope.text import clean_text

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

_DEEPEST = 100
"""Levels of nesting that JSON may have; far below what the interpreter's stack can take."""


def numbered_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, each with its number from 1."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, line.strip()


def load_json(data: bytes, where: str) -> Any:
    """Return what JSON in UTF-8 says. Half a surrogate pair, which JSON can spell and UTF-8 cannot, becomes U+FFFD.

    Raises:
        TaskError: it is no JSON in UTF-8, nests too deep, has a key twice or holds too long an integer; the message
            begins with ``where``.
    """

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            raise TaskError(f"{where}: {twice}: the key is there twice; leave one out")
        return found

    try:
        text = data.decode("utf-8-sig")
        content = json.loads(text, object_pairs_hook=distinct)
    except TaskError:
        raise
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        place = _place(before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
        raise TaskError(f"{where}: {place}: not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        place = _place(error.lineno, error.colno)
        raise TaskError(f"{where}: not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError:
        digits = sys.get_int_max_str_digits()
        raise TaskError(f"{where}: an integer has more than {digits} digits; write it as a string") from None
    if text.count("[") + text.count("{") > _DEEPEST and _is_deep(content):
        raise _too_deep(where)
    if _SURROGATE.search(text):
        return json.loads(clean_text(json.dumps(content, ensure_ascii=False)))
    return content


def _place(line: int, column: int) -> str:
    """Return a place in JSON; that all stands on one line goes without saying."""
    return f"line {line}, column {column}" if line > 1 else f"column {column}"


def _too_deep(where: str) -> TaskError:
    return TaskError(f"{where}: lists and objects nest deeper than {_DEEPEST} levels")


def _is_deep(content: Any) -> bool:
    level = [content]
    for _ in range(_DEEPEST + 1):
        held = (
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, dict | list)
        )
        level = [value for values in held for value in values]
    return bool(level)
