"""Rules: signals, limits on their scores, and the decision that follows."""

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from otoscope.errors import UnknownNameError, UsageError
from otoscope.gate.evidence import Energy, Sound, read_sound
from otoscope.gate.frozen import FORMAT, freeze, read_content, sign, write_content
from otoscope.gate.overlap import Overlap
from otoscope.gate.signal import NO_WORDS, Heard, Scores, Signal
from otoscope.records import Clip, Decision, GateOutcome, digest

SignalName = Literal["energy", "silero", "webrtc", "tagger", "overlap", "whisper"]
Bound = Literal["least", "most"]

EVIDENCE = "evidence"
READ = "read"
"""The stage before every signal: decode, look for what is wrong, take the level."""

PAPER_THRESHOLD = 0.70
PAPER_SCORER = "Systran/faster-whisper-small"
PAPER_PRECISION = "float32"
PAPER_SCORERS = (PAPER_SCORER, "openai/whisper-small")
"""Repositories with the weights that the threshold was chosen for."""

THRESHOLDS: Mapping[tuple[str, str], float] = {("whisper", "whisper-base"): PAPER_THRESHOLD}
"""By score and scorer, where one was measured with the usual conventions; others need ``otoscope gate calibrate``."""

PRESETS: Mapping[str, str] = {
    "energy": "long and loud enough (no model)",
    "silero": "at least 0.1 s of speech by Silero VAD",
    "webrtc": "at least 0.1 s of voice by WebRTC's VAD; a baseline, it takes noise for speech",
    "tagger": "the AudioSet tagger hears speech",
    "whisper": "Whisper is sure of its words, end of text included",
    "whisper_text": "Whisper is sure of its words, end of text left out; needs a threshold of its own",
    "avg_logprob": "mean log-probability of Whisper's words at least -1",
    "no_speech_prob": "Whisper's probability of no speech at most 0.6",
    "overlap": "one speaker, not several; needs a classifier from otoscope gate calibrate",
    "sure-paper": "energy and the score of Whisper small at 0.70, as published",
}
"""What a gate is made of: names that ``+`` joins, such as ``energy+silero``, and the published rule."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A limit on one score.

    Attributes:
        signal: where the score comes from.
        score: its name.
        bound: whether ``threshold`` is the least or the most that is admitted; a tie is admitted.
        threshold: the limit.
        reason: what a decision says when the limit is not kept.
        outcome: what follows then.
        languages: limits by the language that was heard; another language is held to ``threshold`` and flagged.
        refuses: flags with which the score means nothing, and which are then the reason.
    """

    signal: SignalName
    score: str
    bound: Bound
    threshold: float
    reason: str
    outcome: GateOutcome = "abstain"
    languages: Mapping[str, float] = field(default_factory=dict)
    refuses: tuple[str, ...] = ()

    def limit(self, language: str) -> float:
        """Return the limit for what was heard in a language."""
        return self.languages.get(language, self.threshold)

    def holds(self, value: float, language: str) -> bool:
        """Tell whether the value keeps the limit; NaN never does."""
        return value >= self.limit(language) if self.bound == "least" else value <= self.limit(language)


CONDITIONS: Mapping[str, Condition] = {
    "silero": Condition("silero", "silero", "least", 0.1, "no-speech"),
    "webrtc": Condition("webrtc", "webrtc", "least", 0.1, "no-speech"),
    "tagger": Condition("tagger", "speech", "least", 0.3, "no-speech"),
    "whisper": Condition("whisper", "whisper", "least", PAPER_THRESHOLD, "low-score", refuses=NO_WORDS),
    "whisper_text": Condition("whisper", "whisper_text", "least", PAPER_THRESHOLD, "low-score", refuses=NO_WORDS),
    "avg_logprob": Condition("whisper", "avg_logprob", "least", -1.0, "low-score", refuses=NO_WORDS),
    "no_speech_prob": Condition("whisper", "no_speech_prob", "most", 0.6, "no-speech"),
    "overlap": Condition("overlap", "overlap", "most", 0.5, "ambiguous-source", "clarify"),
}
"""What each name asks of a clip, from cheap to dear but for ``overlap``, which is asked of speech alone.

The limits of ``avg_logprob`` and ``no_speech_prob`` are those of Whisper's own decoder, which wants both to fail.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """All that was measured of one clip; decisions follow from it without the audio."""

    digest: str
    code: str
    seconds: float
    scores: Mapping[str, float]
    flags: tuple[str, ...] = ()
    windows: tuple[Mapping[str, float], ...] = ()
    language: str = ""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each stage, as in ``Decision``."""


