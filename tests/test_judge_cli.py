"""``otoscope judge`` on runs and on bare rows, and ``otoscope judge agreement``, through their own process."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeTask

LABELLED = Path(str(files("otoscope.judges").joinpath("labelled")))
ROW = {"id": "a", "instruction": "Is it a dog or a cat?", "target": "dog", "answer": "It is a dog."}


def judge(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "judge", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def write(tmp_path: Path, *contents: Any) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = (content if isinstance(content, str) else json.dumps(content) for content in contents)
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def test_each_row_gets_one_line_in_order(tmp_path: Path) -> None:
    answers = ["dog", "cat", "A man speaks.", "I can't tell.", ""]
    file = write(tmp_path, *({**ROW, "id": str(number), "answer": answer} for number, answer in enumerate(answers)))
    result = judge(file, "--judge", "rules", "--kind", "classification", "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": "0", "status": "ok", "verdict": "yes"},
        {"id": "1", "status": "ok", "verdict": "no"},
        {"id": "2", "status": "undecided"},
        {"id": "3", "status": "ok", "verdict": "no"},
        {"id": "4", "status": "ok", "verdict": "no"},
    ]
    assert result.returncode == 1, "one row has no ruling"
    assert result.stderr == ""


def test_a_row_may_bring_what_a_task_has(tmp_path: Path) -> None:
    pet = {
        "instruction": "What do you hear?",
        "target": "dog",
        "options": ["dog", "cat"],
        "synonyms": {"dog": ["puppy"]},
    }
    both = {"target": "dog, cat", "multi": True, "answer": "cat, dog"}
    file = write(tmp_path, {**ROW, **pet, "answer": "A puppy"}, {**ROW, **pet, **both})
    result = judge(file, "--judge", "rules", "--kind", "classification", "--json")
    assert [json.loads(line)["verdict"] for line in result.stdout.splitlines()] == ["yes", "yes"]
    assert result.returncode == 0


def test_a_value_is_read(tmp_path: Path) -> None:
    row = {
        **ROW,
        "instruction": "How long is it?",
        "target": "4",
        "target_format": {"type": "number", "unit": "seconds"},
    }
    file = write(tmp_path, {**row, "answer": "2 minutes"}, {**row, "answer": "It is long."})
    result = judge(file, "--judge", "rules", "--kind", "regression", "--json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"id": "a", "status": "ok", "value": "120"},
        {"id": "a", "status": "na"},
    ]
    assert result.returncode == 0


def test_a_person_reads_one_line_a_row(tmp_path: Path) -> None:
    result = judge(write(tmp_path, ROW), "--judge", "rules", "--kind", "classification")
    assert result.stdout.startswith("a\tok\tyes\t")


WRONG: dict[str, tuple[Any, str]] = {
    "no answer": ({key: ROW[key] for key in ("id", "instruction", "target")}, "answer: missing"),
    "no id": ({**ROW, "id": 7}, "id: 7 is not of type 'string'"),
    "no target": ({**ROW, "target": ""}, "target: "),
    "null": ({**ROW, "answer": None}, "answer: None is not of type 'string'"),
    "options": ({**ROW, "options": "dog"}, "options: 'dog' is not of type 'array'"),
    "one option": ({**ROW, "options": ["dog", 1]}, "options.1: 1 is not of type 'string'"),
    "multi": ({**ROW, "multi": "no"}, "multi: 'no' is not of type 'boolean'"),
    "synonyms": ({**ROW, "synonyms": {"dog": "puppy"}}, "synonyms.dog: 'puppy' is not of type 'array'"),
    "format": ({**ROW, "target_format": {"type": "text"}}, "target_format.type: 'text' is not one of"),
    "limit": ({**ROW, "target_format": {"type": "number", "low": "x"}}, "target_format.low: 'x' is not of type"),
    "list": ([1], "a row is an object with keys, not list"),
    "torn": ('{"id": "a"', "not JSON: "),
    "deep": ("[" * 30_000 + "]" * 30_000, "lists and objects nest deeper than 100 levels"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_row_is_named_and_the_others_are_judged(name: str, tmp_path: Path) -> None:
    content, message = WRONG[name]
    file = write(tmp_path, ROW, content, {**ROW, "id": "b", "answer": "cat"})
    result = judge(file, "--judge", "rules", "--kind", "classification", "--json")
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["a", "b"]
    assert f"{file}: line 2: {message}" in result.stderr
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


def test_bytes_that_are_no_text_are_a_wrong_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(ROW).encode() + b"\n\xff\xfe\n")
    result = judge(file, "--judge", "rules", "--kind", "classification", "--json")
    assert json.loads(result.stdout)["verdict"] == "yes"
    assert "line 2: column 1: not UTF-8" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["rows.jsonl", "--judge", "rules"], 2, "add --kind"),
        (["agreement", "rows.jsonl", "--judge", "rules"], 2, "add --kind"),
        (["empty.jsonl", "--judge", "rules", "--kind", "regression"], 1, "no row can be judged"),
        (["missing.jsonl"], 2, "does not exist"),
        (["rows.jsonl", "--judge", "ruels", "--kind", "regression"], 2, "did you mean rules"),
        ([], 2, "Missing argument"),
    ],
)
def test_wrong_usage(arguments: list[str], status: int, message: str, tmp_path: Path) -> None:
    write(tmp_path, ROW)
    (tmp_path / "empty.jsonl").touch()
    result = judge(*arguments, cwd=tmp_path)
    assert result.returncode == status
    assert message in result.stderr


def test_a_run_is_judged_whatever_the_order_of_arguments(make_task: MakeTask, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["run", make_task(3), "--model", "null", "--judge", "rules", "-o", run]
    subprocess.run([sys.executable, "-m", "otoscope", *map(str, command)], check=True, capture_output=True)
    results = [judge(run, "--judge", "rules", "--json"), judge("--judge", "rules", "--json", run)]
    assert [json.loads(result.stdout)["judge"] for result in results] == [json.loads(results[0].stdout)["judge"]] * 2
    assert results[0].returncode == 0


def test_agreement_as_one_document() -> None:
    file = LABELLED / "classification.jsonl"
    result = judge("agreement", file, "--judge", "rules", "--kind", "classification", "--repeats", "1", "--json")
    content = json.loads(result.stdout)
    assert result.returncode == 0
    assert content["n"] == content["decided"]["n"] == len(file.read_text("utf-8").splitlines())
    assert content["agreement"]["low"] < content["agreement"]["share"] <= content["agreement"]["high"]
    assert content["repeats"]["flips"]["count"] == 0
    assert sum(count for row in content["confusion"].values() for count in row.values()) == content["n"]


def test_agreement_for_a_person(tmp_path: Path) -> None:
    file = write(
        tmp_path, {**ROW, "verdict": "yes"}, {**ROW, "id": "b", "verdict": "no"}, {**ROW, "verdict": "perhaps"}
    )
    result = judge("agreement", file, "--judge", "rules", "--kind", "classification")
    assert "agreement  50.0% (1/2; 95 % 1.3% to 98.7%) where decided" in result.stdout
    assert "differ     b" in result.stdout
    assert "line 3: verdict: must be yes or no" in result.stderr
    assert result.returncode == 1
