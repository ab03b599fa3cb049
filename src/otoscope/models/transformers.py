"""Spoken language models of the transformers library: one adapter over processor, chat template and generate."""

import base64
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from otoscope.audio import Audio, Intake, to_wav
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models.checkpoint import Checkpoint, find_checkpoint
from otoscope.models.generation import (
    OPTIONS,
    Runtime,
    decode_greedily,
    generate,
    load_part,
    load_weights,
    read_choice,
    read_runtime,
)
from otoscope.models.protocol import Reply, Request
from otoscope.records import digest

RATE = 16_000
PROMPTS = ("chat", "base")
MODEL_OPTIONS = (*OPTIONS, "prompt")


@dataclass(frozen=True, slots=True)
class Family:
    """What differs between models, all of it data.

    Attributes:
        model: class in the transformers library.
        entry: how audio enters the user's turn: as ``parts`` of the conversation, as ``encoded`` parts that hold a
            file, or as the processor's audio ``token`` before the text.
        clips: most clips a request may hold.
        longest: longest clip in seconds, or None if the makers name no limit.
        limit: key of the processor's configuration that says how long a clip may be, where there is one.
        base: what a base model is given for each clip before the text; only families with base models have it.
        adapter: folder of the low-rank weights that speech needs; they are loaded where the checkpoint has them.
        equal: only clips of one length go together, since padding would change what the encoder makes of a clip.
    """

    model: str
    entry: Literal["parts", "encoded", "token"] = "parts"
    clips: int = 1
    longest: float | None = None
    limit: str = ""
    base: str = ""
    adapter: str = ""
    equal: bool = False


FAMILIES: dict[str, Family] = {
    "audioflamingo3": Family("AudioFlamingo3ForConditionalGeneration", longest=600, limit="max_audio_len"),
    "gemma3n": Family("Gemma3nForConditionalGeneration", longest=30, equal=True),
    "granite_speech": Family("GraniteSpeechForConditionalGeneration", entry="token", equal=True),
    "musicflamingo": Family("MusicFlamingoForConditionalGeneration", longest=1200, limit="max_audio_len"),
    "phi4_multimodal": Family(
        "Phi4MultimodalForCausalLM", entry="token", clips=9, longest=1800, adapter="speech-lora", equal=True
    ),
    "qwen2_5_omni": Family("Qwen2_5OmniThinkerForConditionalGeneration", clips=9, longest=30, limit="chunk_length"),
    "qwen2_audio": Family(
        "Qwen2AudioForConditionalGeneration",
        clips=9,
        longest=30,
        limit="chunk_length",
        base="<|audio_bos|><|AUDIO|><|audio_eos|>",
    ),
    "qwen3_omni_moe": Family("Qwen3OmniMoeThinkerForConditionalGeneration", clips=9, longest=2400),
    "voxtral": Family("VoxtralForConditionalGeneration", entry="encoded", clips=9, longest=2400),
}
"""By the ``model_type`` of a checkpoint's configuration. Of omni models only the part that writes text is loaded."""


