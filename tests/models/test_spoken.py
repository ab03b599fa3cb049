"""Models that answer by speaking: what they say is kept, written down by real speech recognition, and judged."""

import base64
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeTask
from loopback import Loopback

import otoscope
from otoscope.audio import read_audio, to_wav
from otoscope.errors import ModelLoadingError, UnknownNameError
from otoscope.models.function import FunctionModel
from otoscope.models.openai import OpenAIModel
from otoscope.task import PACKAGE
from otoscope.weights import fetch

AUDIO = PACKAGE / "starter" / "audio"
NUMBERS = {read_audio(file).digest: file.read_bytes() for file in AUDIO.glob("*-digits-*.flac")}
SMALL = "whisper-tiny.en"


class Parrot(FunctionModel):
    """Answers which number is said by the very recording that it was asked about, and counts how often it is asked."""

    def __init__(self, text: str = "") -> None:
        super().__init__(lambda _request: "")
        self.id = f"parrot {text}"
        self.asked = 0
        self.text = text

    def _answer(self, request: otoscope.Request) -> otoscope.Reply:
        self.asked += 1
        return otoscope.Reply(self.text, audio=NUMBERS[request.audios[0].digest])


def run(model: Any, folder: Path, task: str | Path = "starter/spoken-number", **options: Any) -> otoscope.RunResult:
    return otoscope.run(task, model=model, folder=folder, **options)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module", autouse=True)
def weights() -> None:
    """Fetch what hears the answers."""
    for name in ("whisper-base", SMALL):
        assert fetch(name).is_dir()


def test_spoken_numbers_are_written_down_and_judged_right(tmp_path: Path) -> None:
    parrot = Parrot()
    result = run(parrot, tmp_path, limit=4)
    assert result.missing == []
    assert result.scores[0].value == 1.0
    rows = read_lines(tmp_path / "predictions.jsonl")
    assert len(rows) == parrot.asked == 4
    for row in rows:
        assert row["spoken"] == f"answers/{row['key']}.flac"
        assert (tmp_path / row["spoken"]).read_bytes() in NUMBERS.values()
        assert row["answer"].strip(" .").isdigit()
        assert row["asr"].startswith("whisper-base ")
    assert sum(result.to_json()["written_down_by"].values()) == 4
    assert "- 4 written down by whisper-base" in (tmp_path / "report.md").read_text()
    assert otoscope.score_run(tmp_path).to_json() == result.to_json()

    assert run(parrot, tmp_path, limit=4).made == 0
    other = run(parrot, tmp_path, limit=4, asr=SMALL)
    assert parrot.asked == 4  # another speech recognition asks the model nothing
    assert {name.split()[0] for name in other.to_json()["written_down_by"]} == {SMALL}
    assert read_lines(tmp_path / "predictions.jsonl")[:4] == rows

    (tmp_path / rows[0]["spoken"]).unlink()
    run(parrot, tmp_path, limit=4)
    assert parrot.asked == 5
    assert (tmp_path / rows[0]["spoken"]).is_file()


def test_a_spoken_run_is_replayed_with_its_audio(tmp_path: Path) -> None:
    run(Parrot(), tmp_path / "run", limit=2, asr=SMALL)
    again = run(f"replay/{tmp_path / 'run'}", tmp_path / "replayed", limit=2)
    assert {name.split()[0] for name in again.to_json()["written_down_by"]} == {"whisper-base"}
    assert again.scores[0].value == 1.0
    files = [sorted((tmp_path / name / "answers").iterdir()) for name in ("run", "replayed")]
    assert sorted(file.read_bytes() for file in files[0]) == sorted(file.read_bytes() for file in files[1])
    files[0][0].unlink()
    [missing] = run(f"replay/{tmp_path / 'run'}", tmp_path / "partly", limit=2).missing
    assert missing.reason.startswith("the spoken answer of the replayed run cannot be read")


def test_a_text_beside_the_audio_is_the_answer(tmp_path: Path) -> None:
    result = run(Parrot("It is 13."), tmp_path, limit=2, asr=SMALL)
    assert {row["answer"] for row in read_lines(tmp_path / "predictions.jsonl")} == {"It is 13."}
    assert len(list((tmp_path / "answers").iterdir())) == 2
    assert result.to_json()["written_down_by"] == {}


@pytest.mark.parametrize("asr", ["no such weights", "yamnet", "smollm2-135m"])
def test_a_wrong_recogniser_is_told_before_anything_is_asked(asr: str, tmp_path: Path) -> None:
    for model in (parrot := Parrot(), "null"):
        with pytest.raises(UnknownNameError, match=r"did you mean [^y]*whisper-base"):
            run(model, tmp_path / "run", asr=asr)
        with pytest.raises(UnknownNameError, match="unknown weights of this kind"):
            otoscope.probe(model, asr=asr)
    assert parrot.asked == 0
    assert not (tmp_path / "run").exists()
    with pytest.raises(ModelLoadingError, match=r"model.bin, config.json, tokenizer.json is not in the folder"):
        run("null", tmp_path / "run", asr=str(tmp_path))


