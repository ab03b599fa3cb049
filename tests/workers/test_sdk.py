"""The file that speaks the protocol for a worker: what it does with whatever a model does."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from otoscope.audio import read_audio
from otoscope.conformance import check_worker
from otoscope.errors import ModelLoadingError
from otoscope.models import Reply, Request
from otoscope.models.command import CommandModel

WORKERS = Path(__file__).parents[2] / "workers"
WorkerModel = Callable[..., CommandModel]


@pytest.fixture
def make_model(tmp_path: Path) -> WorkerModel:
    """Give a function that starts a worker whose ``load`` is ``body``."""

    def make(body: str, call: str = "serve(load, id='w')", **options: str) -> CommandModel:
        (tmp_path / "otoscope_worker.py").write_text((WORKERS / "otoscope_worker.py").read_text())
        head = "import os, sys\nfrom otoscope_worker import serve, serve_batches\n"
        file = tmp_path / "worker.py"
        file.write_text(f"{head}def load():\n    {body}\n{call}\n")
        return CommandModel(f"{sys.executable} {file}", {"timeout": "60", **options})

    return make


def ask(*instructions: str, **fields: Any) -> list[Request]:
    return [Request((read_audio((np.zeros(1_600), 16_000)),), instruction, **fields) for instruction in instructions]


def test_the_model_is_loaded_at_the_first_question(make_model: WorkerModel, tmp_path: Path) -> None:
    model = make_model(f"open({str(tmp_path / 'loaded')!r}, 'w').close(); return lambda request: request.prompt")
    assert not (tmp_path / "loaded").exists()
    assert model.answer(ask("a", text="b")) == [Reply("a\nb")]
    assert (tmp_path / "loaded").is_file()


def test_a_model_that_cannot_be_loaded_stops_the_run_with_the_reason(make_model: WorkerModel) -> None:
    model = make_model("raise OSError('checkpoint.pth: No such file')")
    with pytest.raises(ModelLoadingError, match=r"the worker gave up: OSError: checkpoint\.pth: No such file"):
        model.answer(ask("a"))


def test_what_a_request_raises_is_its_error(make_model: WorkerModel) -> None:
    model = make_model("return lambda request: str(1 / len(request.instruction))")
    good, bad, again = model.answer(ask("ab", "", "abcd"))
    assert (good, again) == (Reply("0.5"), Reply("0.25"))
    assert bad == Reply(error="ZeroDivisionError: division by zero")


def test_what_is_not_text_is_an_error(make_model: WorkerModel) -> None:
    model = make_model("return lambda request: [b'bytes']")
    assert model.answer(ask("a")) == [Reply(error="the model answered [b'bytes'], which is not text")]


BATCHES = "serve_batches(load, id='w', batch=3)"


def test_batches_are_answered_in_order(make_model: WorkerModel) -> None:
    body = "return lambda requests: [f'{len(requests)} {r.instruction}' for r in requests]"
    model = make_model(body, BATCHES)
    assert [reply.answer for reply in model.answer(ask(*"abcd"))] == ["3 a", "3 b", "3 c", "1 d"]


@pytest.mark.parametrize("failure", ["int(r.instruction)", "[int(r.instruction)][len(requests):] or 1 / 0"])
def test_a_batch_that_fails_is_tried_again_one_by_one(failure: str, make_model: WorkerModel) -> None:
    model = make_model("return lambda requests: [f'{" + failure + "} of {len(requests)}' for r in requests]", BATCHES)
    first, second, third = model.answer(ask("1", "two", "3"))
    assert "error" not in first.answer + third.answer
    assert second.error.startswith(("ValueError", "ZeroDivisionError"))


def test_too_few_answers_are_not_given_to_the_wrong_requests(make_model: WorkerModel) -> None:
    model = make_model("return lambda requests: [r.instruction for r in requests[:2]]", BATCHES)
    assert model.answer(ask(*"abc")) == [Reply("a"), Reply("b"), Reply("c")]  # asked again one by one
    model = make_model("return lambda requests: []", BATCHES)
    assert model.answer(ask("a")) == [Reply(error="ValueError: 0 answers to 1 requests")]


def test_a_broken_device_is_left(make_model: WorkerModel, tmp_path: Path) -> None:
    body = (
        f"open({str(tmp_path / 'loads')!r}, 'a').write('x')\n"
        "    def answer(request):\n"
        "        if request.instruction == 'b': raise RuntimeError('CUDA error: device-side assert triggered')\n"
        "        return request.instruction\n"
        "    return answer"
    )
    replies = make_model(body).answer(ask(*"abc"))
    assert replies == [Reply("a"), Reply(error="RuntimeError: CUDA error: device-side assert triggered"), Reply("c")]
    assert (tmp_path / "loads").read_text() == "xx"


def test_nothing_else_reaches_the_host_or_takes_its_input(make_model: WorkerModel) -> None:
    body = (
        "print('loading'); os.system('echo from a child')\n"
        "    return lambda request: (os.write(1, b'noise'), sys.stdin.read(), os.system('cat'), 'done')[-1]"
    )
    assert make_model(body).answer(ask("a", "b")) == [Reply("done"), Reply("done")]


def test_a_spoken_answer(make_model: WorkerModel, tmp_path: Path) -> None:
    spoken = tmp_path / "spoken.wav"
    spoken.write_bytes(b"RIFF")
    model = make_model(f"return lambda request: {{'audio': {str(spoken)!r}}}")
    assert model.answer(ask("a")) == [Reply(audio=b"RIFF")]


def test_it_conforms(make_model: WorkerModel, tmp_path: Path) -> None:
    make_model("return lambda requests: [str(len(open(r.audio[0], 'rb').read())) for r in requests]", BATCHES).close()
    findings = list(check_worker(f"{sys.executable} {tmp_path / 'worker.py'}", {}))
    assert [finding for finding in findings if not finding.passed] == []


def test_it_ends_quietly_with_its_host(make_model: WorkerModel, tmp_path: Path) -> None:
    make_model("return lambda request: request.instruction").close()
    result = subprocess.run(
        [sys.executable, tmp_path / "worker.py"], input="", capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr, result.stdout.count("\n")) == (0, "", 1)


def test_the_command_copies_it_and_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "salmonn.py").write_text("mine")
    command = [sys.executable, "-m", "otoscope", "models", "workers", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert {path.name for path in WORKERS.glob("*.py")} == {path.name for path in tmp_path.glob("*.py")}
    assert f"kept {tmp_path / 'salmonn.py'}" in result.stdout
    assert (tmp_path / "salmonn.py").read_text() == "mine"
    assert (tmp_path / "otoscope_worker.py").read_bytes() == (WORKERS / "otoscope_worker.py").read_bytes()
