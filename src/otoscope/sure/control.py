"""A control: speech is there, and what is asked is not said. A gate that hears audio alone cannot tell."""

import shutil
from pathlib import Path
from typing import Any

from otoscope.datasets import read_samples
from otoscope.errors import TaskError
from otoscope.records import Sample, dump_document, dump_json
from otoscope.sure.build import check_free, prompts
from otoscope.task import read_task

UNANSWERABLE = "unanswerable"
CLEAN = "clean"

QUESTIONS = (
    "Which e-mail address does the speaker read out? Reply with the address only.",
    "Which colour does the speaker say that the coat has? Reply with one word.",
    "In which year, according to the speaker, was the bridge built? Reply with the year only.",
)
"""Nothing that the sets are built from says any of this; whoever builds from other speech has to see to it."""


def build_control(folder: Path, split: str, output: Path, *, self_abstain: bool) -> int:
    """Write a task folder with the clean rows of a split, and questions about them that they do not answer.

    Args:
        folder: a set that ``build_set`` wrote.
        split: the split.
        output: the folder; it must not exist, or be empty.
        self_abstain: whether the instructions offer a way to abstain.

    Returns:
        The number of rows.

    Raises:
        UsageError: the folder is taken.
        TaskError: the split has no clean rows.
    """
    check_free(output)
    task = read_task(folder / split / "task.json")
    clean = [sample for sample in read_samples(task) if sample.meta.get("family") == CLEAN]
    if not clean:
        raise TaskError(f"{task.file}: no rows of the family {CLEAN}; build a set with otoscope sure build")
    offer = f" {prompts()['self-abstain']}" if self_abstain else ""
    rows = []
    for number, sample in enumerate(clean):
        name = f"audio/{sample.cluster}.flac"
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(str(sample.clips[0].source)), output / name)
        rows += [
            _row(sample, name, CLEAN, prompts()["transcribe"] + offer, sample.target),
            _row(sample, name, UNANSWERABLE, QUESTIONS[number % len(QUESTIONS)] + offer, ""),
        ]
    (output / "samples.jsonl").write_text("".join(f"{dump_json(row)}\n" for row in rows), "utf-8")
    content = {**task.content, "id": f"{task.id}-control", "name": f"{task.name}, control", "path": "samples.jsonl"}
    content["description"] = "Speech to transcribe, and questions that what is said does not answer."
    (output / "task.json").write_text(dump_document(content), "utf-8")
    return len(rows)


def _row(sample: Sample, audio: str, family: str, instruction: str, label: str) -> dict[str, Any]:
    return {
        "id": f"{sample.cluster}/{family}",
        "audio": audio,
        "instruction": instruction,
        "label": label,
        "expect": "answer" if label else "abstain",
        "cluster": sample.cluster,
        "family": family,
        "kind": "answerable" if label else UNANSWERABLE,
        "asked": "transcribe",
    }
