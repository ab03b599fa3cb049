"""Start llama.cpp's own server, from the wheel of ``xllamacpp``, with weights that Otoscope knows by name.

It speaks the OpenAI chat API, so it is the LLM of a cascade or of a judge:

    python examples/llama_server.py qwen2.5-coder-0.5b --port 8080
    otoscope run sure-mini --model cascade/whisper-base+openai/qwen2.5-coder-0.5b -M base_url=http://127.0.0.1:8080/v1

It serves until its standard input ends or it is interrupted. Any other server of that API does as well.
"""

import argparse
import contextlib
import sys

import xllamacpp

from otoscope.models.local import find_file, local_threads

CONTEXT = 2048
"""Tokens of question and answer."""


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description="Serve a GGUF model over the OpenAI chat API.")
    parser.add_argument("weights", help="named weights (otoscope weights list), or a .gguf file")
    parser.add_argument("--port", type=int, default=0, help="a free one by default")
    parser.add_argument("--threads", type=int, default=local_threads())
    options = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = str(find_file(options.weights, ".gguf")[0])
    params.port = options.port
    params.n_ctx, params.n_parallel, params.verbosity = CONTEXT, 1, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        sys.stdin.read()


if __name__ == "__main__":
    main()
