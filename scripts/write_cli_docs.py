"""Write docs/cli.md from the command line itself: ``python scripts/write_cli_docs.py docs/cli.md``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from otoscope.cli.main import cli

HEAD = "# Commands\n\nWritten by `make docs`; do not edit.\n"


def render() -> str:
    """Return the help texts of every command as Markdown."""
    return "\n".join([HEAD, *_sections(cli, "otoscope", None)])


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from _sections(found, child, context)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), "utf-8")