class Verdict(NamedTuple):
    """What conditions say of scores, and what was noticed meanwhile."""

    outcome: GateOutcome
    reason: str
    flags: tuple[str, ...]


class Gate:
    """A rule that decides whether a model is asked.

    Args:
        name: how it was asked for.
        signals: by name, in the order in which they are measured.
        conditions: what must hold, in the order in which it is asked.
        calibration: how the limits were found; told, not used.
        disabled: scores that say nothing with these weights and are left out.
    """

    def __init__(
        self,
        name: str,
        signals: "Mapping[SignalName, Signal | Energy]",
        conditions: Sequence[Condition],
        calibration: Mapping[str, Any] | None = None,
        disabled: Sequence[str] = (),
    ) -> None:
        self.id = name
        self.signals = signals
        self.conditions = tuple(conditions)
        self.calibration = calibration or {}
        self.disabled = tuple(disabled)

    @functools.cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that can change a decision: limits, revisions and conventions."""
        return {
            "format": FORMAT,
            "signals": {name: dict(signal.settings) for name, signal in self.signals.items()},
            "conditions": [asdict(condition) for condition in self.conditions],
            "disabled": list(self.disabled),
        }

    @functools.cached_property
    def signature(self) -> str:
        """Digest of the settings."""
        return sign(self.settings)

    def decide(self, clips: Sequence[Clip], prompt: str = "") -> Decision:
        """Decide about the audio of one request.

        Every clip must be admitted: a model that compares two clips needs both. The scores are those of the clip that
        was turned away, or of the first one. A clip that cannot be read is turned away with the reason.

        Args:
            clips: the clips; a request without any is admitted, there is nothing to doubt.
            prompt: the instruction. Evidence is in the audio alone, so rules do not read it; it is part of the seam
                for gates that do.

        Raises:
            UsageError: a clip's source is nothing that audio is read from; what is wrong with its content is a reason.
        """
        del prompt
        started = time.perf_counter()
        found: list[Measured] = []
        decision = Decision("", self.id, "answer", EVIDENCE)
        for number, clip in enumerate(clips):
            found.append(self.measure(clip))
            judged = self.judge(found[-1])
            if number == 0 or not judged.admit:
                decision = judged
            if not judged.admit:
                break
        key = digest("decision", self.signature, *(one.digest for one in found))
        names = dict.fromkeys(name for one in found for name in one.stages)
        stages = {name: sum(one.stages.get(name, 0.0) for one in found) for name in names}
        return replace(decision, key=key, seconds=time.perf_counter() - started, stages=stages)

    def measure(self, clip: Clip, *, everything: bool = False) -> Measured:
        """Measure one clip, signal by signal, until one turns it away.

        Args:
            clip: the clip.
            everything: measure every signal of a clip that can be decoded, whatever the conditions say.
        """
        started = time.perf_counter()
        sound = read_sound(clip)
        stages = {READ: time.perf_counter() - started}
        if sound.code:
            return _unusable(sound, stages)
        measured = Measured(sound.digest, "", sound.seconds, _basic(sound), sound.flags)
        heard = Heard(sound.samples)
        for name, signal in self.signals.items():
            started = time.perf_counter()
            if isinstance(signal, Energy):
                heard = Heard(sound.samples, signal.floor)
                measured = replace(measured, code=signal.code(sound.seconds, sound.level))
            else:
                measured = self._add(measured, signal.measure(heard))
            stages[name] = time.perf_counter() - started
            if not everything and self.verdict(measured, partial=True).outcome != "answer":
                break
        return replace(measured, stages=stages)

    def judge(self, measured: Measured) -> Decision:
        """Return the decision that follows from scores."""
        outcome, reason, flags = self.verdict(measured)
        scores = {name: value for name, value in measured.scores.items() if math.isfinite(value)}
        windows = tuple(
            {name: value for name, value in window.items() if math.isfinite(value)} for window in measured.windows
        )
        flags = (*measured.flags, *flags)
        key = digest("decision", self.signature, measured.digest)
        return Decision(key, self.id, outcome, reason, scores, flags, windows)

    def verdict(self, measured: Measured, *, partial: bool = False) -> Verdict:
        """Return what the conditions say of scores.

        Args:
            measured: the scores.
            partial: whether signals are still to come; else a score that is absent turns the clip away.
        """
        if measured.code:
            return Verdict("abstain", measured.code, ())
        flags = tuple(f"not-finite:{name}" for name, value in measured.scores.items() if not math.isfinite(value))
        for condition in self.conditions:
            if partial and condition.score not in measured.scores:
                continue
            value = measured.scores.get(condition.score, math.nan)
            if not math.isfinite(value):
                return Verdict("abstain", "score-error", flags)
            if condition.languages and measured.language not in condition.languages:
                flags = (*flags, "uncalibrated-language")
            refused = next((flag for flag in condition.refuses if flag in measured.flags), "")
            if refused:
                return Verdict(condition.outcome, refused, flags)
            if not condition.holds(value, measured.language):
                return Verdict(condition.outcome, condition.reason, flags)
        return Verdict("answer", EVIDENCE, flags)

    def _add(self, measured: Measured, scores: Scores) -> Measured:
        kept = {name: value for name, value in scores.values.items() if name not in self.disabled}
        return replace(
            measured,
            scores={**measured.scores, **kept},
            flags=(*measured.flags, *scores.flags),
            windows=measured.windows or scores.windows,
            language=measured.language or scores.language,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what ``gate.json`` holds."""
        return freeze(self.settings, self.id, self.calibration)


