"""``otoscope models``: what can be examined."""

import json

import click

from otoscope.cli.options import json_option


@click.command("models")
@json_option
def command(as_json: bool) -> int:
    """List the kinds of models that --model takes.

    \b
    Example:
      otoscope models
    """
    from otoscope.models import PROVIDERS

    if as_json:
        click.echo(json.dumps(PROVIDERS, indent=1))
        return 0
    for text in PROVIDERS.values():
        click.echo(text)
    return 0
