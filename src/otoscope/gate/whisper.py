"""Whisper's own doubt: how sure the decoder is of the word it finds likeliest, step by step.

The score of a window is the mean, over the steps of greedy decoding, of the probability of the likeliest token. How it
is counted moves it by more than clips differ, so every convention is a field of ``Conventions`` and stands in the
settings.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from otoscope.errors import ModelLoadingError, UnknownNameError, UsageError
from otoscope.gate.evidence import peak_level
from otoscope.gate.signal import NO_WORDS, Heard, Scores
from otoscope.models.local import find_folder, local_threads, require
from otoscope.models.whisper import FILES, MOST_TOKENS, RATE, WINDOW_SECONDS, log_mel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Suppression = Literal["model", "none"]
Pooling = Literal["max", "mean", "min"]
Window = Literal["whole", "short"]

SHORTEST_WINDOW = 0.1
"""Seconds; what is left after the last whole window is not scored if it is shorter."""
TRANSFORMERS_FILES = ("model.safetensors", "config.json", "generation_config.json", "tokenizer.json")
NO_SPEECH_TOKENS = ("<|nospeech|>", "<|nocaptions|>")
SHORT_WINDOW = 10
"""Seconds; the decoder loops on less."""
LOOP_REPEATS = 4
LONGEST_LOOP = 16


@dataclass(frozen=True, slots=True)
class Conventions:
    """What has to be said for a score to mean something.

    Attributes:
        end_of_text: whether the step that ends the text is one of the steps of ``whisper``; it never is one of
            ``whisper_text``.
        suppression: ``model``: tokens that the model's own configuration forbids have no probability; ``none``: every
            token competes, in decoding too.
        precision: of the weights: ``float32``, ``int8`` and so on.
        language: a two-letter code, or ``detect``: once for each window.
        max_tokens: most steps of a window.
        pooling: how the windows of a long clip make one score. ``max`` asks for enough evidence somewhere: the best
            window with a text that neither is absent nor loops. ``mean`` and ``min`` ask about the whole clip: the
            flags of every window are the clip's.
        window: ``whole``: the encoder hears 30 s, padded with silence, as in training; ``short``: the clip and a
            second of silence, at least 10 s. Short costs a third, and its scores are others.
    """

    end_of_text: bool = True
    suppression: Suppression = "model"
    precision: str = "int8"
    language: str = "detect"
    max_tokens: int = MOST_TOKENS
    pooling: Pooling = "max"
    window: Window = "whole"


@dataclass(frozen=True, slots=True)
class Steps:
    """One window, decoded greedily.

    Attributes:
        likeliest: the probability of the likeliest token at each step, the end of text included.
        tokens: the tokens decoded, without the end of text.
        ended: whether the text came to its end before the limit of steps.
        no_speech: probability of the token for no speech at the start, or NaN where the model has none.
        language: two-letter code, or an empty string for an English-only model.
    """

    likeliest: tuple[float, ...]
    tokens: tuple[int, ...]
    ended: bool
    no_speech: float
    language: str


class Decoder(Protocol):
    """Decodes one window."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Backend, spec and revision."""

    def decode(self, samples: "NDArray[np.float32]", conventions: Conventions) -> Steps:
        """Decode at most 30 s of mono audio at 16 kHz."""


class _Window(NamedTuple):
    """A piece of a clip, and where it starts in seconds."""

    start: float
    samples: "NDArray[np.float32]"

    def row(self, scores: Mapping[str, float], flags: Sequence[str]) -> dict[str, float]:
        """Return what a decision tells of the window; a flag is 1."""
        return {"start": self.start, "end": self.start + len(self.samples) / RATE, **scores, **dict.fromkeys(flags, 1)}


