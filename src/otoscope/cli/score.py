"""``otoscope score``: score a run anew from its files."""

import json
from pathlib import Path

import click

from otoscope.cli.options import json_option, run_folder


@click.command("score")
@run_folder
@json_option
def command(folder: Path, as_json: bool) -> int:
    r"""Score RUN anew from its files, without audio and without a model, and print the table.

    \b
    Examples:
      otoscope score runs/starter--null
      otoscope score runs/starter--null --json
    """
    from otoscope import api
    from otoscope.cli.display import print_result

    result = api.score_run(folder)
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=1, sort_keys=True))
    else:
        print_result(result)
    return 1 if result.missing else 0
