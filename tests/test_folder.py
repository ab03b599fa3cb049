"""Rows of a task: JSONL, CSV, Parquet, limits, and errors that name the row."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import MakeTask, write_clip

from otoscope.audio import read_audio
from otoscope.datasets import count_samples, read_samples
from otoscope.errors import TaskError, UsageError
from otoscope.task import Task, read_task


def rewrite(folder: Path, rows: list[dict[str, object]]) -> Task:
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_task(folder)


def test_rows_become_samples(make_task: MakeTask) -> None:
    samples = list(read_samples(read_task(make_task(3))))
    assert [sample.id for sample in samples] == ["r0", "r1", "r2"]
    assert samples[0].options == ("low", "high")
    assert samples[0].cluster == "r0"
    assert read_audio(samples[0].clips[0].source).seconds == 0.2


def test_second_and_third_audio_are_clips(make_task: MakeTask) -> None:
    folder = make_task(3)
    row = {"audio": "0.wav", "audio2": "1.wav", "audio3": "2.wav", "instruction": "?", "label": 3, "speaker": "x"}
    [sample] = read_samples(rewrite(folder, [row]))
    assert [clip.name for clip in sample.clips] == ["0.wav", "1.wav", "2.wav"]
    assert sample.target == "3"
    assert sample.meta == {"speaker": "x"}


def test_csv_with_options_in_a_cell(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    with (folder / "samples.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([["audio", "instruction", "label", "options"], ["0.wav", "a, b?", "a", "a|b|c"]])
    [sample] = read_samples(read_task(folder))
    assert sample.options == ("a", "b", "c")
    assert sample.instruction == "a, b?"


def test_parquet_with_audio_inside(make_task: MakeTask, tmp_path: Path) -> None:
    folder = make_task(0)
    (folder / "samples.jsonl").unlink()
    data = write_clip(tmp_path / "x.flac", seconds=0.3).read_bytes()
    rows = [{"audio": {"bytes": data, "path": "x.flac"}, "instruction": "?", "label": "low", "file": "x.flac"}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "samples.parquet")
    task = read_task(folder)
    assert count_samples(task) == 1
    [sample] = read_samples(task)
    assert sample.id == "x.flac"
    assert read_audio(sample.clips[0].source).seconds == 0.3


def test_a_larger_limit_holds_the_smaller_one(make_task: MakeTask) -> None:
    task = read_task(make_task(20))
    small = {sample.id for sample in read_samples(task, 5, seed=1)}
    large = {sample.id for sample in read_samples(task, 0.5, seed=1)}
    assert (len(small), len(large)) == (5, 10)
    assert small < large
    assert small != {sample.id for sample in read_samples(task, 5, seed=2)}


@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_a_senseless_limit_is_refused(make_task: MakeTask, limit: float) -> None:
    with pytest.raises(UsageError, match="--limit"):
        count_samples(read_task(make_task(3)), limit)


BAD: dict[str, tuple[dict[str, object], str]] = {
    "no label": ({"audio": "0.wav", "instruction": "?"}, "row 1: label: missing"),
    "no instruction": ({"audio": "0.wav", "label": "a"}, "row 1: instruction: missing"),
    "audio is a number": ({"audio": 3, "instruction": "?", "label": "a"}, "row 1: audio: audio is a path"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named(make_task: MakeTask, name: str) -> None:
    row, message = BAD[name]
    with pytest.raises(TaskError, match=message):
        list(read_samples(rewrite(make_task(1), [row])))


def test_an_id_used_twice_is_refused(make_task: MakeTask) -> None:
    row: dict[str, object] = {"id": "a", "audio": "0.wav", "instruction": "?", "label": "a"}
    with pytest.raises(TaskError, match="row 2: id 'a' is used twice"):
        list(read_samples(rewrite(make_task(1), [row, dict(row)])))


def test_a_line_that_is_not_json_is_named(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").write_text('{"audio": "0.wav"\n')
    with pytest.raises(TaskError, match="line 1: not JSON"):
        list(read_samples(read_task(folder)))


def test_a_task_without_rows_says_what_was_looked_for(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    with pytest.raises(TaskError, match=r"samples\.jsonl, samples\.csv, samples\.parquet"):
        list(read_samples(read_task(folder)))
