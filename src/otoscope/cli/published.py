"""``otoscope published``: the benchmark's tables, recomputed from its task results."""

from typing import TYPE_CHECKING

import click

from otoscope.cli.options import json_option, print_json, say
from otoscope.errors import UsageError

if TYPE_CHECKING:
    from otoscope.published import Cell
    from otoscope.relative import Comparison

RULES = {
    "relative": "mean over each metric of each task of (value - baseline) / baseline, or (baseline - value) / baseline "
    "where lower is better; values are scaled by the N/A rate",
    "gain": "mean over tasks of (value - baseline) / range, or (baseline - value) / (baseline + value) for errors; "
    "between -1 and 1",
}


@click.command("published")
@click.option("--core", type=click.Choice(["superb", "hear", "marble"]), help="The table of a core set.")
@click.option("--domains", is_flag=True, help="The scores of every domain, with what was left out and why.")
@click.option("--baseline", metavar="SYSTEM", default="paper/whisper-llama", show_default=True, help="For --domains.")
@json_option
def command(core: str | None, domains: bool, baseline: str, as_json: bool) -> int:
    """Recompute the published tables of nine systems from the published results of single tasks.

    \b
    Examples:
      otoscope published --core superb
      otoscope published --domains --json
      otoscope published --domains --baseline paper/qwen2-audio
    """
    if bool(core) == domains:
        raise UsageError("give either --core superb, hear or marble, or --domains; see otoscope published --help")
    if core:
        _print_core(core, as_json)
    else:
        _print_domains(baseline, as_json)
    return 0


def _print_core(core: str, as_json: bool) -> None:
    from otoscope.published import CORE_TABLES, SYSTEMS, core_table

    cells = core_table(core)
    if as_json:
        table = {str(name): number for name, number in CORE_TABLES.items()}[core]
        print_json({"core": core, "table": table, "cells": [cell.to_json() for cell in cells]})
        return
    for system in SYSTEMS:
        click.echo(system)
        for cell in cells:
            if cell.printed.system == system:
                click.echo(f"  {_line(cell)}")


def _line(cell: "Cell") -> str:
    value = "-" if cell.recomputed is None else f"{cell.recomputed:.4f}"
    place = f"rank {cell.rank}" if cell.rank else ""
    name = f"{cell.printed.label}, {cell.printed.metric}"
    return f"{name:<48} printed {cell.printed.raw:>9}  recomputed {value:>9}  {cell.state:<9}  {place}".rstrip()


def _print_domains(baseline: str, as_json: bool) -> None:
    from otoscope.published import domain_scores

    found = domain_scores(baseline)
    if as_json:
        systems = {system: comparison.to_json() for system, comparison in found.items()}
        print_json({"baseline": baseline, "rules": RULES, "systems": systems})
        return
    click.echo(f"against {baseline}")
    for name, rule in RULES.items():
        click.echo(f"{name}: {rule}")
    for system, comparison in found.items():
        click.echo(f"\n{system}")
        print_comparison(comparison)


def print_comparison(comparison: "Comparison") -> None:
    """Print the domain scores of a comparison, and what was left out of them."""
    say(f"  {'domain':<44} {'relative':>10} {'rows':>5} {'gain':>8} {'tasks':>6}")
    for name, score in comparison.domains.items():
        relative, gain = ("undefined" if value is None else f"{value:+.3f}" for value in (score.relative, score.gain))
        say(f"  {name:<44} {relative:>10} {score.rows:>5} {gain:>8} {score.tasks:>6}")
    for row in comparison.rows:
        if row.excluded:
            say(f"  excluded: {row.task} {row.metric}: {row.excluded}")
        if row.gain_excluded and row.gain_excluded != row.excluded:
            say(f"  no gain: {row.task} {row.metric}: {row.gain_excluded}")
        if row.caveat:
            say(f"  caution: {row.task} {row.metric}: {row.caveat}")
