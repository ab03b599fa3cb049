"""The Python interface: run, judge, score and probe, as the command line does."""

import contextlib
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from otoscope.audio import LimitPolicy
from otoscope.errors import ModelLoadingError, UnknownNameError, UsageError
from otoscope.judges.judge import DEFAULT_JUDGE, Judge, load_judge
from otoscope.models import DEFAULT_MODEL, Model, Reply, Request, load_model
from otoscope.models.function import as_model
from otoscope.models.whisper import check_whisper
from otoscope.probing import DEFAULT_LIMIT, DEFAULT_TASKS, Probe, probe_model
from otoscope.records import digest, dump_json
from otoscope.runner.engine import Engine, EngineName, LocalEngine
from otoscope.runner.gating import Gate
from otoscope.runner.local import Event, Plan, RunResult, Watch, execute, rejudge, rescore
from otoscope.runner.merge import merge
from otoscope.runner.shard import Shard
from otoscope.runner.spoken import DEFAULT_ASR
from otoscope.task import SUITES, Task, select_tasks, variants

RUNS = Path("runs")
LONGEST_PART = 80


def _ignore(_event: Event) -> None:
    """Show nothing."""


def run(  # noqa: PLR0913 - keyword arguments, one an option of the command line
    tasks: str | Path | Sequence[str | Path],
    *,
    model: str | Model | Callable[[Request], str | Reply] = DEFAULT_MODEL,
    model_options: Mapping[str, str] | None = None,
    judge: str = DEFAULT_JUDGE,
    judge_options: Mapping[str, str] | None = None,
    limit: float | None = None,
    seed: int = 0,
    policy: LimitPolicy = "cut",
    batch: int | None = None,
    folder: Path | str | None = None,
    command: str = "otoscope.run",
    watch: Watch = _ignore,
    gate: str | Gate | None = None,
    allow_cut: bool = False,
    asr: str = DEFAULT_ASR,
    engine: EngineName = "local",
    address: str | None = None,
    actors: int | None = None,
    gpus_per_actor: float | None = None,
    cpus_per_actor: float | None = None,
    shard: str | None = None,
) -> RunResult:
    """Ask a model about tasks, judge its answers and score them; continue a run that was interrupted.

    Args:
        tasks: suites, task ids, globs over ids, or paths of task or suite folders.
        model: a spec such as ``cascade`` or ``openai/NAME``, an object with the methods of ``Model``, or a plain
            function from a ``Request`` to the answer, as text or as a ``Reply``.
        model_options: options of a model that is given as a spec.
        judge: ``rules``, ``llm:SPEC``, ``auto`` or ``auto:SPEC``.
        judge_options: options of the judge's language model.
        limit: most samples a task, or a fraction of them below 1.
        seed: which samples ``limit`` takes.
        policy: what to do with audio longer than the model takes.
        batch: most requests a call.
        folder: the run folder; by default ``runs/TASKS--MODEL``, followed by the gate and the shard where there is one.
        command: how the run was started, for its header.
        watch: called with what happens.
        gate: a spec such as ``gate.json``, or an object with the methods of ``Gate``. Where it turns a clip away the
            model is not called. An answer has the same key with and without a gate.
        allow_cut: whether cutting joined clips may remove some of them whole; without it that is an error.
        asr: names the speech recognition that writes down spoken answers without text; no other run loads it, but its
            name has to be right.
        engine: ``local`` asks the model in this process, ``ray`` in actors; what comes out is the same.
        address: of a Ray cluster; by default RAY_ADDRESS, else this machine alone.
        actors: how many actors; by default as many as there is room for.
        gpus_per_actor: GPUs an actor, 0 by default; a fraction lets several share one.
        cpus_per_actor: CPU cores an actor, 1 by default.
        shard: takes a share of every task's samples, such as ``2/8``, for ``merge_runs`` to put together.

    Raises:
        UsageError: a name or option is wrong.
        ModelLoadingError: the model cannot be loaded.
        TaskError: a task is wrong.
        RunError: there is no Ray cluster, or no actor can be had.
    """
    names = _names(tasks)
    _check(names, limit, policy, batch)
    check_whisper(asr)
    chosen = _chosen(names)
    loaded = _model(model, model_options)
    deciding = _gate(gate)
    part = Shard.read(shard) if shard else None
    asking = _engine(engine, model, loaded, model_options, (address, actors, gpus_per_actor, cpus_per_actor))
    plan = Plan(
        tasks=chosen,
        model=loaded,
        judge=_judge(chosen, judge, judge_options),
        folder=Path(folder) if folder else RUNS / _folder_name(names, loaded.id, deciding, part),
        limit=limit,
        seed=seed,
        policy=policy,
        batch=batch,
        command=command,
        gate=deciding,
        allow_cut=allow_cut,
        asr=asr,
        engine=asking,
        shard=part,
    )
    with contextlib.closing(asking):
        return execute(plan, watch)


