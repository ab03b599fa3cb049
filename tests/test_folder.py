"""Rows of a task: JSONL, CSV, Parquet, limits, and errors that name the row."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from conftest import MakeTask, write_clip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otoscope.audio import read_audio
from otoscope.cli.tasks import command
from otoscope.datasets import count_samples, read_samples
from otoscope.errors import TaskError, UsageError
from otoscope.task import Task, read_task

ROW: dict[str, Any] = {"audio": "0.wav", "instruction": "?", "label": "low"}


def rewrite(folder: Path, rows: list[dict[str, Any]]) -> Task:
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


def write_rows(folder: Path, rows: list[dict[str, Any]], ending: str) -> Task:
    """Write the rows as JSONL, CSV or Parquet, in place of what is there."""
    (folder / "samples.jsonl").unlink()
    if ending == "jsonl":
        return rewrite(folder, rows)
    if ending == "csv":
        with (folder / "samples.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), folder / "samples.parquet")
    return read_task(folder)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_zero_is_a_cluster_an_id_and_a_text(make_task: MakeTask, ending: str) -> None:
    rows = [{**ROW, "id": number, "text": number % 3, "cluster": number % 2} for number in range(6)]
    samples = list(read_samples(write_rows(make_task(1), rows, ending)))
    assert [sample.id for sample in samples] == ["0", "1", "2", "3", "4", "5"]
    assert [sample.text for sample in samples] == ["0", "1", "2", "0", "1", "2"]
    assert [sample.cluster for sample in samples] == ["0", "1", "0", "1", "0", "1"]
    assert all(sample.clustered for sample in samples)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_nan_is_read_as_null(make_task: MakeTask, ending: str) -> None:
    empty = dict.fromkeys(("id", "text", "cluster", "expect", "options", "label2", "audio2"), float("nan"))
    samples = list(read_samples(write_rows(make_task(1), [{**ROW, **empty}, {**ROW, **empty}], ending)))
    assert [(sample.id, sample.cluster, sample.clustered) for sample in samples] == [
        ("000001", "000001", False),
        ("000002", "000002", False),
    ]
    assert [(sample.text, sample.target, sample.options) for sample in samples] == [("", "low", ("low", "high"))] * 2


def test_a_label_that_is_nan_is_missing(make_task: MakeTask) -> None:
    with pytest.raises(TaskError, match="row 1: label: missing"):
        list(read_samples(write_rows(make_task(1), [{**ROW, "label": float("nan")}], "parquet")))


def test_further_labels_that_are_empty_are_left_out(make_task: MakeTask) -> None:
    rows = [{**ROW, "label2": "", "label3": "high"}, {**ROW, "label2": "mid", "label3": ""}]
    samples = read_samples(write_rows(make_task(1, multi_label=True), rows, "csv"))
    assert [sample.target for sample in samples] == ["low, high", "low, mid"]


TWICE = {
    "samples.csv": ("audio,label,label,instruction\n0.wav,low,high,?\n", "samples.csv: line 1: label: two columns"),
    "samples.jsonl": (
        json.dumps(ROW) + '\n{"audio": "0.wav", "label": "low", "label": "high", "instruction": "?"}\n',
        "samples.jsonl: line 2: label: the key is there twice",
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_column_that_is_there_twice_is_named(make_task: MakeTask, name: str) -> None:
    folder, (text, message) = make_task(1), TWICE[name]
    (folder / "samples.jsonl").unlink()
    (folder / name).write_text(text)
    with pytest.raises(TaskError, match=message):
        list(read_samples(read_task(folder)))


def test_a_parquet_column_that_is_there_twice_is_named(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    columns = {"audio": "0.wav", "instruction": "?", "label": "low"}
    table = pa.table([[value] for value in (*columns.values(), "high")], names=[*columns, "label"])
    pq.write_table(table, folder / "samples.parquet")
    with pytest.raises(TaskError, match=r"samples\.parquet: label: two columns have this name"):
        list(read_samples(read_task(folder)))


def test_csv_columns_without_a_name_may_be_many(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    (folder / "samples.csv").write_text("audio,label,instruction,,\n0.wav,low,?,,\n")
    [sample] = read_samples(read_task(folder))
    assert sample.target == "low"


def test_two_files_of_rows_are_refused_until_one_is_named(make_task: MakeTask) -> None:
    folder = make_task(2)
    (folder / "samples.csv").write_text("audio,label,instruction\n0.wav,low,?\n")
    with pytest.raises(TaskError, match=r"path: the rows may be in .*samples\.jsonl and .*samples\.csv; remove"):
        list(read_samples(read_task(folder)))
    content = json.loads((folder / "task.json").read_text())
    (folder / "task.json").write_text(json.dumps({**content, "path": "samples.csv"}))
    assert len(list(read_samples(read_task(folder)))) == 1


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


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no label": ({"audio": "0.wav", "instruction": "?"}, "row 1: label: missing"),
    "no instruction": ({"audio": "0.wav", "label": "a"}, "row 1: instruction: missing"),
    "audio is a number": ({"audio": 3, "instruction": "?", "label": "a"}, "row 1: audio: audio is a path"),
    "no audio": ({"instruction": "?", "label": "a"}, "row 1: audio: missing; the row has instruction, label"),
    "audio is null": ({**ROW, "audio": None}, "row 1: audio: empty"),
    "audio is an empty text": ({**ROW, "audio": ""}, "row 1: audio: empty"),
    "audio is an empty object": ({**ROW, "audio": {}}, "row 1: audio: audio is a path"),
    "audio bytes are a number": ({**ROW, "audio": {"bytes": 5}}, "row 1: audio: audio is a path"),
    "audio path is a number": ({**ROW, "audio": {"path": 5}}, "row 1: audio: audio is a path"),
    "audio path with NUL": ({**ROW, "audio": "0\0.wav"}, "row 1: audio: audio is a path"),
    "second audio is null": ({**ROW, "audio2": None, "audio3": "0.wav"}, "row 1: audio2: empty"),
    "no second audio": ({**ROW, "audio3": "0.wav"}, "row 1: audio3: columns of audio"),
    "no first audio": ({"audio2": "0.wav", "instruction": "?", "label": "a"}, "row 1: audio2: columns of audio"),
    "expect is a list": ({**ROW, "expect": ["x"]}, r"row 1: expect: \['x'\]"),
    "options are a number": ({**ROW, "options": 5}, "row 1: options: 5 is no list"),
    "options are a flag": ({**ROW, "options": False}, "row 1: options: False is no list"),
    "one option": ({**ROW, "options": ["a"]}, "row 1: options: .* two or more"),
    "an option twice": ({**ROW, "options": "a|b|a"}, "row 1: options: .* different"),
    "an empty option": ({**ROW, "options": "a||b"}, "row 1: options"),
    "options are objects": ({**ROW, "options": [{}, []]}, "row 1: options"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_named(make_task: MakeTask, name: str) -> None:
    row, message = BAD[name]
    with pytest.raises(TaskError, match=message):
        list(read_samples(rewrite(make_task(1), [row])))


def test_an_id_used_twice_is_refused(make_task: MakeTask) -> None:
    row = {**ROW, "id": "a"}
    with pytest.raises(TaskError, match="row 2: id 'a' is used twice"):
        list(read_samples(rewrite(make_task(1), [row, dict(row)])))


def test_a_column_that_the_task_names_must_be_there(make_task: MakeTask) -> None:
    for number, audios in enumerate((None, 0, 1)):
        declared = {} if audios is None else {"audios": audios}
        folder = make_task(1, name=str(number), columns={"audio": ["nope"]}, **declared)
        with pytest.raises(TaskError, match="row 1: nope: missing; the row has id, audio, instruction, label"):
            list(read_samples(read_task(folder)))


def test_last_columns_of_audio_may_be_empty(make_task: MakeTask) -> None:
    full = {**ROW, "audio2": "1.wav", "audio3": "2.wav"}
    task = rewrite(make_task(3), [full, {**full, "audio3": None}, {**full, "audio2": "", "audio3": None}])
    assert [len(sample.clips) for sample in read_samples(task)] == [3, 2, 1]


def test_a_task_may_say_that_it_has_no_audio(make_task: MakeTask) -> None:
    rows = [{"instruction": "?", "label": "low"}, {**ROW, "audio": None}]
    samples = read_samples(rewrite(make_task(1, audios=0), rows))
    assert [sample.clips for sample in samples] == [(), ()]


@pytest.mark.parametrize("name", ["samples.jsonl", "samples.csv", "samples.parquet"])
def test_a_file_without_rows_is_refused(make_task: MakeTask, name: str) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    if name.endswith("parquet"):
        pq.write_table(pa.table({"audio": pa.array([], pa.string())}), folder / name)
    else:
        (folder / name).write_text("\n")
    task = read_task(folder)
    for read in (lambda: list(read_samples(task)), lambda: list(read_samples(task, 3)), lambda: [count_samples(task)]):
        with pytest.raises(TaskError, match=rf"{name}: has no rows"):
            read()


LINE = json.dumps(ROW)
ACCENT = LINE.replace("?", "où?")
HEADER = "audio,instruction,label\n"
UNREADABLE: dict[str, tuple[str, bytes, str]] = {
    "utf-16 jsonl": ("samples.jsonl", LINE.encode("utf-16"), "line 1: .*not UTF-8"),
    "latin-1 jsonl": ("samples.jsonl", f"{LINE}\n{ACCENT}\n".encode("latin-1"), "line 2: .*not UTF-8"),
    "utf-16 csv": ("samples.csv", f"{HEADER}0.wav,?,low\n".encode("utf-16"), "line 1: not UTF-8"),
    "latin-1 csv": ("samples.csv", f"{HEADER}0.wav,?,low\n0.wav,où,low\n".encode("latin-1"), "line 3: not UTF-8"),
    "long field": ("samples.csv", f"{HEADER}0.wav,{'?' * 140_000},low\n".encode(), "row 1: field larger than"),
    "too many cells": ("samples.csv", f"{HEADER}0.wav,a, b?,low\n".encode(), "row 1: more cells"),
    "deep": ("samples.jsonl", LINE[:-1].encode() + b', "x": ' + b"[" * 10**5, "line 1: .*nest deeper"),
    "less deep": ("samples.jsonl", LINE[:-1].encode() + b', "x": ' + b"[" * 200 + b"]" * 200 + b"}", "nest deeper"),
    "digits": ("samples.jsonl", LINE[:-1].encode() + b', "x": ' + b"9" * 5000 + b"}", "line 1: an integer"),
    "no object": ("samples.jsonl", b"[1]", "line 1: a row is an object"),
    "damaged parquet": ("samples.parquet", b"PAR1" + bytes(100) + b"PAR1", "samples.parquet: not a Parquet file"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(make_task: MakeTask, name: str) -> None:
    file, data, message = UNREADABLE[name]
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    (folder / file).write_bytes(data)
    with pytest.raises(TaskError, match=message):
        list(read_samples(read_task(folder)))


def test_parquet_text_that_is_not_utf8_is_named(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    text = pa.array([b"o\xf9?"], pa.binary()).view(pa.string())
    table = pa.table({"audio": ["0.wav"], "instruction": text, "label": ["low"]})
    pq.write_table(table, folder / "samples.parquet")
    with pytest.raises(TaskError, match=r"samples\.parquet: damaged, or its text is not UTF-8"):
        list(read_samples(read_task(folder)))


def test_a_label_that_is_no_text_is_named(make_task: MakeTask) -> None:
    folder = make_task(1)
    (folder / "samples.jsonl").unlink()
    pq.write_table(pa.Table.from_pylist([{**ROW, "label": b"low"}]), folder / "samples.parquet")
    with pytest.raises(TaskError, match="row 1: label: holds a bytes"):
        list(read_samples(read_task(folder)))


def test_a_byte_order_mark_and_half_a_surrogate_pair_are_read(make_task: MakeTask) -> None:
    folder = make_task(1)
    row = {**ROW, "instruction": "\ud83d?", "label": "\U0001f600", "x\udc00": "\ud83d"}
    (folder / "samples.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(row).encode() + b"\n")
    [sample] = read_samples(read_task(folder))
    assert (sample.instruction, sample.target) == ("\ufffd?", "\U0001f600")
    assert sample.meta == {"x\ufffd": "\ufffd"}


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["0.wav", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["bytes", "path", "x"]), inner),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["id", "audio", "audio1", "audio2", "instruction", "label", "label2", "options", "expect", "text"]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=st.dictionaries(KEYS, CELLS))
def test_any_row_is_a_sample_or_a_named_error(row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(json.dumps({"name": "any", "metrics": ["accuracy"]}))
    try:
        [sample] = read_samples(rewrite(tmp_path, [{**ROW, **row}]))
    except TaskError as error:
        assert "row 1: " in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert sample.clips
        texts = "".join((sample.id, sample.instruction, sample.target, sample.text, *sample.options))
        assert texts.encode().decode() == texts


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


def check(path: Path) -> Result:
    return CliRunner().invoke(command, ["check", str(path)], standalone_mode=False)


def test_check_names_every_problem_and_does_not_sound_like_success(make_task: MakeTask) -> None:
    folder = make_task(3, options=["low", "high"], synonyms={"low": ["deep"], "hihg": ["shrill"]})
    rows = [
        {**ROW, "id": "right", "label": "Deep."},
        {**ROW, "id": "other", "label": "middle"},
        {**ROW, "id": "blank", "label": " "},
        {"id": "mute", "instruction": "?", "label": "low"},
        {**ROW, "id": "gone", "audio": "gone.wav"},
        {**ROW, "id": "silence", "label": "nothing", "expect": "abstain"},
    ]
    advice = 'columns of audio are named in the task\'s columns.audio, and a task without audio says "audios": 0'
    result = check(rewrite(folder, rows).file.parent)
    assert result.return_value == 1
    assert result.stderr.splitlines() == [
        "tones other: label: 'middle' is not among the options low, high",
        "tones blank: label: empty",
        f"{folder / 'samples.jsonl'}: row 4: audio: missing; the row has id, instruction, label; {advice}",
        f"tones gone: missing: {folder / 'gone.wav'}: there is no such file; check the path",
        f"{folder / 'task.json'}: synonyms: 'hihg' is neither an option nor the label of a row",
    ]
    assert result.stdout.splitlines()[-1] == "tones: 5 samples, 5 problems"


def test_check_goes_on_after_a_task_that_cannot_be_read(make_task: MakeTask, tmp_path: Path) -> None:
    (make_task(1, name="a") / "samples.jsonl").write_text("{")
    make_task(1, name="b")
    (tmp_path / "suite.json").write_text(json.dumps({"tasks": ["a", "b"]}))
    result = check(tmp_path)
    assert result.return_value == 1
    assert "line 1: not JSON" in result.stderr
    assert "a: 0 samples, 1 problems" in result.stdout
    assert "b: 1 samples, 0 problems" in result.stdout


UNSCORABLE: dict[str, tuple[dict[str, Any], str]] = {
    "number": ({"kind": "regression", "metrics": ["mae", "accuracy"]}, "label: mae: 'high' is not a number"),
    "empty option": ({"options": ["high", "low", " "]}, "options: one is empty"),
    "twins": ({"options": ["high", "low", "Low"]}, "options: 'low' and 'Low' are the same to a judge"),
    "several": ({"options": ["hihg", "low"], "multi_label": True}, "label: 'high' is not among the options hihg, low"),
}


@pytest.mark.parametrize("name", UNSCORABLE)
def test_check_finds_what_cannot_be_scored(make_task: MakeTask, name: str) -> None:
    content, message = UNSCORABLE[name]
    result = check(make_task(1, **content))
    assert result.return_value == 1
    assert message in result.stderr
    assert "1 problems" in result.stdout


@pytest.mark.parametrize("key", ["id", "text", "options", "cluster"])
def test_a_column_that_is_named_and_no_row_has_is_no_empty_one(make_task: MakeTask, key: str) -> None:
    folder = make_task(3, columns={key: "speakr"})
    there = "there are id, audio, instruction, label; name one of them, or leave the key out"
    message = f"{folder / 'task.json'}: columns.{key}: no row has a column 'speakr'; {there}"
    with pytest.raises(TaskError) as refused:
        list(read_samples(read_task(folder), limit=1))
    assert str(refused.value) == message
    result = check(folder)
    assert result.stderr == f"{message}\n"
    assert result.stdout.endswith("tones: 3 samples, 1 problems\n")


def test_rows_may_leave_out_a_column_that_is_named(make_task: MakeTask) -> None:
    folder = make_task(1, columns={"cluster": "speaker"})
    task = rewrite(folder, [{**ROW, "id": "a"}, {**ROW, "id": "b", "speaker": "x"}, {**ROW, "id": "c", "speaker": ""}])
    assert [sample.cluster for sample in read_samples(task)] == ["a", "x", "c"]
    assert check(folder).return_value == 0


def test_check_takes_labels_as_judges_do(make_task: MakeTask) -> None:
    lettered = {**ROW, "instruction": "(A) a dog (B) a cat?", "label": "B", "options": ["A. a dog", "B. a cat"]}
    named = {**ROW, "label": "The cat", "options": "dog|cat"}
    assert check(rewrite(make_task(1), [lettered, named]).file.parent).return_value == 0


def test_check_notes_what_the_benchmark_asks(make_task: MakeTask) -> None:
    short = check(make_task(2, name="short", options=["low", "tall"]))
    assert short.return_value == 1
    notes = [line for line in short.stdout.splitlines() if line.startswith("note: short: ")]
    assert [note.split(": ", 2)[2].split(";")[0] for note in notes] == [
        "2 samples",
        "2 different instructions",
        "2 samples have an instruction that does not name every option",
        "license: missing",
    ]
    enough = check(make_task(32, name="enough", license="CC0-1.0"))
    assert enough.return_value == 0
    assert enough.stdout == "enough: 32 samples, 0 problems\n"


def test_check_notes_samples_that_ask_the_same_twice(make_task: MakeTask) -> None:
    folder = make_task(2)
    (folder / "copy.wav").write_bytes((folder / "0.wav").read_bytes())
    rows = [
        {**ROW, "id": "one"},
        {**ROW, "id": "renamed", "audio": "copy.wav"},
        {**ROW, "id": "otherwise", "instruction": "Low or high?"},
        {**ROW, "id": "with text", "text": "Think."},
        {**ROW, "id": "other", "audio": "1.wav"},
        {**ROW, "id": "again"},
        {**ROW, "id": "gone", "audio": "gone.wav"},
        {**ROW, "id": "gone too", "audio": "gone.wav"},
    ]
    result = check(rewrite(folder, rows).file.parent)
    [note] = [line for line in result.stdout.splitlines() if "same audio" in line]
    assert note == (
        "note: tones: 2 samples ask the same about the same audio as one before them, such as renamed and one; "
        "each counts: leave them out, or give both one cluster"
    )
    assert result.stdout.endswith("8 samples, 2 problems\n")  # the clips that are gone, and no copy


def test_a_gap_in_the_labels_is_named(make_task: MakeTask) -> None:
    folder = make_task(1)
    row = {"audio": "0.wav", "instruction": " ", "label": "low", "label3": "high"}
    (folder / "samples.jsonl").write_text(json.dumps(row) + "\n")
    assert "label3: labels are label, label2, label3 and so on without a gap" in check(folder).stderr
    (folder / "samples.jsonl").write_text(json.dumps({**row, "label2": "high"}) + "\n")
    assert "instruction: empty" in check(folder).stderr
