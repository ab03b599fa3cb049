"""Apply gates to stored runs: the decisions that a run folder lacks are made from the audio, and no model is called."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.audio import read_audio
from otoscope.datasets import read_samples
from otoscope.errors import AudioError, RunError
from otoscope.gate.evidence import Energy
from otoscope.gate.frozen import SETTINGS, read_content
from otoscope.gate.rule import Gate, load_gate
from otoscope.gate.signal import RATE, Heard, Scores, Signal
from otoscope.progress import CountProgress
from otoscope.records import Clip, Decision, Sample, digest, dump_json
from otoscope.runner.folder import RunFolder, existing_run, read_header, read_tasks
from otoscope.runner.gating import FAILED, decision_key
from otoscope.runner.log import RunLock

WARM_UP_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Frozen:
    """A gate as far as it can be known without its weights.

    Attributes:
        name: how reports name it.
        spec: how it was asked for.
        signature: digest of its settings.
        settings: everything that can change a decision.
        calibration: how its limits were found.
    """

    name: str
    spec: str
    signature: str
    settings: Mapping[str, Any]
    calibration: Mapping[str, Any]

    def load(self) -> Gate:
        """Return the gate with its weights."""
        return load_gate(self.spec)


def read_frozen(spec: str) -> Frozen:
    """Return a gate: a ``gate.json`` is read without its weights, names joined by ``+`` stand for what they load.

    Raises:
        UsageError: the file is no gate or was edited, or a name is wrong.
        ModelLoadingError: a signal that a name stands for cannot be loaded.
    """
    if not spec.endswith(".json"):
        gate = load_gate(spec)
        return Frozen(spec, spec, gate.signature, gate.settings, gate.calibration)
    path = Path(spec)
    content = read_content(path)
    settings = {name: content[name] for name in SETTINGS}
    name = f"{path.stem} ({content['name']})"
    return Frozen(name, spec, content["signature"], settings, content["calibration"])


class _Wanted(NamedTuple):
    """Clips about which decisions are needed."""

    run: Path
    task: str
    sample: str


def replay(
    runs: Sequence[Path], specs: Sequence[str], watch: CountProgress = lambda _done, _total: None
) -> list[Frozen]:
    """Make sure that every run folder holds each gate's decision about each of its rows.

    A decision that one of the folders has is copied to the others. The rest is made from the audio, where the runs
    found it, and written as it is made; clips that several runs share are decided once. A run that was made behind a
    gate keeps to that gate.

    Args:
        runs: run folders.
        specs: gates.
        watch: called after each clip that is decided.

    Returns:
        The gates, in order; files of one name have what tells them apart in theirs.

    Raises:
        RunError: a folder is no run, or its audio is not where it was, or not what it was.
        RunLockedError: another process writes to a folder.
        UsageError: a gate is wrong.
        ModelLoadingError: a gate is needed and cannot be loaded.
    """
    asked = _named_apart([read_frozen(spec) for spec in specs])
    gates = distinct(asked)
    with ExitStack() as stack:
        folders = []
        for run in runs:
            stack.enter_context(RunLock(existing_run(run)))
            folders.append(RunFolder(run))
            stack.callback(folders[-1].close)
        alone = [folder for folder in folders if not read_header(folder.path).get("gate")]
        wanted = _wanted(alone)
        known = _known(folders, gates, wanted)
        places = _places(alone, gates)
        for key, decision in known.items():
            _keep(decision, places[key])
        missing = {
            content: [gate for gate in gates if decision_key(gate.signature, content) not in known]
            for content in wanted
        }
        todo = {content: asked for content, asked in missing.items() if asked}
        for done, decision in enumerate(_decide(todo, wanted), 1):
            _keep(decision, places[decision.key])
            watch(done, sum(map(len, todo.values())))
    return asked


def distinct(gates: Iterable[Frozen]) -> list[Frozen]:
    """Return the gates without those that decide as one before them."""
    found: dict[str, Frozen] = {}
    for gate in gates:
        found.setdefault(gate.signature, gate)
    return list(found.values())


def _named_apart(gates: Sequence[Frozen]) -> list[Frozen]:
    files = [Path(gate.spec).with_suffix("") for gate in gates if gate.spec.endswith(".json")]
    names = dict(zip(files, told_apart(files), strict=True))
    return [
        replace(gate, name=names[file] + gate.name.removeprefix(file.name))
        if (file := Path(gate.spec).with_suffix("")) in names
        else gate
        for gate in gates
    ]


def told_apart(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path: its last part, and before it as many as tell it from the other paths."""
    whole = [path.absolute().parts for path in paths]
    return ["/".join(parts[-_parts_needed(parts, whole) :]) for parts in whole]


