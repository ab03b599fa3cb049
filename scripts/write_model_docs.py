"""Write docs/models.md from the presets: ``python scripts/write_model_docs.py docs/models.md``."""

import sys
from pathlib import Path

from otoscope.models.presets import PRESETS, describe

HEAD = """\
# Models

Written by `make docs`; do not edit. `otoscope models` lists every kind of model with its options, `otoscope models
show NAME` prints one section of this page.

## Kinds

| kind | what it is |
|---|---|
| `cascade/ASR+LLM` | speech recognition, then a chat model that reads the transcript |
| `hf/REPO` or `hf/FOLDER` | a spoken language model of the transformers library, in this process |
| `openai/NAME` | a server that speaks the OpenAI chat API and takes audio |
| `cmd/PROGRAM` | a program in its own environment ([worker-protocol.md](worker-protocol.md)) |
| `replay/RUN` | the answers stored in a run |
| `null` | answers nothing, at once |
| `NAME` | a preset, below |

## `hf`: models of the transformers library

`pip install 'otoscope[transformers]'`, and torch for your device. One adapter serves every architecture that
`otoscope models` lists. Requests are answered greedily whatever sampling, penalty or length the checkpoint comes
with; only what the model adds to the prompt is the answer. Of the omni models only the part that writes text is
loaded. A checkpoint that lacks a weight is refused.

- **Several clips** go in as they are where the makers show it (Qwen, Voxtral, Phi-4), else they are joined with 0.5
  s of silence.
- **Longer than the model takes**: `--long cut`, `chunk` or `refuse`. The limit is the processor's own where it
  states one.
- **Batches** (`-M batch=4`) are padded on the left. Encoders that let padding change what they make of a clip
  (Gemma 3n, Granite Speech, Phi-4) get clips of one length together only. In float32 the answers do not depend on
  the batch. In half precision sums are rounded otherwise when shapes differ, as in any batched model; `-M batch=1`
  avoids it.
- **Identity**: the commit on the hub, or a digest of the folder's files, with dtype, attention, length and prompt
  template, all known before a weight is loaded.

## `cascade`: any ASR with any chat model

`ASR` is a Whisper on CTranslate2 (named weights, a folder, a repository), `hf/REPO` or `openai/NAME` (the
transcription API). `LLM` is a GGUF model on llama.cpp, `hf/REPO` or `openai/NAME`. The prompt is fixed, and its
digest is part of every answer's key.

An option that begins with `asr.` is for the ASR, any other for the LLM; `threads` is for both. So two servers are
told apart:

```sh
otoscope run starter --model cascade/openai/whisper-1+openai/my-llm \\
  -M asr.base_url=http://127.0.0.1:8001/v1 -M base_url=http://127.0.0.1:8002/v1
```

## Presets

A preset that is a worker runs the script of that name that the package brings, in the environment that its head
describes ([workers.md](workers.md)):

```sh
otoscope run starter --model salmonn-13b -M python=/opt/salmonn/bin/python -M 'arguments=--repository SALMONN ...'
```

None of them has been run here with its own weights. "Tiny random weights" means: with the real classes of the
library, built small and filled at random, which shows that audio reaches the model and answers come back, and
nothing about what they are worth. "A stub" means that not even the package was there. Sizes are the parameters times
the bytes of each, not measured.

"""


def render() -> str:
    """Return the page."""
    return HEAD + "\n".join(_section(name) for name in PRESETS)


def _section(name: str) -> str:
    rows = "".join(f"| {fact} | {_cell(fact, text)} |\n" for fact, text in describe(name).items())
    return f"### {name}\n\n| | |\n|---|---|\n{rows}"


def _cell(fact: str, text: str) -> str:
    return f"`{text}`" if fact in {"spec", "start"} else text


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), "utf-8")
