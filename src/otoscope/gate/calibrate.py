"""Choose the threshold of a gate on development data, and freeze it with all that it depends on.

Two rules. ``zero_reject`` takes the highest threshold that turns no supported row away; the least of a sample is a
fragile thing, and of 30 independent sources the next one lies under it once in 31 times. ``bounded`` takes the highest
threshold of which the data show, at the stated risk, that it fails at most a share ``alpha`` of the sources.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from otoscope.datasets import read_samples
from otoscope.errors import TaskError, UsageError
from otoscope.gate.evidence import read_sound
from otoscope.gate.overlap import Overlap, overlap_features, train_overlap
from otoscope.gate.rule import CONDITIONS, Gate, assemble, part_names, write_gate
from otoscope.gate.sweep import GRID, Point, Row, evaluate, sweep, to_csv, to_svg, with_threshold
from otoscope.records import Sample, digest, dump_json
from otoscope.task import read_task

RuleName = Literal["zero_reject", "bounded"]

BABBLE = "babble"
OVERLAP_REJECTS = 0.05
"""Share of supported rows that the overlap classifier may turn away."""
CONSTANT = 1e-6
"""A score that moves less over the data than this says nothing."""

Watch = Callable[[int, int], None]
"""Called with the rows measured so far and the rows in all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to choose.

    Attributes:
        rule: the rule.
        alpha: share of sources that ``bounded`` may fail.
        delta: risk that ``bounded`` is wrong about that.
        split: the split to choose on.
        languages: languages, as the scorer hears them, that get thresholds of their own.
    """

    rule: RuleName = "zero_reject"
    alpha: float = 0.02
    delta: float = 0.05
    split: str = "dev"
    languages: tuple[str, ...] = ()


class Calibrated(NamedTuple):
    """A gate with its threshold chosen, and the curve that it was chosen from."""

    gate: Gate
    score: str
    threshold: float
    points: list[Point]
    notes: tuple[str, ...]


def calibrate(
    folder: Path,
    spec: str,
    plan: Plan,
    *,
    options: Mapping[str, str] | None = None,
    watch: Watch = lambda _done, _total: None,
) -> Calibrated:
    """Measure the rows of a split and choose the threshold of a gate's main score.

    Args:
        folder: a set with one task folder a split, or one task folder.
        spec: names of the gate's parts joined by ``+``; the last of ``silero``, ``webrtc``, ``tagger`` and Whisper's
            scores that it has is the one whose threshold is chosen. ``overlap`` is trained on the split ``train``.
        plan: how to choose.
        options: settings of the Whisper scorer.
        watch: called after each row.

    Raises:
        UsageError: the gate has no threshold to choose, or the data cannot show what ``bounded`` asks for.
        TaskError: the split is missing, or lacks rows of either sort.
        ModelLoadingError: a signal cannot be loaded.
    """
    main = _main_condition(spec)
    overlap = train(read_split(folder, "train")) if "overlap" in part_names(spec) else None
    gate = assemble(spec, options or {}, {}, overlap)
    rows = measure_rows(gate, read_split(folder, plan.split), watch)
    return choose(gate, main, rows, plan)


def choose(gate: Gate, score: str, rows: Sequence[Row], plan: Plan) -> Calibrated:
    """Choose the threshold of one score from rows that were measured.

    Args:
        gate: the gate; its other conditions stay, but for that of ``overlap``, which is set first.
        score: the score whose threshold is chosen.
        rows: the rows.
        plan: how to choose.

    Raises:
        UsageError: the score is constant, or the data cannot show what ``bounded`` asks for.
        TaskError: there are no rows of one sort.
    """
    _need_both(rows)
    gate, notes = _without_constants(gate, score, rows)
    gate = _set_overlap(gate, rows)
    condition = next(one for one in gate.conditions if one.score == score)
    points = sweep(gate, condition, rows)
    threshold = pick(points, plan)
    languages = {}
    for language in plan.languages:
        # Each language is a claim of its own, so the risk is shared among them.
        shared = replace(plan, delta=plan.delta / len(plan.languages))
        heard = [row for row in rows if row.expect == "abstain" or row.measured.language == language]
        if not any(row.expect == "answer" for row in heard):
            raise UsageError(f"--language {language}: no supported row was heard in it; leave it out")
        languages[language] = pick(sweep(gate, condition, heard), shared, f"language {language}: ")
    gate = with_threshold(gate, condition, threshold, languages)
    at = evaluate(gate, rows, threshold)
    if at.rejected:
        first = next(row for row in rows if row.expect == "answer" and gate.verdict(row.measured).outcome != "answer")
        reason = gate.verdict(first.measured).reason
        notes += (f"{at.rejected} of {at.supported} supported rows are turned away, {first.id} first: {reason}",)
    record = {
        **asdict(plan),
        "score": score,
        "threshold": threshold,
        "data": data_digest(rows),
        "at": {**asdict(at), "turned_away": {kind: list(pair) for kind, pair in at.turned_away.items()}},
        "unique_audio": len({row.measured.digest for row in rows}),
        "rejects_at_most": upper_bound(at.failed, at.sources, plan.delta),
        "grid": [GRID[0], GRID[-1], len(GRID)],
        "notes": list(notes),
    }
    frozen = Gate(gate.id, gate.signals, gate.conditions, record, gate.disabled)
    return Calibrated(frozen, score, threshold, points, notes)


def pick(points: Sequence[Point], plan: Plan, what: str = "") -> float:
    """Return the threshold that the rule takes.

    ``zero_reject`` counts the rows that are turned away at threshold 0 as lost already: no threshold brings them back.
    ``bounded`` goes up from 0 and stops before the first threshold that the data do not certify; the share of failed
    sources only grows, so one test after another needs no correction.

    Raises:
        UsageError: not even threshold 0 is certified.
    """
    if plan.rule == "zero_reject":
        return max(point.threshold for point in points if point.rejected == points[0].rejected)
    certified = None
    for point in points:
        if not certifies(point.failed, point.sources, plan):
            break
        certified = point.threshold
    if certified is None:
        start = points[0]
        raise UsageError(
            f"{what}{start.sources} sources, {start.failed} failed at threshold 0, cannot show that at most "
            f"{plan.alpha:.3g} of all sources fail, at a risk of {plan.delta:.3g}. It takes "
            f"{sources_needed(plan.alpha, plan.delta, start.failed)} sources with {start.failed} failed. These show "
            f"{upper_bound(start.failed, start.sources, plan.delta):.3g} at best"
        )
    return certified


def certifies(failed: int, sources: int, plan: Plan) -> bool:
    """Tell whether so few failures would be rarer than ``delta`` if the share of failing sources were ``alpha``."""
    from scipy.special import bdtr

    return sources > 0 and bool(bdtr(failed, sources, plan.alpha) <= plan.delta)


def upper_bound(failed: int, sources: int, delta: float) -> float:
    """Return the one-sided exact upper bound of the share of failing sources."""
    from scipy.special import betaincinv

    return 1.0 if failed >= sources else float(betaincinv(failed + 1, sources - failed, 1 - delta))


def sources_needed(alpha: float, delta: float, failed: int = 0) -> int:
    """Return how many sources it takes to certify ``alpha`` with so many failures among them."""
    from scipy.special import bdtr

    low, high = failed, max(failed + 1, math.ceil(math.log(delta) / math.log1p(-alpha)))
    while bdtr(failed, high, alpha) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtr(failed, middle, alpha) <= delta else (middle, high)
    return high


def read_split(folder: Path, split: str) -> list[Sample]:
    """Return the samples of a split: the task folder of that name, or the rows of one task that name the split.

    Raises:
        TaskError: there are none.
    """
    inner = folder / split / "task.json"
    samples = list(read_samples(read_task(inner if inner.is_file() else folder)))
    chosen = [sample for sample in samples if sample.meta.get("split", split) == split]
    if not chosen:
        raise TaskError(f"{folder}: no rows of the split {split!r}")
    return chosen


def measure_rows(gate: Gate, samples: Sequence[Sample], watch: Watch = lambda _done, _total: None) -> list[Row]:
    """Measure every score of every sample; a sample has one clip.

    Raises:
        TaskError: a sample has another number of clips.
    """
    rows = []
    for number, sample in enumerate(samples, 1):
        if len(sample.clips) != 1:
            raise TaskError(f"{sample.task} {sample.id}: {len(sample.clips)} clips; a gate is calibrated on one a row")
        kind = str(sample.meta.get("kind") or ("supported" if sample.expect == "answer" else "unsupported"))
        measured = gate.measure(sample.clips[0], everything=True)
        rows.append(Row(sample.id, sample.expect, kind, sample.cluster, measured))
        watch(number, len(samples))
    return rows


def train(samples: Iterable[Sample]) -> Overlap:
    """Train the overlap classifier on rows of kind ``babble`` against rows that should be answered.

    Raises:
        TaskError: there are none of one sort, or a clip cannot be used.
    """
    import numpy as np

    features, several, names = [], [], []
    for sample in samples:
        if sample.expect != "answer" and sample.meta.get("kind") != BABBLE:
            continue
        sound = read_sound(sample.clips[0])
        if sound.code:
            raise TaskError(f"{sample.task} {sample.id}: {sound.code}: {sound.message}")
        features.append(overlap_features(sound.samples))
        several.append(sample.expect != "answer")
        names.append(f"{sample.id} {sound.digest}")
    if len(set(several)) < 2:  # noqa: PLR2004 - two classes
        raise TaskError("the split train needs rows of kind babble and rows to answer; build a set with otoscope sure")
    return train_overlap(np.stack(features), several, digest(*sorted(names)))


def data_digest(rows: Sequence[Row]) -> str:
    """Return what identifies the rows, their audio and what was expected of them, in whatever order."""
    return digest(*sorted(dump_json([row.id, row.measured.digest, row.expect, row.cluster]) for row in rows))


def save(calibrated: Calibrated, path: Path) -> tuple[Path, Path, Path]:
    """Write the gate, and beside it the table and the figure of its curve; return the three paths."""
    table, figure = path.with_suffix(".csv"), path.with_suffix(".svg")
    write_gate(calibrated.gate, path)
    table.write_text(to_csv(calibrated.points), "utf-8")
    figure.write_text(to_svg(calibrated.points, calibrated.threshold, calibrated.score), "utf-8")
    return path, table, figure


def _main_condition(spec: str) -> str:
    names = [name for name in part_names(spec) if name in CONDITIONS and name != "overlap"]
    fit = [name for name in names if CONDITIONS[name].bound == "least" and name != "avg_logprob"]
    if not fit:
        raise UsageError(f"{spec}: no threshold to choose; name one of silero, webrtc, tagger, whisper, whisper_text")
    return CONDITIONS[fit[-1]].score


def _need_both(rows: Sequence[Row]) -> None:
    for expect in ("answer", "abstain"):
        if not any(row.expect == expect for row in rows):
            raise TaskError(f"no row expects {expect!r}; a threshold divides rows of both sorts")


def _without_constants(gate: Gate, score: str, rows: Sequence[Row]) -> tuple[Gate, tuple[str, ...]]:
    """Disable ``no_speech_prob`` where it is constant, as with weights that were never trained to say it."""
    values = [row.measured.scores[name] for row in rows for name in ("no_speech_prob",) if name in row.measured.scores]
    if len(values) < 2 or max(values) - min(values) >= CONSTANT:  # noqa: PLR2004 - NaN compares as not constant
        return gate, ()
    message = f"no_speech_prob is {values[0]:.3g} on all {len(values)} rows: it says nothing with these weights"
    if any(one.score == "no_speech_prob" for one in gate.conditions) or score == "no_speech_prob":
        raise UsageError(f"{message}; leave it out of the gate")
    quiet = Gate(gate.id, gate.signals, gate.conditions, gate.calibration, ("no_speech_prob",))
    return quiet, (f"{message} and is disabled",)


def _set_overlap(gate: Gate, rows: Sequence[Row]) -> Gate:
    condition = next((one for one in gate.conditions if one.score == "overlap"), None)
    if condition is None:
        return gate
    values = sorted(
        (row.measured.scores["overlap"] for row in rows if row.expect == "answer" and not row.measured.code),
        reverse=True,
    )
    allowed = math.floor(OVERLAP_REJECTS * len(values))
    return with_threshold(gate, condition, values[allowed])
