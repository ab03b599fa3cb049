"""What is done to audio before a model gets it is counted, and no clip vanishes unless that is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeTask, write_clip

import otoscope
from otoscope.audio import LimitPolicy
from otoscope.models.function import FunctionModel


class Short(FunctionModel):
    """Takes one clip of 2 s and says how many seconds it got."""

    def __init__(self) -> None:
        super().__init__(lambda request: f"{sum(audio.seconds for audio in request.audios):.1f}")
        self.intake = otoscope.Intake(rate=8_000, longest=2)


@pytest.fixture
def task(make_task: MakeTask) -> Path:
    """Three samples: one that fits, a long one, and two clips of which the second begins beyond the limit."""
    folder = make_task(3, kind="regression", metrics=["mae"])
    for number, seconds in enumerate((1, 5, 1.8)):
        write_clip(folder / f"{number}.wav", seconds)
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    rows = [{**row, "label": "1"} for row in lines]
    rows[2]["audio2"] = "0.wav"
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def run(task: Path, folder: Path, policy: LimitPolicy = "cut", **options: Any) -> otoscope.RunResult:
    return otoscope.run(str(task), model=Short(), folder=folder, policy=policy, **options)


def answers(folder: Path) -> dict[str, str]:
    rows = map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())
    return {row["sample"]: row["answer"] for row in rows if row["status"] == "ok"}


def test_a_clip_that_would_vanish_is_an_error_and_allowed_only_by_name(task: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    refused = run(task, folder)
    [missing] = refused.missing
    assert missing.sample == "r2"
    assert "cutting the joined clips at 2 s would remove clip 2 of 2 whole; use --allow-cut" in missing.reason
    assert refused.to_json()["altered"] == {"tones": {"cut": 1, "resampled": 2}}

    allowed = run(task, folder, allow_cut=True)
    assert (allowed.missing, allowed.made) == ([], 2)  # one answer and its judgement
    assert allowed.to_json()["altered"] == {"tones": {"cut": 2, "joined": 1, "removed": 1, "resampled": 3}}
    assert answers(folder) == {"r0": "1.0", "r1": "2.0", "r2": "2.0"}
    rows = list(map(json.loads, (folder / "predictions.jsonl").read_text().splitlines()))
    assert rows[-1]["audio"][-2:] == ["cut: kept 0 to 2 s of 3.30 s", "removed clip 2 of 2 whole"]
    report = (folder / "report.md").read_text()
    assert "| task | resampled | joined | cut | removed |" in report
    assert "| tones | 3 | 1 | 2 | 1 |" in report
    assert json.loads((folder / "header.jsonl").read_text().splitlines()[-1])["allow_cut"] is True

    assert len(run(task, folder).missing) == 1
    assert otoscope.score_run(folder).to_json()["altered"] == refused.to_json()["altered"]


def test_chunks_are_counted_by_sample(task: Path, tmp_path: Path) -> None:
    result = run(task, tmp_path / "run", "chunk")
    assert result.to_json()["altered"] == {"tones": {"chunked": 2, "joined": 1, "resampled": 3}}
    assert answers(tmp_path / "run")["r1"] == "2.0 2.0 1.0"


def test_every_report_has_what_guessing_scores(make_task: MakeTask, tmp_path: Path) -> None:
    otoscope.run(str(make_task(5)), model="null", folder=tmp_path / "run")
    header, _, row = [line for line in (tmp_path / "run" / "report.md").read_text().splitlines() if "|" in line][:3]
    named = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    assert (named["chance"], named["majority"]) == ("0.500", "0.600")
