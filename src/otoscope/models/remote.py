"""What models outside this process share: options that are numbers, and JSON that came over a wire."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from otoscope.errors import ModelCallError, UnknownOptionError, UsageError

SHORTEST_WAIT, LONGEST_WAIT = 0.001, 1_000_000.0
"""Seconds; a system call takes no more than 2 ** 31 milliseconds."""


def check_options(model: str, options: Mapping[str, str], known: Sequence[str]) -> None:
    """Refuse options that ``model`` does not take.

    Raises:
        UnknownOptionError: an option is not among ``known``.
    """
    unknown = [key for key in options if key not in known]
    if unknown:
        name = re.sub(r"[^a-z_.-].*", "", unknown[0], flags=re.DOTALL)  # no more of it: a key may follow `api_key:`
        if name in known:
            raise UnknownOptionError(f"{model}: after {name} comes no equals sign; write {name}=VALUE")
        raise UnknownOptionError(f"{model}: no option {name!r}; there are {', '.join(known)}")


def read_seconds(
    model: str, options: Mapping[str, str], name: str, default: float, least: float = SHORTEST_WAIT
) -> float:
    """Return an option that is a time in seconds, at least ``least`` and no longer than a system can wait.

    Raises:
        UsageError: it is not.
    """
    value = _float(options.get(name, default))
    if not least <= value <= LONGEST_WAIT:
        allowed = f"from {least:g} to {LONGEST_WAIT:g}"
        raise UsageError(f"{model}: {name}={options[name]} is not a number of seconds {allowed}")
    return value


def read_number(model: str, options: Mapping[str, str], name: str) -> float:
    """Return an option that is a number of at least 0.

    Raises:
        UsageError: it is not.
    """
    value = _float(options[name])
    if not 0 <= value < math.inf:
        raise UsageError(f"{model}: {name}={options[name]} is not a number of at least 0")
    return value


def _float(text: str | float) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def read_count(model: str, options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """Return an option that is a whole number of at least ``least``.

    Raises:
        UsageError: it is not.
    """
    try:
        value = int(options.get(name, default))
    except ValueError:
        value = least - 1
    if value < least:
        raise UsageError(f"{model}: {name}={options[name]} is not a whole number of at least {least}")
    return value


def read_object(text: str | bytes, what: str) -> dict[str, Any]:
    """Return the JSON object in ``text``.

    Raises:
        ModelCallError: there is none; the message begins with ``what`` and quotes the beginning of the text.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # RecursionError: thousands of open brackets
        value = None
    if not isinstance(value, dict):
        raise ModelCallError(f"{what} is not a JSON object: {text[:200]!r}")
    return value
