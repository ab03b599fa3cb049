"""What the rows of a SURE set came to in run folders: with the model alone, and behind gates."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import UsageError
from otoscope.gate.frozen import row_digest
from otoscope.records import Decision, Prediction
from otoscope.runner.folder import RunFolder, read_header, read_tasks
from otoscope.runner.gating import FAILED
from otoscope.runner.replay import Frozen, find_decision, rows_of, told_apart
from otoscope.sure.build import prompts
from otoscope.sure.refusals import find_refusal
from otoscope.sure.score import Row, behind_gate, mark

NO_GATE = "none"


@dataclass(frozen=True, slots=True)
class Run:
    """What the report takes from one run folder.

    Attributes:
        name: name of the folder, and of those that it is in where another run has that name.
        model: id of the model.
        task: id of the task.
        offered: whether the instructions offered a way to abstain.
        gate: what the header says of the gate that the run was made behind; empty without one.
        rows: the rows, as the run answered them.
        sounds: of each row, a digest a clip that tells whether a gate was calibrated on it.
        seconds: of each row, seconds that the answer took; None where there is none.
        usage: of each row, what the model counted.
        refusals: phrase of the list and the answer that it matched, of each refusal.
        decisions: by signature of a gate, its decision about each row; None where a clip cannot be decoded.
    """

    name: str
    model: str
    task: str
    offered: bool
    gate: Mapping[str, Any]
    rows: Sequence[Row]
    sounds: Sequence[Sequence[str]]
    seconds: Sequence[float | None]
    usage: Sequence[Mapping[str, float]]
    refusals: Sequence[tuple[str, str]]
    decisions: Mapping[str, Sequence[Decision | None]]


def read_runs(paths: Iterable[Path], gates: Sequence[Frozen]) -> list[Run]:
    """Return one ``Run`` a task of each run folder.

    Raises:
        RunError: a folder is no run, or an earlier version wrote it.
        UsageError: a task is no sequence, so it holds no transcripts, or a decision is missing.
    """
    runs = []
    folders = list(paths)
    for path, name in zip(folders, told_apart(folders), strict=True):
        header = read_header(path)
        with closing(RunFolder(path)) as folder:
            rows = list(rows_of(folder))
            for opened in read_tasks(path):
                if opened.task.kind != "sequence":
                    raise UsageError(f"{path}: {opened.task.id} is a {opened.task.kind}; this report takes sequences")
                of_task = [row for row in rows if row["task"] == opened.task.id]
                runs.append(replace(_read(folder, header, opened.task.id, of_task, gates), name=name))
    return runs


def _read(
    folder: RunFolder, header: Mapping[str, Any], task: str, rows: Sequence[Mapping[str, Any]], gates: Sequence[Frozen]
) -> Run:
    predictions = [_prediction(folder, row) for row in rows]
    answers = list(zip(rows, predictions, strict=True))
    refusals = [(phrase, made.answer) for row, made in answers if made is not None and (phrase := _refusal(row, made))]
    gate = header.get("gate", {})
    signatures = [gate["signature"]] if gate else [one.signature for one in gates]
    return Run(
        name=folder.path.name,
        model=header["model"]["id"],
        task=task,
        offered=any(prompts()["self-abstain"] in row["instruction"] for row in rows),
        gate=gate,
        rows=[_row(row, made) for row, made in answers],
        sounds=[[row_digest(clip, row["cluster"]) for clip in row["content"]] for row in rows],
        seconds=[made.seconds if made is not None and made.status == "ok" else None for made in predictions],
        usage=[made.usage if made is not None else {} for made in predictions],
        refusals=refusals,
        decisions={signature: [find_decision(folder, signature, row) for row in rows] for signature in signatures},
    )


def _prediction(folder: RunFolder, row: Mapping[str, Any]) -> Prediction | None:
    logged = folder.predictions.get(row["prediction"])
    return None if logged is None else Prediction.from_json(logged)


def _refusal(row: Mapping[str, Any], made: Prediction) -> str | None:
    return find_refusal(made.answer, row["target"], _asked(row)) if made.status == "ok" else None


def _asked(row: Mapping[str, Any]) -> str:
    return str(row["meta"].get("asked", ""))


def _row(row: Mapping[str, Any], made: Prediction | None) -> Row:
    meta, supported = row["meta"], row["expect"] == "answer"
    kind = str(meta.get("kind") or ("supported" if supported else "unsupported"))
    asked = _asked(row)
    words = mark(row["target"], "", asked).words if supported else 0
    base = Row(row["id"], str(meta.get("family") or kind), kind, row["cluster"], supported, words=words)
    if made is None:
        return replace(base, state="missing")
    if made.status != "ok":
        return replace(base, state="failed" if made.status == "error" else "missing", admitted=made.status == "error")
    refused = _refusal(row, made) is not None
    if not supported:
        return replace(base, refused=refused)
    marked = mark(row["target"], made.answer, asked)
    return replace(base, refused=refused, right=marked.right, errors=marked.errors)


class System(NamedTuple):
    """A model, alone or behind a gate.

    Attributes:
        run: the run.
        gate: name of the gate, or ``none``.
        rows: the rows behind it.
        decisions: the gate's, one a row; none without one.
        signature: the gate's; names are for people.
    """

    run: Run
    gate: str
    rows: Sequence[Row]
    decisions: Sequence[Decision | None] = ()
    signature: str = ""


def systems(run: Run, gates: Sequence[Frozen]) -> list[System]:
    """Return the model alone and behind each gate; of a run that was made behind a gate, just that."""
    if run.gate:
        name = f"{run.gate['id']} (live)"
        signature = run.gate["signature"]
        return [System(run, name, run.rows, run.decisions[signature], signature)]
    found = [System(run, NO_GATE, run.rows)]
    for gate in gates:
        decisions = run.decisions[gate.signature]
        found.append(System(run, gate.name, _behind(run.rows, decisions), decisions, gate.signature))
    return found


def _behind(rows: Sequence[Row], decisions: Sequence[Decision | None]) -> list[Row]:
    """Return the rows behind the gate; where it failed, or a clip cannot be decoded, nothing is found or asked."""
    behind = behind_gate(rows, (decision is None or _asks(decision) for decision in decisions))
    failed = (decision is not None and decision.reason == FAILED for decision in decisions)
    return [replace(row, state="failed") if fails else row for row, fails in zip(behind, failed, strict=True)]


def _asks(decision: Decision) -> bool:
    return decision.admit or decision.reason == FAILED
