"""Worker for LTU-AS, by the function ``predict`` of its demo ``inference_gradio.py``.

Install, in an environment of its own (Python 3.10), as the authors' README says:

    git clone the repository YuanGongND/ltu, commit 2002aad
    cd ltu/src/ltu_as; pip install -r requirements.txt
    pip install -e hf-dev/transformers-main -e peft-main -e whisper        # changed copies; the originals do not work
    ./inference.sh        # fetches the weights into ltu/pretrained_mdls; stop it when the demo starts

Licence: none is stated in the repository; its demo says that LLaMA's licence excludes commercial use. Memory: the
authors name 48 GB over four devices as the least; not measured here. The demo puts one Whisper on the second device,
so two must be visible.

    otoscope run starter --model 'cmd/conda run --no-capture-output -n ltu-as python ltu_as.py --repository ltu'

The demo samples at temperature 0.1; this worker takes the likeliest token, and keeps the repetition penalty. LTU-AS
hears the first 10 s of a clip and reads a transcript of the whole clip. By default clips are cut at 10 s, and that is
logged; ``--whole`` passes whole clips as the demo does, of which only the transcript goes beyond 10 s.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Callable

from demo_script import decode_greedily, load_demo
from otoscope_worker import Request, serve

COMMIT = "2002aad"


def load(repository: str) -> Callable[[Request], str]:
    """Load the model and return the function that asks it."""
    folder = Path(repository) / "src" / "ltu_as"
    os.chdir(str(folder))  # the demo names its weights and templates by relative paths
    sys.path.insert(0, str(folder))
    demo = load_demo(folder / "inference_gradio.py")
    decode_greedily(demo)

    def answer(request: Request) -> str:
        if not request.audio:
            raise ValueError("LTU-AS answers nothing without audio")
        demo["text_cache"].clear()  # transcripts by the name of the file
        demo["eval_log"].clear()  # it is written anew for each question
        return str(demo["predict"](request.audio[0], request.prompt))

    return answer


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", required=True, type=os.path.abspath)
    parser.add_argument("--whole", action="store_true", help="do not cut clips at 10 s")
    options = parser.parse_args()
    serve(
        lambda: load(options.repository),
        id="ltu-as",
        revision=COMMIT,
        checkpoint="ltuas_long_noqa_a6",
        rate=16_000,
        clips=1,
        longest=None if options.whole else 10,
        do_sample=False,
        repetition_penalty=1.1,
        max_new_tokens=500,
        dtype="float16",
    )


if __name__ == "__main__":
    main()
