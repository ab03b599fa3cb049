"""The real cascade on the real recordings, with no network, in every order, on any number of threads."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from otoscope.audio import read_audio, resample
from otoscope.models.llama import LlamaChat
from otoscope.models.whisper import Whisper, most_tokens, without_loops
from otoscope.task import PACKAGE, select_tasks
from otoscope.weights import fetch

AUDIO = PACKAGE / "starter" / "audio"
DEFAULT = ("whisper-base", "qwen2.5-coder-1.5b")
SMALL = ("whisper-tiny.en", "qwen2.5-coder-0.5b")


@pytest.fixture(scope="module")
def weights() -> None:
    """Fetch what the tests of this file need."""
    for name in (*DEFAULT, *SMALL):
        assert fetch(name).is_dir()


def without_network(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in a network namespace that has no route and no address, where the system allows one."""
    namespace = ["unshare", "--map-root-user", "--net"]
    allowed = (
        shutil.which("unshare")
        and subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode == 0
    )
    command = [*(namespace if allowed else []), sys.executable, "-m", "otoscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def timeless(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "scores.json").read_text("utf-8"))
    for score in content["tasks"]:
        del score["seconds"]
    return content


@pytest.mark.usefixtures("weights")
def test_the_main_job_gives_real_results(tmp_path: Path) -> None:
    tasks = ["starter/transcription-en", "starter/language-identification", "starter/spoken-number"]
    result = without_network("run", *tasks, "--json", "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    scores = {score["task"]: score for score in json.loads(result.stdout)["tasks"] if score["metric"] != "cer"}
    assert scores["starter/transcription-en"]["value"] < 0.15
    for name in tasks[1:]:
        assert scores[name]["low"] > scores[name]["chance"]


@pytest.mark.usefixtures("weights")
def test_threads_batches_order_and_hash_seeds_change_nothing(tmp_path: Path) -> None:
    names = [task.id for task in select_tasks(["starter"])]
    contents = []
    for number, (threads, batch, tasks) in enumerate([("1", "1", names), ("2", "5", names[::-1])]):
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        command = ["run", *tasks, "--limit", "1", "--model", f"cascade/{'+'.join(SMALL)}", "-M", f"threads={threads}"]
        command += ["--batch-size", batch, "--judge", "rules", "-o", str(tmp_path / threads)]
        subprocess.run([sys.executable, "-m", "otoscope", *command], check=False, env=environment, capture_output=True)
        content = timeless(tmp_path / threads)
        for rows in (content["tasks"], content["missing"]):
            rows.sort(key=lambda row: (row["task"], row.get("metric", "")))
        contents.append(content)
    assert contents[0] == contents[1]
    assert {score["task"] for score in contents[0]["tasks"]} == set(names)


@pytest.mark.usefixtures("weights")
def test_an_answer_does_not_depend_on_the_question_before() -> None:
    chat = LlamaChat(SMALL[1], threads=1)
    system = "Answer in one sentence."
    questions = [f"What is {topic} good for?" for topic in ("a bell", "a belt", "the sea", "a bell tower")]
    first = [chat.chat(system, question).answer for question in questions]
    backwards = [chat.chat(system, question).answer for question in reversed(questions)]
    assert first == backwards[::-1]
    assert len(set(first)) == len(questions)


def test_a_loop_of_the_decoder_is_said_once() -> None:
    assert without_loops("B" + "E" * 800) == "BE"
    assert without_loops("I am, " + "you know, " * 12 + "here") == "I am, you know, here"
    assert without_loops("no, no, no, no") == "no, no, no, no"


def test_a_short_window_has_room_for_fast_speech_and_not_for_a_loop() -> None:
    assert most_tokens(16_000) == 46
    assert most_tokens(30 * 16_000) == 224


@pytest.mark.usefixtures("weights")
def test_whisper_writes_what_was_said_and_hears_the_language() -> None:
    whisper = Whisper(DEFAULT[0], threads=1)
    audio = resample(read_audio(AUDIO / "allison-en-agent-alreadyon.flac"), 16_000)
    transcript = whisper.transcribe(audio)
    assert transcript.language == "en"
    assert "already logged on" in transcript.text
