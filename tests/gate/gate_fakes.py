"""Signals and rows with the scores that a test wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otoscope.gate.rule import CONDITIONS, Condition, Gate, Measured
from otoscope.gate.signal import Heard, Scores
from otoscope.gate.sweep import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otoscope.records import Expect


class Fake:
    """Gives the same scores to every clip, and counts."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self.settings: Mapping[str, Any] = {"fake": dict(scores.values)}
        self.calls = 0

    def measure(self, heard: Heard) -> Scores:
        assert heard.samples.ndim == 1
        self.calls += 1
        return self._scores


def measured(name: str = "x", language: str = "", **scores: float) -> Measured:
    return Measured(name, "", 1.0, scores, language=language)


def whisper_gate(*extra: Condition) -> Gate:
    return Gate("whisper", {"whisper": Fake(Scores({"whisper": 0.5}))}, [CONDITIONS["whisper"], *extra])


def row(name: str, expect: Expect, score: float, cluster: str = "", language: str = "", kind: str = "") -> Row:
    kind = kind or ("supported" if expect == "answer" else "noise")
    return Row(name, expect, kind, cluster or name, measured(name, language, whisper=score))
