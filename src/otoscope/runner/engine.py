"""Who asks the model: this process, or actors elsewhere."""

import time
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from otoscope.errors import ModelCallError
from otoscope.models.protocol import Model, Reply, Request

EngineName = Literal["local", "ray"]


class Answered(NamedTuple):
    """What became of one call.

    Attributes:
        replies: one a request, in order.
        seconds: what the model took for all of them.
    """

    replies: list[Reply]
    seconds: float


class Engine(Protocol):
    """Asks a model, wherever it is."""

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight."""

    def ask(self, requests: Sequence[Request]) -> Answered:
        """Return one reply a request, whatever becomes of the call; called in several threads."""

    def close(self) -> None:
        """End what it started."""


class LocalEngine:
    """Asks the model in this process."""

    def __init__(self, model: Model) -> None:
        self.concurrency = model.concurrency
        self._model = model

    def ask(self, requests: Sequence[Request]) -> Answered:
        """Ask the model and measure how long it takes."""
        start = time.perf_counter()
        return Answered(ask(self._model, requests), time.perf_counter() - start)

    def close(self) -> None:
        """There is nothing to end."""


def ask(model: Model, requests: Sequence[Request]) -> list[Reply]:
    """Return one reply a request, whatever becomes of the call."""
    try:
        replies = model.answer(requests)
    except ModelCallError as error:
        return [Reply(error=str(error) or type(error).__name__)] * len(requests)
    if len(replies) != len(requests):
        return [Reply(error=f"the model gave {len(replies)} replies to {len(requests)} requests")] * len(requests)
    return replies
