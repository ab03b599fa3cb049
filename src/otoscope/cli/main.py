"""The ``otoscope`` command: its verbs, and what its exit status means."""

import codecs
import contextlib
import difflib
import importlib
import io
import json
import os
import sys
from typing import NoReturn

import click

from otoscope.errors import OtoscopeError, UsageError

VERBS = (
    "run",
    "merge",
    "judge",
    "score",
    "report",
    "compare",
    "probe",
    "metric",
    "gate",
    "tasks",
    "published",
    "models",
    "weights",
    "sure",
    "doctor",
)

INCOMPLETE, USAGE, INTERRUPTED = 1, 2, 130

HELP = """Examine what spoken language models hear.

\b
Examples:
  otoscope run starter                         the default model on the tasks that come with the package
  otoscope run starter --limit 3               three samples of each task
  otoscope run my-task --model openai/gpt-4o-audio-preview
  otoscope run 'starter/*-number' --model null --json
  otoscope probe cascade                       does the model hear, obey and repeat itself?
  otoscope judge runs/RUN --judge auto:openai/gpt-4o
  otoscope doctor                              what is installed, what is missing

\b
Exit status: 0 every sample has an outcome, 1 something is missing or failed, 2 wrong usage, 130 interrupted.
Shell completion: eval "$(_OTOSCOPE_COMPLETE=bash_source otoscope)" (or zsh_source, fish_source).
"""


class _Verbs(click.Group):
    """Imports a verb's file when it is called, so that ``--help`` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"otoscope.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, n=3, cutoff=0.4) or list(VERBS)
            ctx.fail(f"no command {args[0]!r}; did you mean {', '.join(near)}?")
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="otoscope", message="%(prog)s %(version)s")
def cli() -> None:
    """Take the verb; each does its own work."""


def main() -> None:
    """Run the command line and exit with its status."""
    _prepare_streams()
    try:
        status = _run()
        sys.stdout.flush()
    except OSError as error:
        status = _give_up(error)
    sys.exit(status)


def _prepare_streams() -> None:
    """Make both streams usable: what their encoding lacks is escaped as in JSON, which stays JSON by that."""
    if sys.stderr is None:  # closed by the caller; the next file opened would take its place
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the process ends
    if sys.stdout is None:
        _complain("standard output is closed; redirect it to /dev/null to see nothing")
        sys.exit(INCOMPLETE)
    codecs.register_error("otoscope", _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="otoscope")


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _run() -> int:
    try:
        return cli.main(standalone_mode=False) or 0
    except click.exceptions.Abort:
        _interrupt()
    except click.ClickException as error:
        message = io.StringIO()
        error.show(message)
        click.echo(_lines(message.getvalue()), err=True, nl=False)
        return USAGE
    except UsageError as error:
        _complain(str(error))
        return USAGE
    except OtoscopeError as error:
        _complain(str(error))
    except KeyboardInterrupt:
        _interrupt()
    return INCOMPLETE


def _give_up(error: OSError) -> int:
    """Say which file could not be read or written; nobody is told where the reader, such as head, has gone."""
    with contextlib.suppress(OSError):
        if not isinstance(error, BrokenPipeError):
            _complain(f"{error.filename or 'a file or standard output'}: {error.strerror or error}")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):  # what they still hold would fail again at the exit
        with contextlib.suppress(OSError):
            os.dup2(nowhere, stream.fileno())
    return INCOMPLETE


def _complain(message: str) -> None:
    click.echo(f"otoscope: {_lines(message)}", err=True)


def _lines(message: str) -> str:
    from otoscope.report.tables import printable

    return "\n".join(map(printable, message.split("\n")))


def _interrupt() -> NoReturn:
    """Leave at once: every answer that came is in the log, and a call in flight may last for minutes."""
    with contextlib.suppress(OSError):
        click.echo(
            "\notoscope: interrupted; run the same command again: a run continues, all else starts anew", err=True
        )
        sys.stderr.flush()
        sys.stdout.flush()
    os._exit(INTERRUPTED)
