"""Write an external check of a gate: recordings with a family each, and whether there is speech to answer.

The recordings are those that come with Otoscope: speech in two languages, crowds, effects, music and noise. A check of
your own is the same: a ``task.json`` and a ``samples.jsonl`` with ``expect``, ``family`` and ``cluster``.

    python examples/external_check.py check
    otoscope run check --model null
    otoscope sure report runs/check-*--null --gate energy+silero
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import otoscope

STARTER = Path(otoscope.__file__).parent / "starter"
SPEECH = {"transcription-en": "speech-en", "transcription-fr": "speech-fr"}
NO_SPEECH = ("crowd", "drums", "effect", "noise", "note", "tune")
INSTRUCTION = "Transcribe the speech in this audio. Reply with the transcript only."


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row a recording; in a crowd many talk at once, and no one talker can be answered."""
    for task, family in SPEECH.items():
        for line in (STARTER / task / "samples.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            path = (STARTER / task / row["audio"]).resolve()
            yield {"audio": str(path), "label": row["label"], "expect": "answer", "family": family}
    for family in NO_SPEECH:
        for path in sorted((STARTER / "audio").glob(f"{family}-*.flac")):
            yield {"audio": str(path), "label": "", "expect": "abstain", "family": family}


def main(folder: Path) -> None:
    """Write the task folder."""
    folder.mkdir(parents=True)
    lines = [
        json.dumps(
            {"id": Path(row["audio"]).stem, "cluster": Path(row["audio"]).stem, "instruction": INSTRUCTION, **row}
        )
        for row in rows()
    ]
    (folder / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    task = {"name": "starter recordings", "kind": "sequence", "metrics": ["wer"]}
    (folder / "task.json").write_text(json.dumps(task), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
