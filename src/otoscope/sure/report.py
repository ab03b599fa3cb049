"""What a report on a SURE set says, as JSON values: models alone and behind gates."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, NamedTuple

from otoscope.gate.evidence import Energy
from otoscope.gate.rule import READ, SIGNALS, Condition
from otoscope.metrics import metric as find_metric
from otoscope.metrics.protocol import Metric, Rows
from otoscope.records import Decision
from otoscope.runner.replay import Frozen, distinct
from otoscope.stats import difference_interval, holm, interval, mcnemar, sign_flip
from otoscope.sure.control import UNANSWERABLE
from otoscope.sure.curves import det, rejection_at, risk_coverage, roc_auc, scod
from otoscope.sure.runs import NO_GATE, Run, System, systems
from otoscope.sure.score import Latency, Row, Share, Tally, pair, tally

Json = dict[str, Any]

SURE_KINDS = frozenset({"non-speech", "babble"})
"""Kinds of rows that every set of ``otoscope sure build`` has; a task without any is an external check or a control."""
EVEN = 0.5
"""The cost of answering an unsupported row that counts as much as a wrong answer."""
STAGES = (READ, *SIGNALS)
"""Of our gates, in order; a gate of others may have stages of its own."""
RETENTIONS = (1.0, 0.99, 0.95)
EXAMPLES = 3


def build(runs: Sequence[Run], gates: Sequence[Frozen], cost: float = EVEN) -> Json:
    """Return the report as JSON values.

    Args:
        runs: the runs.
        gates: the gates; the first is the one that the report is about, the others are there to compare with. Of
            those that decide alike the first is shown.
        cost: what answering an unsupported row costs, 0 to 1, where a wrong answer costs the rest.
    """
    shown = distinct(gates)
    built = [system for run in runs for system in systems(run, shown)]
    fronts = _fronts(runs, shown)
    models = [_system_json(system, gates) for system in built]
    return {
        "otoscope": version("otoscope"),
        "notes": list(dict.fromkeys([*_alike(gates, shown), *(note for row in models for note in row["notes"])])),
        "gates": [_gate_json(gate) for gate in shown],
        "runs": [_run_json(run) for run in runs],
        "front_ends": [_front_json(front, _kept_by(front, fronts)) for front in fronts],
        "models": models,
        "tests": _tests(built),
        "families": [row for front in fronts for row in _families(front, _kept_by(front, fronts))],
        "external": [_external(gate, fronts) for gate in shown],
        "model_families": [
            row
            for system in built
            if system.run.gate or system.signature in {"", *(gate.signature for gate in shown[:1])}
            for row in _model_families(system)
        ],
        "curves": [_curve(front, gate) for front, gate in _scored_fronts(fronts, shown)],
        "risks": [_risk(system, shown, cost) for system in built],
        "refusals": _refusals(runs),
        "cost": cost,
    }


def _alike(gates: Sequence[Frozen], shown: Sequence[Frozen]) -> Iterator[str]:
    """Say which gates are not shown; one that was given twice by the same name is no news."""
    names = {gate.signature: gate.name for gate in shown}
    for gate in gates:
        if gate.name != names[gate.signature]:
            yield f"{gate.name} has the settings of {names[gate.signature]} and decides alike; it is shown once"


def _fronts(runs: Sequence[Run], gates: Sequence[Frozen]) -> list[System]:
    """Return each gate over each set once, whichever model the run asked.

    Sets are told by their rows: builds with another seed or recipe have one task id, and so do runs of the first rows.
    """
    found: dict[Any, System] = {}
    for run in runs:
        for system in systems(run, gates):
            if system.gate != NO_GATE and not run.gate:
                found.setdefault((_contents(run), system.signature), system)
    return list(found.values())


def _contents(run: Run) -> tuple[Any, ...]:
    rows = zip(run.rows, run.sounds, strict=True)
    return (run.task, *((row.id, row.family, row.supported, *clips) for row, clips in rows))


def _kept_by(front: System, fronts: Sequence[System]) -> list[Row]:
    """Return the supported rows that show what a gate's rejection costs: the task's, or of a task without any, all."""
    return _supported(front.rows) or _supported_by(front.signature, fronts)


def _supported_by(signature: str, fronts: Sequence[System]) -> list[Row]:
    """Return the supported rows of all tasks but controls, whose speech is that of a set."""
    return _supported(_together(one for one in fronts if one.signature == signature and not _is_control(one)))


def _together(fronts: Iterable[System]) -> list[Row]:
    """Return the rows of several sets; one that two sets share, as builds that differ in seed do, is there once."""
    found: dict[Any, Row] = {}
    for front in fronts:
        for row, clips in zip(front.rows, front.run.sounds, strict=True):
            found.setdefault((front.run.task, row.id, *clips), row)
    return list(found.values())


def _external(gate: Frozen, fronts: Sequence[System]) -> Json:
    """Return what a gate does with all rows of tasks that are neither a SURE set nor a control."""
    rows = _together(one for one in fronts if one.signature == gate.signature and _is_external(one))
    supported = _supported(rows) or _supported_by(gate.signature, fronts)
    return {"gate": gate.name, "rejection": _gate_rejection(rows), "retention": _retention(supported)}


def _is_external(front: System) -> bool:
    return not _is_control(front) and all(row.kind not in SURE_KINDS for row in front.rows)


def _is_control(front: System) -> bool:
    return any(row.kind == UNANSWERABLE for row in front.rows)


def _scored_fronts(fronts: Sequence[System], gates: Sequence[Frozen]) -> Iterator[tuple[System, Frozen]]:
    for front in fronts:
        yield front, next(gate for gate in gates if gate.signature == front.signature)


def _gate_json(gate: Frozen) -> Json:
    calibration = {name: gate.calibration[name] for name in ("rule", "split", "score", "threshold") if gate.calibration}
    bounds = gate.calibration.get("rejects_at_most")
    return {
        "name": gate.name,
        "signature": gate.signature,
        "conditions": [f"{one['score']} at {one['bound']} {one['threshold']:g}" for one in gate.settings["conditions"]],
        "calibration": calibration | ({"rejects_at_most": bounds} if bounds is not None else {}),
    }


def _run_json(run: Run) -> Json:
    return {
        "run": run.name,
        "model": run.model,
        "task": run.task,
        "rows": len(run.rows),
        "sources": len({row.cluster for row in run.rows}),
        "missing": _missing(run),
        "offered": run.offered,
    }


def _missing(run: Run) -> int:
    return sum(row.state == "missing" and row.admitted for row in run.rows)


def _share_json(share: Share, rows: Sequence[Row], holds: Callable[[Row], bool]) -> Json:
    """Return a share with its two intervals: as if rows were independent, and over sources."""
    exact = share.interval
    found = _interval(rows, holds)
    return {
        "count": share.count,
        "of": share.of,
        "value": share.value,
        "exact": list(exact[:2]) if exact else None,
        "sources": list(found[:2]) if found else None,
        "method": found.method if found else "undefined",
    }


def _interval(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Any:
    return interval(_ACCURACY, _marks(rows, holds), [row.cluster for row in rows]) if rows else None


_ACCURACY: Metric = find_metric("accuracy")


def _marks(rows: Sequence[Row], holds: Callable[[Row], bool]) -> Rows:
    import numpy as np

    return np.array([[holds(row), 1.0] for row in rows], np.float64).reshape(-1, 2)


def _supported(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.supported]


def _unsupported(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row.supported]


def _retention(rows: Sequence[Row]) -> Json:
    kept = _supported(rows)
    return _share_json(tally(rows).retention, kept, lambda row: row.admitted)


def _gate_rejection(rows: Sequence[Row]) -> Json:
    return _share_json(tally(rows).gate_rejection, _unsupported(rows), lambda row: not row.admitted)


def _system_rejection(rows: Sequence[Row]) -> Json:
    return _share_json(tally(rows).system_rejection, _unsupported(rows), lambda row: row.handled)


def _accuracy(rows: Sequence[Row]) -> Json:
    return _share_json(tally(rows).supported_accuracy, _supported(rows), lambda row: row.handled)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _front_json(front: System, kept: Sequence[Row]) -> Json:
    kinds = sorted({row.kind for row in front.rows if not row.supported})
    seconds = [decision.seconds for decision in front.decisions if decision is not None]
    return {
        "gate": front.gate,
        "task": front.run.task,
        "run": front.run.name,
        "retention": _retention(kept),
        "rejection": _gate_rejection(front.rows),
        "kinds": {kind: _gate_rejection([row for row in front.rows if row.kind == kind]) for kind in kinds},
        "unique_audio": len({decision.key for decision in front.decisions if decision is not None}),
        "seconds": _mean(seconds),
        "median": _median(seconds),
        "stages": _stages(front),
        "reasons": dict(Counter(one.reason for one in front.decisions if one is not None and not one.admit)),
    }


def _stages(front: System) -> Json:
    """Return, for each stage of a gate in order, its seconds a clip and how many clips came to it."""
    made = [decision.stages for decision in front.decisions if decision is not None]
    names = {name for stages in made for name in stages}
    ordered = [*(name for name in STAGES if name in names), *sorted(names.difference(STAGES))]
    known = {name: [stages[name] for stages in made if name in stages] for name in ordered}
    return {
        name: {"seconds": _mean(seconds), "median": _median(seconds), "clips": len(seconds)}
        for name, seconds in known.items()
    }


def _system_json(system: System, gates: Sequence[Frozen]) -> Json:
    counts = tally(system.rows)
    return {
        "run": system.run.name,
        "model": system.run.model,
        "task": system.run.task,
        "offered": system.run.offered,
        "gate": system.gate,
        "supported_accuracy": _accuracy(system.rows),
        "retention": _retention(system.rows),
        "gate_rejection": _gate_rejection(system.rows),
        "system_rejection": _system_rejection(system.rows),
        "wer": _wer(system.rows, counts),
        "calls": counts.calls.count,
        "rows": counts.calls.of,
        "reduction": counts.reduction.value,
        "failed": counts.failed,
        **_costs(system),
        "calibrated_on": _calibrated_on(system, gates),
        "notes": list(_notes(system, gates)),
    }


def _calibrated_on(system: System, gates: Sequence[Frozen]) -> int:
    """Return how many of its rows the gate was calibrated on.

    What a run was made behind is known by its signature, if that gate is among the gates.
    """
    own = (gate for gate in gates if gate.signature == system.signature)
    known = {row for gate in own for row in gate.calibration.get("rows", ())}
    return sum(not known.isdisjoint(clips) for clips in system.run.sounds)


def _notes(system: System, gates: Sequence[Frozen]) -> Iterator[str]:
    """Say what is wrong with a system's numbers."""
    run = system.run
    if seen := _calibrated_on(system, gates):
        yield (
            f"{system.gate} was calibrated on {seen} of the {len(system.rows)} rows of {run.task}, so what it does "
            "with them flatters it; report on rows that it was not calibrated on, such as those of another split"
        )
    if missing := _missing(run):
        yield (
            f"{run.name}: {missing} of the {len(run.rows)} rows are not answered yet and count as failed; run the same "
            "command again"
        )
    others = [gate.name for gate in distinct(gates) if gate.signature != system.signature]
    if run.gate and others:
        yield (
            f"{run.name} was made behind a gate, {run.gate['id']}, and is shown behind that alone, not behind "
            f"{', '.join(others)}: there are no answers to what was turned away; run the model without --gate"
        )