def _parts_needed(parts: Sequence[str], whole: Iterable[Sequence[str]]) -> int:
    others = [other for other in whole if other != parts]
    counts = range(1, len(parts))
    return next((n for n in counts if all(other[-n:] != parts[-n:] for other in others)), len(parts))


def _places(folders: Sequence[RunFolder], gates: Sequence[Frozen]) -> dict[str, list[RunFolder]]:
    """Return, by key of a decision, the folders that need it."""
    found: dict[str, list[RunFolder]] = {}
    for folder in folders:
        for content in dict.fromkeys(_contents(folder)):
            for gate in gates:
                found.setdefault(decision_key(gate.signature, content), []).append(folder)
    return found


def _keep(decision: Decision, folders: Sequence[RunFolder]) -> None:
    """Write a decision at once, so that one who stops here loses nothing that was decided."""
    for folder in folders:
        there = _decided(folder, decision.key)
        if there is None or (there.reason == FAILED and decision.reason != FAILED):
            folder.decisions.append(decision.to_json())


def rows_of(folder: RunFolder) -> Iterator[dict[str, Any]]:
    """Yield every row of ``samples.jsonl``.

    Raises:
        RunError: an earlier version wrote it, which did not keep what a replay needs.
    """
    for opened in read_tasks(folder.path):
        for row in folder.rows(opened.task.id) if opened.samples is not None else ():
            if "content" not in row:
                raise RunError(
                    f"{folder.samples}: written by an earlier version; run the same command again, nothing that is "
                    "answered is asked again"
                )
            yield row


def find_decision(folder: RunFolder, signature: str, row: Mapping[str, Any]) -> Decision | None:
    """Return a gate's decision about a row; None where a clip of it cannot be decoded, or nobody decided."""
    if row["audio"] and not row["content"]:
        return None
    return _decided(folder, decision_key(signature, row["content"]))


def _decided(folder: RunFolder, key: str) -> Decision | None:
    logged = folder.decisions.get(key)
    return None if logged is None else Decision.from_json(logged)


def _contents(folder: RunFolder) -> Iterator[tuple[str, ...]]:
    """Yield the digests of each row's clips; rows with a clip that cannot be decoded have none."""
    for row in rows_of(folder):
        if row["content"] or not row["audio"]:
            yield tuple(row["content"])


def _wanted(folders: Sequence[RunFolder]) -> dict[tuple[str, ...], _Wanted]:
    found: dict[tuple[str, ...], _Wanted] = {}
    for folder in folders:
        for row in rows_of(folder):
            if row["content"] or not row["audio"]:
                found.setdefault(tuple(row["content"]), _Wanted(folder.path, row["task"], row["id"]))
    return found


def _known(
    folders: Sequence[RunFolder], gates: Sequence[Frozen], wanted: Mapping[tuple[str, ...], _Wanted]
) -> dict[str, Decision]:
    keys = [decision_key(gate.signature, content) for gate in gates for content in wanted]
    found = ((key, _decided(folder, key)) for key in keys for folder in folders)
    return {key: decision for key, decision in found if decision is not None and decision.reason != FAILED}


