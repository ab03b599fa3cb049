"""Choose the threshold of a gate on development data, and freeze it with all that it depends on.

Two rules. ``zero_reject`` takes the strictest threshold that turns no supported row away; the least of a sample is a
fragile thing, and of 30 independent sources the next one lies under it once in 31 times. ``bounded`` takes the
strictest threshold of which the data show, at the stated risk, that it fails at most a share ``alpha`` of the sources.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from otoscope.datasets import read_samples
from otoscope.errors import AudioError, TaskError, UsageError
from otoscope.gate.evidence import read_sound
from otoscope.gate.figures import det_figure, sweep_figure
from otoscope.gate.frozen import row_digest
from otoscope.gate.overlap import Overlap, overlap_features, train_overlap
from otoscope.gate.rule import CONDITIONS, Gate, assemble, known_limits, part_names, write_gate
from otoscope.gate.sweep import SECONDS, Point, Row, evaluate, sweep, to_csv, with_threshold
from otoscope.progress import CountProgress
from otoscope.records import Sample, digest, dump_json
from otoscope.task import read_task

RuleName = Literal["zero_reject", "bounded"]

CHOSEN = ("no_speech_prob", "avg_logprob", "silero", "webrtc", "tagger", "whisper", "whisper_text")
"""Names with a threshold to choose; of those that a gate has, that of the last is chosen."""
BABBLE = "babble"
DEV, TRAIN = "dev", "train"
"""The split that a threshold is usually chosen on, and the one that the overlap classifier is trained on."""
OVERLAP_REJECTS = 0.05
"""Share of supported rows that the overlap classifier may turn away under ``bounded``; under ``zero_reject`` none."""
UNHEARD = frozenset(error.reason for error in AudioError.__subclasses__())
"""Codes of a clip that could not be read, so that nothing was found in it."""
NAMED = 3
"""Rows that a note names."""
CONSTANT = 1e-6
"""A score that moves less over the data than this says nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to choose.

    Attributes:
        rule: the rule.
        alpha: share of sources that ``bounded`` may fail.
        delta: risk that ``bounded`` is wrong about that.
        split: the split to choose on.
        languages: languages, as the scorer hears them, that get thresholds of their own.

    Raises:
        UsageError: a share or a risk is not between 0 and 1.
    """

    rule: RuleName = "zero_reject"
    alpha: float = 0.02
    delta: float = 0.05
    split: str = DEV
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("delta", self.delta)):
            if not 0 < value < 1:  # NaN is not either
                raise UsageError(f"--{name} {value}: give a number between 0 and 1")


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
    watch: CountProgress = lambda _done, _total: None,
) -> Calibrated:
    """Measure the rows of a split and choose the threshold of a gate's main score.

    Args:
        folder: a set with one task folder a split, or one task folder.
        spec: names of the gate's parts joined by ``+``; the threshold of the last of ``CHOSEN`` that it has is chosen.
            ``overlap`` is trained on the split ``train``.
        plan: how to choose.
        options: settings of the Whisper scorer and the tagger.
        watch: called after each row.

    Raises:
        UsageError: the gate has no threshold to choose, or the data cannot show what ``bounded`` asks for, as where
            its rows do not name their sources; or ``overlap`` would be trained on the rows that limits are chosen on.
        TaskError: the split is missing, or lacks rows of either sort; or ``overlap`` has no rows to be trained on.
        ModelLoadingError: a signal cannot be loaded.
    """
    main = _main_name(spec)
    limits = _other_limits(spec, main, options or {})
    samples = read_split(folder, plan.split)
    if plan.rule == "bounded":
        _need_sources(samples, str(folder))
    overlap = train(_training_rows(folder, plan)) if "overlap" in part_names(spec) else None
    gate = assemble(spec, options or {}, limits, overlap)
    rows = measure_rows(gate, samples, watch)
    return choose(gate, CONDITIONS[main].score, rows, plan)


def choose(gate: Gate, score: str, rows: Sequence[Row], plan: Plan) -> Calibrated:
    """Choose the threshold of one score from rows that were measured.

    Args:
        gate: the gate; its other conditions stay, but for that of ``overlap``, which is set first.
        score: the score whose threshold is chosen.
        rows: the rows.
        plan: how to choose.

    Raises:
        UsageError: the score is constant, or the data cannot show what ``bounded`` asks for.
        TaskError: there are no rows of one sort, or none of one sort could be heard.
    """
    _need_both(rows)
    if plan.rule == "bounded":
        _need_sources(rows, "the rows")
    given = rows
    gate, notes = _without_constants(gate, score, rows)
    rows, unheard = _without_unheard(gate, rows)
    notes += unheard + _copies(rows)
    gate = _set_overlap(gate, rows, OVERLAP_REJECTS if plan.rule == "bounded" else 0.0)
    condition = next(one for one in gate.conditions if one.score == score)
    points = sweep(gate, condition, rows)
    # Each language is a claim of its own and so is the common threshold: the risk is shared among all of them.
    shared = replace(plan, delta=plan.delta / (1 + len(plan.languages)))
    seconds = score in SECONDS
    threshold = pick(points, shared, seconds=seconds)
    languages = {}
    for language in plan.languages:
        heard = [row for row in rows if row.expect == "abstain" or row.measured.language == language]
        if not any(row.expect == "answer" for row in heard):
            raise UsageError(f"--language {language}: no supported row was heard in it; leave it out")
        tried = sweep(gate, condition, heard)
        languages[language] = pick(tried, shared, f"language {language}: ", seconds=seconds)
    gate = with_threshold(gate, condition, threshold, languages)
    at = evaluate(gate, rows, threshold)
    notes += _losses(gate, rows, at)
    record = {
        **asdict(plan),
        "score": score,
        "threshold": threshold,
        "data": data_digest(given),
        "rows": sorted({row_digest(row.measured.digest, row.cluster) for row in given}),
        **_told(gate, rows, at, shared),
        "unique_audio": len({row.measured.digest for row in rows}),
        "grid": [points[0].threshold, points[-1].threshold, len(points)],
        "notes": list(notes),
    }
    frozen = Gate(gate.id, gate.signals, gate.conditions, record, gate.disabled)
    return Calibrated(frozen, score, threshold, points, notes)


def pick(points: Sequence[Point], plan: Plan, what: str = "", *, seconds: bool = False) -> float:
    """Return the threshold that the rule takes.

    ``zero_reject`` counts the rows that are turned away at the first threshold as lost already: none brings them back.
    ``bounded`` goes on from there and stops before the first threshold that the data do not certify; the share of
    failed sources only grows, so one test after another needs no correction. Of seconds that turn away as
    many rows that should be, those nearest to the usual limit are taken: they grow with the clip, and the shortest one
    to answer is no measure.

    Args:
        points: from the threshold that admits most to the strictest.
        plan: the rule.
        what: begins the message of an error.
        seconds: whether the thresholds are seconds.

    Raises:
        UsageError: not even the first threshold is certified.
    """
    if plan.rule == "zero_reject":
        allowed = [point for point in points if point.rejected == points[0].rejected]
    else:
        allowed = list(itertools.takewhile(lambda point: certifies(point.failed, point.sources, plan), points))
    if not allowed:
        start = points[0]
        raise UsageError(
            f"{what}{start.sources} sources, {start.failed} failed at threshold {start.threshold:g}, cannot show that "
            f"at most {plan.alpha:.3g} of all sources fail, at a risk of {plan.delta:.3g}. It takes "
            f"{sources_needed(plan.alpha, plan.delta, start.failed)} sources with {start.failed} failed. These show "
            f"{upper_bound(start.failed, start.sources, plan.delta):.3g} at best"
        )
    strictest = allowed[-1]
    if not seconds:
        return strictest.threshold
    serving = [point.threshold for point in allowed if point.unsupported == strictest.unsupported]
    usual = CONDITIONS["silero"].threshold
    return min(serving, key=lambda threshold: abs(threshold - usual))


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

    The rows of one task of which none names a split are ``dev`` as a whole: nothing tells some of them apart.

    Raises:
        TaskError: there are none, or some rows name a split and others do not; the message names what is there.
    """
    folders = sorted(file.parent.name for file in folder.glob("*/task.json"))
    inner = split in folders
    if not inner and folders and not (folder / "task.json").is_file():
        raise TaskError(f"{folder}: no task folder of the split {split!r}; there are {', '.join(folders)}")
    samples = list(read_samples(read_task(folder / split if inner else folder)))
    named = {sample.id: str(sample.meta["split"]) for sample in samples if sample.meta.get("split") not in (None, "")}
    if not named and (inner or split == DEV):
        return samples
    if not named:
        raise TaskError(
            f"{folder}: no split {split!r}, since no row names one; write them into a column split (as {TRAIN} and "
            f"{DEV}) or into a task folder each ({TRAIN}/task.json, {DEV}/task.json)"
        )
    unmarked = next((sample.id for sample in samples if sample.id not in named), None)
    if unmarked is not None and not inner:
        raise TaskError(f"{folder}: row {unmarked} names no split, and others do; write one into its column split")
    chosen = [sample for sample in samples if named.get(sample.id, split) == split]
    if not chosen:
        there = ", ".join(sorted(set(named.values())))
        raise TaskError(f"{folder}: no rows of the split {split!r}; they are of {there}")
    return chosen