def _wer(rows: Sequence[Row], counts: Tally) -> Json:
    import numpy as np

    answered = [row for row in rows if row.supported and row.answered and row.words]
    pooled = np.array([[row.errors, row.words] for row in answered], np.float64).reshape(-1, 2)
    found = interval(find_metric("wer"), pooled, [row.cluster for row in answered]) if answered else None
    return {
        "value": counts.wer,
        "errors": counts.errors,
        "words": counts.words,
        "answered": counts.answered,
        "of": sum(row.supported and row.words > 0 for row in rows),
        "sources": list(found[:2]) if found else None,
    }


def _costs(system: System) -> Json:
    """Return seconds a row of each stage and of the whole, and what the model counted, with and without the gate.

    Without is unknown of a run whose gate kept rows from the model: nobody asked what they take.
    """
    timed = _timed(system)
    known = not system.run.gate or all(row.admitted for row in system.rows)
    latency = _latency(timed, known=known) if timed else None
    gate = [row.gate for row in timed if row.gate is not None]
    model = [row.model for row in timed if row.model is not None]
    names = sorted({name for usage in system.run.usage for name in usage})
    pairs = list(zip(system.rows, system.run.usage, strict=True))
    return {
        "timed": len(timed),
        "gate_seconds": _mean(gate),
        "gate_median": _median(gate),
        "model_seconds": _mean(model),
        "model_median": _median(model),
        "seconds_without": latency.without if latency else None,
        "seconds_with": latency.behind if latency else None,
        "break_even": latency.break_even if latency and system.gate != NO_GATE else None,
        "usage_without": {name: sum(usage.get(name, 0) for _, usage in pairs) for name in names} if known else None,
        "usage_with": {name: sum(usage.get(name, 0) for row, usage in pairs if row.admitted) for name in names},
    }


