"""Models behind the OpenAI chat API, over real HTTP: what is sent, what is survived, what is logged."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeTask
from hypothesis import given
from hypothesis import strategies as st
from loopback import Call, Fault, Loopback

import otoscope
from otoscope.audio import read_audio
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models import Reply, Request, load_chat, load_model
from otoscope.models.openai import OpenAIModel, _read_completion
from otoscope.task import PACKAGE
from otoscope.weights import fetch

FAULTS: tuple[Fault, ...] = ("", "", "429", "500", "400", "closed", "half", "slow", "not-json", "wrong-json", "length")


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def connect(server: Loopback, **options: str) -> OpenAIModel:
    return OpenAIModel("any", {"base_url": server.url, "retries": "0", **options})


def make_request(seconds: float = 0.25, instruction: str = "What is it?", text: str = "") -> Request:
    return Request((read_audio((np.zeros(round(16_000 * seconds)), 16_000)),), instruction, text)


def test_the_starter_suite_against_a_server_that_hears(tmp_path: Path) -> None:
    with Loopback() as server:
        options = ("--model", "openai/any", "-M", f"base_url={server.url}", "--judge", "rules", "-o", str(tmp_path))
        result = run_cli("starter", *options)
    samples, predictions = read_lines(tmp_path / "samples.jsonl"), read_lines(tmp_path / "predictions.jsonl")
    assert result.returncode == 1, result.stderr  # the rules leave some of these answers undecided
    assert Counter(row["key"] for row in predictions) == Counter({row["prediction"] for row in samples})
    assert {row["status"] for row in predictions} == {"ok"}
    assert len(server.calls) == len(predictions)
    answers = {row["key"]: row["answer"] for row in predictions}
    for row in samples:
        prompt = f"{row['instruction']}\n{row['text']}" if row["text"] else row["instruction"]
        clips = [read_audio(PACKAGE / row["task"] / clip) for clip in row["audio"]]
        heard = " ".join(f"{clip.seconds:.2f}" for clip in clips)
        assert answers[row["prediction"]] == f"{prompt} {heard}"


def test_faults_in_any_order_lose_nothing_and_duplicate_nothing(make_task: MakeTask, tmp_path: Path) -> None:
    task, folder = make_task(40), tmp_path / "run"

    def script(text: str, times: int) -> Fault:
        return random.Random(f"{text} {times}").choice(FAULTS)

    with Loopback(script) as server:
        options = ("-M", f"base_url={server.url}", "-M", "retries=1", "--judge", "rules")
        arguments = (str(task), "--model", "openai/any", *options, "-o", str(folder))
        assert run_cli(*arguments, "-M", "timeout=1").returncode == 1
        asked = len(server.calls)
        first = read_lines(folder / "predictions.jsonl")
        keys = {row["id"]: row["prediction"] for row in read_lines(folder / "samples.jsonl")}
        assert sorted(row["key"] for row in first) == sorted(keys.values())
        assert len(set(keys.values())) == 40
        failed = {row["key"] for row in first if row["status"] == "error"}
        assert 5 < len(failed) < 35
        assert all(row["reason"] and not row["answer"] for row in first if row["key"] in failed)
        assert {call.fault for call in server.calls} == set(FAULTS)

        server.script = lambda _text, _times: ""
        server.answer = "high"
        assert run_cli(*arguments).returncode == 0
        assert len(server.calls) == asked + len(failed)
        second = read_lines(folder / "predictions.jsonl")
        assert second[:40] == first
        assert sorted(row["key"] for row in second[40:]) == sorted(failed)
        assert {row["status"] for row in second[40:]} == {"ok"}

        run_cli(*arguments)
        assert len(server.calls) == asked + len(failed)
    last = {row["key"]: row for row in second}
    for sample, key in keys.items():
        instruction = f"Is tone {sample[1:]} low or high?"
        assert last[key]["answer"] == ("high" if key in failed else f"{instruction} 0.20")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", 'HTTP 429: {"error": {"message": "scripted 429"}}'),
        ("500", 'HTTP 500: {"error": {"message": "scripted 500"}}'),
        ("400", 'HTTP 400: {"error": {"message": "scripted 400"}}'),
        ("closed", "APIConnectionError: Connection error. (Server disconnected without sending a response.)"),
        ("half", "APIConnectionError: Connection error. (peer closed connection without sending complete message body"),
        ("slow", "no reply within 1 s; -M timeout=... changes that"),
        ("not-json", "the reply is not a JSON object: b'<html>Bad gateway</html>'"),
        ("wrong-json", 'the reply is not a chat completion: b\'{"choices": [{"text": '),
        ("null", "the reply holds no text, it finished by 'stop'"),
        ("length", "the reply holds no text, it finished by 'length'; raise -M max_tokens=..."),
        ("filter", "the reply holds no text, it finished by 'content_filter'"),
    ],
)
def test_each_fault_is_an_error_that_says_what_came(fault: Fault, reason: str) -> None:
    with Loopback(lambda _text, times: "" if times else fault) as server:
        model = connect(server, timeout="1" if fault == "slow" else "60")
        [reply] = model.answer([make_request()])
        assert reply.answer == ""
        assert reply.error.startswith(reason)
        assert model.answer([make_request()]) == [Reply("What is it? 0.25", usage=USAGE)]


USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


@pytest.mark.parametrize("fault", ["429", "500", "closed", "half", "slow"])
def test_a_passing_fault_is_retried(fault: Fault) -> None:
    with Loopback(lambda _text, times: "" if times else fault) as server:
        model = connect(server, retries="1", timeout="1" if fault == "slow" else "60")
        assert model.answer([make_request()])[0].answer == "What is it? 0.25"
        assert server.calls == [Call("What is it?", (0.25,), fault), Call("What is it?", (0.25,), "")]


def test_retries_end() -> None:
    with Loopback(lambda _text, _times: "429") as server:
        assert "scripted 429" in connect(server, retries="3").answer([make_request()])[0].error
        assert len(server.calls) == 4


def test_a_server_that_is_not_there_is_an_error() -> None:
    with Loopback() as server:
        model = connect(server)
    assert model.answer([make_request()])[0].error.startswith("APIConnectionError: Connection error. ([Errno 111]")


def test_calls_are_in_flight_together(make_task: MakeTask, tmp_path: Path) -> None:
    with Loopback(together=4) as server:  # none is answered before the fourth has come
        model = connect(server, concurrency="4")
        result = otoscope.run(str(make_task(8)), model=model, judge="rules", folder=tmp_path / "run")
        assert len(server.calls) == 8
    assert not [row for row in result.missing if row.outcome == "error"]


def test_several_clips_and_text_are_one_message() -> None:
    clips = tuple(read_audio((np.zeros(size), 16_000)) for size in (8_000, 4_000))
    with Loopback() as server:
        [reply] = connect(server).answer([Request(clips, "Same speaker?", "Say yes or no.")])
    assert reply.answer == "Same speaker?\nSay yes or no. 0.50 0.25"


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"content": ""}, ""),
        ({"content": None, "refusal": "I cannot tell."}, "I cannot tell."),
        ({"content": "half \ud83d of a pair"}, "half \ufffd of a pair"),
    ],
)
def test_what_counts_as_an_answer(message: dict[str, Any], answer: str) -> None:
    body = json.dumps({"choices": [{"finish_reason": "stop", "message": message}]}).encode()
    assert _read_completion(body) == Reply(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "refusal", "usage", "prompt_tokens"]), inner
        )
    ),
)


@given(st.fixed_dictionaries({}, optional={"choices": JSON | st.lists(JSON), "usage": JSON}) | JSON)
def test_any_json_is_an_answer_or_a_named_error(body: Any) -> None:
    try:
        reply = _read_completion(json.dumps(body).encode())
    except ModelCallError as error:
        assert str(error).startswith("the reply ")  # noqa: PT017 - either is right
    else:
        json.dumps([reply.answer, dict(reply.usage)], allow_nan=False).encode()


@given(st.binary() | st.integers(1, 3).map(lambda size: b"[" * 10**5 * size))
def test_any_bytes_are_a_named_error(body: bytes) -> None:
    with pytest.raises(ModelCallError, match="the reply is not a JSON object"):
        _read_completion(body)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base-url": "http://127.0.0.1"}, "no option 'base-url'"),
        ({"retries": "many"}, "retries=many is not a whole number of at least 0"),
        ({"concurrency": "0"}, "concurrency=0 is not a whole number of at least 1"),
        ({"timeout": "nan"}, "timeout=nan is not a number of seconds above 0"),
        ({"longest": "-1"}, "longest=-1 is not a number of seconds above 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_model("openai/any", {"base_url": "http://127.0.0.1:9/v1", **options})


def test_the_key_comes_from_the_environment_and_only_a_named_server_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelLoadingError, match="set OPENAI_API_KEY"):
        load_model("openai/any")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert load_model("openai/any").settings["server"] == "http://127.0.0.1:9/v1/"


def test_what_can_change_an_answer_is_in_the_settings() -> None:
    options = {"base_url": "http://127.0.0.1:9/v1"}
    plain, cut = load_model("openai/any", options), load_model("openai/any", {**options, "longest": "10"})
    assert plain.settings != cut.settings
    assert cut.intake.longest == 10
    assert load_model("openai/any", {**options, "concurrency": "2", "retries": "9"}).settings == plain.settings


LLAMA = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.verbosity = 2048, 1, -1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def test_a_real_server_answers_text_and_its_refusal_of_audio_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    [weights] = fetch("smollm2-135m").glob("*.gguf")
    command = [sys.executable, "-c", LLAMA, str(weights)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        options = {"base_url": f"{server.stdout.readline().strip()}/v1", "max_tokens": "8"}
        words = load_chat("openai/any", {**options, "threads": "1"}).chat(
            "You are terse.", "What is the capital of France?"
        )
        pairs = [part for key, value in options.items() for part in ("-M", f"{key}={value}")]
        run = run_cli("starter", "--model", "openai/any", *pairs, "--judge", "rules", "-o", str(tmp_path), "--json")
        server.communicate()
    assert words.strip()
    assert run.returncode == 1
    predictions = read_lines(tmp_path / "predictions.jsonl")
    assert {row["status"] for row in predictions} == {"error"}
    assert all("audio input is not supported" in row["reason"] for row in predictions)
    assert all(set(score["counts"]) == {"error"} for score in json.loads(run.stdout)["tasks"])
