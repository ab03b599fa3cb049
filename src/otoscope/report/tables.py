"""The cells of the score table, the same on the terminal and in the report, and how foreign text is shown in both."""

import unicodedata
from collections.abc import Mapping

from otoscope.records import GateOutcome, Score

HEADINGS = (
    "task",
    "metric",
    "value",
    "95 % interval",
    "chance",
    "majority",
    "n",
    "N/A",
    "undecided",
    "errors",
    "seconds",
)

ARROWS = {"higher": "↑", "lower": "↓"}


def cells(score: Score) -> tuple[str, ...]:
    """Return one row of the table as text, a cell for each of ``HEADINGS``."""
    counts = score.counts
    scored = score.n - sum(counts.get(outcome, 0) for outcome in ("abstained", "unsupported"))
    failed = sum(counts.get(outcome, 0) for outcome in ("error", "unparsed", "missing"))
    return (
        printable(score.task),
        f"{score.metric} {ARROWS[score.better]}",
        number(score.value),
        interval(score.low, score.high),
        "" if score.chance is None else number(score.chance),
        "" if score.majority is None else number(score.majority),
        str(score.n) if scored == score.n else f"{scored} of {score.n}",
        "" if score.na_rate is None else f"{score.na_rate:.0%}",
        str(counts.get("undecided", 0) or ""),
        str(failed or ""),
        f"{score.seconds:.1f}",
    )


def printable(text: str) -> str:
    """Return ``text`` with what a terminal would obey, or what would end the line, as an escape that can be seen.

    Names, ids and reasons come from files and servers: a line break, ESC or a change of direction in them must not
    pass for output of this program.
    """
    return "".join(
        mark if mark.isprintable() or mark in _JOINERS or unicodedata.category(mark) == "Zs" else _escape(mark)
        for mark in text
    )


_JOINERS = "\u200c\u200d"
"""Persian, Hindi and emoji are not spelled right without them."""


def _escape(mark: str) -> str:
    return mark.encode("unicode_escape").decode("ascii")


def for_terminal(text: str, encoding: str) -> str:
    """Return ``printable(text)`` as ``encoding`` can spell it: arrows as ^ and v, the rest of what it lacks escaped."""
    shown = printable(text)
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.replace("↑", "^").replace("↓", "v").encode(encoding, "backslashreplace").decode(encoding)
    return shown


def refused(counts: Mapping[tuple[GateOutcome, str], int]) -> dict[str, int]:
    """Return how many samples a gate turned away by reason, most first; what asks for the speaker is marked so."""
    most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {reason if outcome == "abstain" else f"{reason} ({outcome})": n for (outcome, reason), n in most_first}


def amount(value: float) -> str:
    """Return tokens as they are counted, and money with four significant digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def number(value: float | None) -> str:
    """Return a value with about three significant digits, or the word for none."""
    if value is None:
        return "undefined"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 10_000 else f"{value:.3g}"  # noqa: PLR2004


def interval(low: float | None, high: float | None) -> str:
    """Return the ends of an interval, or the word for none."""
    return "undefined" if low is None else f"{number(low)} to {number(high)}"


_WIDEST = 60


def quoted(text: str) -> str:
    """Return a text in quotes, as far as it fits on a line."""
    return repr(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…")