def test_audio_that_cannot_be_decoded_is_an_error(make_task: MakeTask, tmp_path: Path) -> None:
    result = run(lambda _request: otoscope.Reply(audio=b"RIFF"), tmp_path / "run", make_task(1))
    [missing] = result.missing
    assert missing.outcome == "error"
    assert missing.reason.startswith("the spoken answer cannot be used: the answer: ")
    assert not (tmp_path / "run" / "answers").exists()


def test_the_answers_to_chunks_become_one_file(make_task: MakeTask, tmp_path: Path) -> None:
    rates = iter([16_000, 8_000])

    def speak(_request: otoscope.Request) -> otoscope.Reply:
        rate = next(rates)
        return otoscope.Reply("high", audio=to_wav(read_audio((np.zeros(rate, np.float32), rate))))

    model = FunctionModel(speak)
    model.intake = otoscope.Intake(longest=0.1)
    run(model, tmp_path / "run", make_task(1), policy="chunk")
    [file] = (tmp_path / "run" / "answers").iterdir()
    assert (read_audio(file).rate, read_audio(file).seconds) == (16_000, 2.5)
    assert read_lines(tmp_path / "run" / "predictions.jsonl")[0]["answer"] == "high high"


@pytest.mark.parametrize("transcript", ["Thirteen.", ""])
def test_a_server_answers_with_audio(make_task: MakeTask, tmp_path: Path, transcript: str) -> None:
    data = (AUDIO / "allison-en-digits-13.flac").read_bytes()
    task = make_task(2, options=["13", "30"])
    with Loopback() as server:
        server.spoken = {"id": "a", "data": base64.b64encode(data).decode(), "transcript": transcript}
        model = OpenAIModel("any", {"base_url": server.url, "retries": "0", "voice": "alloy"})
        run(model, tmp_path / "run", task, asr=SMALL)
    assert server.calls[0].body["modalities"] == ["text", "audio"]
    assert server.calls[0].body["audio"] == {"voice": "alloy", "format": "wav"}
    for row in read_lines(tmp_path / "run" / "predictions.jsonl"):
        assert (row["status"], row["answer"]) == ("ok", transcript or row["answer"])
        assert (tmp_path / "run" / row["spoken"]).read_bytes() == data
        assert bool(row["asr"]) is not bool(transcript)
        assert transcript or "13" in row["answer"] or "thirteen" in row["answer"].lower()
        assert row["usage"] == {"prompt_tokens": 3, "completion_tokens": 2}


def test_a_server_whose_audio_is_not_base64_is_an_error() -> None:
    with Loopback(spoken={"data": "not base64!"}) as server:
        model = OpenAIModel("any", {"base_url": server.url, "retries": "0"})
        [reply] = model.answer([otoscope.Request((), "Say two.")])
    assert reply == otoscope.Reply(error="the reply holds audio that is not base64")


def test_a_model_that_speaks_can_be_probed() -> None:
    def echo(request: otoscope.Request) -> otoscope.Reply:
        return otoscope.Reply(audio=to_wav(request.audios[0]))

    found = otoscope.probe(echo, "starter/spoken-number", limit=6)
    assert found.hearing == "hears"
    assert found.tasks[0].outcomes["none"] == {"error": 6}


SPEAKER = """
import sys, time
import numpy as np
import otoscope
from otoscope.audio import read_audio, to_wav

def speak(request):
    time.sleep(0.02)
    return otoscope.Reply("high", audio=to_wav(read_audio((np.zeros(16_000, np.float32), 16_000))))

otoscope.run(sys.argv[1], model=speak, folder=sys.argv[2])
"""


def test_kill_9_leaves_no_answer_without_its_file(make_task: MakeTask, tmp_path: Path) -> None:
    task, folder = make_task(60), tmp_path / "run"
    chance, kills = random.Random(1), 0
    while True:
        with subprocess.Popen([sys.executable, "-c", SPEAKER, str(task), str(folder)], env=dict(os.environ)) as process:
            try:
                assert process.wait(timeout=None if kills == 3 else chance.uniform(1.0, 2.0)) == 0
                break
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
        log = folder / "predictions.jsonl"
        lines = log.read_text().splitlines(keepends=True) if log.exists() else []
        for row in (json.loads(line) for line in lines if line.endswith("\n")):
            assert read_audio(folder / row["spoken"]).seconds == 1
    keys = [row["key"] for row in read_lines(folder / "predictions.jsonl")]
    assert len(keys) == len(set(keys)) == 60
