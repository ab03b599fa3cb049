"""The command line through its own process: exit statuses, standard output, names, interrupts."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import MakeTask

SLEEPER = """
import json, sys, time
print(json.dumps({"type": "hello", "protocol": 1, "id": "sleeper"}), flush=True)
for line in sys.stdin:
    time.sleep(0.2)
    for request in json.loads(line)["requests"]:
        print(json.dumps({"type": "reply", "id": request["id"], "answer": "low"}), flush=True)
"""


def otoscope(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_help_of_every_verb_has_examples() -> None:
    for verb in ("run", "judge", "score", "report", "tasks", "models", "weights", "doctor", "published", "sure"):
        result = otoscope(verb, "--help")
        assert result.returncode == 0
        assert "Example" in result.stdout
        assert re.search(rf"^ +otoscope {verb}", result.stdout, re.MULTILINE)


def test_json_is_one_document_and_nothing_else(make_task: MakeTask, tmp_path: Path) -> None:
    result = otoscope("run", make_task(3), "--model", "null", "--judge", "rules", "--json", "-o", tmp_path / "run")
    assert result.returncode == 0
    assert json.loads(result.stdout)["tasks"][0]["n"] == 3
    assert json.loads(result.stdout) == json.loads((tmp_path / "run" / "scores.json").read_text())


def test_the_table_says_where_the_run_lies(make_task: MakeTask, tmp_path: Path) -> None:
    result = otoscope("run", make_task(3), "--model", "null", "--judge", "rules", cwd=tmp_path)
    assert "accuracy ↑" in result.stdout
    [folder] = tmp_path.glob("runs/tones-*--null")
    assert f"runs/{folder.name}" in result.stdout
    assert (folder / "report.md").exists()


def test_a_missing_outcome_exits_with_1_after_the_table(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(3)
    (task / "1.wav").write_bytes(b"")
    result = otoscope("run", task, "--model", "null", "--judge", "rules", "-o", tmp_path / "run")
    assert result.returncode == 1
    assert "error: tones r1: empty: 1.wav: the file has no bytes" in result.stdout
    assert otoscope("tasks", "check", task).returncode == 1


WRONG = {
    "model": (("run", "starter", "--model", "nul"), "unknown model 'nul'; did you mean null"),
    "judge": (("run", "starter", "--model", "null", "--judge", "rule"), "did you mean rules"),
    "task": (("run", "startre"), "did you mean starter"),
    "verb": (("rnu", "starter"), "did you mean run"),
    "limit": (("run", "starter", "--model", "null", "--judge", "rules", "--limit", "x"), "--limit x"),
    "option": (("run", "starter", "--model", "null", "-M", "a"), "-M KEY=VALUE"),
    "weights": (("weights", "fetch", "whisper-bas"), "did you mean whisper-base"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_exits_with_2_and_offers_the_nearest_name(name: str, tmp_path: Path) -> None:
    arguments, message = WRONG[name]
    result = otoscope(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    result = otoscope("score", tmp_path)
    assert (result.returncode, "not a run folder" in result.stderr) == (1, True)


def test_an_interrupted_run_exits_with_130_and_can_be_continued(make_task: MakeTask, tmp_path: Path) -> None:
    worker, task = tmp_path / "sleeper.py", make_task(10)
    worker.write_text(SLEEPER)
    model = f"cmd/{sys.executable} {worker}"
    arguments = ["run", str(task), "--model", model, "--judge", "rules", "-o", str(tmp_path / "run")]
    log = tmp_path / "run" / "predictions.jsonl"
    with subprocess.Popen([sys.executable, "-m", "otoscope", *arguments], stderr=subprocess.PIPE) as process:
        while not log.exists() and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130
    assert b"run the same command again" in stderr
    answered = len(log.read_text().splitlines())
    assert 0 < answered < 10
    assert otoscope(*arguments).returncode == 0
    assert len(log.read_text().splitlines()) == 10


def test_rejudging_changes_the_judge_and_calls_no_model(make_task: MakeTask, tmp_path: Path) -> None:
    run = tmp_path / "run"
    otoscope("run", make_task(3), "--model", "null", "--judge", "rules", "-o", run)
    before = (run / "predictions.jsonl").read_bytes()
    result = otoscope("judge", run, "--judge", "rules", "--json")
    assert json.loads(result.stdout)["judge"].startswith("rules-")
    assert (run / "predictions.jsonl").read_bytes() == before


def test_report_prints_what_it_wrote(make_task: MakeTask, tmp_path: Path) -> None:
    run = tmp_path / "run"
    otoscope("run", make_task(3), "--model", "null", "--judge", "rules", "-o", run)
    result = otoscope("report", run)
    assert result.stdout == (run / "report.md").read_text()
    for part in ("## Missing", "## Signatures", "| tones | accuracy ↑ |"):
        assert part in result.stdout


def test_doctor_names_the_command_for_what_is_missing(tmp_path: Path) -> None:
    environment = {**os.environ, "OTOSCOPE_CACHE": str(tmp_path), "OTOSCOPE_WEIGHTS": ""}
    command = [sys.executable, "-m", "otoscope", "doctor", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    findings = {row["what"]: row for row in json.loads(result.stdout)}
    assert findings["weights whisper-base"]["remedy"] == "otoscope weights fetch whisper-base"
    assert findings["decode FLAC PCM_16"]["found"] == "works"


def test_shell_completion_knows_the_verbs() -> None:
    environment = {**os.environ, "_OTOSCOPE_COMPLETE": "bash_complete", "COMP_WORDS": "otoscope ", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "from otoscope.cli.main import cli; cli(prog_name='otoscope')"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "plain,run" in result.stdout.splitlines()
