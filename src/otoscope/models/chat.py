"""Text chat models: the LLM of a cascade, and the LLM of a judge."""

import functools
from collections.abc import Mapping
from typing import Any, Protocol

from otoscope.models.local import local_threads
from otoscope.models.protocol import Reply
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

    def chat(self, system: str, user: str) -> Reply:
        """Return the answer to ``user`` under the standing instructions ``system``, and what it used.

        Raises:
            ModelCallError: there is no answer.
        """


def load_chat(spec: str, options: Mapping[str, str]) -> Chat:
    """Load a chat model.

    Args:
        spec: ``openai/NAME``, ``hf/REPO-or-FOLDER`` for the transformers library, or a model on llama.cpp: named
            weights, a ``.gguf`` file, or ``ORG/REPO/FILE.gguf`` on the hub.
        options: as for OpenAIChat and TransformersChat, ``threads`` for llama.cpp.

    Raises:
        UsageError: an option is not known.
        ModelLoadingError: it cannot be loaded; the message says what to install or fetch.
    """
    # A cascade hands on the threads, which neither a server nor transformers takes.
    others = {key: options[key] for key in options if key != "threads"}
    if spec.startswith("openai/"):
        from otoscope.models.openai import OpenAIChat

        return OpenAIChat(spec.removeprefix("openai/"), others)
    if spec.startswith("hf/"):
        from otoscope.models.transformers_chat import TransformersChat

        return TransformersChat(spec.removeprefix("hf/"), others)
    check_options(spec, options, ("threads",))
    return _load_llama(spec, read_count(spec, options, "threads", local_threads()))


@functools.cache
def _load_llama(spec: str, threads: int) -> Chat:
    """A cascade and a judge that name the same weights share one copy in memory."""
    from otoscope.models.llama import LlamaChat

    return LlamaChat(spec, threads)