def _training_rows(folder: Path, plan: Plan) -> list[Sample]:
    """Return the rows that ``overlap`` is trained on; a classifier scores the rows that it has seen too well."""
    if plan.split == TRAIN:
        raise UsageError(f"--split {TRAIN}: overlap is trained on these rows; choose the limits on others, as {DEV}")
    try:
        return read_split(folder, TRAIN)
    except TaskError as error:
        raise TaskError(f"overlap is trained on rows of a split {TRAIN}, apart from {plan.split}: {error}") from error


def measure_rows(gate: Gate, samples: Sequence[Sample], watch: CountProgress = lambda _done, _total: None) -> list[Row]:
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
        rows.append(Row(sample.id, sample.expect, kind, sample.cluster, measured, sample.clustered))
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


def outputs(path: Path) -> tuple[Path, ...]:
    """Return where the gate goes, and beside it the table and the two figures of its curve.

    Raises:
        UsageError: the name does not end in ``.json``, by which a frozen gate is known.
    """
    if path.suffix != ".json":
        raise UsageError(f"-o {path}: a frozen gate is known by its suffix; name it {path.name}.json")
    return path, path.with_suffix(".csv"), path.with_suffix(".svg"), path.with_suffix(".det.svg")


def save(calibrated: Calibrated, path: Path) -> tuple[Path, ...]:
    """Write the gate and what stands beside it; return the paths.

    Raises:
        UsageError: the name does not end in ``.json``.
    """
    path, table, curve, det = outputs(path)
    write_gate(calibrated.gate, path)
    named = "sources" in calibrated.gate.calibration["at"]
    table.write_text(to_csv(calibrated.points, sources=named), "utf-8")
    curve.write_text(sweep_figure(calibrated.points, calibrated.threshold, calibrated.score), "utf-8")
    det.write_text(det_figure(calibrated.points, calibrated.threshold, calibrated.score), "utf-8")
    return path, table, curve, det


