"""The command line through its own process: exit statuses, standard output, names, interrupts."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from conftest import MakeTask

from otoscope.cli.main import VERBS, cli
from otoscope.models.openai import OPTIONS
from otoscope.weights import WEIGHTS

SLEEPER = """
import json, sys, time
print(json.dumps({"type": "hello", "protocol": 1, "id": "sleeper"}), flush=True)
for line in sys.stdin:
    time.sleep(0.2)
    for request in json.loads(line)["requests"]:
        print(json.dumps({"type": "reply", "id": request["id"], "answer": "low"}), flush=True)
"""


def otoscope(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", *map(str, arguments)]
    environment = {**os.environ, **(env or {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=environment)


def in_shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in which ``otoscope`` is the command."""
    shell = f'otoscope() {{ "{sys.executable}" -m otoscope "$@"; }}\n{script}'
    return subprocess.run(["/bin/bash", "-c", shell], capture_output=True, text=True, check=False, cwd=cwd)


def commands(command: click.Command, path: str, parent: click.Context | None = None) -> Iterator[str]:
    """Yield the name of each verb and of each command below a verb."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command, parent=parent)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}", context)


@pytest.mark.parametrize("path", list(commands(cli, "otoscope")))
def test_help_of_every_command_has_an_example_on_a_line_of_its_own(path: str) -> None:
    result = otoscope(*path.split()[1:], "--help")
    assert (result.returncode, "\\b" in result.stdout) == (0, False)
    assert "Example" in result.stdout
    assert re.search(rf"^ +{path}\b", result.stdout, re.MULTILINE)


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
    "secret": (("run", "starter", "--model", "openai/a", "-M", "api_key:sk-secret"), "-M number 1 has no equals sign"),
    "null": (("run", "starter", "--model", "null/foo"), "null/foo: the null model has no name"),
    "asr": (
        ("run", "starter", "--model", "null", "--asr", "silero-vad"),
        "did you mean whisper-base, whisper-tiny",
    ),
    "ears": (("run", "starter", "--model", "cascade/silero-vad+smollm2-135m"), "did you mean whisper-base,"),
    "reader": (("run", "starter", "--model", "cascade/whisper-tiny.en+yamnet"), "did you mean qwen2.5-coder-0.5b,"),
    "part": (("run", "starter", "-M", "asr.beam=5"), "threads; asr.OPTION is for the speech recognition"),
    "timeout": (("run", "starter", "--model", "cmd/true", "-M", "timeout=1e300"), "timeout=1e300 is not a number"),
    "weights": (("weights", "fetch", "whisper-bas"), "did you mean whisper-base"),
    "published": (("published",), "otoscope: give either --core"),
    "metric": (("metric",), "otoscope: give a metric and a file"),
    "compare": (("compare", "."), "Missing argument 'RUN_B'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage_exits_with_2_and_offers_the_nearest_name(name: str, tmp_path: Path) -> None:
    arguments, message = WRONG[name]
    result = otoscope(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert "sk-secret" not in result.stderr


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
        while not (log.exists() and log.stat().st_size) and process.poll() is None:
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


UNWRITABLE = {
    "full": ("otoscope models > /dev/full", errno.ENOSPC),
    "full, after a run": ("otoscope run tones --model null --json > /dev/full", errno.ENOSPC),
    "full, a table": ("otoscope run tones --model null > /dev/full", errno.ENOSPC),
    "a file": ("touch run && otoscope run tones --model null -o run", errno.EEXIST),
    "long": (f"otoscope run tones --model null -o {'x' * 300}", errno.ENAMETOOLONG),
    "a folder in the way": ("mkdir -p run/predictions.jsonl && otoscope run tones --model null -o run", errno.EISDIR),
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_what_cannot_be_written_is_one_line_and_exits_with_1(name: str, make_task: MakeTask, tmp_path: Path) -> None:
    make_task(2)
    script, code = UNWRITABLE[name]
    result = in_shell(script, tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].endswith(os.strerror(code))
    assert sum("otoscope: " in line for line in result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr


def test_a_closed_standard_output_is_told_before_any_work(make_task: MakeTask, tmp_path: Path) -> None:
    make_task(2)
    result = in_shell("otoscope run tones --model null -o run >&-", tmp_path)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)
    assert "standard output is closed" in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_closed_standard_error_changes_nothing(make_task: MakeTask, tmp_path: Path) -> None:
    make_task(2)
    result = in_shell("otoscope run tones --model null --json -o run 2>&-", tmp_path)
    assert (result.returncode, json.loads(result.stdout)["tasks"][0]["n"]) == (0, 2)


def test_a_reader_that_has_gone_is_no_news(make_task: MakeTask, tmp_path: Path) -> None:
    make_task(2)
    result = in_shell("otoscope tasks list | true; echo ${PIPESTATUS[0]}", tmp_path)
    assert (result.stderr, result.stdout.strip() in {"0", "1"}) == ("", True)


ASCII = {
    "locale": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin": {"PYTHONIOENCODING": "latin-1"},
}


@pytest.mark.parametrize("name", ASCII)
def test_an_encoding_without_arrows_is_served(name: str, make_task: MakeTask, tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = otoscope("run", make_task(2), "--model", "null", "-o", run, env=ASCII[name])
    compared = otoscope("compare", run, run, env=ASCII[name])
    (tmp_path / "answers.jsonl").write_text(json.dumps({"target": "a", "answer": "a"}) + "\n")
    metric = otoscope("metric", "wer", tmp_path / "answers.jsonl", env=ASCII[name])
    for result, arrow in ((first, "accuracy ^ "), (compared, "accuracy ^ "), (metric, "wer v ")):
        assert (result.returncode, arrow in result.stdout, "Traceback" in result.stderr) == (0, True, False)


def test_json_stays_json_in_an_encoding_that_lacks_a_letter(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(2)
    (task / "1.wav").write_bytes(b"")
    rename(task, "r1", "töne → 𝄞")
    command = [sys.executable, "-m", "otoscope", "run", str(task), "--model", "null", "--json"]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, check=False, env={**os.environ, **ASCII["latin"]}
    )
    assert json.loads(result.stdout.decode("latin-1"))["missing"][0]["sample"] == "töne → 𝄞"


def rename(task: Path, old: str, new: str) -> None:
    """Give a sample another id."""
    rows = [json.loads(line) for line in (task / "samples.jsonl").read_text().splitlines()]
    rows = [{**row, "id": new} if row["id"] == old else row for row in rows]
    (task / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


HOSTILE = "[bold]x[/red]:smile:\x1b]0;owned\x07\x1b[31m\nfake"


def test_markup_and_control_characters_in_names_are_shown_not_obeyed(make_task: MakeTask, tmp_path: Path) -> None:
    task, run, other = make_task(2), tmp_path / "run", tmp_path / "other"
    worker = tmp_path / "sleeper.py"
    worker.write_text(SLEEPER)
    rename(task, "r1", HOSTILE)
    no_run = tmp_path / "\x1b[31mrun"
    otoscope("run", task, "--model", f"cmd/{sys.executable} {worker}", "-o", other)
    same = otoscope("run", task, "--model", "null", "-o", run)
    flipped = otoscope("compare", run, other)
    (task / "1.wav").write_bytes(b"")
    missing = otoscope("run", task, "--model", "null", "-o", tmp_path / "third")
    report = otoscope("report", tmp_path / "third")
    wrong = [otoscope("run", task, "--model", no_run), otoscope("score", no_run), otoscope("score", f"{task}\x07")]
    for result in (same, flipped, missing, report, *wrong):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stdout + result.stderr)
        assert "Traceback" not in result.stderr
    shown = r"[bold]x[/red]:smile:\x1b]0;owned\x07\x1b[31m\nfake"
    assert shown in flipped.stdout
    assert shown in missing.stdout
    assert r"\[bold\]x\[/red\]:smile:\x1b\]0;owned\x07\x1b\[31m\nfake: empty" in report.stdout
    for result in wrong:
        assert re.search(r"\\x(1b|07)", result.stderr)


SECRETS = (
    ("-M", "api_key=SECRET"),
    ("-Mapi_key=SECRET",),
    ("-J", "api_key=SECRET"),
    ("-Japi_key=SECRET",),
    ("-M", "base_url=http://user:SECRET@127.0.0.1:9/v1"),
    ("-Mbase_url=http://user:SEC@RET@127.0.0.1:9/v1",),
)


@pytest.mark.parametrize("options", SECRETS)
def test_no_key_and_no_password_stands_in_a_run_folder(
    options: tuple[str, ...], make_task: MakeTask, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    server = ("-M", "base_url=http://127.0.0.1:9/v1", "-M", "retries=0", "--judge", "auto:openai/judge")
    judge = () if options[0].startswith("-J") else ("-J", "api_key=SECRET")
    result = otoscope("run", make_task(1), "--model", "openai/m", *server, *judge, *options, "-o", run)
    assert result.returncode == 1
    written = "".join(path.read_text() for path in run.iterdir() if path.is_file())
    assert "127.0.0.1:9/v1" in written
    for text in (written, result.stdout, result.stderr):
        assert "SECRET" not in text
        assert "RET@" not in text
        assert "user" not in text


def test_models_lists_the_options_and_the_names_that_a_cascade_takes() -> None:
    kinds = json.loads(otoscope("models", "--json").stdout)
    assert tuple(sorted(option.split("=")[0] for option in kinds["openai"]["options"])) == tuple(sorted(OPTIONS))
    assert [option.split("=")[0] for option in kinds["cmd"]["options"]] == ["timeout", "start_timeout"]
    text = otoscope("models").stdout
    for name in WEIGHTS:
        assert (name in text) == (name not in {"silero-vad", "yamnet"})
    for kind in kinds.values():
        assert kind["about"] in text
        assert kind["example"].split()[1] in VERBS
