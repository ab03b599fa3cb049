"""A text chat model on the transformers library, in this process."""

import functools
from collections.abc import Mapping
from typing import Any

from otoscope.errors import ModelCallError
from otoscope.models.checkpoint import find_checkpoint
from otoscope.models.generation import decode_greedily, generate, load_part, load_weights, read_runtime
from otoscope.models.protocol import Reply

OPTIONS = ("attention", "compile", "device", "dtype", "max_tokens", "revision")


class TransformersChat:
    """Answers one question at a time, greedily, whatever was asked before.

    Args:
        name: a folder, or a repository id ``ORG/REPO`` on the hub.
        options: ``attention``, ``compile``, ``device``, ``dtype``, ``max_tokens``, ``revision``.

    Raises:
        UsageError: an option is not known, or has no such value.
        ModelLoadingError: a library is missing, or the model cannot be found.
    """

    concurrency = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"hf/{name}"
        self._runtime = read_runtime(self.id, options, OPTIONS)
        self._checkpoint = find_checkpoint(name, options.get("revision", ""))
        self.settings: Mapping[str, Any] = {
            "llm": self.id,
            "revision": self._checkpoint.revision,
            **self._runtime.settings,
        }

    @functools.cached_property
    def _tokenizer(self) -> Any:
        return load_part("AutoTokenizer", self._checkpoint)

    @functools.cached_property
    def _model(self) -> Any:
        """Loaded at the first question: a finished run asks none."""
        model = load_weights("AutoModelForCausalLM", self._checkpoint, self._runtime)
        decode_greedily(model, self._tokenizer, self._runtime.max_tokens)
        return model

    def chat(self, system: str, user: str) -> Reply:
        """Return the answer to ``user`` under the standing instructions ``system``.

        Raises:
            ModelCallError: the model has no chat template, or the memory does not suffice.
        """
        turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        model = self._model
        try:
            inputs = self._tokenizer.apply_chat_template(
                turns, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            )
            return generate(model, self._tokenizer, inputs)[0]
        except (ValueError, RuntimeError, IndexError) as error:
            raise ModelCallError(f"{self.id}: {type(error).__name__}: {error}") from error