class _Timed(NamedTuple):
    """Seconds of one row: of the gate if there is one, and of the model unless a gate kept it from being asked."""

    gate: float | None
    model: float | None
    admitted: bool


def _timed(system: System) -> list[_Timed]:
    """Return the rows whose seconds are known, with a gate and without; what failed took no time that says anything."""
    decisions = system.decisions or [None] * len(system.rows)
    found = []
    for row, decision, seconds in zip(system.rows, decisions, system.run.seconds, strict=True):
        gate = None if decision is None else decision.seconds
        decided = system.gate == NO_GATE or gate is not None
        never_asked = bool(system.run.gate) and not row.admitted
        if decided and (never_asked or (row.state == "answered" and seconds is not None)):
            found.append(_Timed(gate, seconds, row.admitted))
    return found


def _latency(timed: Sequence[_Timed], *, known: bool) -> Latency:
    gate = sum(row.gate or 0.0 for row in timed)
    asked = sum(row.model or 0.0 for row in timed if row.admitted)
    return Latency(len(timed), gate, asked, sum(row.model or 0.0 for row in timed) if known else None)


def _tests(built: Sequence[System]) -> list[Json]:
    """Compare each model with itself behind each gate; p-values are adjusted over the gates of a model."""
    found = []
    for alone in (system for system in built if system.gate == NO_GATE):
        gated = [system for system in built if system.run is alone.run and system.gate != NO_GATE]
        for what, take in (("unsupported", _unsupported), ("supported", _supported)):
            rows = [_test(take(alone.rows), take(system.rows)) for system in gated]
            adjusted = iter(holm([row["p"] for row in rows if row["p"] is not None]))
            found += [
                {
                    "run": alone.run.name,
                    "model": alone.run.model,
                    "gate": system.gate,
                    "rows": what,
                    **row,
                    "holm": None if row["p"] is None else next(adjusted),
                }
                for system, row in zip(gated, rows, strict=True)
            ]
    return found