def _unusable(sound: Sound, stages: Mapping[str, float]) -> Measured:
    scores = _basic(sound) if sound.seconds else {}
    return Measured(sound.digest, sound.code, sound.seconds, scores, sound.flags, stages=stages)


def _basic(sound: Sound) -> dict[str, float]:
    return {"seconds": sound.seconds, "level": sound.level}


def _energy(settings: Mapping[str, Any]) -> Energy:
    return Energy(**settings)


def _silero(settings: Mapping[str, Any]) -> Signal:
    from otoscope.gate.vad import Silero

    return Silero(settings.get("spec", "silero-vad"))


def _webrtc(_settings: Mapping[str, Any]) -> Signal:
    from otoscope.gate.vad import WebRtc

    return WebRtc()


def _tagger(settings: Mapping[str, Any]) -> Signal:
    from otoscope.gate.tagger import load_tagger

    return load_tagger(settings.get("spec", DEFAULT_TAGGER))


def _whisper(settings: Mapping[str, Any]) -> Signal:
    from otoscope.gate.whisper import load_whisper_score

    return load_whisper_score({"spec": DEFAULT_SCORER, **settings})


def _overlap(settings: Mapping[str, Any]) -> Signal:
    if not settings:
        raise UsageError(
            "overlap: there is no classifier yet; train one: otoscope gate calibrate DIR --gate whisper+overlap"
        )
    return Overlap.from_settings(settings)


SIGNALS: Mapping[SignalName, "Callable[[Mapping[str, Any]], Signal | Energy]"] = {
    "energy": _energy,
    "silero": _silero,
    "webrtc": _webrtc,
    "tagger": _tagger,
    "whisper": _whisper,
    "overlap": _overlap,
}
"""Makes a signal of its settings, in the order in which signals are measured."""


