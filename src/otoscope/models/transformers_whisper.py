"""Whisper on the transformers library, in this process."""

import functools
from collections.abc import Mapping
from typing import Any

from otoscope.audio import Audio
from otoscope.errors import ModelCallError, ModelLoadingError
from otoscope.models.checkpoint import find_checkpoint
from otoscope.models.generation import load_part, load_weights, read_runtime
from otoscope.models.whisper import RATE, WINDOW_SECONDS, Transcript

OPTIONS = ("attention", "compile", "device", "dtype", "revision")


class TransformersWhisper:
    """A Whisper model decoded greedily without timestamps, one window of 30 s at a time.

    Args:
        name: a folder, or a repository id ``ORG/REPO`` on the hub.
        options: ``attention``, ``compile``, ``device``, ``dtype``, ``revision``.

    Raises:
        UsageError: an option is not known, or has no such value.
        ModelLoadingError: a library is missing, or it is no Whisper.
    """

    concurrency = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"hf/{name}"
        self._runtime = read_runtime(self.id, options, OPTIONS)
        self._checkpoint = find_checkpoint(name, options.get("revision", ""))
        if self._checkpoint.architecture != "whisper":
            raise ModelLoadingError(
                f"{self.id}: a {self._checkpoint.architecture}, not a whisper; name a Whisper model"
            )
        self.settings: Mapping[str, Any] = {
            "asr": self.id,
            "revision": self._checkpoint.revision,
            "compute": self._runtime.dtype,
            "attention": self._runtime.settings["attention"],
            "compile": self._runtime.compiled,
            "decoding": "greedy",
        }

    @functools.cached_property
    def _processor(self) -> Any:
        return load_part("WhisperProcessor", self._checkpoint)

    @functools.cached_property
    def _model(self) -> Any:
        """Loaded at the first clip: a finished run has none."""
        return load_weights("WhisperForConditionalGeneration", self._checkpoint, self._runtime)

    def transcribe(self, audio: Audio) -> Transcript:
        """Return the transcript of mono audio at 16 kHz; its language is not told.

        Raises:
            ModelCallError: the memory does not suffice, or the checkpoint lacks what decoding needs.
        """
        size = WINDOW_SECONDS * RATE
        windows = [audio.samples[start : start + size] for start in range(0, len(audio.samples), size)]
        texts = [self._transcribe_window(window) for window in windows]
        return Transcript(" ".join(text for text in texts if text), "")

    def _transcribe_window(self, samples: Any) -> str:
        import torch

        model = self._model
        inputs = self._processor(samples, sampling_rate=RATE, return_tensors="pt", return_attention_mask=True)
        try:
            with torch.inference_mode():
                # A temperature that is one number turns off the fallbacks that sample.
                output = model.generate(
                    **inputs.to(model.device, dtype=model.dtype), do_sample=False, num_beams=1, temperature=0.0
                )
        except (ValueError, RuntimeError, IndexError) as error:
            raise ModelCallError(f"{self.id}: {type(error).__name__}: {error}") from error
        return str(self._processor.batch_decode(output, skip_special_tokens=True)[0]).strip()
