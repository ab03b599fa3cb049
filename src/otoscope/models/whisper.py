"""Whisper on CTranslate2: log-mel features and greedy transcription, one 30 s window at a time."""

import functools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from otoscope.audio import Audio
from otoscope.models.local import check_folder, find_folder, local_threads, require, wait_without_spinning

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

RATE = 16_000
WINDOW_SECONDS = 30
MOST_TOKENS = 224
"""Most tokens of one window, as in OpenAI's code."""
TOKENS_PER_SECOND = 30
"""More than any speech has, in any script; a decoder that goes on beyond repeats itself."""
MARGIN_TOKENS = 16
DECODING = f"greedy, {TOKENS_PER_SECOND} tokens/s, loops cut"
FILES = ("model.bin", "config.json", "tokenizer.json")
_LOOP = re.compile(r"(.{1,40}?)\1{9,}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What an ASR heard.

    Attributes:
        text: the words, or an empty string.
        language: two-letter code of the language decoded, or an empty string where it is not told.
    """

    text: str
    language: str


class Whisper:
    """A Whisper model converted to CTranslate2, decoded greedily without timestamps.

    A clip longer than 30 s is transcribed window by window. Each window is encoded on its own, so a transcript does
    not depend on what else is in a batch.

    Args:
        spec: named weights, a folder, or a repository id on the hub.
        threads: CPU threads; all cores by default.

    Raises:
        ModelLoadingError: CTranslate2 is not installed, or the weights cannot be found.
    """

    concurrency = 1

    def __init__(self, spec: str, threads: int | None = None) -> None:
        for library in ("ctranslate2", "tokenizers"):
            require(library, f"{spec}: Whisper", "'otoscope[local]'")
        self._folder, revision = find_folder(spec, FILES)
        self._threads = threads or local_threads()
        self.id = spec
        self.settings: Mapping[str, Any] = {"asr": spec, "revision": revision, "compute": "int8", "decoding": DECODING}

    @functools.cached_property
    def _model(self) -> Any:
        """Loaded at the first clip: a finished run has none."""
        wait_without_spinning()
        import ctranslate2

        return ctranslate2.models.Whisper(
            str(self._folder),
            device="cpu",
            compute_type="int8",
            intra_threads=self._threads,
        )

    @functools.cached_property
    def _tokenizer(self) -> Any:
        import tokenizers

        return tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))

    def transcribe(self, audio: Audio) -> Transcript:
        """Return the transcript of mono audio at 16 kHz."""
        size = WINDOW_SECONDS * RATE
        windows = [audio.samples[start : start + size] for start in range(0, len(audio.samples), size)]
        parts = [self._transcribe_window(window) for window in windows]
        return Transcript(" ".join(part.text for part in parts if part.text), parts[0].language)

    def _transcribe_window(self, samples: "NDArray[np.float32]") -> Transcript:
        import ctranslate2

        features = log_mel(samples, self._model.n_mels)[None]
        encoded = self._model.encode(ctranslate2.StorageView.from_array(features))
        prompt, language = ["<|startoftranscript|>"], ""
        if self._model.is_multilingual:
            token = self._model.detect_language(encoded)[0][0][0]
            prompt += [token, "<|transcribe|>"]
            language = token.strip("<|>")
        prompt.append("<|notimestamps|>")
        ids = [self._tokenizer.token_to_id(token) for token in prompt]
        length = 2 * most_tokens(len(samples))  # CTranslate2 gives half of it to the answer
        result = self._model.generate(encoded, [ids], beam_size=1, max_length=length)[0]
        return Transcript(without_loops(self._tokenizer.decode(result.sequences_ids[0]).strip()), language)


def most_tokens(samples: int) -> int:
    """Return how many tokens the transcript of so many samples at 16 kHz may have."""
    return min(MOST_TOKENS, math.ceil(TOKENS_PER_SECOND * samples / RATE) + MARGIN_TOKENS)


def without_loops(text: str) -> str:
    """Return the text with what stands there ten times or more in a row said once: over a tone a decoder loops."""
    return _LOOP.sub(r"\1", text).strip()


def log_mel(samples: "NDArray[np.float32]", bands: int = 80) -> "NDArray[np.float32]":
    """Return Whisper's log-mel features of one window, shape (bands, 3000), from 16 kHz samples.

    The audio is padded with zeros to 30 s before the transform, as OpenAI's code does; padding the features instead
    changes the words.
    """
    import numpy as np

    window = np.zeros(WINDOW_SECONDS * RATE, np.float32)
    window[: len(samples)] = samples[: len(window)]
    padded = np.pad(window, 200, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:-1]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)).astype(np.float32)
    power = np.abs(np.fft.rfft(frames * hann, axis=1)).astype(np.float32) ** 2
    logarithm = np.log10(np.maximum(_mel_filters(bands) @ power.T, 1e-10))
    floored = np.maximum(logarithm, logarithm.max() - 8.0)
    return np.ascontiguousarray((floored + 4.0) / 4.0, dtype=np.float32)


@functools.cache
def _mel_filters(bands: int) -> "NDArray[np.float32]":
    """Slaney's mel filters for 400 points at 16 kHz, shape (bands, 201): linear to 1 kHz, then logarithmic."""
    import numpy as np

    knee_hertz, knee_mel, step = 1000.0, 15.0, np.log(6.4) / 27
    top = knee_mel + np.log(RATE / 2 / knee_hertz) / step
    mels = np.linspace(0, top, bands + 2)
    points = np.where(mels < knee_mel, mels * 200 / 3, knee_hertz * np.exp((mels - knee_mel) * step))
    distance = points[:, None] - np.linspace(0, RATE / 2, 201)
    width = np.diff(points)[:, None]
    rising, falling = -distance[:-2] / width[:-1], distance[2:] / width[1:]
    triangles = np.maximum(0, np.minimum(rising, falling))
    return (triangles * (2 / (points[2:] - points[:-2]))[:, None]).astype(np.float32)


def check_whisper(spec: str) -> None:
    """Raise what ``load_whisper`` would of a wrong name, without loading or fetching anything.

    Raises:
        ModelLoadingError: it is a folder that lacks a file.
        UnknownNameError: the name stands for nothing.
    """
    check_folder(spec, FILES)


@functools.cache
def load_whisper(spec: str, threads: int | None = None) -> Whisper:
    """Return the Whisper model that ``spec`` names, loaded once a process."""
    return Whisper(spec, threads)
