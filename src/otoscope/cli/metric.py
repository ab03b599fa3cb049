"""``otoscope metric``: score any targets and answers, without a task and without a run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import json_option, print_json, say
from otoscope.errors import UsageError

if TYPE_CHECKING:
    from otoscope.pairs import PairsScore
    from otoscope.records import Kind

SHOWN = 10


@click.command("metric")
@click.argument("name", required=False)
@click.argument(
    "file", metavar="FILE.jsonl", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option(
    "--kind",
    type=click.Choice(["classification", "regression", "sequence"]),
    help="Of a regression, accuracy compares values.",
)
@click.option("--language", metavar="TAG", help="Language of the targets, such as zh; chooses the tokenizer of BLEU.")
@click.option(
    "--format", "form", metavar="FORM", help="Form of the targets: radians or degrees of angles, spans or set of iou."
)
@click.option("--list", "as_list", is_flag=True, help="List the metrics.")
@json_option
def command(
    name: str | None,
    file: Path | None,
    kind: "Kind | None",
    language: str | None,
    form: str | None,
    as_list: bool,
    as_json: bool,
) -> int:
    """Score the rows of FILE.jsonl by the metric NAME, or list the metrics.

    A row is {"target": ..., "answer": ...}, and "cluster" where its source is known (a speaker, a recording). Exit
    status 1: a row could not be scored; it is named and the others are scored.

    \b
    Examples:
      otoscope metric wer answers.jsonl
      otoscope metric sacrebleu answers.jsonl --language zh --json
      otoscope metric --list
    """
    if as_list:
        _list(as_json)
        return 0
    if name is None or file is None:
        raise UsageError("give a metric and a file, or --list; see otoscope metric --help")
    from otoscope.metrics import metric
    from otoscope.pairs import score_pairs

    score = score_pairs(metric(name, kind=kind, language=language, format=form), file)
    if as_json:
        print_json(score.to_json(), sort_keys=True)
    else:
        _print(score, file)
    return 1 if score.bad else 0


def _list(as_json: bool) -> None:
    from otoscope.metrics import METRICS

    if as_json:
        rows = [{"name": name, "better": found.better, "signature": found.signature} for name, found in METRICS.items()]
        print_json(rows, sort_keys=True)
        return
    for name, found in METRICS.items():
        click.echo(f"{name:<26} {found.better:<6}  {found.signature}")


def _print(score: "PairsScore", file: Path) -> None:
    from otoscope.report.tables import ARROWS, interval, number

    ends = interval(score.low, score.high)
    say(f"{score.metric} {ARROWS[score.better]} {number(score.value)}, 95 % interval {ends}")
    say(f"{score.n} rows scored, {score.na} N/A, {len(score.bad)} wrong; {score.clusters} sources")
    for note in score.notes:
        say(f"note: {note}")
    say(score.signature)
    for row in score.bad[:SHOWN]:
        say(f"{file}: line {row.line}: {row.key + ': ' if row.key else ''}{row.reason}")
    if len(score.bad) > SHOWN:
        say(f"... and {len(score.bad) - SHOWN} more; see --json")
