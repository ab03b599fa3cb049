"""Tiny models of every family, with random weights, from the family's own configuration and processor classes."""

import base64
import ctypes
import functools
import importlib.util
import json
import string
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models

for library in ("accelerate", "mistral_common", "peft", "timm", "torchaudio", "torchvision"):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"no {library}: pip install '.[transformers]'", allow_module_level=True)
torch: Any = pytest.importorskip("torch")


def make_importable() -> None:
    """Stand in for the compiled halves of torchvision and torchaudio where they were built for another torch.

    The package index has them for CUDA only, and beside a torch without CUDA they cannot be loaded. What processors
    use of them is Python; two operators are declared so that it can be imported, and nothing calls them.
    """
    if not loads("torchvision", "_C.so"):
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")
    if not loads("torchaudio", "lib/_torchaudio*.so"):
        extension = ModuleType("torchaudio._extension")
        vars(extension).update(_IS_TORCHAUDIO_EXT_AVAILABLE=False, fail_if_no_align=lambda function: function)
        sys.modules["torchaudio._extension"] = extension


def loads(package: str, pattern: str) -> bool:
    """Tell whether the compiled half of an installed package can be loaded; one without such a half can."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    try:
        for library in Path(spec.origin).parent.glob(pattern):
            ctypes.CDLL(str(library))
    except OSError:
        return False
    return True


make_importable()
transformers: Any = pytest.importorskip("transformers")

WIDTH = 32
CHARACTERS = ["<unk>", *string.printable[:95], "\n"]

QWEN_TEMPLATE = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}\
{% if part.type == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>{% else %}{{ part.text }}{% endif %}\
{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

TEXT = {
    "hidden_size": WIDTH,
    "intermediate_size": 2 * WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
}


def make_tokenizer(template: str | None = None, **named: str) -> Any:
    """Return a tokeniser of single characters; ``named`` are special tokens by the attribute a processor reads."""
    specials = {"eos_token": "<|im_end|>", "pad_token": "<|pad|>", **named}
    extra = {name: token for name, token in specials.items() if name not in {"bos_token", "eos_token", "pad_token"}}
    vocabulary = {character: number for number, character in enumerate(CHARACTERS)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tokenizer.add_special_tokens(list(specials.values()))
    tokenizer.decoder = decoders.Fuse()
    basic = {name: token for name, token in specials.items() if name not in extra}
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **basic, extra_special_tokens=extra)
    made.chat_template = template
    return made


def save(folder: Path, model: Any, processor: Any, loud: Sequence[int] = ()) -> Path:
    """Save the model with weights so large that what it hears sways what it says, and the ``loud`` tokens likely."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                spread = 8.0 if "encoder_attn" in name else 1.2  # only Whisper hears by attention
                parameter.normal_(0, spread * (parameter[0].numel() ** -0.5), generator=generator)
        quiet = [processor.tokenizer.eos_token_id, CHARACTERS.index(" "), CHARACTERS.index("\n")]
        head = getattr(model, "thinker", model).get_output_embeddings().weight
        head[quiet] = 0  # or many an answer is empty
        head[list(loud)] *= 4
    # What a checkpoint may bring along and a run must not use.
    model.generation_config.do_sample = True
    model.generation_config.temperature = 5.0
    model.generation_config.top_k = 90
    model.generation_config.repetition_penalty = 3.0
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def numbers(tokenizer: Any) -> dict[str, int]:
    return {
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


WHISPER = {"num_mel_bins": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": WIDTH}
QWEN_AUDIO = {"audio_token": "<|AUDIO|>", "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>"}
OMNI = {
    **QWEN_AUDIO,
    "image_token": "<|IMAGE|>",
    "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>",
    "vision_eos_token": "<|vision_eos|>",
    "start": "<|im_start|>",
}


def qwen2_audio(folder: Path) -> Path:
    tokenizer = make_tokenizer(**QWEN_AUDIO, start="<|im_start|>")
    extractor = transformers.WhisperFeatureExtractor(feature_size=16)
    config = transformers.Qwen2AudioConfig(
        audio_config={**WHISPER, "d_model": WIDTH},
        text_config={"model_type": "qwen2", **TEXT, **numbers(tokenizer)},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
    )
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    return save(folder, model, transformers.Qwen2AudioProcessor(extractor, tokenizer, chat_template=QWEN_TEMPLATE))


def qwen2_5_omni(folder: Path) -> Path:
    """The whole model, talker left out: the adapter must find the thinker in it."""
    tokenizer = make_tokenizer(**OMNI)
    ids = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10_000.0}
    thinker = {
        "audio_config": {**WHISPER, "d_model": WIDTH, "output_dim": WIDTH},
        "vision_config": {"depth": 1, "hidden_size": WIDTH, "intermediate_size": WIDTH, "num_heads": 2}
        | {"out_hidden_size": WIDTH, "fullatt_block_indexes": [0]},
        "text_config": {**TEXT, **numbers(tokenizer), "rope_parameters": rope},
        "audio_token_index": ids("<|AUDIO|>"),
        "image_token_index": ids("<|IMAGE|>"),
        "video_token_index": ids("<|VIDEO|>"),
        "audio_start_token_id": ids("<|audio_bos|>"),
        "vision_start_token_id": ids("<|vision_bos|>"),
        "audio_end_token_id": ids("<|audio_eos|>"),
    }
    config = transformers.Qwen2_5OmniConfig(thinker_config=thinker, enable_audio_output=False)
    model = transformers.Qwen2_5OmniForConditionalGeneration(config)
    processor = transformers.Qwen2_5OmniProcessor(
        transformers.Qwen2VLImageProcessor(),
        transformers.Qwen2VLVideoProcessor(),
        transformers.WhisperFeatureExtractor(feature_size=16),
        tokenizer,
        chat_template=QWEN_TEMPLATE,
    )
    return save(folder, model, processor)


def qwen3_omni_moe(folder: Path) -> Path:
    """The whole model, talker left out: the adapter must find the thinker in it."""
    tokenizer = make_tokenizer(**OMNI)
    ids = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10_000.0}
    experts = {"moe_intermediate_size": WIDTH, "num_experts": 4, "num_experts_per_tok": 2}
    thinker = {
        "audio_config": {**WHISPER, "d_model": WIDTH, "output_dim": WIDTH, "downsample_hidden_size": 8},
        "vision_config": {"depth": 1, "hidden_size": WIDTH, "intermediate_size": WIDTH, "num_heads": 2}
        | {"out_hidden_size": WIDTH, "deepstack_visual_indexes": [0]},
        "text_config": {**TEXT, **experts, **numbers(tokenizer), "rope_parameters": rope},
        "audio_token_id": ids("<|AUDIO|>"),
        "image_token_id": ids("<|IMAGE|>"),
        "video_token_id": ids("<|VIDEO|>"),
        "audio_start_token_id": ids("<|audio_bos|>"),
        "vision_start_token_id": ids("<|vision_bos|>"),
    }
    config = transformers.Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)
    model = transformers.Qwen3OmniMoeForConditionalGeneration(config)
    processor = transformers.Qwen3OmniMoeProcessor(
        transformers.Qwen2VLImageProcessor(),
        transformers.Qwen2VLVideoProcessor(),
        transformers.WhisperFeatureExtractor(feature_size=16),
        tokenizer,
        chat_template=QWEN_TEMPLATE,
    )
    return save(folder, model, processor)


