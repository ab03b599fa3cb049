"""Worker for MU-LLaMA, by the functions that its ``inference.py`` calls.

Install, in an environment of its own (Python 3.9):

    git clone the repository shansongliu/MU-LLaMA, branch LLaMA-2, commit c7c8db6
    pip install -r MU-LLaMA/requirements.txt pytorchvideo        # transformers 4.30.2, torchaudio 2.0.2

Weights, fetched by hand: ``checkpoint.pth`` of ``mu-llama/MU-LLaMA``, and LLaMA-2 7B in Meta's own format (a folder
with ``7B/consolidated.00.pth``, ``7B/params.json`` and ``tokenizer.model``). ``m-a-p/MERT-v1-330M`` comes from the
hub. Licence: GPL-3.0 for the code, the LLaMA-2 community licence for LLaMA-2. Memory: not measured here.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n mu-llama python mu_llama.py --repository MU-LLaMA
        --checkpoint checkpoint.pth --llama LLaMA-2'

The authors sample at temperature 0.6; this worker uses temperature 0, at which their code takes the likeliest token.
Their search in a cache of training features has weight 0 in ``inference.py``, so the cache is not loaded. The encoder
hears the first 60 s.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Callable

from otoscope_worker import Request, serve

COMMIT = "c7c8db6"
MAX_NEW_TOKENS = 512  # as shipped


def load(options: argparse.Namespace) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    folder = os.path.join(options.repository, "MU-LLaMA")
    os.chdir(folder)  # it names files by relative paths
    sys.path.insert(0, folder)
    import llama
    import torch
    from data.utils import load_and_transform_audio_data

    model = llama.load(options.checkpoint, options.llama, mert_path=options.mert, knn=False, llama_type="7B")
    model.eval()

    def answer(request: Request) -> str:
        if not request.audio:
            raise ValueError("MU-LLaMA answers nothing without audio")
        audio = load_and_transform_audio_data(request.audio)
        prompt = model.tokenizer.encode(llama.format_prompt(request.prompt), bos=True, eos=False)
        with torch.cuda.amp.autocast():
            answers = model.generate({"Audio": [audio, 1]}, [prompt], max_gen_len=MAX_NEW_TOKENS, temperature=0)
        return str(answers[0]).strip()

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("repository", "checkpoint", "llama"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    parser.add_argument("--mert", default="m-a-p/MERT-v1-330M", help="a repository on the hub, or a folder")
    options = parser.parse_args()
    serve(
        lambda: load(options),
        id="mu-llama",
        revision=COMMIT,
        checkpoint=os.path.basename(options.checkpoint),
        encoder=options.mert,
        rate=24_000,
        clips=1,
        longest=60,
        temperature=0,
        max_new_tokens=MAX_NEW_TOKENS,
    )


if __name__ == "__main__":
    main()
