"""``otoscope compare``: compare two runs sample by sample."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import json_option, print_json, say

if TYPE_CHECKING:
    from otoscope.compare import Difference, RunComparison

HEADINGS = ("task", "metric", "A", "B", "A - B", "95 % interval", "p", "p (Holm)", "n", "N/A: A, B", "flipped")
SHOWN = 10


@click.command("compare")
@click.argument("first", metavar="RUN_A", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("second", metavar="RUN_B", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--force", is_flag=True, help="Compare runs although different judges judged them.")
@json_option
def command(first: Path, second: Path, force: bool, as_json: bool) -> int:
    """Compare two runs over the samples that both have an outcome for.

    The difference is that of the first run minus the second, with a paired 95 % interval over sources. The test is
    McNemar's for right and wrong answers to independent samples, else the answers are exchanged source by source;
    p-values are also adjusted after Holm for all tests of the table. Samples are paired by id, and left out where
    target, audio, instruction, text, options or source are not the same in both runs. Exit status 1: a sample is left
    out for that, or has no outcome in one run. An answer without a value (N/A) is an outcome; the difference is over
    the samples on which both runs gave one, with the N/A rate of each run beside it.

    \b
    Examples:
      otoscope compare runs/starter--cascade runs/starter--null
      otoscope compare runs/starter--cascade runs/starter--null --json
    """
    from otoscope.compare import compare_runs

    comparison = compare_runs(first, second, force=force)
    if as_json:
        print_json(comparison.to_json(), sort_keys=True)
    else:
        _print(comparison)
    return 0 if comparison.complete else 1


def _print(comparison: "RunComparison") -> None:
    from otoscope.cli.display import print_table

    rows = [
        _cells(row, str(len(task.flips) or "") if number == 0 else "")
        for task in comparison.tasks
        for number, row in enumerate(task.differences)
    ]
    print_table(HEADINGS, rows)
    for line in _remarks(comparison):
        say(line)


def _remarks(comparison: "RunComparison") -> Iterator[str]:
    """Yield a line for each flip, as far as shown, for what is left out, for what to know, and for the runs."""
    from otoscope.report.tables import quoted

    flips = [(task.task, flip) for task in comparison.tasks for flip in task.flips]
    for name, flip in flips[:SHOWN]:
        answers = f"A said {quoted(flip.answer_a)}, B said {quoted(flip.answer_b)}"
        yield f"flipped: {name} {flip.sample}: {quoted(flip.target)} is right, {answers}"
    if len(flips) > SHOWN:
        yield f"... and {len(flips) - SHOWN} more; see --json"
    for task in comparison.tasks:
        for outcomes, count in sorted(task.left_out.items()):
            yield f"left out: {task.task}: {count} samples ({outcomes})"
    for note in dict.fromkeys(note for task in comparison.tasks for note in task.notes):
        yield f"note: {', '.join(task.task for task in comparison.tasks if note in task.notes)}: {note}"
    for letter, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            yield f"only in {letter}: {', '.join(names)}"
    runs = zip("AB", (comparison.a, comparison.b), comparison.models, comparison.judges, strict=True)
    for letter, path, model, judge in runs:
        yield f"{letter}: {path}, model {model}, judged by {judge}"


def _cells(row: "Difference", flipped: str) -> tuple[str, ...]:
    from otoscope.report.tables import ARROWS, interval, number

    values = (number(row.a), number(row.b), number(row.difference), interval(row.low, row.high))
    counts = (str(row.n), f"{_share(row.na_rate_a)}, {_share(row.na_rate_b)}", flipped)
    return (row.task, f"{row.metric} {ARROWS[row.better]}", *values, _p(row.p), _p(row.adjusted), *counts)


def _share(rate: float | None) -> str:
    return "undefined" if rate is None else f"{rate:.0%}"


def _p(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}" if value >= 1e-3 else f"{value:.1g}"  # noqa: PLR2004
