"""``otoscope score``: score a run anew from its files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import json_option, print_json, run_folder, say

if TYPE_CHECKING:
    from otoscope.relative import Comparison
    from otoscope.runner.local import RunResult


@click.command("score")
@run_folder
@click.option("--baseline", metavar="SYSTEM|RUN", help="Compare with a published system or another run.")
@json_option
def command(folder: Path, baseline: str | None, as_json: bool) -> int:
    """Score RUN anew from its files, without audio and without a model, and print the table.

    \b
    Examples:
      otoscope score runs/starter--null
      otoscope score runs/starter--null --json
      otoscope score runs/superb--cascade --baseline paper/whisper-llama
    """
    from otoscope import api
    from otoscope.cli.display import print_result
    from otoscope.cli.published import print_comparison

    result = api.score_run(folder)
    comparison = _compare(result, baseline) if baseline else None
    if as_json:
        compared = {"baseline": baseline, "comparison": comparison.to_json()} if comparison else {}
        print_json({**result.to_json(), **compared}, sort_keys=True)
    else:
        print_result(result)
        if comparison:
            say(f"Against {baseline}:")
            print_comparison(comparison)
    return 1 if result.missing else 0


def _compare(result: "RunResult", baseline: str) -> "Comparison":
    from otoscope import api, published
    from otoscope.relative import compare, measures
    from otoscope.runner.folder import read_tasks

    domains = {opened.task.id: opened.task.domain for opened in read_tasks(result.folder)}
    if baseline.startswith("paper/"):
        return compare(measures(result.scores, domains), published.measures(baseline))
    return compare(measures(result.scores, domains), measures(api.score_run(baseline).scores, domains))
