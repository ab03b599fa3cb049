"""What a model is: an identity, what audio it takes, and one method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from otoscope.audio import Audio, Intake


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model: clips that fit its intake, the instruction, and text that belongs to it."""

    audios: tuple[Audio, ...]
    instruction: str
    text: str = ""

    @property
    def prompt(self) -> str:
        """The instruction, followed by the text where there is one."""
        return f"{self.instruction}\n{self.text}" if self.text else self.instruction


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, or in ``error`` the reason why there is none.

    Attributes:
        answer: the text; where it is empty and there is audio, what is said there counts.
        error: why there is no answer, or an empty string.
        usage: what the answer took, such as ``prompt_tokens`` and ``cost``.
        audio: the bytes of an audio file with the spoken answer; empty where there is none
    """

    answer: str = ""
    error: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    audio: bytes = b""


LARGEST_AMOUNT = 2**53
"""Up to here a float holds each whole number."""


def is_amount(value: object) -> bool:
    """Tell whether ``value`` is a number that can be summed and stored: neither negative nor NaN nor beyond floats."""
    return type(value) is not bool and isinstance(value, int | float) and 0 <= value <= LARGEST_AMOUNT


@runtime_checkable
class Model(Protocol):
    """A spoken language model."""

    @property
    def id(self) -> str:
        """Names the model in tables and logs."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change an answer: revision, digests, prompt, generation arguments.

        It is part of every record's key; thread counts and batch sizes do not belong here.
        """

    @property
    def intake(self) -> Intake:
        """What audio it takes."""

    @property
    def batch(self) -> int:
        """How many requests it likes at once."""

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight."""

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, in order.

        Raises:
            ModelCallError: the whole batch failed; a single failed request is a Reply with ``error``. Whatever else
                an object that is given to ``otoscope.run`` raises is taken as that, but for other errors of the tree.
        """
