"""The gate stage: clips in, decisions out, each clip decided once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from otoscope.records import Clip, Decision, GateOutcome, digest
from otoscope.runner.log import Log

FAILED = "score-error"
"""The reason of a decision that rests on no score: the audio is sound and the gate could not measure it."""


class Gate(Protocol):
    """Decides whether a model is asked."""

    @property
    def id(self) -> str:
        """Names the gate in tables and logs."""

    @property
    def signature(self) -> str:
        """Digest of the settings."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change a decision."""

    def decide(self, clips: Sequence[Clip], prompt: str = "") -> Decision:
        """Decide about the audio of one request."""


def decision_key(signature: str, audio: Sequence[str]) -> str:
    """Return the key of a gate's decision about clips, of which only the digests of their content matter."""
    return digest("decision", signature, *audio)


def rejected_key(signature: str, answer: str) -> str:
    """Return the key of the record that stands where a gate let no answer be asked for.

    Args:
        signature: the gate's.
        answer: the key that the answer has without a gate.
    """
    return digest("gate", signature, answer)


class Gating:
    """Decides about the clips of samples and logs what it decided.

    Args:
        gate: the gate.
        log: where decisions go; one that is there is not made again, unless it failed.
    """

    def __init__(self, gate: Gate, log: Log) -> None:
        self.gate = gate
        self._log = log

    def decide(self, clips: Sequence[Clip], audio: Sequence[str], sample: str) -> Decision:
        """Return the decision about clips that can be decoded.

        Args:
            clips: the clips.
            audio: digests of their content.
            sample: id of the sample that they belong to.
        """
        key = decision_key(self.gate.signature, audio)
        logged = self._log.get(key)
        if logged is not None and logged["reason"] != FAILED:
            return Decision.from_json(logged)
        decision = replace(self.gate.decide(clips), key=key, sample=sample)
        if logged is None or logged["outcome"] != decision.outcome or decision.reason != FAILED:
            self._log.append(decision.to_json())
        return decision


class Decided:
    """What a gate decided in a run, looked up without the gate.

    Args:
        signature: the gate's.
        log: the run's decisions.
    """

    def __init__(self, signature: str, log: Log) -> None:
        self._signature = signature
        self._log = log

    def outcome(self, audio: Sequence[str]) -> GateOutcome:
        """Return what was said of clips that were turned away; ``abstain`` where the log does not hold it."""
        logged = self._log.get(decision_key(self._signature, audio))
        return "clarify" if logged is not None and logged["outcome"] == "clarify" else "abstain"
