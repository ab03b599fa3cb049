"""A real server with real weights: llama.cpp's own, in a process of its own, behind the OpenAI chat API."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from otoscope.models import Request, load_chat, load_model
from otoscope.weights import fetch

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
WORDS = "16"
"""Most tokens an answer: enough for a label, and little to wait for."""


@contextmanager
def llama_server(name: str) -> Iterator[str]:
    """Serve named weights, and give the base URL."""
    pytest.importorskip("xllamacpp")
    [weights] = fetch(name).glob("*.gguf")
    command = [sys.executable, "-c", LLAMA, str(weights)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/v1"
        server.communicate()


def run_cli(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def flags(flag: str, **options: str) -> list[str]:
    return [part for key, value in options.items() for part in (flag, f"{key}={value}")]


def test_text_is_answered_and_its_tokens_are_counted_and_audio_is_refused_by_name(tmp_path: Path) -> None:
    with llama_server("smollm2-135m") as url:
        options = {"base_url": url, "max_tokens": "8"}
        chat = load_chat("openai/any", {**options, "threads": "1"})
        words = chat.chat("You are terse.", "What is the capital of France?").answer
        model = load_model("openai/any", {**options, "price_in": "1000000", "price_out": "0"})
        [reply] = model.answer([Request((), "What is the capital of France?")])
        run = run_cli("run", "starter", "--model", "openai/any", *flags("-M", **options), "-o", tmp_path, "--json")
    assert words.strip()
    assert reply.answer
    assert reply.usage["prompt_tokens"] > 8 >= reply.usage["completion_tokens"] > 0
    assert reply.usage["cost"] == reply.usage["prompt_tokens"]
    assert run.returncode == 1
    predictions = read_lines(tmp_path / "predictions.jsonl")
    assert {row["status"] for row in predictions} == {"error"}
    assert all("audio input is not supported" in row["reason"] for row in predictions)
    assert all(set(score["counts"]) == {"error"} for score in json.loads(run.stdout)["tasks"])


def test_a_server_is_the_language_model_of_a_cascade_and_the_judge(tmp_path: Path) -> None:
    """Whisper hears, the served model answers, and the served model judges what the rules leave undecided."""
    assert fetch("whisper-tiny.en").is_dir()
    tasks = ("starter/language-identification", "starter/spoken-number", "starter/duration")
    with llama_server("qwen2.5-coder-0.5b") as url:
        served = {"base_url": url, "max_tokens": WORDS}
        arguments: list[str | Path] = ["run", *tasks, "--limit", "2", "-o", tmp_path, "--json"]
        prices = {"price_in": "1000000", "price_out": "0"}
        arguments += ["--model", "cascade/whisper-tiny.en+openai/any", *flags("-M", **served, **prices, threads="1")]
        arguments += ["--judge", "llm:openai/any", *flags("-J", **served, **prices)]
        result = run_cli(*arguments)
        again = run_cli(*arguments)
    assert result.returncode in (0, 1), result.stderr
    scores = json.loads(result.stdout)
    predictions, judgements = (read_lines(tmp_path / f"{name}.jsonl") for name in ("predictions", "judgements"))
    assert [row["status"] for row in predictions] == ["ok"] * 6
    assert all(row["model"] == "cascade/whisper-tiny.en+openai/any" for row in predictions)
    assert any(row["answer"] for row in predictions)
    assert {row["judge"] for row in judgements} == {"llm:openai/any"}
    outcomes = Counter(row["status"] for row in judgements)
    assert set(outcomes) <= {"ok", "na", "unparsed"}
    assert outcomes.total() == 6
    counted: Counter[str] = Counter()
    for score in {score["task"]: score for score in scores["tasks"]}.values():
        assert score["n"] == sum(score["counts"].values()) == 2
        counted.update(score["counts"])
    assert counted == outcomes
    assert result.returncode == (1 if outcomes["unparsed"] else 0)
    assert scores["judged_by"] == {"llm:openai/any": 6}
    for rows, prefix in ((predictions, ""), (judgements, "judge_")):
        tokens = sum(row["usage"]["prompt_tokens"] for row in rows)
        assert scores["usage_in_total"][f"{prefix}cost"] == scores["usage_in_total"][f"{prefix}prompt_tokens"] == tokens
    header = read_lines(tmp_path / "header.jsonl")[0]
    assert header["model"]["settings"]["server"].startswith(url)
    assert header["judge"]["llm"]["settings"]["max_tokens"] == int(WORDS)
    assert len(read_lines(tmp_path / "predictions.jsonl")) == 6  # a finished run asks nothing
    assert json.loads(again.stdout)["tasks"] == scores["tasks"]
