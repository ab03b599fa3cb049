"""Worker for SALMONN 7B and 13B, by the functions that its command-line demo calls.

Install, in an environment of its own (Python 3.9):

    git clone the repository bytedance/SALMONN, branch salmonn, commit a58bba7
    pip install -r SALMONN/requirements.txt omegaconf        # torch 2.0.1, transformers 4.28.0, peft 0.3.0

Weights, all fetched by hand: ``openai/whisper-large-v2``; the fine-tuned BEATs_iter3+ (AS2M) (cpt2), linked from the
authors' README; and for 13b ``lmsys/vicuna-13b-v1.1`` with ``salmonn_v1.pth`` of ``tsinghua-ee/SALMONN``, for 7b
``lmsys/vicuna-7b-v1.5`` with ``salmonn_7b_v0.pth`` of ``tsinghua-ee/SALMONN-7B``. Licence: Apache-2.0 for SALMONN,
the LLaMA licences for Vicuna. Memory: the authors ran it on 80 GB; not measured here.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n salmonn python salmonn.py 13b
        --repository SALMONN --llama vicuna-13b-v1.1 --whisper whisper-large-v2
        --beats beats.pt --checkpoint salmonn_v1.pth'

The authors search with 4 beams, as ``--beams 4`` does; this worker takes the likeliest token. SALMONN pads a clip to
1 s and cuts it at 30 s; Otoscope joins clips and cuts them before that, and says so.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Callable

from otoscope_worker import Request, serve

COMMIT = "a58bba7"
MAX_NEW_TOKENS = 200  # as shipped


def load(options: argparse.Namespace) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    os.chdir(options.repository)  # its configuration names files by relative paths
    sys.path.insert(0, options.repository)
    import torch
    from config import Config
    from models.salmonn import SALMONN
    from transformers import WhisperFeatureExtractor
    from utils import prepare_one_sample

    overrides = [
        f"model.llama_path={options.llama}",
        f"model.whisper_path={options.whisper}",
        f"model.beats_path={options.beats}",
        f"model.ckpt={options.checkpoint}",
        f"generate.num_beams={options.beams}",
        f"generate.max_new_tokens={MAX_NEW_TOKENS}",
    ]
    config = Config(argparse.Namespace(cfg_path="configs/decode_config.yaml", options=overrides)).config
    model = SALMONN.from_config(config.model)
    model.to(options.device)
    model.eval()
    processor = WhisperFeatureExtractor.from_pretrained(config.model.whisper_path)

    def answer(request: Request) -> str:
        if not request.audio:
            raise ValueError("SALMONN answers nothing without audio")
        sample = prepare_one_sample(request.audio[0], processor)
        prompt = config.model.prompt_template.format("<Speech><SpeechHere></Speech> " + request.prompt.strip())
        with torch.cuda.amp.autocast(dtype=torch.float16):
            text = model.generate(sample, config.generate, prompts=[prompt])[0]
        return str(text).replace("<s>", "").replace("</s>", "").strip()

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", choices=("7b", "13b"))
    for name in ("repository", "llama", "whisper", "beats", "checkpoint"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--device", default="cuda:0")
    options = parser.parse_args()
    serve(
        lambda: load(options),
        id=f"salmonn-{options.size}",
        revision=COMMIT,
        checkpoint=os.path.basename(options.checkpoint),
        rate=16_000,
        clips=1,
        longest=30,
        do_sample=False,
        num_beams=options.beams,
        max_new_tokens=MAX_NEW_TOKENS,
        dtype="float16",
    )


if __name__ == "__main__":
    main()