def merge_runs(shards: Sequence[Path | str], folder: Path | str, *, watch: Watch = _ignore) -> RunResult:
    """Put the shards of a run together into one run, and score it as if it had never been split.

    Args:
        shards: the folders of all its shards, finished.
        folder: the folder of the whole run, which must not be a run yet.
        watch: called with what happens.

    Raises:
        RunError: the shards do not belong together, or one is absent, twice there, or not finished.
    """
    return merge([Path(shard) for shard in shards], Path(folder), watch)


def probe(
    model: str | Model | Callable[[Request], str | Reply],
    tasks: str | Path | Sequence[str | Path] = DEFAULT_TASKS,
    *,
    model_options: Mapping[str, str] | None = None,
    limit: float = DEFAULT_LIMIT,
    seed: int = 0,
    asr: str = DEFAULT_ASR,
    watch: Watch = _ignore,
) -> Probe:
    """Find out whether a model hears its audio, obeys the options and repeats itself. Nothing is stored.

    Args:
        model: as for ``run``.
        tasks: as for ``run``; by default five of the starter suite.
        model_options: options of the model.
        limit: most samples a task, or a fraction of them below 1.
        seed: which samples ``limit`` takes.
        asr: names the speech recognition that writes down spoken answers without text.
        watch: called with what happens.

    Raises:
        UsageError: a name or option is wrong, or a task has no metric that one sample has a value of.
        ModelLoadingError: the model cannot be loaded.
        TaskError: a task is wrong, or its rows cannot be had.
    """
    names = _names(tasks)
    _check(names, limit, "cut", None)
    check_whisper(asr)
    return probe_model(_model(model, model_options), _chosen(names), watch, limit=limit, seed=seed, asr=asr)


def judge_run(
    folder: Path | str,
    *,
    judge: str = DEFAULT_JUDGE,
    judge_options: Mapping[str, str] | None = None,
    watch: Watch = _ignore,
) -> RunResult:
    """Judge the stored answers of a run, and score it by that judge from now on.

    Args:
        folder: the run folder.
        judge: ``rules``, ``llm:SPEC``, ``auto`` or ``auto:SPEC``.
        judge_options: options of the judge's language model.
        watch: called with what happens.

    Raises:
        RunError: the folder is not a run.
    """
    return rejudge(Path(folder), load_judge(judge, judge_options), watch)


def score_run(folder: Path | str, *, watch: Watch = _ignore) -> RunResult:
    """Score a run anew from its files, without audio and without a model.

    Args:
        folder: the run folder.
        watch: called with what happens.

    Raises:
        RunError: the folder is not a run.
    """
    return rescore(Path(folder), watch)


def _names(tasks: str | Path | Sequence[str | Path]) -> list[str]:
    return [str(tasks)] if isinstance(tasks, str | Path) else [str(name) for name in tasks]


