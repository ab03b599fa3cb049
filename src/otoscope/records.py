"""What passes between stages: Sample, Decision, Prediction, Judgement, Score. JSON in and out.

A missing thing is a word, never null, 0 or a dropped row. ``Outcome`` lists the words.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self, TypeGuard, TypeVar

from otoscope.errors import UsageError

Name = TypeVar("Name", bound=str)

Kind = Literal["classification", "regression", "sequence"]
Better = Literal["higher", "lower"]
Verdict = Literal["yes", "no"]
Expect = Literal["answer", "abstain"]

#: ok: there is an answer, a verdict or a value. na: the answer holds no value. unparsed: the judge broke.
#: undecided: the rules cannot tell and no LLM judge was given. error: the model or the audio failed, with the
#: reason. abstained: the gate did not admit the clip. unsupported: a model answered a row that holds nothing to
#: answer, so no metric can take the answer. missing: no record yet.
Outcome = Literal["ok", "na", "unparsed", "undecided", "error", "abstained", "unsupported", "missing"]

PredictionStatus = Literal["ok", "error", "abstained"]
GateOutcome = Literal["answer", "abstain", "clarify"]
"""What a gate says of a request: ask the model, leave it alone, or ask the user which speaker is meant."""
JudgementStatus = Literal["ok", "na", "unparsed", "undecided", "error"]


def digest(*parts: str | bytes | memoryview) -> str:
    """Return the SHA-256 of the parts as 32 hexadecimal digits; each part's length is hashed with it."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        sha.update(len(data).to_bytes(8, "little"))
        sha.update(data)
    return sha.hexdigest()[:32]


def dump_json(value: Any) -> str:
    """Return ``value`` as one line of JSON with sorted keys; NaN and infinity raise ValueError."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def dump_document(value: Any) -> str:
    """Return ``value`` as a JSON document for a file: indented, sorted; NaN and infinity raise ValueError."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def worded(values: Mapping[Name, Any]) -> dict[Name, Any]:
    """Return ``values`` for JSON with the word ``undefined`` where one is None."""
    return {name: "undefined" if value is None else value for name, value in values.items()}


def add_usage(total: dict[str, float], usage: Mapping[str, float]) -> None:
    """Add what one answer took to what others took."""
    for name, amount in usage.items():
        total[name] = total.get(name, 0) + amount


@dataclass(frozen=True, slots=True)
class Clip:
    """One audio clip that has not been decoded yet.

    Attributes:
        source: a path, the bytes of an audio file, an open binary file, or a pair (array, rate in Hz). A file that
            can seek is read from its start, whoever has read it, and left where it was. One that cannot is read here,
            once, and its bytes are kept, so that a gate and a model both get them.
        name: how errors and logs name it.

    Raises:
        UsageError: the source is text, which could be a path or not.
    """

    source: Path | bytes | bytearray | memoryview | BinaryIO | tuple[Any, int]
    name: str

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            raise UsageError(f"{self.name}: a clip's source is no text; give pathlib.Path({self.source!r}) for a path")
        if _is_read_once(self.source):
            with contextlib.suppress(OSError):  # whoever reads the clip says so
                data = self.source.read()
                if isinstance(data, bytes):
                    object.__setattr__(self, "source", data)


def _is_read_once(source: object) -> TypeGuard[BinaryIO]:
    if not hasattr(source, "read") or getattr(source, "closed", False):
        return False
    return not (hasattr(source, "seekable") and source.seekable())


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of a task: clips, an instruction, and the target answer."""

    id: str
    task: str
    clips: tuple[Clip, ...]
    instruction: str
    target: str
    text: str = ""
    options: tuple[str, ...] = ()
    expect: Expect = "answer"
    cluster: str = ""
    """The source the row was made from (a speaker, a recording, a song); intervals are over clusters."""
    clustered: bool = False
    """Whether the row names its cluster; else its id stands for it, as if no two rows came from one source."""
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a gate said of the audio of one request, and everything it measured to say so."""

    key: str
    """Digest of the audio and of all that can change the decision."""
    gate: str
    outcome: GateOutcome
    reason: str
    """``evidence`` where the model may answer, else what is wrong with the audio or which score fell short."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Finite numbers only; a score that could not be had is absent, and the reason or a flag says so."""
    flags: tuple[str, ...] = ()
    """What was noticed and did not decide, such as ``clipped``."""
    windows: tuple[Mapping[str, float], ...] = ()
    """Start and end in seconds and the scores of each window of audio longer than one window; a flag of it is 1."""
    sample: str = ""
    seconds: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each stage that was needed: ``read`` (decode and look), then the signals by name."""

    @property
    def admit(self) -> bool:
        """Whether the model is to be asked."""
        return self.outcome == "answer"

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return the decision that ``to_json`` described."""
        return cls(**{**row, "flags": tuple(row["flags"]), "windows": tuple(row["windows"])})


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model answered to one request. Two samples with equal requests share one prediction."""

    key: str
    request: str
    """Digest of the request alone, so that another run can replay the answer."""
    sample: str
    model: str
    status: PredictionStatus
    answer: str = ""
    reason: str = ""
    audio: tuple[str, ...] = ()
    """What was done to the audio before the model got it, in order, such as ``joined 2 clips``."""
    usage: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    spoken: str = ""
    """Path of the audio file with the answer in the run folder; empty where the answer was written."""
    asr: str = ""
    """The speech recognition that wrote the answer down; empty where the model did."""

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # asdict copies it all, every time

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return the prediction that ``to_json`` described."""
        return cls(**{**row, "audio": tuple(row["audio"])})


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of one answer: a verdict for a classification, a value for a regression."""

    key: str
    sample: str
    judge: str
    status: JudgementStatus
    verdict: Verdict | None = None
    value: str | None = None
    explanation: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; an absent verdict, value or usage is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None and value != {}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return the judgement that ``to_json`` described."""
        return cls(**row)


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one task, with its interval and with every sample accounted for."""

    task: str
    kind: Kind
    metric: str
    better: Better
    value: float | None
    low: float | None
    high: float | None
    scaled: float | None
    """The value scaled by the N/A rate r: times (1 - r) if higher is better, else divided by it."""
    n: int
    counts: Mapping[Outcome, int]
    na_rate: float | None
    clusters: int
    chance: float | None
    majority: float | None
    seconds: float
    signature: str

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; what is not defined is the word ``undefined``."""
        return worded(asdict(self))
