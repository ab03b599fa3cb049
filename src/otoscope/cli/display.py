"""What a person sees: a table that fills while a run goes on, and the same table at the end."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from otoscope.cli.options import print_json, say
from otoscope.records import Score
from otoscope.report.tables import HEADINGS, amount, cells, for_terminal, refused
from otoscope.runner.local import Begun, Counted, Event, RunResult, Scored

SHOWN = 10


class Display:
    """Shows a run on standard error: live on a terminal, else one line a task."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, markup=False, emoji=False, highlight=False)
        self._scores: list[Score] = []
        self._errors = 0
        self._begun = 0.0
        self._done = 0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[errors]}"),
        )
        self._bar: TaskID | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def watch(self, event: Event) -> None:
        """Take what happens in a run."""
        match event:
            case Begun():
                self._begin(event)
            case Counted():
                self._count(event)
            case Scored():
                self._scored(event)

    def _begin(self, event: Begun) -> None:
        if self._bar is not None:
            self._progress.remove_task(self._bar)
        self._begun, self._done = time.monotonic(), 0
        self._bar = self._progress.add_task(
            self._spell(f"{event.stage} {event.task}"), total=event.total, rate="", errors=self._told()
        )
        # Downloads draw bars of their own, so the display starts with the first stage and not before.
        if self._live is None and self._console.is_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=4, transient=True)
            self._live.start()

    def _count(self, event: Counted) -> None:
        self._done += 1
        self._errors += event.status == "error"
        rate = self._done / max(time.monotonic() - self._begun, 1e-3)
        if self._bar is not None:
            self._progress.update(self._bar, advance=1, rate=f"{rate:.1f}/s", errors=self._told())

    def _scored(self, event: Scored) -> None:
        self._scores.extend(event.result.scores[:1])
        if self._live is None and not event.result.scores:
            self._print(f"{event.task}: {event.result.missing[0].reason}")
        elif self._live is None:
            score = event.result.scores[0]
            values = ", ".join(
                f"{heading} {cell}" for heading, cell in zip(HEADINGS[1:], cells(score)[1:], strict=True) if cell
            )
            self._print(f"{score.task}: {values}")

    def _print(self, line: str) -> None:
        self._console.print(self._spell(line), soft_wrap=True)

    def _spell(self, text: str) -> str:
        return for_terminal(text, self._console.encoding)

    def _told(self) -> str:
        return f"{self._errors} errors" if self._errors != 1 else "1 error"

    def _render(self) -> RenderableType:
        return Group(_table(self._scores, self._console.encoding), self._progress)


def tell_result(result: RunResult, *, as_json: bool) -> int:
    """Print what a run came to; return the exit status, 1 if a sample has no outcome."""
    if as_json:
        print_json(result.to_json(), sort_keys=True)
    else:
        print_result(result)
    return 1 if result.missing else 0


def print_result(result: RunResult) -> None:
    """Print the table, what is missing, how the answers were judged, and where the run lies."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(_table(result.scores, console.encoding))
    for line in _remarks(result):
        say(line)


def _remarks(result: RunResult) -> Iterator[str]:
    for row in result.missing[:SHOWN]:
        yield f"{row.outcome}: {row.task} {row.sample}: {row.reason}"
    if len(result.missing) > SHOWN:
        yield f"... and {len(result.missing) - SHOWN} more; see report.md"
    undecided = sum(row.outcome == "undecided" for row in result.missing)
    if undecided:
        command = f"otoscope judge {result.folder} --judge auto:openai/NAME (or auto, the local model)"
        yield f"{undecided} undecided by the rules. To ask a language model: {command}"
    for task, scores in result.tasks.items():
        yield from (f"note: {task}: {note}" for note in scores.notes)
    if result.gate:
        reasons = ", ".join(f"{count} {reason}" for reason, count in refused(result.turned_away).items())
        seen = sum(task.scores[0].n for task in result.tasks.values() if task.scores)
        told = f"{result.turned_away.total()} of {seen}"
        yield f"Gate {result.gate}: turned away {told}{': ' if reasons else ''}{reasons}"
    judged = result.to_json()["judged_by"]
    if judged:
        yield "Judged: " + ", ".join(f"{count} by {judge}" for judge, count in sorted(judged.items()))
    for asr, count in sorted(result.to_json()["written_down_by"].items()):
        yield f"Spoken answers: {count} written down by {asr}"
    if result.usage:
        yield "Usage: " + ", ".join(f"{name.replace('_', ' ')} {amount(took)}" for name, took in result.usage.items())
    yield f"Model: {result.model}"
    yield f"Run: {result.folder}"


def _table(scores: list[Score], encoding: str) -> Table:
    repeated = [score.task == before.task for before, score in pairwise(scores)]
    rows = [cells(score) for score in scores]
    shown = [("", *row[1:]) if again else row for row, again in zip(rows, [False, *repeated], strict=False)]
    return text_table(HEADINGS, shown, encoding)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on standard output, as wide as it has to be."""
    console = Console(width=None if sys.stdout.isatty() else 160, soft_wrap=True)
    console.print(text_table(headings, rows, console.encoding))


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]], encoding: str, names: int = 2) -> Table:
    """Return a table of cells that may hold foreign text.

    Args:
        headings: one a column.
        rows: the cells.
        encoding: of the terminal.
        names: how many of the first columns hold names, which begin at the left; numbers end at the right.
    """
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < names else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(for_terminal(cell, encoding)) for cell in row))
    return table