class TransformersModel:
    """Answers a batch of requests greedily; only what the model adds to the prompt is the answer.

    Requests are padded on the left. In float32 an answer does not depend on what else is in the batch. In half
    precision the sums are rounded otherwise when the shapes differ, as in any batched model; ``batch=1`` avoids it.

    Args:
        name: a folder, or a repository id ``ORG/REPO`` on the hub.
        options: ``attention``, ``batch``, ``compile``, ``device``, ``dtype``, ``max_tokens``, ``revision``, and
            ``prompt``, which is ``base`` for a model that was not tuned to converse.

    Raises:
        UsageError: an option is not known, or has no such value.
        ModelLoadingError: a library is missing, or the architecture is not supported.
    """

    concurrency = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"hf/{name}"
        self._runtime: Runtime = read_runtime(self.id, options, MODEL_OPTIONS)
        self._prompt = read_choice(self.id, options, "prompt", PROMPTS)
        self._checkpoint = find_checkpoint(name, options.get("revision", ""))
        self._family = find_family(self._checkpoint)
        if self._prompt == "base" and not self._family.base:
            raise UsageError(f"{self.id}: prompt=base is for base models of qwen2_audio; leave it out")
        self.batch = self._runtime.batch
        self.intake = Intake(RATE, self._family.clips, find_longest(self._checkpoint, self._family))
        self.settings: Mapping[str, Any] = {
            "revision": self._checkpoint.revision,
            "prompt": self._prompt,
            "template": digest(find_template(self._checkpoint), self._family.base),
            **self._runtime.settings,
        }

    @functools.cached_property
    def _processor(self) -> Any:
        return load_part("AutoProcessor", self._checkpoint)

    @functools.cached_property
    def _model(self) -> Any:
        """Loaded at the first request: a finished run has none."""
        model = load_weights(self._family.model, self._checkpoint, self._runtime)
        if self._family.adapter and (self._checkpoint.folder / self._family.adapter).is_dir():
            load_adapter(model, self._checkpoint, self._family.adapter)
        decode_greedily(model, self._processor.tokenizer, self._runtime.max_tokens)
        return model

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, at most ``batch`` at once; one that fails is a Reply with ``error``."""
        replies: dict[int, Reply] = {}
        for numbers in self._groups(requests):
            answers = self._answer([requests[number] for number in numbers])
            replies.update(zip(numbers, answers, strict=True))
        return [replies[number] for number in range(len(requests))]

    def _groups(self, requests: Sequence[Request]) -> list[list[int]]:
        """Return which requests go together: as many clips each, of equal length where padding would matter."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, request in enumerate(requests):
            lengths = [len(audio.samples) for audio in request.audios] if self._family.equal else []
            alike.setdefault((len(request.audios), *lengths), []).append(number)
        size = self._runtime.batch
        return [group[at : at + size] for group in alike.values() for at in range(0, len(group), size)]

    def _answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests together; if that fails they are asked one by one, so that only the culprit is lost."""
        model = self._model
        try:
            return generate(model, self._processor.tokenizer, self._inputs(requests))
        except (ValueError, RuntimeError, IndexError) as error:
            if len(requests) == 1:
                return [Reply(error=f"{type(error).__name__}: {error}")]
        return [reply for request in requests for reply in self._answer([request])]

    def _inputs(self, requests: Sequence[Request]) -> Any:
        if self._family.entry == "encoded":
            turns = [[_user_turn(request, _encoded_part)] for request in requests]
            return self._processor.apply_chat_template(turns, tokenize=True, return_dict=True)
        texts = [self._text(request) for request in requests]
        clips = [audio.samples for request in requests for audio in request.audios]
        bos = self._processor.tokenizer.bos_token
        return self._processor(
            text=texts,
            audio=clips or None,
            # Padding is for text alone: some encoders take windows of one size only, which their defaults see to.
            # A template that writes the beginning token itself must not get two.
            text_kwargs={"padding": True, "add_special_tokens": not (bos and texts[0].startswith(bos))},
            audio_kwargs={"sampling_rate": RATE},
            return_tensors="pt",
        )

    def _text(self, request: Request) -> str:
        """Return the prompt as the model reads it, one placeholder a clip."""
        count = len(request.audios)
        if self._prompt == "base":
            return self._family.base * count + request.prompt
        turn, template = _user_turn(request, lambda _audio: {"type": "audio"}), self._processor
        if self._family.entry == "token":  # their processors have no template, their tokenisers do
            turn["content"] = self._processor.audio_token * count + request.prompt
            template = self._processor.tokenizer
        try:
            return str(template.apply_chat_template([turn], tokenize=False, add_generation_prompt=True))
        except ValueError as error:
            raise ModelCallError(f"{self.id}: its processor has no chat template ({error}); try prompt=base") from error


def find_family(checkpoint: Checkpoint) -> Family:
    """Return what is known of the checkpoint's architecture.

    Raises:
        ModelLoadingError: nothing is; the message names the architectures that are known.
    """
    kind = checkpoint.architecture
    if kind not in FAMILIES:
        hint = "; give -M revision=refs/pr/70 for the form that transformers ships" if kind == "phi4mm" else ""
        raise ModelLoadingError(
            f"{checkpoint.spec}: the architecture {kind} is not supported; there are {', '.join(FAMILIES)}{hint}. "
            "A model with code of its own runs as cmd/PROGRAM"
        )
    return FAMILIES[kind]


def find_longest(checkpoint: Checkpoint, family: Family) -> float | None:
    """Return the longest clip in seconds, as the checkpoint's processor says where it does, or None for no limit."""
    processor = checkpoint.settings("processor_config.json")
    extractor = {**checkpoint.settings("preprocessor_config.json"), **processor.get("feature_extractor", {})}
    found = {**extractor, **processor}.get(family.limit, family.longest)
    return None if found is None else float(found)


def find_template(checkpoint: Checkpoint) -> bytes:
    """Return the file that makes a prompt of a conversation: of the processor, else of the tokeniser."""
    for name in ("chat_template.jinja", "chat_template.json", "tekken.json", "tokenizer_config.json"):
        path = checkpoint.folder / name
        if path.is_file():
            return path.read_bytes()
    return b""


def load_adapter(model: Any, checkpoint: Checkpoint, folder: str) -> None:
    """Load low-rank weights from a folder of the checkpoint and switch them on.

    Raises:
        ModelLoadingError: the library for them is missing, or they do not fit.
    """
    where = checkpoint.source
    source = where.pop("pretrained_model_name_or_path")
    try:
        model.load_adapter(source, adapter_name=folder, adapter_kwargs={"subfolder": folder, **where})
        model.set_adapter(folder)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        raise ModelLoadingError(f"{checkpoint.spec}: its adapter {folder} cannot be loaded: {error}") from error


def _user_turn(request: Request, part: Callable[[Audio], dict[str, str]]) -> dict[str, Any]:
    """Return the one turn of a conversation: the clips, then the text."""
    return {"role": "user", "content": [*map(part, request.audios), {"type": "text", "text": request.prompt}]}


def _encoded_part(audio: Audio) -> dict[str, str]:
    return {"type": "audio", "base64": base64.b64encode(to_wav(audio)).decode()}