def _chosen(names: Sequence[str]) -> list[Task]:
    return [part for task in select_tasks(names) for part in variants(task)]


def _model(model: str | Model | Callable[[Request], str | Reply], options: Mapping[str, str] | None) -> Model:
    if isinstance(model, str):
        return load_model(model, options)
    if options:
        raise UsageError(f"model_options are for a model that is named; an object gets {', '.join(options)} otherwise")
    loaded = as_model(model)
    try:
        dump_json(dict(loaded.settings)).encode()
    except (TypeError, ValueError) as error:
        raise ModelLoadingError(
            f"{loaded.id}: its settings cannot be stored as JSON: {error}; they are to hold text, finite numbers, "
            "lists and dictionaries"
        ) from error
    return loaded


def _engine(
    name: str,
    model: str | Model | Callable[[Request], str | Reply],
    loaded: Model,
    options: Mapping[str, str] | None,
    wanted: tuple[str | None, int | None, float | None, float | None],
) -> Engine:
    """Return what asks the model; an actor makes it from its spec, or is sent the object."""
    if name not in get_args(EngineName):
        raise UnknownNameError("engine", name, get_args(EngineName))
    address, number, gpus, cpus = wanted
    if name == "local":
        if any(value is not None for value in wanted):
            raise UsageError("--address, --actors, --gpus-per-actor and --cpus-per-actor are for --engine ray")
        return LocalEngine(loaded)
    from otoscope.runner.ray import Actors, RayEngine

    actors = Actors(address or "", number, 0 if gpus is None else gpus, 1 if cpus is None else cpus)
    recipe = (
        functools.partial(load_model, model, options) if isinstance(model, str) else functools.partial(_same, loaded)
    )
    return RayEngine(loaded, recipe, actors)


def _same(model: Model) -> Model:
    return model


def _gate(gate: str | Gate | None) -> Gate | None:
    if not isinstance(gate, str):
        return gate
    from otoscope.gate.rule import load_gate

    return load_gate(gate)


def _judge(tasks: Sequence[Task], spec: str, options: Mapping[str, str] | None) -> Judge | None:
    return load_judge(spec, options) if any(task.kind != "sequence" for task in tasks) else None


def _folder_name(names: Sequence[str], model: str, gate: Gate | None, shard: Shard | None) -> str:
    """Return a folder name that is the same for the same tasks, model, gate and shard."""
    parts = ["+".join(map(_place, names)), model]
    parts += [f"{gate.id}-{gate.signature[:8]}"] if gate else []
    parts += [f"shard-{shard.number}-of-{shard.of}"] if shard else []
    return "--".join(map(_file_name, parts))


def _file_name(part: str) -> str:
    """Return a part as a file name; where that is not the part itself, a digest tells it from others like it."""
    name = re.sub(r"[^\w.+-]+", "-", part)[:LONGEST_PART].strip("-")
    return name if name == part else f"{name}-{digest(part)[:6]}"


def _place(name: str) -> str:
    """Return a name; of a path its last part and a digest of where it is, since many folders may have one name."""
    path = Path(name)
    if name in SUITES or not path.exists():
        return name
    return f"{path.resolve().name}-{digest(str(path.resolve()))[:6]}"


def _check(names: Sequence[str], limit: float | None, policy: str, batch: int | None) -> None:
    if not names:
        raise UsageError("no task is named; there is starter, for one")
    number: object = limit  # who calls from Python may give anything
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if limit is not None and (not is_number or not math.isfinite(limit) or limit <= 0):
        raise UsageError(f"--limit {limit!r}: give a number of samples (1, 2, ...) or a fraction between 0 and 1")
    if policy not in get_args(LimitPolicy):
        raise UnknownNameError("policy for long audio", policy, get_args(LimitPolicy))
    if batch is not None and batch < 1:
        raise UsageError(f"batch {batch}: give a number from 1 on")
