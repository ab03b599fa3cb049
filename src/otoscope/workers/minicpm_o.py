"""Worker for MiniCPM-o 2.6, by the ``chat`` method of its remote code.

Install, in an environment of its own (Python 3.10):

    pip install torch==2.3.1 torchaudio==2.3.1 torchvision==0.18.1 transformers==4.44.2 accelerate \
        librosa==0.9.0 soundfile==0.12.1 vector-quantize-pytorch==1.18.5 vocos==0.1.0 Pillow==10.1.0

The weights ``openbmb/MiniCPM-o-2_6`` (17 GB in bfloat16) come from the hub at the first question; ``--revision`` pins
them. Licence: Apache-2.0 for the code, the MiniCPM model licence for the weights. Memory: not measured here.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n minicpm-o python minicpm_o.py'

Neither its eyes nor its voice are loaded. Without sampling the authors search with 3 beams; this worker takes the
likeliest token and keeps their repetition penalty for that case. The model splits audio into pieces of 30 s by
itself.
"""

from __future__ import annotations

import argparse
from typing import Any, Callable

from otoscope_worker import Request, serve

RATE = 16_000
LONGEST_SECONDS = 600  # 27 tokens a second: half of the authors' window of 32768
MAX_NEW_TOKENS = 512
REPETITION_PENALTY = 1.2


def load(weights: str, revision: str, device: str) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    import librosa
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(
        weights,
        revision=revision,
        trust_remote_code=True,
        attn_implementation="sdpa",
        torch_dtype=torch.bfloat16,
        init_vision=False,
        init_audio=True,
        init_tts=False,
    )
    model = model.eval().to(device)
    tokenizer = AutoTokenizer.from_pretrained(weights, revision=revision, trust_remote_code=True)

    def answer(request: Request) -> str:
        content: list[Any] = [request.prompt, *(librosa.load(path, sr=RATE, mono=True)[0] for path in request.audio)]
        response = model.chat(
            msgs=[{"role": "user", "content": content}],
            tokenizer=tokenizer,
            sampling=False,
            num_beams=1,
            repetition_penalty=REPETITION_PENALTY,
            max_new_tokens=MAX_NEW_TOKENS,
        )
        return str(response)

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="openbmb/MiniCPM-o-2_6", help="a repository on the hub, or a folder")
    parser.add_argument("--revision", default="main")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    serve(
        lambda: load(options.weights, options.revision, options.device),
        id="minicpm-o",
        weights=options.weights,
        revision=options.revision,
        rate=RATE,
        clips=1,
        longest=LONGEST_SECONDS,
        sampling=False,
        num_beams=1,
        repetition_penalty=REPETITION_PENALTY,
        max_new_tokens=MAX_NEW_TOKENS,
        dtype="bfloat16",
    )


if __name__ == "__main__":
    main()
