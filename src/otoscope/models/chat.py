"""Text chat models: the LLM of a cascade, and the LLM of a judge."""

import functools
from collections.abc import Mapping
from typing import Any, Protocol

from otoscope.errors import UsageError

MAX_TOKENS = 256


class Chat(Protocol):
    """Answers one question at temperature 0, the same for the same question whatever was asked before."""

    @property
    def id(self) -> str:
        """Names the model in logs."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change an answer."""

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight."""

    def chat(self, system: str, user: str) -> str:
        """Return the answer to ``user`` under the standing instructions ``system``.

        Raises:
            ModelCallError: there is no answer.
        """


def load_chat(spec: str, options: Mapping[str, str]) -> Chat:
    """Load a chat model.

    Args:
        spec: ``openai/NAME``, or a local model: named weights, a ``.gguf`` file, or ``ORG/REPO/FILE.gguf`` on the hub.
        options: ``base_url`` and ``api_key`` for a server, ``threads`` for a local model.

    Raises:
        UsageError: an option is not known.
        ModelLoadingError: it cannot be loaded; the message says what to install or fetch.
    """
    if spec.startswith("openai/"):
        from otoscope.models.openai import OpenAIChat

        return OpenAIChat(spec.removeprefix("openai/"), options)
    unknown = [key for key in options if key != "threads"]
    if unknown:
        raise UsageError(f"{spec}: no option {unknown[0]!r} for a local model; there is threads")
    return _load_llama(spec, options.get("threads", ""))


@functools.cache
def _load_llama(spec: str, threads: str) -> Chat:
    """A cascade and a judge that name the same weights share one copy in memory."""
    from otoscope.models.llama import LlamaChat

    return LlamaChat(spec, int(threads) if threads else None)