def load_gate(
    spec: str,
    *,
    options: Mapping[str, str] | None = None,
    threshold: float | None = None,
    force: bool = False,
) -> Gate:
    """Load a gate.

    Args:
        spec: ``sure-paper``, names of signals joined by ``+``, or the path of a ``gate.json``.
        options: settings of the Whisper scorer: ``scorer`` (its weights), ``backend``, ``precision``, ``language``,
            ``suppression``, ``pooling``, ``window``; and ``tagger`` (its weights).
        threshold: limit of ``whisper`` and ``whisper_text``, 0 to 1, in place of the known one.
        force: use a limit with another scorer or tagger, or another way of counting, than the one it was chosen for.

    Raises:
        UsageError: the spec, an option or the threshold is wrong, or no limit is known for what is asked.
        ModelLoadingError: a signal cannot be loaded; a gate never starts without one of its signals.
    """
    if threshold is not None and not 0 <= threshold <= 1:  # NaN is not either
        raise UsageError(f"--threshold {threshold}: {' and '.join(SCORED_PER_MODEL)} are probabilities; give 0 to 1")
    options = options or {}
    if spec.endswith(".json"):
        if options or threshold is not None:
            raise UsageError(f"{spec}: a frozen gate takes no options; calibrate another one")
        return read_gate(Path(spec), force=force)
    if spec == "sure-paper":
        return _paper_gate(options, threshold, force=force)
    names = part_names(spec)
    if threshold is not None and not set(names) & set(SCORED_PER_MODEL):
        raise UsageError(f"{spec}: --threshold is of {' and '.join(SCORED_PER_MODEL)}, and neither is in this gate")
    return assemble(spec, options, known_limits(spec, names, options, threshold, force=force))


def known_limits(
    spec: str, names: Sequence[str], options: Mapping[str, str], threshold: float | None = None, *, force: bool = False
) -> dict[str, float]:
    """Return the limits of the names whose limit is of one scorer.

    Args:
        spec: how the gate was asked for.
        names: the names; of those that any weights share a limit nothing is said.
        options: settings of the Whisper scorer and the tagger.
        threshold: limit of ``whisper`` and ``whisper_text``, in place of the known one.
        force: take the known limits whatever the options are.

    Raises:
        UsageError: no limit is known for what is asked.
    """
    tagger = options.get("tagger", DEFAULT_TAGGER)
    if "tagger" in names and tagger != DEFAULT_TAGGER and not force:
        raise UsageError(
            f"{spec}: the threshold of tagger was chosen for {DEFAULT_TAGGER}, not for {tagger}: find one with "
            "otoscope gate calibrate, or insist with --force"
        )
    return {name: _limit(spec, name, options, threshold, force) for name in names if name in SCORED_PER_MODEL}


def _limit(spec: str, name: str, options: Mapping[str, str], threshold: float | None, force: bool) -> float:
    scorer = options.get("scorer", DEFAULT_SCORER)
    changed = _changed(options, {})
    known = None if changed else THRESHOLDS.get((name, scorer))
    limit = known if threshold is None else threshold
    if limit is None and not force:
        raise UsageError(
            f"{spec}: no threshold of {name} is known for the scorer {scorer}{changed}: find one with otoscope gate "
            f"calibrate, give --threshold, or take {PAPER_THRESHOLD} with --force"
        )
    return PAPER_THRESHOLD if limit is None else limit


def _changed(options: Mapping[str, str], usual: Mapping[str, str]) -> str:
    """Return how the scores are counted otherwise than usual, in words.

    The backend is not counted: both give one score for one precision (decision 11).

    Args:
        options: what was asked for.
        usual: what is usual, where that is not the default.
    """
    from otoscope.gate.whisper import Conventions

    known = {**asdict(Conventions()), **usual}
    changed = [f"{name}={value}" for name, value in options.items() if name in known and value != known[name]]
    return f" with {', '.join(changed)}" if changed else ""


def part_names(spec: str) -> list[str]:
    """Return the names that a spec joins, in the order in which they are asked.

    Raises:
        UsageError: one of them is a whole gate.
        UnknownNameError: one of them is not known.
    """
    asked = spec.split("+")
    for name in asked:
        if name == "sure-paper" or name.endswith(".json"):
            raise UsageError(
                f"{spec}: {name} is a whole gate with its threshold; it is neither joined with others nor calibrated. "
                "Name parts, such as energy+whisper"
            )
        if name != "energy" and name not in CONDITIONS:
            raise UnknownNameError("gate", name, [*PRESETS, "gate.json"])
    return [name for name in ("energy", *CONDITIONS) if name in asked]


