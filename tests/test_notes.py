"""What to know before the scores of a run are believed."""

import json
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner
from conftest import MakeTask

from otoscope.cli.main import cli


def label(task: Path, labels: Sequence[str]) -> Path:
    """Give the rows of a task other labels."""
    file = task / "samples.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    changed = [{**row, "label": label} for row, label in zip(rows, labels, strict=True)]
    file.write_text("".join(json.dumps(row) + "\n" for row in changed))
    return task


def run(task: Path, folder: Path, *options: str) -> str:
    command = ["run", str(task), "--model", "null", "--judge", "rules", "-o", str(folder), *options]
    return CliRunner().invoke(cli, command, catch_exceptions=False).stdout


def test_words_that_no_space_separates_are_told_where_words_are_counted(make_task: MakeTask, tmp_path: Path) -> None:
    task = label(make_task(3, kind="sequence", metrics=["wer", "cer"]), ["请把客厅的灯打开", "打开所有的窗户", "ok"])
    printed = run(task, tmp_path / "run")
    note = "wer: 2 of 3 references are in a script without spaces between words, so what stands between two spaces "
    assert f"note: tones: {note}" in printed
    assert f"- tones: {note}" in (tmp_path / "run" / "report.md").read_text("utf-8")
    [told] = json.loads((tmp_path / "run" / "scores.json").read_text("utf-8"))["notes"]["tones"]
    assert told.startswith(note)
    assert json.loads(run(task, tmp_path / "run", "--json"))["notes"] == {"tones": [told]}


def test_where_there_is_nothing_to_know_nothing_is_said(make_task: MakeTask, tmp_path: Path) -> None:
    task = label(make_task(2, kind="sequence", metrics=["cer"]), ["请把客厅的灯打开", "打开所有的窗户"])
    assert "note: " not in run(task, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "scores.json").read_text("utf-8"))["notes"] == {}
    assert "## Notes" not in (tmp_path / "run" / "report.md").read_text("utf-8")
