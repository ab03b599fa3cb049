"""Models behind the OpenAI chat API, over real HTTP: what is sent, what is survived, what is logged."""

import base64
import json
import random
import subprocess
import sys
import time
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
from otoscope.models import Reply, Request, load_model
from otoscope.models.openai import OpenAIModel, _read_completion
from otoscope.task import PACKAGE

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
    [call] = server.calls
    assert (call.body["stream"], call.body["temperature"]) == (False, 0)


def test_clips_may_travel_as_data_urls() -> None:
    clips = tuple(read_audio((np.zeros(size), 16_000)) for size in (8_000, 4_000))
    with Loopback() as server:
        model = connect(server, audio="audio_url")
        assert model.answer([Request(clips, "Same?")])[0].answer == "Same? 0.50 0.25"
    [call] = server.calls
    assert [part["type"] for part in call.body["messages"][0]["content"]] == ["audio_url", "audio_url", "text"]
    assert model.settings == {**connect(server).settings, "audio": "audio_url"}


def test_the_client_waits_as_long_as_the_server_says() -> None:
    came: list[float] = []

    def script(_text: str, times: int) -> Fault:
        came.append(time.monotonic())
        return "" if times else "429"

    with Loopback(script, retry_after=("Retry-After", "2")) as server:
        assert connect(server, retries="1").answer([make_request()])[0].answer == "What is it? 0.25"
    assert came[1] - came[0] >= 2