class WhisperScore:
    """The score, window by window.

    Scores: ``whisper``, ``whisper_text`` (the same without the end of text), ``avg_logprob`` (the mean logarithm over
    the steps of ``whisper``), ``no_speech_prob``. All are of the window that ``pooling`` chose by ``whisper``, or the
    mean over windows. A window whose level is under the floor is not scored. Of ``max``, a window without words counts
    only where there is no other, or the certainty of a loop would stand before the speech beside it.

    Args:
        decoder: what decodes.
        conventions: how it is counted.
    """

    def __init__(self, decoder: Decoder, conventions: Conventions) -> None:
        self._decoder = decoder
        self._conventions = conventions
        self.settings: Mapping[str, Any] = {**decoder.identity, **asdict(conventions)}

    def measure(self, heard: Heard) -> Scores:
        """Return the scores of a clip of any length; it is decoded window by window, whatever else is scored."""
        windows = _windows(heard)
        decoded = [self._decoder.decode(window.samples, self._conventions) for window in windows]
        values = [score_steps(steps, self._conventions) for steps in decoded]
        flags = [tuple(_flags(steps)) for steps in decoded]
        pooling = self._conventions.pooling
        chosen = _choose([value["whisper"] for value in values], flags, pooling)
        pooled = _mean(values) if pooling == "mean" else values[chosen]
        noticed = flags[chosen] if pooling == "max" else tuple(dict.fromkeys(flag for one in flags for flag in one))
        rows: tuple[Mapping[str, float], ...] = ()
        if len(heard.samples) > WINDOW_SECONDS * RATE:
            rows = tuple(window.row(value, told) for window, value, told in zip(windows, values, flags, strict=True))
        return Scores(pooled, noticed, rows, decoded[chosen].language)


def _windows(heard: Heard) -> list["_Window"]:
    """Return the windows that hold something, or the first one where none does."""
    size = WINDOW_SECONDS * RATE
    parts = [_Window(start / RATE, heard.samples[start : start + size]) for start in range(0, len(heard.samples), size)]
    heard_in = [
        part
        for part in parts
        if len(part.samples) >= SHORTEST_WINDOW * RATE and peak_level(part.samples, RATE) >= heard.floor
    ]
    return heard_in or parts[:1]


def _choose(scores: Sequence[float], flags: Sequence[Sequence[str]], pooling: Pooling) -> int:
    import numpy as np

    # NaN is the extreme in both directions, so one window that failed makes the clip fail.
    if pooling == "min":
        return int(np.argmin(scores))
    without_words = np.array([any(flag in NO_WORDS for flag in one) for one in flags]) & ~np.isnan(scores)
    return int(np.argmax(scores if without_words.all() else np.where(without_words, -np.inf, scores)))


def _mean(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(value[name] for value in values) / len(values) for name in values[0]}


def score_steps(steps: Steps, conventions: Conventions) -> dict[str, float]:
    """Return the scores of one window.

    ``exp(avg_logprob)`` is the geometric mean of what ``whisper`` is the arithmetic mean of, so it never exceeds it. A
    window without text has ``whisper_text`` 0.
    """
    import numpy as np

    every = np.array(steps.likeliest, np.float64)
    text = every[: len(steps.tokens)]
    counted = every if conventions.end_of_text else text
    if not len(counted):
        counted = every
    score = float(counted.mean())
    return {
        "whisper": score,
        "whisper_text": float(text.mean()) if len(text) else 0.0,
        # The rounding of the logarithm may exceed the mean by a part in 1e16 where all probabilities are equal.
        "avg_logprob": min(float(np.log(counted).mean()), float(np.log(score))),
        "no_speech_prob": steps.no_speech,
    }


def _flags(steps: Steps) -> Iterator[str]:
    if not steps.tokens:
        yield "no-text"
    if not steps.ended:
        yield "truncated-text"
    if _loops(steps.tokens):
        yield "loop"


def _loops(tokens: tuple[int, ...]) -> bool:
    """Tell whether the text ends in one phrase said four times; probabilities rise to 1 in a loop."""
    return any(
        len(tokens) >= LOOP_REPEATS * period and tokens[-LOOP_REPEATS * period :] == tokens[-period:] * LOOP_REPEATS
        for period in range(1, LONGEST_LOOP + 1)
    )


