"""``otoscope probe``: does a model hear, obey the options and repeat itself?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import asr_option, json_option, key_values, print_json, read_limit, say

if TYPE_CHECKING:
    from otoscope.probing import Probe, TaskProbe

CANNOT_TELL, FAILED = 3, 4
SHOWN = 5

EPILOG = """\b
TASK is as for `otoscope run`; without one, five tasks of the starter suite are asked about.
Exit status: 0 it hears and repeats itself, 1 it could not be loaded or a task not be read, 2 wrong usage, 3 cannot
tell, 4 it is deaf or does not repeat itself.
"""


@click.command("probe", epilog=EPILOG)
@click.argument("model", metavar="MODEL")
@click.argument("tasks", nargs=-1, metavar="[TASK...]")
@click.option("-M", "model_options", multiple=True, metavar="KEY=VALUE", help="An option of the model.")
@click.option("--limit", default="8", show_default=True, metavar="N|FRACTION", help="Most samples a task, or a share.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which samples --limit takes.")
@asr_option
@json_option
def command(
    model: str,
    tasks: tuple[str, ...],
    model_options: tuple[str, ...],
    limit: str,
    seed: int,
    asr: str,
    as_json: bool,
) -> int:
    """Find out whether a model hears its audio, obeys the options and repeats itself.

    Each sample is asked about five times: with its clip, with the clip of a sample that has another answer, with
    silence of the same length, with no audio, and with its clip again in another order. Nothing is stored.

    \b
    Examples:
      otoscope probe cascade
      otoscope probe openai/my-model -M base_url=http://127.0.0.1:8000/v1 --json
      otoscope probe cascade starter/spoken-number --limit 10
    """
    from otoscope import api
    from otoscope.cli.display import Display
    from otoscope.probing import DEFAULT_TASKS

    with Display() as display:
        found = api.probe(
            model,
            tasks or DEFAULT_TASKS,
            model_options=key_values("-M", model_options),
            limit=read_limit(limit),
            seed=seed,
            asr=asr,
            watch=display.watch,
        )
    if as_json:
        print_json(found.to_json(), sort_keys=True)
    else:
        _print(found)
    return 0 if found.passed else FAILED if found.failed else CANNOT_TELL


def _print(found: "Probe") -> None:
    from otoscope.cli.display import print_table
    from otoscope.probing import CONDITIONS, SHOWN_AS

    headings = ("task", "metric", "n", *(SHOWN_AS[condition].removeprefix("the ") for condition in CONDITIONS))
    print_table(headings, map(_cells, found.tasks))
    for line in _remarks(found):
        say(line)


def _cells(task: "TaskProbe") -> tuple[str, ...]:
    from otoscope.probing import CONDITIONS
    from otoscope.report.tables import ARROWS, number

    values = [_with_errors(number(task.values[name]), task.outcomes[name].get("error", 0)) for name in CONDITIONS]
    return (task.task, f"{task.metric} {ARROWS[task.better]}", str(task.samples), *values)


def _with_errors(value: str, errors: int) -> str:
    return f"{value} ({errors} errors)" if errors > 1 else f"{value} (1 error)" if errors else value


def _remarks(found: "Probe") -> Iterator[str]:
    """Yield the verdicts, each with what it rests on."""
    from otoscope.probing import SHOWN_AS
    from otoscope.report.tables import quoted

    yield f"Hearing: {found.hearing}: {found.because}"
    for row in found.contrasts:
        changed = f"{row.changed.number} of {row.changed.of} answers differ from those with the true clip"
        votes = f"better with the true clip at {row.better} sources, worse at {row.worse}, p = {row.p:.2g}"
        yield f"  {SHOWN_AS[row.condition]}: {changed}; {votes}" + (f"; {quoted(row.error)}" if row.error else "")
    kept = found.obedience
    yield f"Options: {kept.number} of {kept.of} answers name exactly one option ({kept.low:.0%} to {kept.high:.0%})"
    disobeyed = [row for row in found.instructions if row.obeyed.number < row.obeyed.of]
    for wording in disobeyed[:SHOWN]:
        kept = wording.obeyed
        yield f"  {kept.of - kept.number} of {kept.of} do not: {wording.task}: {quoted(wording.instruction)}"
    same = found.repeated
    yield f"Repetition: {found.repetition}: {same.number} of {same.of} answers are the same when asked again"
    for pair in found.differences[:SHOWN]:
        yield f"  {pair.task} {pair.sample}: first {quoted(pair.first)}, then {quoted(pair.second)}"
    if max(len(disobeyed), len(found.differences)) > SHOWN:
        yield "  ... and more; see --json"
    yield f"Model: {found.model}"
