"""``otoscope judge``: judge the stored answers of a run or of a file, or measure a judge by labelled answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from otoscope.cli.options import json_option, judge_options, key_values, print_json, say
from otoscope.errors import TaskError, UsageError

if TYPE_CHECKING:
    from otoscope.judges.agreement import Agreement
    from otoscope.judges.llm import JudgedKind
    from otoscope.judges.rows import AnswerRow

_MOST_SHOWN = 20


class _Judge(click.Group):
    """A command of its own that also has a command below it; a RUN of that name is written ``./agreement``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.commands:
            return self.commands[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


class _Path(click.Argument):
    """The argument of ``judge`` itself, which is no part of the name of the command below it."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        return super().get_usage_pieces(ctx) if self in ctx.command.params else []


def _kind_option(function: Any) -> Any:
    return click.option(
        "--kind",
        type=click.Choice(["classification", "regression"]),
        help="What the answers of a file are judged for. Of a run, each task says it.",
    )(function)


@click.group(
    "judge",
    cls=_Judge,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="",
    context_settings={"allow_interspersed_args": True},
)
@click.argument("path", cls=_Path, metavar="RUN|FILE", type=click.Path(path_type=Path, exists=True))
@_kind_option
@judge_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON and nothing else: of a run one document, of a file lines."
)
def command(
    path: Path, kind: "JudgedKind | None", judge_spec: str, judge_options: tuple[str, ...], as_json: bool
) -> int:
    """Judge the stored answers of RUN, and score it by that judge from now on; or judge the answers in FILE.

    No model under test is called. FILE has a row of JSON for each answer, with id, instruction, target and answer, and
    where they apply options, multi, synonyms and target_format. One line comes out for each row, in order; with --json
    an object with id, status, and verdict or value. A wrong row is named by its line and key; the others are judged.

    \b
    Examples:
      otoscope judge runs/starter--null --judge rules
      otoscope judge runs/starter--null --judge auto:openai/gpt-4o
      otoscope judge answers.jsonl --kind classification --judge rules --json
      otoscope judge agreement labelled.jsonl --kind regression --judge llm:openai/gpt-4o
    """
    options = key_values("-J", judge_options)
    if path.is_dir():
        return _judge_run(path, judge_spec, options, as_json)
    return _judge_file(path, kind, judge_spec, options, as_json)


def _judge_run(folder: Path, judge: str, options: dict[str, str], as_json: bool) -> int:
    from otoscope import api
    from otoscope.cli.display import Display, tell_result

    with Display() as display:
        result = api.judge_run(folder, judge=judge, judge_options=options, watch=display.watch)
    return tell_result(result, as_json=as_json)


def _judge_file(file: Path, kind: "JudgedKind | None", judge: str, options: dict[str, str], as_json: bool) -> int:
    from otoscope.judges.judge import load_judge
    from otoscope.judges.rows import judge_answers
    from otoscope.report.tables import printable
    from otoscope.score import MISSING

    kind = _known(kind, file)
    loaded = load_judge(judge, options)
    rows, wrong = _read(file)
    for judgement in judge_answers(rows, loaded, kind):
        said = {"verdict": judgement.verdict, "value": judgement.value}
        ruling = {name: text for name, text in said.items() if text is not None}
        if as_json:
            click.echo(json.dumps({"id": judgement.sample, "status": judgement.status, **ruling}, ensure_ascii=False))
        else:
            cells = (judgement.sample, judgement.status, *ruling.values(), judgement.explanation)
            click.echo("\t".join(map(printable, cells)))
        wrong = wrong or judgement.status in MISSING
    return 1 if wrong else 0


@command.command("agreement")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_kind_option
@judge_options
@click.option(
    "--repeats",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Judge all rows N times more, each time in another order, and count the rows whose ruling changes.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which orders.")
@json_option
def agreement(
    file: Path,
    kind: "JudgedKind | None",
    judge_spec: str,
    judge_options: tuple[str, ...],
    repeats: int,
    seed: int,
    as_json: bool,
) -> int:
    """Measure how far a judge agrees with the labels that a person gave the answers in FILE.

    A row is as for `otoscope judge FILE`, with a verdict (yes or no) for a classification, or a value (text in the form
    of the target, or N/A) for a regression. Printed are the share of rows that the judge decides, its agreement there
    with exact 95 % intervals, the table of labels by rulings, and the rows on which judge and person differ.

    \b
    Examples:
      otoscope judge agreement labelled.jsonl --kind classification --judge rules
      otoscope judge agreement labelled.jsonl --kind regression --judge llm:qwen2.5-coder-1.5b --repeats 2
    """
    from otoscope.judges.agreement import measure
    from otoscope.judges.judge import load_judge

    kind = _known(kind, file)
    loaded = load_judge(judge_spec, key_values("-J", judge_options))
    rows, wrong = _read(file, labelled_for=kind)
    result = measure(rows, loaded, kind, repeats=repeats, seed=seed)
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    unruled = result.unruled()
    return 1 if wrong or unruled["error"] or unruled["unparsed"] else 0


def _known(kind: "JudgedKind | None", file: Path) -> "JudgedKind":
    if kind is None:
        raise UsageError(f"{file}: add --kind classification or --kind regression; a file of answers does not say it")
    return kind


def _read(file: Path, labelled_for: "JudgedKind | None" = None) -> tuple[list["AnswerRow"], bool]:
    """Return the good rows of a file, and whether there are others; those are named on standard error."""
    from otoscope.judges.agreement import label_of
    from otoscope.judges.rows import read_answers

    rows: list[AnswerRow] = []
    wrong = False
    for row in read_answers(file):
        try:
            if isinstance(row, TaskError):
                raise row
            if labelled_for:
                label_of(row, labelled_for)
            rows.append(row)
        except TaskError as error:
            say(f"otoscope: {error}", err=True)
            wrong = True
    if not rows:
        raise TaskError(
            f"{file}: no row can be judged; a row is a line of JSON with id, instruction, target and answer"
        )
    return rows, wrong


def _print(result: "Agreement") -> None:
    say(f"judge      {result.judge}")
    say(f"decided    {result.decided}")
    say(f"agreement  {result.agreement} where decided")
    say(f"           {result.agreement_of_all} of all rows")
    columns = sorted({said for row in result.confusion.values() for said in row})
    say("")
    say("label \\ judge" + "".join(f"{said:>15}" for said in columns))
    for label, row in sorted(result.confusion.items()):
        say(f"{label:13}" + "".join(f"{row.get(said, 0):15}" for said in columns))
    if result.disagreed:
        say("")
        say(f"differ     {_some(result.disagreed)}")
    if result.repeats:
        say("")
        say(f"flips      {result.repeats.flips} in {result.repeats.times} repeats")
        if result.repeats.flipped:
            say(f"           {_some(result.repeats.flipped)}")
        say(f"agreed     {', '.join(map(str, result.repeats.agreed))} rows in the repeats")


def _some(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_SHOWN} more" if len(ids) > _MOST_SHOWN else ""
    return ", ".join(ids[:_MOST_SHOWN]) + more