class Ctranslate2Decoder:
    """Whisper converted to CTranslate2.

    Args:
        spec: named weights, a folder, or a repository id on the hub.
        precision: CTranslate2's compute type.
        threads: CPU threads; all cores by default.

    Raises:
        ModelLoadingError: CTranslate2 is not installed, or the weights cannot be found.
    """

    def __init__(self, spec: str, precision: str, threads: int | None = None) -> None:
        for library in ("ctranslate2", "tokenizers"):
            require(library, f"{spec}:", "'otoscope[gate]'")
        self._folder, revision = find_folder(spec, FILES)
        self._precision = precision
        self._threads = threads or local_threads()
        self.identity: Mapping[str, Any] = {"spec": spec, "backend": "ctranslate2", "revision": revision}

    @functools.cached_property
    def _model(self) -> Any:
        import ctranslate2

        path = str(self._folder)
        options = {"device": "cpu", "compute_type": self._precision, "intra_threads": self._threads}
        try:
            return ctranslate2.models.Whisper(path, **options)
        except ValueError as error:  # such as bfloat16 on a processor without it
            raise ModelLoadingError(f"{path}: cannot be loaded as {self._precision}: {error}") from error

    @functools.cached_property
    def _tokenizer(self) -> Any:
        import tokenizers

        return tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))

    def decode(self, samples: "NDArray[np.float32]", conventions: Conventions) -> Steps:
        """Decode one window; the encoder runs once for language and text."""
        import ctranslate2
        import numpy as np

        features = log_mel(samples, self._model.n_mels)
        if conventions.window == "short":
            features = np.ascontiguousarray(features[:, : _short_frames(len(samples))])
        encoded = self._model.encode(ctranslate2.StorageView.from_array(features[None]))
        language = ""
        if self._model.is_multilingual:
            language = conventions.language
            if language == "detect":
                language = self._model.detect_language(encoded)[0][0][0].strip("<|>")
        # The logits come after CTranslate2's own suppression, so the probabilities are those of what competes.
        free = conventions.suppression == "none"
        result = self._model.generate(
            encoded,
            [[self._id(token) for token in prompt_tokens(language)]],
            beam_size=1,
            max_length=2 * conventions.max_tokens,  # CTranslate2 stops at half of it, as if a prompt filled the rest
            return_logits_vocab=True,
            return_no_speech_prob=True,
            suppress_blank=not free,
            suppress_tokens=[] if free else [-1],
        )[0]
        tokens = tuple(result.sequences_ids[0])
        likeliest = tuple(max_probability(np.asarray(logits)) for logits in result.logits[0])
        return Steps(likeliest, tokens, len(likeliest) > len(tokens), float(result.no_speech_prob), language)

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise UsageError(f"language: {self._folder} has no token {token}; give a two-letter code, or detect")
        return int(found)


def _short_frames(samples: int) -> int:
    """Return how many frames of 10 ms a short window has; an even number, since the encoder halves it."""
    seconds = min(WINDOW_SECONDS, max(SHORT_WINDOW, samples / RATE + 1))
    return 2 * round(seconds * 50)


def prompt_tokens(language: str) -> list[str]:
    """Return the tokens that precede the text: transcription without timestamps, in a language if there is a choice."""
    middle = [f"<|{language}|>", "<|transcribe|>"] if language else []
    return ["<|startoftranscript|>", *middle, "<|notimestamps|>"]


def max_probability(logits: "NDArray[np.float32]") -> float:
    """Return the largest of the softmax of one step's logits; NaN among them makes it NaN."""
    import numpy as np

    flat = logits.ravel()
    return float(1 / np.exp(flat - flat.max(), dtype=np.float32).sum(dtype=np.float64))


