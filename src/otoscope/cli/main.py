"""The ``otoscope`` command: its verbs, and what its exit status means."""

import difflib
import importlib
import os
import sys

import click

from otoscope.errors import OtoscopeError, UsageError

VERBS = (
    "run",
    "judge",
    "score",
    "report",
    "compare",
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
    try:
        status = cli.main(standalone_mode=False) or 0
    except click.exceptions.Abort:
        _interrupt()
    except click.ClickException as error:
        error.show()
        status = USAGE
    except UsageError as error:
        status = _complain(error, USAGE)
    except OtoscopeError as error:
        status = _complain(error, INCOMPLETE)
    except KeyboardInterrupt:
        _interrupt()
    except BrokenPipeError:  # a reader such as head has gone
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the process ends
        status = INCOMPLETE
    sys.exit(status)


def _complain(error: OtoscopeError, status: int) -> int:
    click.echo(f"otoscope: {error}", err=True)
    return status


def _interrupt() -> None:
    """Leave at once: every answer that came is in the log, and a call in flight may last for minutes."""
    click.echo("\notoscope: interrupted; run the same command again to continue", err=True)
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(INTERRUPTED)
