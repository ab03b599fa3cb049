"""Worker for Qwen-Audio-Chat, by the ``chat`` method of its remote code.

Install, in an environment of its own (Python 3.8 to 3.11, torch 2.0, and ffmpeg on the path):

    git clone the repository QwenLM/Qwen-Audio, commit b50fb95
    pip install -r Qwen-Audio/requirements.txt        # transformers==4.32.0 and what its remote code imports

The weights ``Qwen/Qwen-Audio-Chat`` come from the hub at the first question; ``--revision`` pins them. Licence:
Tongyi Qianwen licence agreement. Memory: not measured here.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n qwen-audio python qwen_audio_chat.py'

The authors' settings sample (top-p 0.5); this worker takes the likeliest token. Each clip is heard up to 30 s, and
several clips are passed as they are.
"""

from __future__ import annotations

import argparse
from typing import Callable

from otoscope_worker import Request, serve

MAX_NEW_TOKENS = 512  # as shipped
MOST_CLIPS = 7  # 752 tokens for a clip of 30 s, and the authors' window has 6144


def load(weights: str, revision: str, device: str) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.generation import GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(weights, revision=revision, trust_remote_code=True)
    model = AutoModelForCausalLM.from_pretrained(
        weights, revision=revision, device_map=device, trust_remote_code=True, bf16=True
    ).eval()
    config = GenerationConfig.from_pretrained(
        weights, revision=revision, trust_remote_code=True, do_sample=False, max_new_tokens=MAX_NEW_TOKENS
    )

    def answer(request: Request) -> str:
        parts = [{"audio": path} for path in request.audio]
        query = tokenizer.from_list_format([*parts, {"text": request.prompt}])
        response, _ = model.chat(tokenizer, query=query, history=None, generation_config=config)
        return str(response)

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="Qwen/Qwen-Audio-Chat", help="a repository on the hub, or a folder")
    parser.add_argument("--revision", default="main")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    serve(
        lambda: load(options.weights, options.revision, options.device),
        id="qwen-audio-chat",
        weights=options.weights,
        revision=options.revision,
        rate=16_000,
        clips=MOST_CLIPS,
        longest=30,
        do_sample=False,
        max_new_tokens=MAX_NEW_TOKENS,
        dtype="bfloat16",
    )


if __name__ == "__main__":
    main()
