"""The cells of the score table, the same on the terminal and in the report."""

from otoscope.records import Score

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
        score.task,
        f"{score.metric} {ARROWS[score.better]}",
        number(score.value),
        f"{number(score.low)} to {number(score.high)}" if score.low is not None else "undefined",
        "" if score.chance is None else number(score.chance),
        "" if score.majority is None else number(score.majority),
        str(score.n) if scored == score.n else f"{scored} of {score.n}",
        "" if score.na_rate is None else f"{score.na_rate:.0%}",
        str(counts.get("undecided", 0) or ""),
        str(failed or ""),
        f"{score.seconds:.1f}",
    )


def number(value: float | None) -> str:
    """Return a value with about three significant digits, or the word for none."""
    if value is None:
        return "undefined"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 10_000 else f"{value:.3g}"  # noqa: PLR2004
