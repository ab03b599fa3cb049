"""``otoscope metric``: any targets and answers, scored."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.errors import TaskError
from otoscope.metrics import METRICS
from otoscope.pairs import score_pairs
from otoscope.stats import interval


def otoscope(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "metric", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.text("ab ", max_size=8), st.text("ab ", max_size=8), st.sampled_from("xyz")), min_size=1))
def test_it_scores_as_the_metric_and_the_interval_do(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[str, str, str]]
) -> None:
    file = tmp_path_factory.mktemp("pairs") / "rows.jsonl"
    write(file, [dict(zip(("target", "answer", "cluster"), sample, strict=True)) for sample in samples])
    score = score_pairs(METRICS["wer"], file)
    rows = np.array([METRICS["wer"].row(target, answer) for target, answer, _ in samples])
    assert score.value == METRICS["wer"].value(rows)
    assert (score.n, score.clusters) == (len(samples), len({cluster for *_, cluster in samples}))
    expected = interval(METRICS["wer"], rows, [cluster for *_, cluster in samples])
    assert (score.low is None) == (expected is None or score.value is None)


def test_bad_rows_are_named_and_the_others_scored(tmp_path: Path) -> None:
    rows = [
        {"target": 2, "answer": "3.5", "cluster": 0},
        {"target": "two", "answer": "2"},
        {"target": "2", "answer": "no idea"},
        {"target": "2"},
        [1, 2],
        {"target": 4, "answer": 4.0, "cluster": None},
    ]
    file = write(tmp_path / "rows.jsonl", rows)
    file.write_bytes(file.read_bytes() + b"\n{'no json'}\n\xff\n")
    result = otoscope("mse", file, "--json")
    assert result.returncode == 1
    score = json.loads(result.stdout)
    assert (score["value"], score["n"], score["na"], score["clusters"]) == (1.125, 2, 1, 2)
    assert [(row["line"], row["key"]) for row in score["bad"]] == [
        (2, "target"),
        (4, "answer"),
        (5, ""),
        (8, ""),
        (9, ""),
    ]
    assert score["signature"].startswith("mse|error:squared|rule:mean|v:1|interval:")
    text = otoscope("mse", file).stdout
    assert f"{file}: line 2: target: 'two' is not a number" in text
    assert "2 rows scored, 1 N/A, 5 wrong; 2 sources" in text


def test_answers_that_cannot_be_read_are_a_result(tmp_path: Path) -> None:
    result = otoscope("mse", write(tmp_path / "rows.jsonl", [{"target": "1", "answer": "one"}]), "--json")
    score = json.loads(result.stdout)
    assert (result.returncode, score["value"], score["na"]) == (0, "undefined", 1)


def test_options_reach_the_metric(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [{"target": "350", "answer": "10"}] * 3)
    assert json.loads(otoscope("angle_difference", file, "--format", "degrees", "--json").stdout)["value"] == 20
    assert json.loads(otoscope("accuracy", file, "--kind", "regression", "--json").stdout)["value"] == 0
    assert "tok:zh" in otoscope("sacrebleu", file, "--language", "zh").stdout


def test_a_metric_of_words_says_where_there_are_no_spaces_between_them(tmp_path: Path) -> None:
    rows = [
        {"target": "请把客厅的灯打开", "answer": "请把客厅的灯打开了"},
        {"target": "good day", "answer": "good day"},
    ]
    file = write(tmp_path / "rows.jsonl", rows)
    [note] = json.loads(otoscope("wer", file, "--json").stdout)["notes"]
    assert note.startswith("wer: 1 of 2 references are in a script without spaces between words")
    assert "take cer" in note
    assert f"note: {note}\n" in otoscope("wer_raw", file).stdout.replace("wer_raw: ", "wer: ")
    for name in ("cer", "mer"):
        assert json.loads(otoscope(name, file, "--json").stdout)["notes"] == []


def test_an_empty_file_has_no_score(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no rows"):
        score_pairs(METRICS["wer"], write(tmp_path / "rows.jsonl", []))


def test_every_metric_is_listed() -> None:
    listed = json.loads(otoscope("--list", "--json").stdout)
    assert {row["name"]: row["signature"] for row in listed} == {name: m.signature for name, m in METRICS.items()}
    assert [line.split()[0] for line in otoscope("--list").stdout.splitlines()] == list(METRICS)


@pytest.mark.parametrize(
    ("arguments", "message"), [(("werr", __file__), "did you mean wer"), (("wer",), "or --list"), ((), "or --list")]
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...], message: str) -> None:
    result = otoscope(*arguments)
    assert result.returncode == 2
    assert message in result.stderr
