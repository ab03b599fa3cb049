"""The null model answers nothing, at once: it measures Otoscope itself, and what silence would score."""

from collections.abc import Mapping, Sequence
from typing import Any

from otoscope.audio import Intake
from otoscope.models.protocol import Reply, Request


class NullModel:
    """Answers every request with the empty string."""

    id = "null"
    settings: Mapping[str, Any] = {}
    intake = Intake(clips=9)
    batch = 64
    concurrency = 1

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one empty answer a request."""
        return [Reply() for _ in requests]
