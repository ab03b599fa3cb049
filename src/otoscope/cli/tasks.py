"""``otoscope tasks``: list, show and check tasks, and print the taxonomy."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from otoscope.cli.options import json_option, print_json, say

if TYPE_CHECKING:
    from otoscope.task import Task


@click.group("tasks")
def command() -> None:
    """List tasks, show one, fetch or check their rows, or print the taxonomy.

    \b
    Examples:
      otoscope tasks list starter
      otoscope tasks list 'speech/**' --core superb
      otoscope tasks show superb-sv-vox-celeb1-test
      otoscope tasks check my-task
      otoscope tasks pull superb-sv-vox-celeb1-test
      otoscope tasks taxonomy
    """


def _filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose among tasks."""
    for option in reversed(
        (
            click.option(
                "--core", type=click.Choice(["superb", "hear", "marble", "core"]), help="core: all three sets."
            ),
            click.option(
                "--domain", metavar="DOMAIN", help="A domain or a glob over domains, such as 'music/*pitch*'."
            ),
            click.option("--kind", type=click.Choice(["classification", "regression", "sequence"])),
            click.option("--field", type=click.Choice(["speech", "audio", "music"])),
            click.option("--license", metavar="GLOB", help="Such as 'cc-by*', or unknown."),
            click.option(
                "--max-audio",
                "max_audios",
                type=click.IntRange(0),
                metavar="N",
                help="Most clips a sample, where known.",
            ),
        )
    ):
        function = option(function)
    return function


@command.command("list")
@click.argument("names", nargs=-1, metavar="[TASK]...")
@_filters
@json_option
def list_tasks(names: tuple[str, ...], as_json: bool, **filters: Any) -> int:
    """List tasks: the catalogue, or those that the names stand for.

    A name is a suite, a core set, a task id, a domain, a glob over ids or domains, or a path.

    \b
    Examples:
      otoscope tasks list starter
      otoscope tasks list --field music --license 'cc-by*' --json
    """
    from otoscope.task import filter_tasks, select_tasks

    asked = {name: value for name, value in filters.items() if value is not None}
    selected = select_tasks(names or ("catalogue",))
    tasks = filter_tasks(selected, **asked)
    if "max_audios" in asked:
        unknown = sum(task.audios is None for task in filter_tasks(selected, **{**asked, "max_audios": None}))
        if unknown:
            say(f"left out: {unknown} tasks with an unknown number of clips a sample", err=True)
    if as_json:
        print_json([_entry(task) for task in tasks])
    else:
        _print_list(tasks)
    return 0


def _print_list(tasks: Sequence["Task"]) -> None:
    width = max((len(task.id) for task in tasks), default=0)
    for task in tasks:
        metrics = ", ".join(task.metrics)
        corpus = f" ({task.source})" if task.hub_parts else ""
        say(f"{task.id:<{width}} {task.kind:<15} {_samples(task):>7}  {metrics:<18}  {task.name}{corpus}")


def _entry(task: "Task") -> dict[str, Any]:
    """Return what is known of a task; what is not known is the word ``unknown``."""
    from otoscope.task import UNKNOWN

    facts = {"license": UNKNOWN, "audios": UNKNOWN, "text_input": UNKNOWN} if task.hub_parts else {}
    return {"id": task.id, "samples": _samples(task), **facts, **task.content}


def _samples(task: "Task") -> int | str:
    """Return the number of samples; of a dataset on the hub, the one that the published percentages imply."""
    from otoscope.task import UNKNOWN

    if task.hub_parts:
        return task.implied_samples or UNKNOWN
    from otoscope.datasets import count_samples

    return count_samples(task)


@command.command("show")
@click.argument("name", metavar="TASK")
def show_task(name: str) -> int:
    """Print all that is known of a task as JSON: its file, its published results or its first sample.

    \b
    Example:
      otoscope tasks show starter/pitch
    """
    from otoscope.task import select_tasks

    for task in select_tasks([name]):
        found = {"published": _published(task)} if task.hub_parts else {"first_sample": _first_sample(task)}
        print_json({**_entry(task), **found})
    return 0