def _main_name(spec: str) -> str:
    names = part_names(spec)
    fit = [name for name in CHOSEN if name in names]
    if not fit:
        raise UsageError(f"{spec}: no threshold to choose; name one of {', '.join(CHOSEN)}")
    return fit[-1]


def _other_limits(spec: str, main: str, options: Mapping[str, str]) -> dict[str, float]:
    try:
        return known_limits(spec, [name for name in part_names(spec) if name != main], options)
    except UsageError as error:
        raise UsageError(
            f"{error}. One threshold is chosen at a time, here that of {main}; name one such part"
        ) from None


def _nameless(rows: Iterable[Sample | Row]) -> Iterator[str]:
    """Yield the ids of rows to be answered that name no source."""
    return (row.id for row in rows if row.expect == "answer" and not row.clustered)


def _need_sources(rows: Iterable[Sample | Row], where: str) -> None:
    for name in _nameless(rows):
        raise UsageError(
            f"{where}: bounded counts sources, and row {name} names none in the column cluster (or what the "
            "task's columns.cluster names): write there what the row was made from, such as a speaker or recording"
        )


def _first(names: Sequence[str]) -> str:
    """Return how many there are, and the first of them."""
    more = ", ..." if len(names) > NAMED else ""
    return f"{len(names)} ({', '.join(names[:NAMED])}{more})"