FLAMINGO_AUDIO = {
    "num_mel_bins": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": WIDTH,
    "hidden_size": WIDTH,
}
FLAMINGO_TEMPLATE = QWEN_TEMPLATE.replace("<|audio_bos|><|AUDIO|><|audio_eos|>", "<sound>")


def audioflamingo3(folder: Path) -> Path:
    tokenizer = make_tokenizer(audio_token="<sound>", start="<|im_start|>")
    config = transformers.AudioFlamingo3Config(
        audio_config=FLAMINGO_AUDIO,
        text_config={"model_type": "qwen2", **TEXT, **numbers(tokenizer)},
        audio_token_id=tokenizer.convert_tokens_to_ids("<sound>"),
    )
    model = transformers.AudioFlamingo3ForConditionalGeneration(config)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16)
    processor = transformers.AudioFlamingo3Processor(extractor, tokenizer, chat_template=FLAMINGO_TEMPLATE)
    return save(folder, model, processor)


def musicflamingo(folder: Path) -> Path:
    """As Audio Flamingo Next: the same classes, with a processor that takes half an hour."""
    tokenizer = make_tokenizer(audio_token="<sound>", bos="<|sound_bos|>", eos="<|sound_eos|>", start="<|im_start|>")
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.MusicFlamingoConfig(
        audio_config={"model_type": "audioflamingo3_encoder", **FLAMINGO_AUDIO},
        text_config={"model_type": "qwen2", **TEXT, **numbers(tokenizer)},
        audio_token_id=ids("<sound>"),
        audio_bos_token_id=ids("<|sound_bos|>"),
        audio_eos_token_id=ids("<|sound_eos|>"),
    )
    model = transformers.MusicFlamingoForConditionalGeneration(config)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16)
    processor = transformers.MusicFlamingoProcessor(
        extractor, tokenizer, chat_template=FLAMINGO_TEMPLATE, max_audio_len=1800
    )
    return save(folder, model, processor)


