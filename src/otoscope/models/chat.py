"""Text chat models: the LLM of a cascade, and the LLM of a judge."""

import functools
from collections.abc import Mapping
from typing import Any, Protocol

from otoscope.models.local import local_threads
from otoscope.models.remote import check_options, read_count

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
        options: as for OpenAIChat for a server, ``threads`` for a local model.

    Raises:
        UsageError: an option is not known.
        ModelLoadingError: it cannot be loaded; the message says what to install or fetch.
    """
    if spec.startswith("openai/"):
        from otoscope.models.openai import OpenAIChat

        # A cascade hands on all its options, and threads are for its speech recognition.
        return OpenAIChat(spec.removeprefix("openai/"), {key: options[key] for key in options if key != "threads"})
    check_options(spec, options, ("threads",))
    return _load_llama(spec, read_count(spec, options, "threads", local_threads()))


@functools.cache
def _load_llama(spec: str, threads: int) -> Chat:
    """A cascade and a judge that name the same weights share one copy in memory."""
    from otoscope.models.llama import LlamaChat

    return LlamaChat(spec, threads)
