"""Scores by instruction."""

import json
from pathlib import Path

from conftest import MakeTask

import otoscope

WORDINGS = {"Low or high?": 6, "Tell the pitch.": 5, "Pitch?": 4}


def test_wordings_with_several_samples_are_scored_apart(make_task: MakeTask, tmp_path: Path) -> None:
    wordings = [wording for wording, count in WORDINGS.items() for _ in range(count)]
    task = make_task(len(wordings))
    rows = [json.loads(line) for line in (task / "samples.jsonl").read_text().splitlines()]
    lines = [json.dumps({**row, "instruction": text}) for row, text in zip(rows, wordings, strict=True)]
    (task / "samples.jsonl").write_text("\n".join(lines))

    def low_if_asked(request: otoscope.Request) -> str:
        return "low" if request.instruction == "Low or high?" else ""

    result = otoscope.run(str(task), model=low_if_asked, judge="rules", folder=tmp_path / "run")
    [spread] = json.loads((result.folder / "scores.json").read_text())["instructions"]
    assert spread == {"task": "tones", "metric": "accuracy", "instructions": 2, "low": 0.0, "high": 0.5}
    assert "| tones | accuracy | 2 | 0.000 | 0.500 |" in (result.folder / "report.md").read_text()


def test_one_sample_a_wording_says_nothing(make_task: MakeTask, tmp_path: Path) -> None:
    result = otoscope.run(str(make_task(8)), model="null", judge="rules", folder=tmp_path / "run")
    assert result.to_json()["instructions"] == []
    assert "By instruction" not in (result.folder / "report.md").read_text()
