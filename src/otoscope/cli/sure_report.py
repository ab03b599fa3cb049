"""``otoscope sure report`` and ``otoscope gate replay``: stored answers behind gates."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from otoscope.cli.options import json_option, print_json, say

HEADINGS = ("model", "run", "gate", "calls", "Gate R.", "Sys. R.", "retention", "supported accuracy", "failed")

RUN = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=RUN)
@click.option(
    "--gate",
    "specs",
    multiple=True,
    metavar="SPEC",
    help="A gate to put before the models; the first is what the report is about, others are compared with it.",
)
@click.option(
    "--cost",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="What answering a row that holds nothing costs, where a wrong answer costs 1 less this.",
)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write it to FILE.")
@json_option
def report_command(
    *, runs: tuple[Path, ...], specs: tuple[str, ...], cost: float, output: Path | None, as_json: bool
) -> int:
    """Report what models do with a SURE set, alone and behind gates, from their run folders.

    \b
    Examples:
      otoscope sure report runs/sure-mini-* --gate gate.json -o report.md
      otoscope sure report runs/sure-mini-* --gate gate.json --gate energy --gate silero --gate energy+silero
      otoscope sure report runs/sure-mini-* --gate gate.json --cost 0.9 --json

    A decision that the folders lack is made from the audio; no model is called.
    """
    from otoscope.outputs import check_outputs
    from otoscope.progress import count_bar
    from otoscope.report.sure import render
    from otoscope.runner.replay import replay
    from otoscope.sure.report import build
    from otoscope.sure.runs import read_runs

    if output is not None:
        check_outputs(output, [output])
    with count_bar("deciding") as watch:
        gates = replay(runs, specs, watch)
    report = build(read_runs(runs, gates), gates, cost)
    text = json.dumps(report, ensure_ascii=False, indent=1, sort_keys=True) if as_json else render(report)
    if output is None:
        click.echo(text)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(f"{text.rstrip()}\n", "utf-8")
        _tell(report["notes"])
        say(f"written: {output}")
    return _status(report)


def _status(report: Mapping[str, Any]) -> int:
    """Return 1 if rows are not answered yet: what is told of the others is not what the run will have."""
    return 1 if any(run["missing"] for run in report["runs"]) else 0


@click.command("replay")
@click.option("--gate", "specs", multiple=True, required=True, metavar="SPEC", help="The gate, or several.")
@click.option("--run", "first", required=True, metavar="RUN...", type=RUN, help="Run folders.")
@click.argument("more", nargs=-1, metavar="", type=RUN)
@json_option
def replay_command(*, specs: tuple[str, ...], first: Path, more: tuple[Path, ...], as_json: bool) -> int:
    """Apply gates to the stored answers of runs; no model is called.

    \b
    Examples:
      otoscope gate replay --gate gate.json --run runs/sure-mini-*
      otoscope gate replay --gate gate.json --gate energy+silero --run runs/RUN-1 runs/RUN-2 --json

    The decisions go into the run folders; a clip that several runs share is decided once.
    """
    from rich.console import Console

    from otoscope.cli.display import text_table
    from otoscope.progress import count_bar
    from otoscope.runner.replay import replay
    from otoscope.sure.report import build
    from otoscope.sure.runs import read_runs

    runs = (first, *more)
    with count_bar("deciding") as watch:
        gates = replay(runs, specs, watch)
    report = build(read_runs(runs, gates), gates)
    rows = report["models"]
    if as_json:
        print_json(rows, sort_keys=True)
    else:
        console = Console(width=200, highlight=False)
        console.print(text_table(HEADINGS, map(_cells, rows), console.encoding, names=len(HEADINGS)))
        _tell(report["notes"])
    return _status(report)


def _tell(notes: Iterable[str]) -> None:
    for note in notes:
        say(f"note: {note}")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    shares = (row[name] for name in ("gate_rejection", "system_rejection", "retention", "supported_accuracy"))
    counts = (f"{share['count']}/{share['of']}" for share in shares)
    return (row["model"], row["run"], row["gate"], f"{row['calls']} of {row['rows']}", *counts, str(row["failed"]))


@click.command("control")
@click.argument("folder", metavar="SET", type=RUN)
@click.option("--split", default="test", show_default=True)
@click.option("--self-abstain", is_flag=True, help="Offer in the instructions the answer UNSUPPORTED.")
@click.option(
    "--output", "-o", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to be made."
)
def control_command(*, folder: Path, split: str, self_abstain: bool, output: Path) -> int:
    """Make a task of clear speech and questions that it does not answer: what a gate for audio cannot tell.

    \b
    Examples:
      otoscope sure control sure-mini -o sure-mini-control
      otoscope run sure-mini-control --gate gate.json
    """
    from otoscope.sure.control import build_control

    rows = build_control(folder, split, output, self_abstain=self_abstain)
    say(f"{output}: {rows} rows; next: otoscope run {output}")
    return 0
