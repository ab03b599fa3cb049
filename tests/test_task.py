"""Task and suite files of users: what is read, what is refused, and what the message names."""

import json
from pathlib import Path
from typing import Any

import pytest

from otoscope.errors import TaskError, UnknownNameError
from otoscope.task import Part, read_suite, read_task, select_tasks, task_from_json, variants

SIX_KEYS = {
    "name": "SpeakerVerification_VCTK",
    "description": "",
    "keywords": "",
    "metrics": ["accuracy"],
    "path": "DynamicSuperb/SpeakerVerification_VCTK",
    "version": "9ab6e1d1b0ce3b0f4d8c1e8b8cf58e3f1b6fa7cd",
}


def _task(folder: Path, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "task.json"
    file.write_text(json.dumps({**SIX_KEYS, **changes}), encoding="utf-8")
    return file


def test_six_keys_are_a_task(tmp_path: Path) -> None:
    task = read_task(_task(tmp_path))
    assert (task.id, task.kind, task.primary) == ("SpeakerVerification_VCTK", "classification", "accuracy")
    assert task.hub_parts == (Part(SIX_KEYS["path"], SIX_KEYS["version"]),)  # type: ignore[arg-type]
    assert variants(task) == [task]


def test_sequence_metric_makes_a_sequence_task(tmp_path: Path) -> None:
    assert read_task(_task(tmp_path, metrics=["wer"])).kind == "sequence"


def test_rows_beside_the_file_are_not_on_the_hub(tmp_path: Path) -> None:
    file = _task(tmp_path, path="data/rows", version="1")
    (tmp_path / "data" / "rows").mkdir(parents=True)
    assert read_task(file).hub_parts == ()
    assert read_task(_task(tmp_path, path="data/missing.jsonl", version="1")).hub_parts == ()


def test_variants_survive_json(tmp_path: Path) -> None:
    parts = [
        {"path": "org/a-Fold1", "variant": "a"},
        {"path": "org/a-Fold2", "variant": "a"},
        {"path": "org/b", "variant": "b"},
    ]
    content = {key: value for key, value in SIX_KEYS.items() if key not in ("path", "version")}
    file = tmp_path / "task.json"
    file.write_text(json.dumps({**content, "parts": parts}), encoding="utf-8")
    one, other = variants(read_task(file))
    assert [part.path for part in one.parts] == ["org/a-Fold1", "org/a-Fold2"]
    assert other.id == "SpeakerVerification_VCTK/b"
    again = task_from_json(other.content, file)
    assert (again, again.hash) == (other, other.hash)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metircs": ["wer"]}, "'metircs'.*did you mean 'metrics'"),
        ({"metrics": []}, "metrics"),
        ({"metrics": ["na_rate"]}, "metrics: na_rate alone"),
        ({"metrics": ["mse", "na_rate"], "primary_metric": "na_rate"}, "no primary metric"),
        ({"id": "a/../b"}, "id"),
        ({"metrics": ["weer"]}, "metrics: 'weer'.*wer"),
        ({"metrics": ["wer", "wer"]}, "metrics"),
        ({"kind": "sequence", "metrics": ["accuracy"]}, "metrics: accuracy scores a classification or a regression"),
        ({"kind": "classification", "metrics": ["wer"]}, "metrics: wer scores a sequence"),
        ({"kind": "regression", "metrics": ["mae", "wer"]}, "metrics: wer scores a sequence"),
        ({"kind": "regression", "metrics": ["llm_judge_accuracy"]}, "metrics: llm_judge_accuracy scores a class"),
        (
            {"kind": "regression", "metrics": ["angle_difference"], "target_format": {"type": "number", "unit": "gon"}},
            "metrics: unknown unit of angles 'gon'",
        ),
        ({"kind": "sequence", "metrics": ["sacrebleu"], "languages": ["en", "zh"]}, "metrics: sacrebleu splits en and"),
        ({"kind": "sequence", "metrics": ["sacrebleu"], "languages": ["klingon!"]}, "'klingon!' is no tag"),
        ({"version": "main"}, "version: 'main'"),
        ({"parts": [{"path": "org/x"}]}, "parts: give either path or parts"),
        ({"path": "", "parts": [{"path": "x"}]}, r"parts\.0\.path"),
        ({"path": "", "parts": [{"path": "org/x", "version": "abc"}]}, r"parts\.0\.version"),
        ({"better": {"accuracy": "lower"}}, "better: accuracy"),
        ({"better": {"wer": "lower"}}, "better: wer"),
        ({"domain": ["a/b/c/d/e"]}, r"domain\.0"),
        ({"audios": -1}, "audios"),
        ({"columns": {"sound": ["x"]}}, "columns"),
        ({"published": {"x": {"y": float("nan")}}}, "published: NaN and infinity"),
        ({"target_format": {"type": "number", "high": float("inf")}}, "target_format: NaN and infinity"),
    ],
)
def test_wrong_key_is_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=message):
        read_task(_task(tmp_path, **changes))


