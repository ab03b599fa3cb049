"""``otoscope merge``: put the shards of a run together."""

from pathlib import Path

import click

from otoscope.cli.options import json_option


@click.command("merge")
@click.argument(
    "shards",
    nargs=-1,
    required=True,
    metavar="RUN...",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@click.option("--output", "-o", "folder", required=True, type=click.Path(path_type=Path), help="The whole run.")
@json_option
def command(shards: tuple[Path, ...], folder: Path, as_json: bool) -> int:
    """Put the shards of a run together into one run, and score it as if it had never been split.

    \b
    Example:
      otoscope run starter --shard 1/2 -o runs/part-1
      otoscope run starter --shard 2/2 -o runs/part-2
      otoscope merge runs/part-1 runs/part-2 -o runs/whole
    """
    from otoscope import api
    from otoscope.cli.display import Display, tell_result

    with Display() as display:
        result = api.merge_runs(shards, folder, watch=display.watch)
    return tell_result(result, as_json=as_json)
