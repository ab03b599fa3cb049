"""Who asks the model: this process, or actors elsewhere."""

import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from otoscope.errors import ModelCallError
from otoscope.models.protocol import Model, Reply, Request, is_amount

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
    if not isinstance(replies, list | tuple):
        return [Reply(error=f"the model gave {type(replies).__name__} where a list of Reply is due")] * len(requests)
    if len(replies) != len(requests):
        return [Reply(error=f"the model gave {len(replies)} replies to {len(requests)} requests")] * len(requests)
    return [_checked(reply) for reply in replies]


def _checked(reply: object) -> Reply:
    """Return a reply that can be stored; one that cannot becomes an error that names the field."""
    if not isinstance(reply, Reply):
        return Reply(error=f"the model gave {type(reply).__name__} where a Reply is due")
    for name, kind in (("answer", str), ("error", str), ("audio", bytes)):
        value = getattr(reply, name)
        if not isinstance(value, kind):
            return Reply(error=f"the reply's {name} is {type(value).__name__}, not {kind.__name__}")
    usage: object = reply.usage
    if not isinstance(usage, Mapping):
        return Reply(error=f"the reply's usage is {type(usage).__name__}, not a dictionary of numbers")
    for name, amount in usage.items():
        if not isinstance(name, str) or not is_amount(amount):
            found = f"{name!r}: {type(amount).__name__}"
            return Reply(error=f"the reply's usage has {found}, not a name and an int or float from 0 to 2 ** 53")
    return reply