def test_tokens_and_what_they_cost_are_summed_by_task(make_task: MakeTask, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Loopback(answer="high") as server:
        arguments = (str(make_task(4)), "--model", "openai/any", "-M", f"base_url={server.url}", "-o", str(folder))
        result = run_cli(*arguments, "-M", "price_in=2.5", "-M", "price_out=10")
        assert run_cli(*arguments).returncode == 0
        assert len(server.calls) == 4  # a price changes no key
    assert "Usage: completion tokens 8, prompt tokens 12, cost 0.00011" in result.stdout
    scores = json.loads((folder / "scores.json").read_text())
    assert scores["usage"] == {"tones": scores["usage_in_total"]}
    assert scores["usage_in_total"] == {"prompt_tokens": 12, "completion_tokens": 8, "cost": pytest.approx(110e-6)}
    report = (folder / "report.md").read_text()
    assert "| in total | 8 | 12 | 0.00011 |" in report


def test_an_answer_that_two_samples_share_is_paid_for_once(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(3)
    rows = [json.loads(line) for line in (task / "samples.jsonl").read_text().splitlines()]
    rows[2] |= {"audio": rows[0]["audio"], "instruction": rows[0]["instruction"]}
    (task / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Loopback(answer="high") as server:
        result = otoscope.run(str(task), model=connect(server), folder=tmp_path / "run")
    assert result.usage == {"prompt_tokens": 6, "completion_tokens": 4}


def test_an_answer_that_two_tasks_share_is_paid_for_once_in_total(make_task: MakeTask, tmp_path: Path) -> None:
    tasks = [str(make_task(3, name=name)) for name in ("one", "two")]
    with Loopback(answer="high") as server:
        result = otoscope.run(tasks, model=connect(server), folder=tmp_path / "run")
        assert len(server.calls) == 3
    assert {name: task.usage["prompt_tokens"] for name, task in result.tasks.items()} == {"one": 9, "two": 9}
    assert result.usage == {"prompt_tokens": 9, "completion_tokens": 6}
    assert otoscope.score_run(tmp_path / "run").usage == result.usage


def test_a_judge_that_fails_has_judged_nothing(make_task: MakeTask, tmp_path: Path) -> None:
    with Loopback() as server:
        options = {"base_url": server.url, "retries": "0"}
    result = otoscope.run(
        str(make_task(2)),
        model=lambda _request: "rather low than high",
        judge="llm:openai/any",
        judge_options=options,  # of a server that is gone
        folder=tmp_path / "run",
    )
    assert [row.outcome for row in result.missing] == ["error", "error"]
    assert result.to_json()["judged_by"] == {}


def test_nothing_is_said_of_usage_where_the_model_says_nothing(make_task: MakeTask, tmp_path: Path) -> None:
    result = run_cli(str(make_task(2)), "--model", "null", "-o", str(tmp_path))
    assert "Usage" not in result.stdout
    assert "Usage" not in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"content": ""}, ""),
        ({"content": None, "refusal": "I cannot tell."}, "I cannot tell."),
        ({"content": "half \ud83d of a pair"}, "half \ufffd of a pair"),
        ({"content": None, "audio": {"data": "", "transcript": "Two."}}, "Two."),
        ({"content": "2", "audio": {"transcript": "Two."}}, "2"),
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
            st.sampled_from(["choices", "message", "content", "refusal", "audio", "data", "usage", "prompt_tokens"]),
            inner,
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
        assert isinstance(reply.audio, bytes)


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
        ({"timeout": "nan"}, "timeout=nan is not a number of seconds from 0.001"),
        ({"timeout": "1e300"}, "timeout=1e300 is not a number of seconds from 0.001"),
        ({"longest": "1e-9"}, "longest=1e-9 is not a number of seconds from 0.1"),
        ({"api_key:sk-abc": ""}, "after api_key comes no equals sign; write api_key=VALUE$"),
        ({"api_key": "sk-abc\n"}, "the API key holds a space, a control character"),
        ({"api_key": "sk-\u00e9"}, "the API key holds a space, a control character"),
        ({"base_url": "http://[::bad/v1"}, "base_url is no address"),
        ({"base_url": "http://127.0.0.1:99999/v1"}, "base_url is no address"),
        ({"base_url": "http://127.0.0.1:http/v1"}, "base_url is no address"),
        ({"base_url": "http://127.0.0.999/v1"}, "base_url is no address"),
        ({"base_url": "http://me:password@/v1"}, "base_url is no address"),
        ({"base_url": "127.0.0.1:8000"}, "base_url is no address"),
        ({"base_url": ""}, "base_url is no address"),
        ({"audio": "flac"}, "audio=flac is neither input_audio nor audio_url"),
        ({"price_in": "2"}, "price_in without its other half"),
        ({"price_in": "2", "price_out": "inf"}, "price_out=inf is not a number of at least 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_model("openai/any", {"base_url": "http://127.0.0.1:9/v1", **options})


@pytest.mark.parametrize("key", ["sk-live-0123456789abcdef/+=", "ab'c/d", "k"])
def test_a_key_that_a_server_sends_back_is_in_no_error(key: str) -> None:
    with Loopback(lambda _text, _times: "echo") as server:
        for padding in ("", "x" * 480):  # where the text is cut a part of the key is left
            server.answer = padding
            [reply] = connect(server, api_key=key).answer([make_request()])
            assert reply.error.startswith("HTTP 401: ")
            assert key not in reply.error
            assert key[:8] not in reply.error
            assert key.replace("/", "\\/") not in reply.error


@pytest.mark.parametrize("fault", ["echo-not-json", "echo-wrong-json"])
def test_a_key_in_a_body_that_is_no_answer_is_in_no_error(fault: Fault) -> None:
    with Loopback(lambda _text, _times: fault) as server:
        [reply] = connect(server, api_key="sk-live-0123456789abcdef").answer([make_request()])
    assert "..." in reply.error
    assert "sk-live" not in reply.error


def test_a_query_goes_to_the_server_and_only_its_digest_into_the_run(make_task: MakeTask, tmp_path: Path) -> None:
    with Loopback(lambda _text, times: "" if times else "echo") as server:
        url = server.url.replace("//", "//me:secret-password@")
        arguments = ("--model", "openai/any", "-M", "retries=0", "-o", str(tmp_path / "run"))
        run_cli(str(make_task(2)), *arguments, "-M", f"base_url={url}?key=secret-key&version=2")
        assert server.queries == [{"key": "secret-key", "version": "2"}] * 2
        plain = connect(server).settings
        queried = [connect(server, base_url=f"{server.url}?key={key}").settings for key in "ab"]
    files = [path.read_text() for path in (tmp_path / "run").iterdir() if path.is_file()]
    assert len(files) > 5
    basic = base64.b64encode(b"me:secret-password").decode()
    assert not [text for text in files if "secret" in text or basic in text]
    assert {settings["server"] for settings in queried} == {plain["server"]}
    assert len({str(settings) for settings in (plain, *queried)}) == 3


@pytest.mark.parametrize("count", [-1, True, 10**400, 2**60, 1.5, "3", None])
def test_a_count_of_tokens_that_is_none_is_left_out(count: Any) -> None:
    message = {"choices": [{"finish_reason": "stop", "message": {"content": "low"}}]}
    body = json.dumps({**message, "usage": {"prompt_tokens": count, "completion_tokens": 2}}).encode()
    assert _read_completion(body) == Reply("low", usage={"completion_tokens": 2})


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
    assert load_model("openai/any", {**options, "clips": "1"}).intake.clips == 1
    assert load_model("openai/any", {**options, "concurrency": "2", "retries": "9"}).settings == plain.settings