class TransformersDecoder:
    """Whisper in transformers, in float32 on the CPU.

    It is decoded by its own greedy loop, so that nothing is left to defaults that change between versions.

    Args:
        spec: a folder with ``model.safetensors``, or a repository id on the hub.
        conventions: precision and window are checked.

    Raises:
        ModelLoadingError: transformers or torch is not installed, or the weights cannot be found.
        UsageError: another precision, or short windows.
    """

    def __init__(self, spec: str, conventions: Conventions) -> None:
        for library in ("torch", "transformers", "tokenizers"):
            require(library, f"{spec}:", library)
        if conventions.precision != "float32" or conventions.window != "whole":
            raise UsageError(
                f"{spec}: the transformers backend scores whole windows in float32: give precision=float32"
            )
        self._folder, revision = find_folder(spec, TRANSFORMERS_FILES)
        self.identity: Mapping[str, Any] = {"spec": spec, "backend": "transformers", "revision": revision}

    @functools.cached_property
    def _model(self) -> Any:
        import torch
        import transformers

        load = transformers.WhisperForConditionalGeneration.from_pretrained
        return load(str(self._folder), dtype=torch.float32, local_files_only=True).eval()

    @functools.cached_property
    def _cache(self) -> str:
        """Name of the cache argument, which transformers changed in version 5."""
        known = inspect.signature(self._model.forward).parameters
        return "cache" if "cache" in known else "past_key_values"

    @functools.cached_property
    def _ids(self) -> Mapping[str, int]:
        import tokenizers

        return dict(tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json")).get_vocab())

    def decode(self, samples: "NDArray[np.float32]", conventions: Conventions) -> Steps:
        """Decode one window."""
        import torch

        model, ids = self._model, self._ids
        features = torch.from_numpy(log_mel(samples, model.config.num_mel_bins))[None]
        with torch.inference_mode():
            encoded = model.model.encoder(features)
            start = ids["<|startoftranscript|>"]
            first = self._logits(encoded, [start], self._new_cache())[0]
            language = ""
            if languages := getattr(model.generation_config, "lang_to_id", None):
                language = conventions.language
                if language == "detect":
                    language = max(languages, key=lambda token: float(first[languages[token]])).strip("<|>")
            no_speech = next((ids[token] for token in NO_SPEECH_TOKENS if token in ids), None)
            silent = float("nan") if no_speech is None else float(torch.softmax(first, -1)[no_speech])
            prompt = [ids[token] for token in prompt_tokens(language)]
            likeliest, tokens, ended = self._greedy(encoded, prompt, conventions)
        return Steps(tuple(likeliest), tuple(tokens), ended, silent, language)

    def _greedy(self, encoded: Any, prompt: list[int], conventions: Conventions) -> tuple[list[float], list[int], bool]:
        config, end = self._model.generation_config, self._ids["<|endoftext|>"]
        likeliest: list[float] = []
        tokens: list[int] = []
        asked, cache = prompt, self._new_cache()
        while len(tokens) < conventions.max_tokens:
            step = self._logits(encoded, asked, cache)[-1]
            if conventions.suppression == "model":
                forbidden = [
                    *(config.suppress_tokens or ()),
                    *((config.begin_suppress_tokens or ()) if not tokens else ()),
                ]
                step[forbidden] = float("-inf")
            likeliest.append(max_probability(step.numpy()))
            token = int(step.argmax())
            if token == end:
                return likeliest, tokens, True
            tokens.append(token)
            asked = [token]
        return likeliest, tokens, False

    def _new_cache(self) -> Any:
        import transformers

        return transformers.EncoderDecoderCache(transformers.DynamicCache(), transformers.DynamicCache())

    def _logits(self, encoded: Any, asked: Sequence[int], cache: Any) -> Any:
        """Return the logits after each token asked about, shape (tokens, vocabulary); the cache remembers them."""
        import torch

        tokens = torch.tensor([asked])
        output = self._model(encoder_outputs=encoded, decoder_input_ids=tokens, use_cache=True, **{self._cache: cache})
        return output.logits[0].clone()


def load_whisper_score(settings: Mapping[str, Any]) -> WhisperScore:
    """Return the scorer that ``settings`` describe: ``spec``, ``backend`` and the fields of ``Conventions``.

    Raises:
        ModelLoadingError: it cannot be loaded.
        UsageError: a convention has a value that is not known.
    """
    conventions = Conventions(
        **{field.name: settings[field.name] for field in fields(Conventions) if field.name in settings}
    )
    for name, known in (("suppression", Suppression), ("pooling", Pooling), ("window", Window)):
        if getattr(conventions, name) not in get_args(known):
            raise UnknownNameError(name, str(getattr(conventions, name)), get_args(known))
    backend, spec = settings.get("backend", "ctranslate2"), settings["spec"]
    decoders: dict[str, Callable[[], Decoder]] = {
        "ctranslate2": lambda: Ctranslate2Decoder(spec, conventions.precision),
        "transformers": lambda: TransformersDecoder(spec, conventions),
    }
    if backend not in decoders:
        raise UnknownNameError("backend", backend, decoders)
    return WhisperScore(decoders[backend](), conventions)
