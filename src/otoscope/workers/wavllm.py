"""Worker for WavLLM, by its program ``generate.py``, which is run once for each batch.

Install, in an environment of its own (Python 3.10), as the authors' README says:

    git clone the repository microsoft/SpeechT5, commit 5d66cf5, and its submodule WavLLM/fairseq
    cd SpeechT5/WavLLM; pip install --editable fairseq/
    pip install sentencepiece transformers==4.32.1 numpy==1.23.5 editdistance soundfile torchaudio fairscale
    cp -r wavllm fairseq/examples

Weights: ``final.pt``, which ``download/download.sh`` fetched until its link expired in April 2025; ask the authors.
``openai/whisper-large-v2`` and ``microsoft/wavlm-base`` come from the hub. Licence: MIT for the code; none is stated
for the weights, which hold LLaMA-2-chat. Memory: not measured here.

    otoscope run starter -M timeout=7200 --model 'cmd/conda run --no-capture-output -n wavllm python wavllm.py
        --fairseq SpeechT5/WavLLM/fairseq --checkpoint final.pt'

The model is loaded for each batch, so batches are large and ``timeout`` must be long. The authors' script samples at
temperature 0.5; this worker takes the likeliest token. The program leaves out what is longer than 100 s, and splits
the rest at 30 s by itself.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path
from typing import Callable

from otoscope_worker import Answer, Request, serve_batches

COMMIT = "5d66cf5"
MAX_NEW_TOKENS = 512  # as shipped
LONGEST_SECONDS = 100  # 1600000 samples, as shipped
COLUMNS = ("id", "audio", "n_frames", "prompt", "tgt_text", "with_speech")


def load(options: argparse.Namespace) -> Callable[[list[Request]], list[Answer]]:
    """Return the function that asks a batch; the program loads the model."""
    fairseq = Path(options.fairseq)

    def answer(requests: list[Request]) -> list[Answer]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copy(str(fairseq / "examples/wavllm/test_data/dict.txt"), name)
            problems = write_rows(folder / "requests.tsv", requests)
            asked = [number for number in range(len(requests)) if number not in problems]
            answers = generate(fairseq, options.checkpoint, folder) if asked else {}
        found: dict[int, Answer] = {number: {"error": problem} for number, problem in problems.items()}
        for row, number in enumerate(asked):
            found[number] = answers.get(row, {"error": "generate.py gave no answer to this request"})
        return [found[number] for number in range(len(requests))]

    return answer


def write_rows(file: Path, requests: list[Request]) -> dict[int, str]:
    """Write the table that the program reads, and return why requests are missing from it, by their position."""
    problems = {}
    lines = ["\t".join(COLUMNS)]
    for number, request in enumerate(requests):
        try:
            if not request.audio:
                raise ValueError("WavLLM answers nothing without audio")  # noqa: TRY301
            with wave.open(request.audio[0], "rb") as clip:
                frames = clip.getnframes()
        except (EOFError, OSError, ValueError, wave.Error) as error:
            problems[number] = str(error) or type(error).__name__
            continue
        # The table has no quotes, and a target is needed though it is not used.
        row = (len(lines) - 1, request.audio[0], frames, " ".join(request.prompt.split()), "none", True)
        lines.append("\t".join(map(str, row)))
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return problems


def generate(fairseq: Path, checkpoint: str, folder: Path) -> dict[int, Answer]:
    """Run the program on ``requests.tsv`` in ``folder`` and return the answers by the number of the row."""
    command = [
        *(sys.executable, "examples/wavllm/inference/generate.py", str(folder), "--user-dir", "examples/wavllm"),
        *("--tokenizer-path", "examples/wavllm/tokenizer/tokenizer.model", "--gen-subset", "requests"),
        *("--task", "speechllm_task", "--path", checkpoint, "--results-path", str(folder), "--scoring", "wer"),
        *("--skip-invalid-size-inputs-valid-test", "--max-tokens", str(LONGEST_SECONDS * 16_000)),
        *("--beam", "1", "--nbest", "1", "--max-len-a", "0", "--max-len-b", str(MAX_NEW_TOKENS)),
    ]
    path = os.pathsep.join([str(fairseq), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(command, cwd=str(fairseq), env={**os.environ, "PYTHONPATH": path}, check=True)
    answers: dict[int, Answer] = {}
    for line in (folder / "generate-requests.txt").read_text("utf-8").splitlines():
        if line.startswith("D-"):
            name, _, text = line.split("\t", 2)
            answers[int(name[2:])] = str(ast.literal_eval(text)).strip()
    return answers


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fairseq", required=True, type=os.path.abspath)
    parser.add_argument("--checkpoint", required=True, type=os.path.abspath)
    parser.add_argument("--batch", type=int, default=256)
    options = parser.parse_args()
    serve_batches(
        lambda: load(options),
        id="wavllm",
        revision=COMMIT,
        checkpoint=os.path.basename(options.checkpoint),
        rate=16_000,
        clips=1,
        longest=LONGEST_SECONDS,
        batch=options.batch,
        do_sample=False,
        max_new_tokens=MAX_NEW_TOKENS,
    )


if __name__ == "__main__":
    main()