def _decide(
    todo: Mapping[tuple[str, ...], Sequence[Frozen]], wanted: Mapping[tuple[str, ...], _Wanted]
) -> Iterator[Decision]:
    """Decide clip by clip, all gates at a time, so that what several of them measure is measured once."""
    gates = _load_together({gate.signature: gate for asked in todo.values() for gate in asked})
    for content, sample in _samples(todo, wanted):
        for gate in todo[content]:
            made = gates[gate.signature].decide(sample.clips)
            yield replace(made, key=decision_key(gate.signature, content), sample=sample.id)


def _samples(
    todo: Mapping[tuple[str, ...], Sequence[Frozen]], wanted: Mapping[tuple[str, ...], _Wanted]
) -> Iterator[tuple[tuple[str, ...], Sample]]:
    """Yield the samples with their content, as the runs that know them found them."""
    places: dict[tuple[Path, str], dict[str, tuple[str, ...]]] = {}
    for content in todo:
        run, task, sample = wanted[content]
        places.setdefault((run, task), {})[sample] = content
    for (run, task), left in places.items():
        opened = next(opened for opened in read_tasks(run) if opened.task.id == task)
        for row in read_samples(opened.task):
            found = left.pop(row.id, None)
            if found is not None:
                _check(row, found, run)
                yield found, row
        if left:
            raise RunError(f"{opened.task.file}: row {next(iter(left))} of {run} is gone; run the same command again")


def _check(sample: Sample, content: tuple[str, ...], run: Path) -> None:
    try:
        found = tuple(read_audio(clip.source, clip.name).digest for clip in sample.clips)
    except AudioError as error:
        raise RunError(f"{run}: {sample.id}: the audio is not as it was: {error}") from error
    if found != content:
        raise RunError(f"{run}: {sample.id}: the audio has changed since; run the same command again")


class _Remembering:
    """A signal that several gates share. It measures each clip once and tells what a gate saved by that.

    Attributes:
        saved: seconds that remembered scores took when they were measured.
    """

    def __init__(self, signal: Signal) -> None:
        self._signal = signal
        self._last: tuple[str, Scores, float] = ("", Scores({}), 0.0)
        self.settings = signal.settings
        self.saved = 0.0

    def measure(self, heard: Heard) -> Scores:
        """Return the scores of one clip."""
        key = digest(heard.samples.tobytes(), str(heard.floor))
        if self._last[0] != key:
            started = time.perf_counter()
            scores = self._signal.measure(heard)
            self._last = (key, scores, time.perf_counter() - started)
        else:
            self.saved += self._last[2]
        return self._last[1]


class _Timed(NamedTuple):
    """A gate that shares signals, by name, whose seconds are those that it would take alone."""

    gate: Gate
    shared: Mapping[str, _Remembering]

    def decide(self, clips: Sequence[Clip]) -> Decision:
        before = {name: signal.saved for name, signal in self.shared.items()}
        made = self.gate.decide(clips)
        saved = {name: signal.saved - before[name] for name, signal in self.shared.items()}
        stages = {name: seconds + saved.get(name, 0.0) for name, seconds in made.stages.items()}
        return replace(made, seconds=made.seconds + sum(saved.values()), stages=stages)


def _load_together(frozen: Mapping[str, Frozen]) -> dict[str, _Timed]:
    """Load gates so that equal signals are one, and let each measure once, so that no time holds the loading."""
    import numpy as np

    noise = np.random.default_rng(0).standard_normal(WARM_UP_SECONDS * RATE).astype(np.float32) / 20
    shared: dict[str, _Remembering] = {}
    timed = {}
    for signature, asked in frozen.items():
        gate = asked.load()
        signals: dict[Any, Signal | Energy] = {}
        for name, signal in gate.signals.items():
            if isinstance(signal, Energy):
                signals[name] = signal
            else:
                signals[name] = shared.setdefault(dump_json([name, dict(signal.settings)]), _Remembering(signal))
        joined = Gate(gate.id, signals, gate.conditions, gate.calibration, gate.disabled)
        joined.measure(Clip((noise, RATE), "noise"), everything=True)
        timed[signature] = _Timed(joined, {name: one for name, one in signals.items() if isinstance(one, _Remembering)})
    return timed