def _told(gate: Gate, rows: Sequence[Row], at: Point, plan: Plan) -> dict[str, Any]:
    """Return what the threshold does to the rows, and the bound; of sources only where every row names its own."""
    told = {**asdict(at), "turned_away": {kind: list(pair) for kind, pair in at.turned_away.items()}}
    if not any(_nameless(rows)):
        return {"at": told, "rejects_at_most": _bound(gate, at, plan)}
    return {"at": {key: value for key, value in told.items() if key not in {"sources", "failed"}}}


def _losses(gate: Gate, rows: Sequence[Row], at: Point) -> tuple[str, ...]:
    """Tell of supported rows that are turned away, and of those whose sources nobody knows."""
    lost = ((row.id, gate.verdict(row.measured)) for row in rows if row.expect == "answer")
    first = next((f"{name} first: {verdict.reason}" for name, verdict in lost if verdict.outcome != "answer"), "")
    notes = [f"{at.rejected} of {at.supported} supported rows are turned away, {first}"] if first else []
    nameless = list(_nameless(rows))
    if nameless:
        notes.append(f"no bound over sources: supported rows that name none in the column cluster: {_first(nameless)}")
    return tuple(notes)


def _bound(gate: Gate, at: Point, plan: Plan) -> float:
    """Return at most which share of all sources loses a row.

    A limit that is chosen as the least score of a sample cuts off one more share of a source than are seen to fail:
    one such limit is what the exact bound of none failed says. Each further one, of ``overlap`` and of a language,
    counts as one failure more, and so does the draw in which other conditions lose sources already: where the least
    score of what they leave stands among all is not fixed beforehand. ``bounded`` fixes the number that may fail.
    """
    if plan.rule == "bounded":
        return upper_bound(at.failed, at.sources, plan.delta)
    limits = len(plan.languages) + any(one.score == "overlap" for one in gate.conditions)
    return upper_bound(at.failed + limits + (at.failed > 0), at.sources, plan.delta)