TEKKEN = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"]
TEKKEN += ["[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"]
TEKKEN += ["[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]", "<r0>", "<r1>", "<r2>", "<r3>"]
TEKKEN += ["[AUDIO]", "[BEGIN_AUDIO]", "[TRANSCRIBE]"]


def voxtral(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    letters = [{"rank": n, "token_bytes": base64.b64encode(bytes([n])).decode(), "token_str": None} for n in range(256)]
    spectrogram = {"num_mel_bins": 16, "hop_length": 160, "window_size": 400}
    content = {
        "config": {"pattern": "[\\s\\S]", "num_vocab_tokens": 256, "default_vocab_size": 256 + len(TEKKEN)}
        | {"default_num_special_tokens": len(TEKKEN), "version": "v7"},
        "vocab": letters,
        "special_tokens": [{"rank": n, "token_str": token, "is_control": True} for n, token in enumerate(TEKKEN)],
        "audio": {"sampling_rate": 16_000, "frame_rate": 12.5, "audio_encoding_config": spectrogram}
        | {"chunk_length_s": 30.0},
    }
    (folder / "tekken.json").write_text(json.dumps(content))
    tokenizer = transformers.MistralCommonBackend(folder / "tekken.json")
    config = transformers.VoxtralConfig(
        audio_config={**FLAMINGO_AUDIO, "intermediate_size": 4 * WIDTH},
        text_config={"model_type": "llama", **TEXT, **numbers(tokenizer), "bos_token_id": 1},
        audio_token_id=24,
    )
    model = transformers.VoxtralForConditionalGeneration(config)
    extractor = transformers.WhisperFeatureExtractor(feature_size=16)
    letters_of_ascii = range(len(TEKKEN) + ord("!"), len(TEKKEN) + ord("~"))  # other bytes make no text
    return save(folder, model, transformers.VoxtralProcessor(extractor, tokenizer), letters_of_ascii)


def granite_speech(folder: Path) -> Path:
    template = "{% for turn in messages %}<|user|>{{ turn.content }}{% endfor %}<|assistant|>"
    tokenizer = make_tokenizer(template, audio_token="<|audio|>", user="<|user|>", assistant="<|assistant|>")
    config = transformers.GraniteSpeechConfig(
        text_config={"model_type": "granite", **TEXT, **numbers(tokenizer)},
        encoder_config={"input_dim": 160, "num_layers": 1, "hidden_dim": WIDTH, "num_heads": 2, "dim_head": 16}
        | {"output_dim": 8, "context_size": 50, "feedforward_mult": 2, "dropout": 0.0},
        projector_config={"model_type": "blip_2_qformer", "hidden_size": WIDTH, "num_hidden_layers": 1}
        | {"num_attention_heads": 2, "intermediate_size": WIDTH, "encoder_hidden_size": WIDTH},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|audio|>"),
        has_lora_adapter=False,
    )
    model = transformers.GraniteSpeechForConditionalGeneration(config)
    extractor = transformers.GraniteSpeechFeatureExtractor()
    return save(folder, model, transformers.GraniteSpeechProcessor(extractor, tokenizer, chat_template=template))


def phi4_multimodal(folder: Path) -> Path:
    template = "{% for turn in messages %}<|{{ turn.role }}|>{{ turn.content }}<|end|>{% endfor %}<|assistant|>"
    tokenizer = make_tokenizer(
        template,
        image_token="<|image|>",
        audio_token="<|audio|>",
        user="<|user|>",
        end="<|end|>",
        assistant="<|assistant|>",
    )
    ids = tokenizer.convert_tokens_to_ids
    config = transformers.Phi4MultimodalConfig(
        **TEXT,
        **numbers(tokenizer),
        bos_token_id=tokenizer.eos_token_id,
        audio_config={"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_blocks": 2, "num_attention_heads": 2}
        | {"ext_pw_out_channel": WIDTH, "depthwise_separable_out_channel": WIDTH, "nemo_conv_channels": 16}
        | {"audio_token_id": ids("<|audio|>")},
        vision_config={"hidden_size": WIDTH, "intermediate_size": WIDTH, "num_hidden_layers": 2}
        | {"num_attention_heads": 2, "image_token_id": ids("<|image|>")},
    )
    model = transformers.Phi4MultimodalForCausalLM(config)
    processor = transformers.Phi4MultimodalProcessor(
        transformers.Phi4MultimodalImageProcessor(),
        transformers.Phi4MultimodalFeatureExtractor(),
        tokenizer,
        chat_template=template,
    )
    return save(folder, model, processor)


def gemma3n(folder: Path) -> Path:
    template = """\
{{ bos_token }}{% for message in messages %}<start_of_turn>{{ message.role }}
{% for part in message.content %}{% if part.type == 'audio' %}<audio_soft_token>{% else %}{{ part.text }}{% endif %}\
{% endfor %}<end_of_turn>
{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}"""
    tokenizer = make_tokenizer(
        template,
        bos_token="<bos>",
        start="<start_of_turn>",
        end="<end_of_turn>",
        boa_token="<start_of_audio>",
        boi_token="<start_of_image>",
        eoi_token="<end_of_image>",
        image_token="<image_soft_token>",
        eoa_token="<end_of_audio>",
        audio_token="<audio_soft_token>",
    )
    ids = tokenizer.convert_tokens_to_ids
    words, sights, sounds = ids("<end_of_image>"), 2, 2
    config = transformers.Gemma3nConfig(
        text_config={**TEXT, **numbers(tokenizer), "head_dim": 16, "hidden_size_per_layer_input": 8, "laurel_rank": 4}
        | {"vocab_size_per_layer_input": words, "num_kv_shared_layers": 0, "activation_sparsity_pattern": [0.0, 0.0]}
        | {"layer_types": ["sliding_attention", "full_attention"], "intermediate_size": [WIDTH, WIDTH]},
        audio_config={"vocab_size": sounds, "vocab_offset": words + sights, "hidden_size": WIDTH}
        | {"conf_num_attention_heads": 2, "conf_num_hidden_layers": 1, "sscp_conv_channel_size": [8, 4]},
        vision_config={"architecture": "mobilenetv3_small_050", "hidden_size": WIDTH}
        | {"vocab_size": sights, "vocab_offset": words},
        audio_token_id=ids("<audio_soft_token>"),
        image_token_id=ids("<image_soft_token>"),
        boa_token_id=ids("<start_of_audio>"),
        eoa_token_id=ids("<end_of_audio>"),
        boi_token_id=ids("<start_of_image>"),
        eoi_token_id=ids("<end_of_image>"),
    )
    model = transformers.Gemma3nForConditionalGeneration(config)
    processor = transformers.Gemma3nProcessor(
        transformers.Gemma3nAudioFeatureExtractor(),
        transformers.SiglipImageProcessor(),
        tokenizer,
        chat_template=template,
    )
    return save(folder, model, processor)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "audioflamingo3": audioflamingo3,
    "gemma3n": gemma3n,
    "granite_speech": granite_speech,
    "musicflamingo": musicflamingo,
    "phi4_multimodal": phi4_multimodal,
    "qwen2_5_omni": qwen2_5_omni,
    "qwen2_audio": qwen2_audio,
    "qwen3_omni_moe": qwen3_omni_moe,
    "voxtral": voxtral,
}

_ROOT = tempfile.TemporaryDirectory(prefix="otoscope-tiny-")


@functools.cache
def tiny_folder(family: str) -> Path:
    """Return the folder of a family's tiny model, made once a process."""
    return FAMILIES[family](Path(_ROOT.name) / family)
