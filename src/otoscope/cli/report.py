"""``otoscope report``: print the report of a run."""

from pathlib import Path

import click

from otoscope.cli.options import run_folder


@click.command("report")
@run_folder
def command(folder: Path) -> int:
    """Write report.md of RUN anew and print it.

    \b
    Example:
      otoscope report runs/starter--null > report.md
    """
    from otoscope import api

    result = api.score_run(folder)
    click.echo((folder / "report.md").read_text("utf-8"), nl=False)
    return 1 if result.missing else 0