def _test(one: Sequence[Row], other: Sequence[Row]) -> Json:
    changed = pair(one, other)
    first, second = _marks(one, lambda row: row.handled), _marks(other, lambda row: row.handled)
    clusters = [row.cluster for row in one]
    difference = difference_interval(_ACCURACY, second, first, clusters) if one else None
    return {
        "of": len(one),
        **changed._asdict(),
        "difference": (changed.gained - changed.lost) / len(one) if one else None,
        "sources": list(difference[:2]) if difference else None,
        "mcnemar": mcnemar(changed.gained, changed.lost),
        "p": sign_flip(_ACCURACY, second, first, clusters) if one else None,
    }


def _by_family(rows: Sequence[Row]) -> dict[str, list[Row]]:
    families: dict[str, list[Row]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    return families


def _families(front: System, kept: Sequence[Row]) -> Iterator[Json]:
    keys = {row.id: decision.key for row, decision in zip(front.rows, front.decisions, strict=True) if decision}
    for family, rows in _by_family(front.rows).items():
        supported = rows[0].supported
        yield {
            "gate": front.gate,
            "task": front.run.task,
            "run": front.run.name,
            "family": family,
            "kind": rows[0].kind,
            "external": _is_external(front),
            "control": _is_control(front),
            "rejection": None if supported else _gate_rejection(rows),
            "retention": _retention(rows if supported else kept),
            "unique_audio": len({keys[row.id] for row in rows if row.id in keys}),
            "turned_away": [row.id for row in rows if supported and not row.admitted],
        }


def _model_families(system: System) -> Iterator[Json]:
    for family, rows in _by_family(system.rows).items():
        counts = tally(rows)
        share = counts.supported_accuracy if rows[0].supported else counts.system_rejection
        yield {
            "run": system.run.name,
            "model": system.run.model,
            "gate": system.gate,
            "family": family,
            "supported": rows[0].supported,
            "right": asdict(share),
            "wer": counts.wer,
            "accuracy": asdict(tally(system.rows).supported_accuracy),
        }


LEVEL = Condition("energy", "level", "least", Energy().floor, "near-silent")
"""What a gate of energy alone decides by."""


def _main_condition(gate: Frozen) -> Condition:
    """Return the condition whose threshold was chosen, else the last one but for overlap."""
    conditions = _conditions(gate)
    chosen = gate.calibration.get("score")
    named = [one for one in conditions if one.score == chosen]
    return (named or [one for one in conditions if one.signal != "overlap"] or [LEVEL])[-1]


def _conditions(gate: Frozen) -> list[Condition]:
    return [Condition(**{**one, "refuses": tuple(one["refuses"])}) for one in gate.settings["conditions"]]


def _scores(front: System, gate: Frozen) -> list[float]:
    """Return the score that the gate's threshold is on, higher for admission; what another part turns away is last."""
    condition = _main_condition(gate)
    others = [one for one in _conditions(gate) if one.score != condition.score]
    return [_score(decision, condition, others) for decision in front.decisions]


def _score(decision: Decision | None, condition: Condition, others: Sequence[Condition]) -> float:
    value = None if decision is None else decision.scores.get(condition.score)
    if decision is None or value is None or _turned_away_by_another(decision, condition, others):
        return float("-inf")
    return value if condition.bound == "least" else -value


def _turned_away_by_another(decision: Decision, condition: Condition, others: Sequence[Condition]) -> bool:
    """Tell whether no threshold of a condition would admit the row, as far as was measured.

    A reason does not tell: several conditions have the same one, and only the first that does not hold gives it.
    """
    if decision.admit:
        return False
    return decision.reason != condition.reason or not all(_holds(one, decision) for one in others)


def _holds(condition: Condition, decision: Decision) -> bool:
    """Tell whether a condition other than the calibrated one holds; only that one has limits by language."""
    value = decision.scores.get(condition.score)
    if not set(condition.refuses).isdisjoint(decision.flags):
        return False
    return value is None or condition.holds(value, "")


def _curve(front: System, gate: Frozen) -> Json:
    """Return what the score is worth at all thresholds; the loss of a row is 1 if it should not be answered."""
    scores = _scores(front, gate)
    pairs = list(zip(front.rows, scores, strict=True))
    supported = [score for row, score in pairs if row.supported]
    unsupported = [score for row, score in pairs if not row.supported]
    areas = risk_coverage(scores, [float(not row.supported) for row in front.rows])
    points = det(supported, unsupported)
    return {
        "gate": front.gate,
        "task": front.run.task,
        "run": front.run.name,
        "score": _main_condition(gate).score,
        "roc_auc": roc_auc(supported, unsupported),
        "aurc": areas.aurc if areas else None,
        "augrc": areas.augrc if areas else None,
        "rejection_at": {f"{retention:.2f}": rejection_at(points, retention) for retention in RETENTIONS},
        "det": [point._asdict() for point in points],
    }


def _risk(system: System, gates: Sequence[Frozen], cost: float) -> Json:
    """Return the risk of what is answered, and the areas where the gate's score orders the rows.

    A row without an answer, for whatever reason but the gate's or the model's refusal, has no loss that is known.
    """
    rows = system.rows
    answered = [row.answered for row in rows]
    flags = [row.supported for row in rows]
    wrong = [row.supported and not row.right for row in rows]
    gate = None if system.run.gate else next((one for one in gates if one.signature == system.signature), None)
    scored = zip(rows, _scores(system, gate), strict=True) if gate else ()
    known = [(score, _loss(row)) for row, score in scored if row.state == "answered"]
    areas = risk_coverage([score for score, _ in known], [loss for _, loss in known])
    return {
        "run": system.run.name,
        "model": system.run.model,
        "gate": system.gate,
        **{f"scod_{value:g}": scod(answered, flags, wrong, value).risk for value in sorted({EVEN, cost})},
        "coverage": scod(answered, flags, wrong, cost).coverage,
        "left_out": sum(_lacks_answer(row, alone) for row, alone in zip(rows, system.run.rows, strict=True)),
        "aurc": areas.aurc if areas else None,
        "augrc": areas.augrc if areas else None,
    }


def _loss(row: Row) -> float:
    """Return what it costs to ask about a row: 1 for an answer that is wrong, or that should not be given."""
    return float(not row.refused and not (row.supported and row.right))


def _lacks_answer(row: Row, alone: Row) -> bool:
    """Tell whether a row is without an answer though the run let it be asked for, as it stands in the run."""
    return alone.admitted and row.state != "answered"


def _refusals(runs: Sequence[Run]) -> list[Json]:
    found = []
    for run in runs:
        counts = Counter(phrase for phrase, _ in run.refusals)
        for phrase, count in counts.most_common():
            answers = list(dict.fromkeys(answer for one, answer in run.refusals if one == phrase))
            found.append(
                {"run": run.name, "model": run.model, "phrase": phrase, "count": count, "answers": answers[:EXAMPLES]}
            )
    return found