def _without_unheard(gate: Gate, rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Leave out rows to be turned away that nothing was heard of, as reports do: no gate found anything in them.

    A row to be answered stays: it is turned away, whatever the reason.

    Raises:
        TaskError: none is left.
    """
    unheard = {row.id: _failure(gate, row) for row in rows if row.expect == "abstain" and _failure(gate, row)}
    if not unheard:
        return list(rows), ()
    told = _first([f"{name}: {reason}" for name, reason in unheard.items()])
    kept = [row for row in rows if row.expect == "answer" or not _failure(gate, row)]
    if not any(row.expect == "abstain" for row in kept):
        raise TaskError(f"no row that expects 'abstain' could be heard: {told}; is the audio there?")
    return kept, (f"rows to be turned away that could not be heard are left out: {told}",)


def _failure(gate: Gate, row: Row) -> str:
    """Return why a gate could not examine a row, or an empty string."""
    if row.measured.code:
        return row.measured.code if row.measured.code in UNHEARD else ""
    scores = (row.measured.scores.get(one.score, math.nan) for one in gate.conditions)
    return "" if all(map(math.isfinite, scores)) else "score-error"


def _copies(rows: Sequence[Row]) -> tuple[str, ...]:
    """Tell of one sound under the names of several sources: they are no independent ones.

    What could not be read has the digest of its failure, which says nothing about the sound.
    """
    sources: dict[str, set[str]] = {}
    for row in rows:
        if row.expect == "answer" and row.clustered and row.measured.code not in UNHEARD:
            sources.setdefault(row.measured.digest, set()).add(row.cluster)
    several = sorted({name for names in sources.values() if len(names) > 1 for name in names})
    if not several:
        return ()
    return (f"sources that share audio with others, and so are no independent ones: {_first(several)}",)


def _need_both(rows: Sequence[Row]) -> None:
    for expect in ("answer", "abstain"):
        if not any(row.expect == expect for row in rows):
            raise TaskError(f"no row expects {expect!r}; a threshold divides rows of both sorts")


def _without_constants(gate: Gate, score: str, rows: Sequence[Row]) -> tuple[Gate, tuple[str, ...]]:
    """Disable ``no_speech_prob`` where it is constant, as with weights that were never trained to say it."""
    name = "no_speech_prob"
    values = [row.measured.scores[name] for row in rows if name in row.measured.scores]
    if len(values) < 2 or max(values) - min(values) >= CONSTANT:  # noqa: PLR2004 - NaN compares as not constant
        return gate, ()
    message = f"{name} is {values[0]:.3g} on all {len(values)} rows: it says nothing with these weights"
    if score == name:
        raise UsageError(f"{message}, and the gate has no other threshold to choose; name another score")
    conditions = [one for one in gate.conditions if one.score != name]
    asked = {"energy", *(one.signal for one in conditions)}
    signals = {signal: made for signal, made in gate.signals.items() if signal in asked}
    return Gate(gate.id, signals, conditions, gate.calibration, (name,)), (f"{message} and is disabled",)


def _set_overlap(gate: Gate, rows: Sequence[Row], share: float) -> Gate:
    """Set the limit of ``overlap``: of those that lose at most a share of the supported rows, the best.

    That is the one that finds most babble, and of these the one that keeps most supported rows. It lies in the middle
    between the scores on both sides of it.
    """
    condition = next((one for one in gate.conditions if one.score == "overlap"), None)
    if condition is None:
        return gate
    supported = _overlap_scores(row for row in rows if row.expect == "answer")
    babble = _overlap_scores(row for row in rows if row.expect == "abstain" and row.kind == BABBLE)
    if not supported:
        raise TaskError("no row that expects 'answer' has audio that can be used; is it readable?")
    if not babble:
        raise TaskError(f"no row of kind {BABBLE} could be used; the limit of overlap is chosen by what it finds of it")
    values = sorted({*supported, *babble})
    limits = [*((low + high) / 2 for low, high in itertools.pairwise(values)), max(1.0, values[-1])]
    most = math.floor(share * len(supported))
    allowed = [limit for limit in limits if _above(supported, limit) <= most]
    best = max(allowed, key=lambda limit: (_above(babble, limit), -_above(supported, limit), limit))
    return with_threshold(gate, condition, best)


def _overlap_scores(rows: Iterable[Row]) -> list[float]:
    """Return the scores in order, of clips that nothing else was wrong with."""
    scores = (row.measured.scores.get("overlap", math.nan) for row in rows if not row.measured.code)
    return sorted(score for score in scores if math.isfinite(score))


def _above(scores: Sequence[float], limit: float) -> int:
    return len(scores) - bisect.bisect_right(scores, limit)
