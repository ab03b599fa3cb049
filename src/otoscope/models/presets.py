"""Names for the systems of the two papers, and for some of today's: what each stands for, and what is known of it."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

UNKNOWN = "not known"
DYNAMIC_SUPERB, SURE = "Dynamic-SUPERB Phase-2", "SURE-Challenge"

Tried = Literal["tiny random weights", "a stub of the package it imports"]
"""How far a preset was run before it was published. None was run with its own weights."""

GREEDY = "greedy, 256 new tokens (-M max_tokens)"
WORKER = "workers/"
HOME = Path(__file__).parents[1] / "workers"
"""Where the scripts of workers lie, which the package brings."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One system.

    Attributes:
        spec: the model specification it stands for.
        weights: where they come from.
        license: of the weights, as their source states it.
        memory: what it takes.
        audio: what it takes.
        generation: how an answer is decoded.
        tried: how far it was run.
        options: options that it sets; those of the user come after.
        arguments: what a worker has to be told, with the paths as its script names them.
        papers: where it was measured, with the name that the paper gives it.
        note: what else one must know.
    """

    spec: str
    weights: str
    license: str
    memory: str
    audio: str
    generation: str = GREEDY
    tried: Tried = "tiny random weights"
    options: Mapping[str, str] = field(default_factory=dict)
    arguments: str = ""
    papers: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


PRESETS: dict[str, Preset] = {
    "whisper-llama": Preset(
        "cascade/hf/openai/whisper-large-v3+hf/meta-llama/Llama-3.1-8B-Instruct",
        weights="openai/whisper-large-v3 and meta-llama/Llama-3.1-8B-Instruct on the hub",
        license="Apache-2.0 (Whisper); Llama 3.1 community licence, gated: ask for access, then set HF_TOKEN",
        memory="16 GB for 8 billion and 3 GB for 1.5 billion parameters at 2 bytes, and the batch",
        audio="any number of clips of any length: each is transcribed in windows of 30 s",
        papers={DYNAMIC_SUPERB: "Whisper-LLaMA"},
        note="The paper names Whisper-v3-large and LLaMA3.1-8B; that the latter is the instruction-tuned one is our "
        "reading, and the prompt is ours.",
    ),
    "qwen2-audio": Preset(
        "hf/Qwen/Qwen2-Audio-7B",
        weights="Qwen/Qwen2-Audio-7B on the hub",
        license="Apache-2.0",
        memory="17 GB for 8.4 billion parameters in bfloat16, and the batch",
        audio="several clips, each up to 30 s",
        options={"prompt": "base"},
        note="The base model, prompted by its own form: the clips, then the text.",
    ),
    "qwen2-audio-instruct": Preset(
        "hf/Qwen/Qwen2-Audio-7B-Instruct",
        weights="Qwen/Qwen2-Audio-7B-Instruct on the hub",
        license="Apache-2.0",
        memory="17 GB for 8.4 billion parameters in bfloat16, and the batch",
        audio="several clips, each up to 30 s",
        papers={DYNAMIC_SUPERB: "Qwen2-Audio", SURE: "Qwen2-Audio"},
        note="The first paper kept the sampling of the checkpoint; here decoding is greedy.",
    ),
    "qwen-audio-chat": Preset(
        "cmd/python workers/qwen_audio_chat.py",
        weights="Qwen/Qwen-Audio-Chat on the hub, with the code it carries",
        license="Tongyi Qianwen licence agreement",
        memory=UNKNOWN,
        audio="up to 7 clips, each up to 30 s",
        generation="greedy, 512 new tokens; the authors sample (top-p 0.5)",
        tried="a stub of the package it imports",
        papers={DYNAMIC_SUPERB: "Qwen-Audio", SURE: "Qwen-Audio-Chat"},
    ),
    "salmonn-7b": Preset(
        "cmd/python workers/salmonn.py 7b",
        weights="salmonn_7b_v0.pth of tsinghua-ee/SALMONN-7B, lmsys/vicuna-7b-v1.5, openai/whisper-large-v2, BEATs",
        license="Apache-2.0 (SALMONN); LLaMA licence (Vicuna)",
        memory="the authors used 80 GB",
        audio="one clip up to 30 s",
        generation="greedy, 200 new tokens; the authors search with 4 beams",
        tried="a stub of the package it imports",
        arguments="--repository SALMONN --llama vicuna-7b-v1.5 --whisper whisper-large-v2 "
        "--beats beats.pt --checkpoint salmonn_7b_v0.pth",
        papers={DYNAMIC_SUPERB: "SALMONN-7B"},
    ),
    "salmonn-13b": Preset(
        "cmd/python workers/salmonn.py 13b",
        weights="salmonn_v1.pth of tsinghua-ee/SALMONN, lmsys/vicuna-13b-v1.1, openai/whisper-large-v2, BEATs",
        license="Apache-2.0 (SALMONN); LLaMA licence (Vicuna)",
        memory="the authors used 80 GB",
        audio="one clip up to 30 s",
        generation="greedy, 200 new tokens; the authors search with 4 beams",
        tried="a stub of the package it imports",
        arguments="--repository SALMONN --llama vicuna-13b-v1.1 --whisper whisper-large-v2 "
        "--beats beats.pt --checkpoint salmonn_v1.pth",
        papers={DYNAMIC_SUPERB: "SALMONN-13B"},
    ),
    "ltu-as": Preset(
        "cmd/python workers/ltu_as.py",
        weights="fetched by inference.sh of the repository YuanGongND/ltu",
        license="none stated; its demo says that LLaMA's licence excludes commercial use",
        memory="the authors name 48 GB over four devices as the least",
        audio="one clip; the model hears the first 10 s, and reads a transcript",
        generation="greedy; the demo samples at temperature 0.1",
        tried="a stub of the package it imports",
        arguments="--repository ltu",
        papers={DYNAMIC_SUPERB: "LTU-AS"},
    ),
    "wavllm": Preset(
        "cmd/python workers/wavllm.py",
        weights="final.pt, linked from microsoft/SpeechT5 until the link expired in April 2025; ask the authors",
        license="MIT (code); none stated for the weights, which hold LLaMA-2-chat",
        memory=UNKNOWN,
        audio="one clip; the program leaves out what is longer than 100 s and splits the rest at 30 s",
        generation="greedy; the authors sample at temperature 0.5",
        tried="a stub of the package it imports",
        arguments="--fairseq SpeechT5/WavLLM/fairseq --checkpoint final.pt",
        papers={DYNAMIC_SUPERB: "WavLLM"},
    ),
    "mu-llama": Preset(
        "cmd/python workers/mu_llama.py",
        weights="checkpoint.pth of mu-llama/MU-LLaMA, LLaMA-2 7B in Meta's own format, m-a-p/MERT-v1-330M",
        license="GPL-3.0 (code); LLaMA-2 community licence (LLaMA-2)",
        memory=UNKNOWN,
        audio="one clip; the encoder hears the first 60 s",
        generation="greedy, 512 new tokens; the authors sample at temperature 0.6",
        tried="a stub of the package it imports",
        arguments="--repository MU-LLaMA --checkpoint checkpoint.pth --llama LLaMA-2",
        papers={DYNAMIC_SUPERB: "MU-LLaMA"},
    ),
    "gama": Preset(
        "cmd/python workers/gama.py",
        weights="from the folder that the README of Sreyan88/GAMA links",
        license="Apache-2.0 (code); LLaMA-2 community licence (LLaMA-2)",
        memory="28 GB for 7 billion parameters in float32",
        audio="one clip up to 10.24 s",
        generation="greedy; the authors sample at temperature 0.1",
        tried="a stub of the package it imports",
        arguments="--repository GAMA --llama Llama-2-7b-chat-hf-qformer --checkpoint stage5/pytorch_model.bin",
        papers={DYNAMIC_SUPERB: "GAMA"},
    ),
    "minicpm-o": Preset(
        "cmd/python workers/minicpm_o.py",
        weights="openbmb/MiniCPM-o-2_6 on the hub, with the code it carries",
        license="Apache-2.0 (code); MiniCPM model licence (weights)",
        memory="17 GB of weights in bfloat16, and the batch",
        audio="one clip up to 600 s, which the model splits at 30 s",
        generation="greedy with the authors' repetition penalty 1.2, 512 new tokens; the authors search with 3 beams",
        tried="a stub of the package it imports",
        papers={SURE: "MiniCPM-o"},
        note="The paper does not say which MiniCPM-o.",
    ),
    "qwen2.5-omni": Preset(
        "hf/Qwen/Qwen2.5-Omni-7B",
        weights="Qwen/Qwen2.5-Omni-7B on the hub; only the thinker is loaded",
        license="Apache-2.0",
        memory=UNKNOWN,
        audio="several clips, each up to the window of its processor (300 s)",
        papers={SURE: "Qwen2.5-Omni"},
        note="The paper does not say which size.",
    ),
    "audio-flamingo-3": Preset(
        "hf/nvidia/audio-flamingo-3-hf",
        weights="nvidia/audio-flamingo-3-hf on the hub",
        license="NVIDIA OneWay noncommercial licence",
        memory="16.5 GB of weights in bfloat16, and the batch",
        audio="one clip up to 600 s",
        papers={SURE: "Audio Flamingo 3"},
    ),
    "audio-flamingo-next": Preset(
        "hf/nvidia/audio-flamingo-next-hf",
        weights="nvidia/audio-flamingo-next-hf on the hub",
        license=UNKNOWN,
        memory="16.5 GB of weights in bfloat16, and the batch",
        audio="one clip up to 1800 s",
        papers={SURE: "Audio Flamingo Next"},
        note="In transformers it is a Music Flamingo.",
    ),
    "music-flamingo": Preset(
        "hf/nvidia/music-flamingo-hf",
        weights="nvidia/music-flamingo-hf on the hub",
        license="NVIDIA OneWay noncommercial licence",
        memory=UNKNOWN,
        audio="one clip up to 1200 s, or what its processor says",
    ),
    "qwen3-omni": Preset(
        "hf/Qwen/Qwen3-Omni-30B-A3B-Instruct",
        weights="Qwen/Qwen3-Omni-30B-A3B-Instruct on the hub; only the thinker is loaded",
        license="Apache-2.0",
        memory="60 GB for 30 billion parameters in bfloat16, and the batch",
        audio="several clips, each up to 2400 s",
    ),
    "voxtral": Preset(
        "hf/mistralai/Voxtral-Mini-3B-2507",
        weights="mistralai/Voxtral-Mini-3B-2507 on the hub",
        license="Apache-2.0",
        memory="9.4 GB for 4.7 billion parameters in bfloat16, and the batch",
        audio="several clips, each up to 2400 s; the makers name 40 minutes for understanding, 30 for transcription",
    ),
    "phi-4-multimodal": Preset(
        "hf/microsoft/Phi-4-multimodal-instruct",
        weights="microsoft/Phi-4-multimodal-instruct on the hub, with its adapter for speech",
        license="MIT",
        memory="11 GB for 5.6 billion parameters in bfloat16, and the batch",
        audio="several clips, each up to 1800 s",
        options={"revision": "refs/pr/70"},
        note="The revision is the form that transformers ships; the main branch needs the code it carries.",
    ),
    "granite-speech": Preset(
        "hf/ibm-granite/granite-speech-3.3-8b",
        weights="ibm-granite/granite-speech-3.3-8b on the hub, with its adapter",
        license="Apache-2.0",
        memory="18 GB for 9 billion parameters in bfloat16, and the batch",
        audio="one clip; the makers name no limit",
        note="Made for transcription and translation; its makers have other questions answered from the transcript.",
    ),
    "gemma-3n": Preset(
        "hf/google/gemma-3n-E4B-it",
        weights="google/gemma-3n-E4B-it on the hub",
        license="Gemma terms of use, gated: ask for access, then set HF_TOKEN",
        memory=UNKNOWN,
        audio="one clip up to 30 s",
    ),
}
"""By name, those of the first paper first."""


def expand_preset(name: str, options: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the specification and the options that a preset stands for, with what the user adds.

    A worker is started by ``-M python=...`` and told ``-M arguments=...`` (paths of its repository and weights).
    """
    preset = PRESETS[name]
    spec, given = preset.spec, {**preset.options, **options}
    if f" {WORKER}" in spec:
        program, _, script = spec.removeprefix("cmd/").partition(" ")
        here = shlex.quote(str(HOME)) + "/"
        words = [given.pop("python", program), script.replace(WORKER, here, 1), given.pop("arguments", "")]
        spec = f"cmd/{' '.join(word for word in words if word)}"
    return spec, given


def _start(name: str, preset: Preset) -> str:
    """Return the command line that starts a worker, whose paths are the user's to fill in; nothing of another model."""
    if f" {WORKER}" not in preset.spec:
        return ""
    options = ["python=ENVIRONMENT/bin/python", *([f"arguments={preset.arguments}"] if preset.arguments else [])]
    words = [word for option in options for word in ("-M", option)]
    return shlex.join(["otoscope", "run", "starter", "--model", name, *words])


def describe(name: str) -> dict[str, str]:
    """Return what is known of a preset, as words by fact."""
    preset = PRESETS[name]
    facts = {
        "spec": preset.spec,
        "start": _start(name, preset),
        "options": ", ".join(f"{key}={value}" for key, value in preset.options.items()) or "none",
        "weights": preset.weights,
        "license": preset.license,
        "memory": preset.memory,
        "audio": preset.audio,
        "generation": preset.generation,
        "papers": "; ".join(f"{paper}, as {label}" for paper, label in preset.papers.items()) or "none",
        "tried": f"only with {preset.tried}",
        "note": preset.note,
    }
    return {fact: text for fact, text in facts.items() if text}
