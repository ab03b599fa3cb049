"""What a signal is: something that turns a sound into scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RATE = 16_000
"""Samples a second (Hz) of what every signal gets."""

NO_WORDS = ("no-text", "loop")
"""Flags with which Whisper's score means nothing: a text that is absent or goes round is decoded with certainty."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What one signal says of one clip.

    Attributes:
        values: scores by name; a score that is not finite counts as failed, and the clip is not admitted.
        flags: what was noticed.
        windows: one mapping a 30 s window, for a signal that works by windows and a clip longer than one.
        language: the language that was heard, or an empty string.
    """

    values: Mapping[str, float]
    flags: tuple[str, ...] = ()
    windows: tuple[Mapping[str, float], ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a signal gets: mono float32 samples at 16 kHz, and the level below which a window holds nothing, in dBFS."""

    samples: "NDArray[np.float32]"
    floor: float = -60.0


class Signal(Protocol):
    """One source of evidence.

    A signal keeps no state between clips, so that scores depend neither on order nor on what else is scored.
    """

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change a score, as JSON values; ``SIGNALS`` makes an equal signal of it."""

    def measure(self, heard: Heard) -> Scores:
        """Return the scores of one clip."""