@pytest.mark.parametrize(
    ("metrics", "kind"),
    [
        (["mse"], "regression"),
        (["token_error_rate"], "regression"),
        (["wer"], "sequence"),
        (["accuracy"], "classification"),
        (["accuracy", "mae"], "regression"),
    ],
)
def test_metrics_tell_the_kind_that_a_task_file_does_not_name(metrics: list[str], kind: str, tmp_path: Path) -> None:
    file = _task(tmp_path, metrics=metrics)
    content = json.loads(file.read_text("utf-8"))
    content.pop("kind", None)
    file.write_text(json.dumps(content), encoding="utf-8")
    assert read_task(file).kind == kind


def test_a_task_s_language_and_form_choose_what_its_metrics_do(tmp_path: Path) -> None:
    chinese = read_task(_task(tmp_path, kind="sequence", metrics=["sacrebleu"], languages=["zh-TW"]))
    assert "tok:zh" in chinese.metric("sacrebleu").signature
    items = read_task(_task(tmp_path, kind="regression", metrics=["iou"], target_format={"type": "list"}))
    assert "of:set" in items.metric("iou").signature


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text('{"name": "x",\n oops}', encoding="utf-8")
    with pytest.raises(TaskError, match="line 2"):
        read_task(tmp_path)
    with pytest.raises(TaskError, match="no such task file"):
        read_task(tmp_path / "none.json")


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "latin-1": ('{"name": "x",\n "description": "où"}'.encode("latin-1"), "line 2, column 19: not UTF-8"),
    "utf-16": ('{"name": "x"}'.encode("utf-16"), "column 1: not UTF-8"),
    "deep": (b'{"published": ' + b"[" * 10**5, "lists and objects nest deeper than 100"),
    "less deep": (b'{"published": ' + b"[" * 200 + b"]" * 200 + b"}", "lists and objects nest deeper than 100"),
    "digits": (b'{"published": {"x": ' + b"9" * 5000 + b"}}", "an integer has more than"),
    "overflow": (b'{"name": "x", "metrics": ["wer"], "published": {"x": 1e999}}', "published: NaN and infinity"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    data, message = UNREADABLE[name]
    file = tmp_path / "task.json"
    file.write_bytes(data)
    with pytest.raises(TaskError, match=rf"task\.json: {message}"):
        read_task(file)


def test_a_path_that_no_file_can_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps({"tasks": ["a\0b"]}), encoding="utf-8")
    with pytest.raises(TaskError, match=r"a\\x00b': the task file cannot be read"):
        read_suite(tmp_path)


def test_a_byte_order_mark_and_half_a_surrogate_pair_are_read(tmp_path: Path) -> None:
    file = _task(tmp_path, options=["\ud83d", "\U0001f600"])
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    task = read_task(file)
    assert task.options == ("\ufffd", "\U0001f600")
    assert len(task.hash) == 32


def test_suite_wants_distinct_ids(tmp_path: Path) -> None:
    _task(tmp_path / "a", id="one")
    _task(tmp_path / "b", id="two")
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"tasks": ["a/task.json", "b"]}), encoding="utf-8")
    assert [task.id for task in read_suite(tmp_path)] == ["one", "two"]
    assert [task.id for task in select_tasks([str(tmp_path), str(tmp_path / "a")])] == ["one", "two"]
    _task(tmp_path / "b", id="one")
    with pytest.raises(TaskError, match="id: 'one' is also the id"):
        read_suite(suite)
    suite.write_text("[]", encoding="utf-8")
    with pytest.raises(TaskError, match="tasks"):
        read_suite(suite)


def test_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="starter/pitch"):
        select_tasks(["starter/pich"])
    with pytest.raises(UnknownNameError, match="superb-asr-libri-speech-test-clean"):
        select_tasks(["superb-asr-librispeech-test-clean"])
    with pytest.raises(UnknownNameError, match="did you mean starter"):
        select_tasks(["startre"])
    with pytest.raises(UnknownNameError, match="did you mean starter/pitch"):
        select_tasks(["pich"])
    with pytest.raises(UnknownNameError, match="genre-classification"):
        select_tasks(["genre"])
    with pytest.raises(UnknownNameError, match="catalogue, core, hear, marble, starter, superb"):
        select_tasks(["qqqq"])
