"""A plain Python function as a model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from otoscope.audio import Intake
from otoscope.models.protocol import Reply, Request


class FunctionModel:
    """Calls ``function(request)`` for each request and takes the string it returns as the answer.

    The function gets mono audio at 16 kHz, all clips of the sample, and may raise ModelCallError to fail a request.

    Args:
        function: takes a Request, returns the answer.
    """

    batch = 1
    concurrency = 1
    settings: Mapping[str, Any] = {}

    def __init__(self, function: Callable[[Request], str]) -> None:
        self.id = f"python/{function.__module__}.{function.__qualname__}"
        self.intake = Intake(clips=9)
        self._function = function

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the function's answer to each request."""
        return [Reply(self._function(request)) for request in requests]
