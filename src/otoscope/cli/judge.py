"""``otoscope judge``: judge the stored answers of a run."""

import json
from pathlib import Path

import click

from otoscope.cli.options import json_option, judge_options, key_values, run_folder


@click.command("judge")
@run_folder
@judge_options
@json_option
def command(folder: Path, judge_spec: str, judge_options: tuple[str, ...], as_json: bool) -> int:
    r"""Judge the stored answers of RUN, and score it by that judge from now on. No model under test is called.

    \b
    Examples:
      otoscope judge runs/starter--null --judge rules
      otoscope judge runs/starter--null --judge auto:openai/gpt-4o
    """
    from otoscope import api
    from otoscope.cli.display import Display, print_result

    with Display() as display:
        options = key_values("-J", judge_options)
        result = api.judge_run(folder, judge=judge_spec, judge_options=options, watch=display.watch)
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=1, sort_keys=True))
    else:
        print_result(result)
    return 1 if result.missing else 0
