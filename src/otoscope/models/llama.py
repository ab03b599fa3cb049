"""A GGUF chat model on llama.cpp, in this process."""

import functools
from typing import TYPE_CHECKING, Any

from otoscope.errors import ModelCallError, ModelLoadingError
from otoscope.models.chat import MAX_TOKENS
from otoscope.models.local import find_file, local_threads, require, wait_without_spinning
from otoscope.models.protocol import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTEXT_TOKENS = 4096


class LlamaChat:
    """Answers one question at a time, greedily.

    An answer must not depend on the question before it, but a server that reuses the longest common beginning of two
    prompts makes it so, by rounding. Here exactly the system text is reused, never more: before each question the
    server is led back to the state after the system text alone.

    Args:
        spec: named weights, a ``.gguf`` file, or ``ORG/REPO/FILE.gguf`` on the hub.
        threads: CPU threads; all cores by default.

    Raises:
        ModelLoadingError: the bindings are not installed, or the weights cannot be found.
    """

    concurrency = 1

    def __init__(self, spec: str, threads: int | None = None) -> None:
        require("xllamacpp", f"{spec}: llama.cpp", "'otoscope[local]'")
        self._file, revision = find_file(spec, ".gguf")
        self._threads = threads or local_threads()
        self.id = spec
        self.settings: Mapping[str, Any] = {
            "llm": spec,
            "revision": revision,
            "max_tokens": MAX_TOKENS,
            "temperature": 0,
        }

    @functools.cached_property
    def _server(self) -> Any:
        """Loaded at the first question: a finished run asks none."""
        wait_without_spinning()
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(self._file)
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.cache_ram_mib = 0
        # Flash attention splits its sums by threads, so an answer would depend on how many there are.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.cpuparams.n_threads = self._threads
        params.cpuparams_batch.n_threads = self._threads
        params.verbosity = -1
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelLoadingError(f"{self._file}: llama.cpp cannot load it: {error}") from error

    def chat(self, system: str, user: str) -> Reply:
        """Return the answer to ``user`` under the standing instructions ``system``, at most 256 tokens.

        Raises:
            ModelCallError: the prompt is longer than the context.
        """
        self._complete(system, "", 0)
        return Reply(self._complete(system, user, MAX_TOKENS))

    def _complete(self, system: str, user: str, max_tokens: int) -> str:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        reply = self._server.handle_chat_completions(
            {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "cache_prompt": True},
        )
        if "choices" not in reply:
            raise ModelCallError(f"llama.cpp: {reply.get('message', reply)}")
        return str(reply["choices"][0]["message"]["content"])
