"""Worker for GAMA and GAMA-IT, by the function ``predict`` of its script ``gama_inf_single_audio.py``.

Install, in an environment of its own (Python 3.10), as the authors' README says:

    git clone the repository Sreyan88/GAMA, commit 041c3a6
    cd GAMA; pip install -r requirements.txt
    pip install -e hf-dev-train/transformers-main -e peft-main        # changed copies; the originals do not work

Weights, fetched by hand from the folder that the README links: ``Llama-2-7b-chat-hf-qformer``, and
``pytorch_model.bin`` of stage 4 (GAMA) or stage 5 (GAMA-IT). Licence: Apache-2.0 for the code, the LLaMA-2 community
licence for LLaMA-2. Memory: 7 billion parameters in float32 are 28 GB; not measured here.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n gama python gama.py --repository GAMA
        --llama Llama-2-7b-chat-hf-qformer --checkpoint stage5/pytorch_model.bin'

The authors sample at temperature 0.1; this worker takes the likeliest token. GAMA hears the first 1024 frames of 10
ms.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Callable

from demo_script import decode_greedily, load_demo
from otoscope_worker import Request, serve

COMMIT = "041c3a6"


def load(options: argparse.Namespace) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    os.chdir(options.repository)  # it names its templates by relative paths
    sys.path.insert(0, options.repository)
    sys.argv[1:] = [os.environ.get("CUDA_VISIBLE_DEVICES", "0")]  # what the script makes visible
    script = Path(options.repository) / "gama_inf_single_audio.py"
    demo = load_demo(script, base_model=options.llama, eval_mdl_path=options.checkpoint)
    decode_greedily(demo)

    def answer(request: Request) -> str:
        _, text = demo["predict"](request.audio[0] if request.audio else "empty", request.prompt)
        return str(text).strip()

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("repository", "llama", "checkpoint"):
        parser.add_argument(f"--{name}", required=True, type=os.path.abspath)
    options = parser.parse_args()
    serve(
        lambda: load(options),
        id="gama",
        revision=COMMIT,
        checkpoint="/".join(Path(options.checkpoint).parts[-2:]),
        rate=16_000,
        clips=1,
        longest=10.24,
        do_sample=False,
        max_new_tokens=400,
        dtype="float32",
    )


if __name__ == "__main__":
    main()
