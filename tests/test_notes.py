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


def test_labels_that_are_not_among_the_options_are_told(make_task: MakeTask, tmp_path: Path) -> None:
    task = label(make_task(6), ["high", "The low", "middle", "tall", "None", "Low."])
    printed = run(task, tmp_path / "run")
    note = (
        "3 of 6 labels are not among the options, such as r2 'middle', r3 'tall', r4 'None'; no answer that keeps to "
    )
    assert f"note: tones: {note}the options is right there: mend the labels or the options" in printed
    assert json.loads((tmp_path / "run" / "scores.json").read_text("utf-8"))["notes"]["tones"][0].startswith(note)


def test_labels_are_among_the_options_as_judges_compare_them(make_task: MakeTask, tmp_path: Path) -> None:
    several = label(make_task(2, multi_label=True), ["low, high", "high"])
    free = label(make_task(2, name="free"), ["low", "middle"])
    content = json.loads((free / "task.json").read_text())
    (free / "task.json").write_text(json.dumps({name: content[name] for name in ("name", "metrics")}))
    for task in (several, free):
        assert "note: " not in run(task, tmp_path / f"run-{task.name}")


def test_a_row_that_holds_nothing_to_answer_needs_no_label(make_task: MakeTask, tmp_path: Path) -> None:
    task = label(make_task(2), ["low", "nothing"])
    file = task / "samples.jsonl"
    first, last = (json.loads(line) for line in file.read_text().splitlines())
    file.write_text("".join(json.dumps(row) + "\n" for row in (first, {**last, "expect": "abstain"})))
    assert "note: " not in run(task, tmp_path / "run")
