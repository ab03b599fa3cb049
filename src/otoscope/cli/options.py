"""Options that several verbs share."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from otoscope.errors import UsageError

Decorated = Callable[..., Any]


def json_option(function: Decorated) -> Decorated:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")(function)


def asr_option(function: Decorated) -> Decorated:
    """Add ``--asr``."""
    return click.option(
        "--asr",
        metavar="SPEC",
        default="whisper-base",
        show_default=True,
        help="Speech recognition that writes down spoken answers without text.",
    )(function)


def judge_options(function: Decorated) -> Decorated:
    """Add ``--judge`` and ``-J``."""
    function = click.option(
        "-J",
        "judge_options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the judge's language model, such as base_url=http://127.0.0.1:8000/v1.",
    )(function)
    return click.option(
        "--judge",
        "judge_spec",
        metavar="SPEC",
        default="rules",
        show_default=True,
        help="rules; auto (rules, then the local language model for what they leave undecided); auto:SPEC; llm:SPEC.",
    )(function)


def run_folder(function: Decorated) -> Decorated:
    """Add the argument that names a run folder."""
    return click.argument("folder", metavar="RUN", type=click.Path(path_type=Path, exists=True, file_okay=False))(
        function
    )


def say(text: str, *, err: bool = False) -> None:
    """Print one line on standard output or standard error, with nothing in it that a terminal would obey."""
    from otoscope.report.tables import for_terminal

    click.echo(for_terminal(text, (sys.stderr if err else sys.stdout).encoding), err=err)


def print_json(content: Any, *, sort_keys: bool = False) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(content, ensure_ascii=False, indent=1, sort_keys=sort_keys))


def key_values(flag: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return ``KEY=VALUE`` arguments as a dictionary.

    Raises:
        UsageError: one of them has no equals sign.
    """
    for number, pair in enumerate(pairs, 1):
        if "=" not in pair:  # it is not quoted: it may be a secret
            raise UsageError(f"{flag} number {number} has no equals sign; write {flag} KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


def read_limit(text: str) -> float:
    """Return what ``--limit`` says.

    Raises:
        UsageError: it is no number.
    """
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--limit {text}: give a number of samples or a fraction below 1") from None