def _published(task: "Task") -> dict[str, Any]:
    from otoscope.published import results_of

    return {**task.published, **results_of(task)}


def _first_sample(task: "Task") -> dict[str, Any]:
    from otoscope.datasets import read_samples

    first = next(read_samples(task))
    return {"instruction": first.instruction, "target": first.target, "clips": len(first.clips)}


@command.command("check")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path, exists=True))
def check_task(path: Path) -> int:
    """Check a task or suite, a folder or a file: the task files, every row, and every clip.

    A problem is what a run would stumble over: a wrong row, a clip that cannot be decoded, a label that is not among
    the options, a target that its metric cannot read. A note is what the benchmark asks of a task before it takes it,
    or that samples ask the same, and changes nothing. Rows on the hub are not read.

    \b
    Example:
      otoscope tasks check my-task
    """
    from otoscope.contribution import Contents, notes, problems
    from otoscope.task import select_tasks

    total = 0
    for task in select_tasks([str(path)]):
        contents = Contents(task)
        wrong = 0
        for problem in problems(task, contents):
            wrong += 1
            say(problem, err=True)
        for note in () if task.hub_parts else notes(task, contents):
            say(f"note: {task.id}: {note}")
        if task.hub_parts:
            said = f"the task file has {wrong} problems" if wrong else "the task file is right"
            say(f"{task.id}: {said}; its rows are on the hub and were not read")
        else:
            say(f"{task.id}: {contents.samples} samples, {wrong} problems")
        total += wrong
    return 1 if total else 0


@command.command("pull")
@click.argument("names", nargs=-1, required=True, metavar="TASK...")
def pull_tasks(names: tuple[str, ...]) -> int:
    """Fetch the rows of tasks from the hub into its cache, so that a run finds them there.

    \b
    Example:
      otoscope tasks pull superb-sv-vox-celeb1-test
    """
    from otoscope.datasets import hub
    from otoscope.errors import DataUnavailableError
    from otoscope.progress import file_bar
    from otoscope.task import select_tasks

    failed = 0
    for task in select_tasks(names):
        if not task.hub_parts:
            say(f"{task.id}: its rows are here")
            continue
        try:
            with file_bar(task.id) as note:
                files = hub.hub_files(hub.pin(task, {}), note)
        except DataUnavailableError as error:
            failed += 1
            say(str(error), err=True)
            continue
        size = sum(path.stat().st_size for _, path in files)
        say(f"{task.id}: {len(files)} files, {size / 1e6:.1f} MB")
    return 1 if failed else 0


@command.command("taxonomy")
@json_option
def print_taxonomy(as_json: bool) -> int:
    """Print the domains of the catalogue with the number of tasks.

    Beside each domain stands whether INTERSPEECH has a matching area and EDICS a matching category, by the benchmark's
    own comparison. A task that stands under two paths counts in both, and once in what the paths share.

    \b
    Example:
      otoscope tasks taxonomy --json
    """
    from otoscope.task import catalogue, taxonomy

    counts: Counter[str] = Counter()
    for task in catalogue():
        levels = {"/".join(path.split("/")[:depth]) for path in task.domain for depth in range(1, 5)}
        counts.update(levels)
    if as_json:
        tree = [
            {"domain": path, "tasks": counts[path], "matches": list(taxonomy().get(path, ()))}
            for path in sorted(counts)
        ]
        print_json(tree)
        return 0
    for path in sorted(counts):
        depth = path.count("/")
        label = f"{'  ' * depth}{path.rpartition('/')[2]}"
        say(f"{label:<56} {counts[path]:>4}  {', '.join(taxonomy().get(path, ()))}".rstrip())
    say(f"{len(catalogue())} tasks in {len(taxonomy())} domains")
    return 0