def assemble(
    spec: str, options: Mapping[str, str], limits: Mapping[str, float], overlap: Overlap | None = None
) -> Gate:
    """Return a gate of the named parts with their usual conditions.

    Args:
        spec: names joined by ``+``.
        options: settings of the Whisper scorer and the tagger.
        limits: limits by name, in place of the usual ones.
        overlap: the trained classifier, if the spec asks for one.

    Raises:
        UsageError: a name or an option is wrong, or there is no classifier.
        ModelLoadingError: a signal cannot be loaded.
    """
    names = part_names(spec)
    conditions = [
        replace(CONDITIONS[name], threshold=limits.get(name, CONDITIONS[name].threshold))
        for name in names
        if name in CONDITIONS
    ]
    needed = {condition.signal for condition in conditions} | ({"energy"} if "energy" in names else set())
    settings: dict[str, Mapping[str, Any]] = {"whisper": {}, "tagger": {}}
    for option, value in options.items():
        signal, setting = _place(option)
        if signal not in needed:
            what = "tagger" if signal == "tagger" else "Whisper scorer"
            raise UsageError(f"{spec}: {option}: an option of the {what}, which is not in this gate")
        settings[signal] = {**settings[signal], setting: value}
    if overlap:
        settings["overlap"] = overlap.settings
    signals = {name: make(settings.get(name, {})) for name, make in SIGNALS.items() if name in needed}
    return Gate(spec, signals, conditions)


DEFAULT_SCORER = "whisper-base"
SCORED_PER_MODEL = ("whisper", "whisper_text")
"""Scores whose threshold another model does not share."""
SCORER_OPTIONS = ("scorer", "backend", "precision", "language", "suppression", "pooling", "window")
DEFAULT_TAGGER = "yamnet"


def _place(option: str) -> tuple[SignalName, str]:
    """Return the signal that an option is of, and the name that it has among the signal's settings.

    Raises:
        UnknownNameError: there is no such option.
    """
    if option == "tagger":
        return "tagger", "spec"
    if option not in SCORER_OPTIONS:
        raise UnknownNameError("option of a gate", option, (*SCORER_OPTIONS, "tagger"))
    return "whisper", "spec" if option == "scorer" else option


def _paper_gate(options: Mapping[str, str], threshold: float | None, *, force: bool) -> Gate:
    scorer = options.get("scorer", PAPER_SCORER)
    changed = _changed(options, {"precision": PAPER_PRECISION})
    if not force and (scorer not in PAPER_SCORERS or changed or threshold is not None):
        raise UsageError(
            f"sure-paper: the threshold {PAPER_THRESHOLD} was chosen for Whisper small ({', '.join(PAPER_SCORERS)}) as "
            f"it is, not for {scorer}{changed}; another scorer's scores lie elsewhere. Find its own threshold with "
            "otoscope gate calibrate, or insist with --force"
        )
    limit = PAPER_THRESHOLD if threshold is None else threshold
    gate = assemble("energy+whisper", {"precision": PAPER_PRECISION, **options, "scorer": scorer}, {"whisper": limit})
    published = [replace(condition, refuses=("no-text",)) for condition in gate.conditions]  # loops were not looked at
    return Gate("sure-paper", gate.signals, published)


def write_gate(gate: Gate, path: Path) -> None:
    """Freeze a gate into a file."""
    write_content(gate.to_json(), path)


def read_gate(path: Path, *, force: bool = False) -> Gate:
    """Load a frozen gate.

    Args:
        path: a file that ``write_gate`` wrote.
        force: accept other weights than the frozen ones.

    Raises:
        UsageError: the file is no gate, was edited, or names other weights than the ones that are here.
        ModelLoadingError: a signal cannot be loaded.
    """
    content = read_content(path)
    frozen: Mapping[str, Mapping[str, Any]] = content["signals"]
    signals = {signal: SIGNALS[signal](frozen[signal]) for signal in SIGNALS if signal in frozen}
    for name, signal in signals.items():
        for key in sorted({*frozen[name], *signal.settings}):
            before, now = frozen[name].get(key), signal.settings.get(key)
            if before == now or (force and key == "revision"):
                continue
            remedy = "calibrate again" + (", or insist with --force" if key == "revision" else "")
            raise UsageError(f"{path}: frozen with {name} {key} {before!r}, here it is {now!r}; {remedy}")
    conditions = [Condition(**{**row, "refuses": tuple(row["refuses"])}) for row in content["conditions"]]
    return Gate(content["name"], signals, conditions, content["calibration"], content["disabled"])
