"""``otoscope tasks``: list, show and check tasks."""

import json
from pathlib import Path
from typing import Any

import click

from otoscope.cli.options import json_option


@click.group("tasks")
def command() -> None:
    r"""List tasks, show one, or check a task folder.

    \b
    Examples:
      otoscope tasks list
      otoscope tasks show starter/pitch
      otoscope tasks check my-task
    """


@command.command("list")
@click.argument("names", nargs=-1, metavar="[TASK]...")
@json_option
def list_tasks(names: tuple[str, ...], as_json: bool) -> int:
    """List tasks: all that come with the package, or those that the names stand for."""
    from otoscope.datasets import count_samples
    from otoscope.task import SUITES, select_tasks

    tasks = select_tasks(names or tuple(SUITES))
    if as_json:
        click.echo(
            json.dumps(
                [{"id": task.id, "samples": count_samples(task), **_content(task.file)} for task in tasks], indent=1
            )
        )
        return 0
    for task in tasks:
        click.echo(
            f"{task.id:<32} {task.kind:<15} {count_samples(task):>4}  {', '.join(task.metrics):<18}  {task.name}"
        )
    return 0


@command.command("show")
@click.argument("name", metavar="TASK")
def show_task(name: str) -> int:
    """Print all that is known of a task, and its first sample, as JSON."""
    from otoscope.datasets import read_samples
    from otoscope.task import select_tasks

    for task in select_tasks([name]):
        first = next(read_samples(task), None)
        sample = {"instruction": first.instruction, "target": first.target, "clips": len(first.clips)} if first else {}
        click.echo(
            json.dumps({**_content(task.file), "id": task.id, "first_sample": sample}, indent=1, ensure_ascii=False)
        )
    return 0


@command.command("check")
@click.argument("path", metavar="FOLDER", type=click.Path(path_type=Path, exists=True))
def check_task(path: Path) -> int:
    """Check a task or suite folder: the task files, every row, and every clip."""
    from otoscope.audio import read_audio
    from otoscope.datasets import read_samples
    from otoscope.errors import AudioError
    from otoscope.task import select_tasks

    bad = 0
    for task in select_tasks([str(path)]):
        samples = 0
        for sample in read_samples(task):
            samples += 1
            for clip in sample.clips:
                try:
                    read_audio(clip.source, clip.name)
                except AudioError as error:
                    bad += 1
                    click.echo(f"{task.id} {sample.id}: {error.reason}: {error}", err=True)
        click.echo(f"{task.id}: {samples} samples read")
    return 1 if bad else 0


def _content(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text("utf-8")))
