"""The shards of a run, put together into one run that could have been made without them."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from otoscope.errors import RunError
from otoscope.keys import KeyIndex
from otoscope.records import digest, dump_json
from otoscope.runner.folder import PART, SAMPLES, TASKS, OpenedTask, RunFolder, read_header, read_tasks
from otoscope.runner.gating import FAILED
from otoscope.runner.local import RunResult, Watch, rescore
from otoscope.runner.log import Log, RunLock
from otoscope.runner.shard import Shard
from otoscope.runner.spoken import FOLDER

SAME = ("schema", "model", "judge", "tasks", "limit", "seed", "long", "allow_cut", "gate")
"""What the headers of the shards must agree on; everything else may differ from machine to machine."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A finished shard."""

    path: Path
    shard: Shard
    header: Mapping[str, Any]
    tasks: Sequence[OpenedTask]


def merge(paths: Sequence[Path], target: Path, watch: Watch) -> RunResult:
    """Put shards together and score the whole.

    A record that two shards have made is taken once; one that failed gives way to one that did not.

    Raises:
        RunError: the shards do not belong together, one is absent, twice there or not finished, or ``target`` is a run.
        RunLockedError: another process writes to ``target``.
    """
    runs = sorted((_read(path) for path in paths), key=lambda run: run.shard.number)
    _check_together(runs)
    if (target / "header.jsonl").exists():
        raise RunError(f"{target}: is a run already; name another folder, or delete it")
    with ExitStack() as open_files:
        parts = [open_files.enter_context(closing(RunFolder(run.path))) for run in runs]
        _check_rows(runs, parts)
        _check_written_down(runs, parts)
        open_files.enter_context(RunLock(target))
        folder = open_files.enter_context(closing(RunFolder(target, fresh=True)))
        for name in ("decisions", "predictions", "judgements"):
            _merge_logs([getattr(part, name) for part in parts], getattr(folder, name))
        for part in parts:
            _copy_spoken(part.path / FOLDER, target / FOLDER)
        tasks = [_merge_task([run.tasks[number] for run in runs]) for number in range(len(runs[0].tasks))]
        with folder.samples.open("w", encoding="utf-8") as file:
            for task in tasks:
                file.writelines(dump_json(row) + "\n" for row in _deal_back(task.task.id, runs, parts))
        folder.write_tasks(tasks)
        folder.publish()
        names = " ".join(str(run.path) for run in runs)
        folder.write_header({**runs[0].header, "shard": "", "command": f"otoscope merge {names} -o {target}"})
    return rescore(target, watch)


def _read(path: Path) -> _Run:
    header = read_header(path)
    if not header.get("shard"):
        raise RunError(f"{path}: is no shard; it was run without --shard")
    if not (path / TASKS).exists() or any((path / (name + PART)).exists() for name in (SAMPLES, TASKS)):
        raise RunError(f"{path}: shard {header['shard']} is not finished; run the same command again")
    return _Run(path, Shard.read(header["shard"]), header, read_tasks(path))


def _check_together(runs: Sequence[_Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for name in SAME:
            if run.header.get(name) != first.header.get(name):
                raise RunError(
                    f"{first.path} and {run.path} differ in {name}: {first.header.get(name)} and "
                    f"{run.header.get(name)}; shards of one run differ in nothing but --shard"
                )
        for mine, other in zip(first.tasks, run.tasks, strict=True):
            if mine.task.content != other.task.content:
                raise RunError(
                    f"{first.path} and {run.path}: task {mine.task.id} is not the same in both; if its rows are on the "
                    "hub, pin their revision in the task and run the shards again"
                )
    _check_complete(runs)


def _check_complete(runs: Sequence[_Run]) -> None:
    of = runs[0].shard.of
    seen: dict[int, _Run] = {}
    for run in runs:
        if run.shard.of != of:
            raise RunError(f"{runs[0].path} is shard {runs[0].shard} and {run.path} is shard {run.shard}")
        if run.shard.number in seen:
            raise RunError(f"{seen[run.shard.number].path} and {run.path} are both shard {run.shard}; leave one out")
        seen[run.shard.number] = run
    absent = [f"{number}/{of}" for number in range(1, of + 1) if number not in seen]
    if absent:
        raise RunError(f"absent: shard {', '.join(absent)}; a run is merged from all its shards")
    for opened in zip(*(run.tasks for run in runs), strict=True):
        counts = [task.samples for task in opened if task.samples is not None]
        task = opened[0].task.id
        if len(counts) == of and counts != [run.shard.count(task, sum(counts)) for run in runs]:
            raise RunError(
                f"task {task}: the shards have {counts} samples, which are no shares of one task; its rows have "
                "changed between them, run them again"
            )


def _check_rows(runs: Sequence[_Run], parts: Sequence[RunFolder]) -> None:
    """Refuse shards of rows that were reordered or edited between them; a sample that two of them have is named."""
    for opened in zip(*(run.tasks for run in runs), strict=True):
        task = opened[0].task.id
        _check_distinct(task, runs, parts)
        dealt = {task_of.rows: run for task_of, run in zip(opened, runs, strict=True) if task_of.rows}
        if len(dealt) > 1:
            one, other, *_ = dealt.values()
            raise RunError(
                f"{one.path} and {other.path}: task {task}: its rows are not the same in both, or not in the same "
                "order; run the shards again from the same rows"
            )


def _check_distinct(task: str, runs: Sequence[_Run], parts: Sequence[RunFolder]) -> None:
    seen = KeyIndex()
    for number, part in enumerate(parts):
        for row in part.rows(task):
            key = digest(row["id"])
            first = seen.get(key)
            if first is not None:
                raise RunError(
                    f"{runs[first].path} and {part.path} both have sample {row['id']!r} of task {task}; its rows have "
                    "changed between the shards, run them again from the same rows"
                )
            seen[key] = number


def _check_written_down(runs: Sequence[_Run], parts: Sequence[RunFolder]) -> None:
    """Refuse shards whose spoken answers were written down by different speech recognitions."""
    first: tuple[str, Path] | None = None
    for run, part in zip(runs, parts, strict=True):
        names = {asr for opened in run.tasks for asr in _written_down_by(part, opened)}
        for name in sorted(names):
            if first is not None and name != first[0]:
                raise RunError(
                    f"{first[1]} and {run.path} differ in who wrote spoken answers down: {first[0]} and {name}; run "
                    "one of them again with the --asr of the other, which asks the model nothing"
                )
            first = name, run.path


def _written_down_by(folder: RunFolder, opened: OpenedTask) -> Iterator[str]:
    for row in folder.rows(opened.task.id):
        asr = (folder.predictions.get(row["prediction"]) or {}).get("asr")
        if asr:
            yield asr


def _merge_task(parts: Sequence[OpenedTask]) -> OpenedTask:
    """Return a task as one run would have found it; what one shard could not read, the whole cannot."""
    unavailable = next((part.unavailable for part in parts if part.unavailable), "")
    counts = [part.samples for part in parts if part.samples is not None]
    return replace(parts[0], samples=sum(counts) if len(counts) == len(parts) else None, unavailable=unavailable)


def _deal_back(task: str, runs: Sequence[_Run], parts: Sequence[RunFolder]) -> Iterator[dict[str, Any]]:
    """Yield the samples of a task in the order that they had before they were dealt out."""
    order = sorted(range(len(runs)), key=lambda index: runs[index].shard.first(task))
    hands = [parts[index].rows(task) for index in order]
    while True:
        for hand in hands:
            row = next(hand, None)
            if row is None:
                return
            yield row


def _merge_logs(parts: Sequence[Log], whole: Log) -> None:
    for part in parts:
        for record in part:
            known = whole.get(record["key"])
            if known is None or (_failed(known) and not _failed(record)):
                whole.append(record)


def _copy_spoken(part: Path, whole: Path) -> None:
    """Copy the spoken answers of a shard; one that two shards have is named by its key, and so the same request's."""
    if part.is_dir():
        shutil.copytree(part, whole, dirs_exist_ok=True)


def _failed(record: Mapping[str, Any]) -> bool:
    return record.get("status") == "error" or record.get("reason") == FAILED
