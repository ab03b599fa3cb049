"""Whole runs with plain functions as models: resume by content, errors, determinism."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from conftest import MakeTask

import otoscope
from otoscope.audio import Intake
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.judges.judge import RULES
from otoscope.models import Reply
from otoscope.models.function import FunctionModel
from otoscope.models.null import NullModel

KILLS = 20


def answering(word: str) -> Callable[[otoscope.Request], str]:
    return lambda _request: word


class Counting:
    """Answers by the pitch of the tone, and counts how often it was asked."""

    settings: Mapping[str, Any] = {}  # how often it was asked changes no answer

    def __init__(self) -> None:
        self.calls = 0
        self.__module__, self.__qualname__ = "tests", "counting"

    def __call__(self, request: otoscope.Request) -> str:
        self.calls += 1
        [audio] = request.audios
        crossings = ((audio.samples[1:] > 0) & (audio.samples[:-1] <= 0)).sum()
        return "high" if crossings > 50 else "low"


def run(task: Path, model: Callable[[otoscope.Request], str] | str, folder: Path, **options: Any) -> otoscope.RunResult:
    return otoscope.run(str(task), model=model, judge="rules", folder=folder, **options)


def timeless(folder: Path) -> dict[str, Any]:
    """Return scores.json without its times."""
    content: dict[str, Any] = json.loads((folder / "scores.json").read_text("utf-8"))
    for score in content["tasks"]:
        del score["seconds"]
    return content


def test_a_finished_run_does_nothing_again(make_task: MakeTask, tmp_path: Path) -> None:
    model, task = Counting(), make_task(6)
    first = run(task, model, tmp_path / "run")
    assert (model.calls, first.made, first.missing) == (6, 12, [])
    before = (tmp_path / "run" / "predictions.jsonl").read_bytes()
    assert run(task, model, tmp_path / "run").made == 0
    assert model.calls == 6
    assert (tmp_path / "run" / "predictions.jsonl").read_bytes() == before


def test_a_renamed_clip_is_not_asked_about_again_and_a_changed_one_is(make_task: MakeTask, tmp_path: Path) -> None:
    model, task = Counting(), make_task(4)
    run(task, model, tmp_path / "run")
    (task / "moved").mkdir()
    shutil.move(task / "1.wav", task / "moved" / "elsewhere.wav")
    rows = (task / "samples.jsonl").read_text()
    (task / "samples.jsonl").write_text(rows.replace('"1.wav"', '"moved/elsewhere.wav"'))
    run(task, model, tmp_path / "run")
    assert model.calls == 4
    samples, rate = soundfile.read(task / "2.wav", dtype="int16")
    samples[1000] += 1
    soundfile.write(task / "2.wav", samples, rate, subtype="PCM_16")
    run(task, model, tmp_path / "run")
    assert model.calls == 5


def test_one_request_in_two_samples_is_asked_once(make_task: MakeTask, tmp_path: Path) -> None:
    model, task = Counting(), make_task(1)
    row = json.loads((task / "samples.jsonl").read_text())
    (task / "samples.jsonl").write_text("".join(json.dumps({**row, "id": name}) + "\n" for name in "abc"))
    result = run(task, model, tmp_path / "run")
    assert (model.calls, result.scores[0].n) == (1, 3)


def test_a_bad_clip_is_named_and_the_others_are_scored(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    (task / "2.wav").write_bytes(b"not audio")
    result = run(task, Counting(), tmp_path / "run")
    [missing] = result.missing
    assert (missing.sample, missing.outcome) == ("r2", "error")
    assert missing.reason.startswith("undecodable: 2.wav")
    assert result.scores[0].counts == {"ok": 3, "error": 1}
    assert not timeless(tmp_path / "run")["complete"]


def test_a_failed_call_is_an_error_and_is_tried_again(make_task: MakeTask, tmp_path: Path) -> None:
    class Flaky(Counting):
        broken = True

        def __call__(self, request: otoscope.Request) -> str:
            if self.broken and "tone 1" in request.instruction:
                raise ModelCallError("out of order")
            return super().__call__(request)

    flaky, task = Flaky(), make_task(3)
    result = run(task, flaky, tmp_path / "run")
    assert [row.reason for row in result.missing] == ["out of order"]
    flaky.broken = False
    assert run(task, flaky, tmp_path / "run").missing == []
    assert flaky.calls == 3


def test_a_smaller_run_is_part_of_a_larger_one(make_task: MakeTask, tmp_path: Path) -> None:
    model, task = Counting(), make_task(8)
    assert run(task, model, tmp_path / "run", limit=3).scores[0].n == 3
    assert run(task, model, tmp_path / "run").scores[0].n == 8
    assert model.calls == 8
    assert run(task, model, tmp_path / "run", limit=3).scores[0].n == 3
    assert model.calls == 8


def test_scores_come_from_the_files_alone(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(5)
    run(task, Counting(), tmp_path / "run")
    first = (tmp_path / "run" / "scores.json").read_bytes()
    shutil.rmtree(task)
    (tmp_path / "run" / "scores.json").unlink()
    otoscope.score_run(tmp_path / "run")
    assert (tmp_path / "run" / "scores.json").read_bytes() == first


def test_a_run_can_be_replayed(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(5)
    first = run(task, Counting(), tmp_path / "run")
    again = run(task, f"replay/{tmp_path / 'run'}", tmp_path / "replayed")
    assert [score.value for score in again.scores] == [score.value for score in first.scores]
    (tmp_path / "other").mkdir()
    other = make_task(7, name="other/tones")
    assert len(run(other, f"replay/{tmp_path / 'run'}", tmp_path / "partly").missing) == 2


def test_no_audio_bytes_and_every_digest_in_the_logs(make_task: MakeTask, tmp_path: Path) -> None:
    run(make_task(20), Counting(), tmp_path / "run")
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "run").iterdir()}
    assert sizes["predictions.jsonl"] < 20 * 500
    header = json.loads((tmp_path / "run" / "header.jsonl").read_text())
    assert header["seed"] == 0
    assert header["tasks"].keys() == {"tones"}
    assert header["versions"]["otoscope"]


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_batch_size_and_order_change_nothing(make_task: MakeTask, tmp_path: Path, batch: int) -> None:
    task = make_task(12)
    run(task, Counting(), tmp_path / "plain")
    lines = (task / "samples.jsonl").read_text().splitlines(keepends=True)
    random.Random(batch).shuffle(lines)
    (task / "samples.jsonl").write_text("".join(lines))
    run(task, Counting(), tmp_path / "other", batch=batch)
    assert timeless(tmp_path / "other") == timeless(tmp_path / "plain")


def test_an_edited_function_is_asked_anew(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(3)
    first = run(task, answering("low"), tmp_path / "run")
    assert run(task, answering("low"), tmp_path / "run").made == 0
    second = run(task, answering("high"), tmp_path / "run")
    assert (first.scores[0].value, second.scores[0].value) == (1 / 3, 2 / 3)


def test_what_a_function_raises_or_returns_wrongly_is_named(make_task: MakeTask, tmp_path: Path) -> None:
    def broken(request: otoscope.Request) -> Any:
        if "tone 0" in request.instruction:
            raise KeyError("weights")
        return None if "tone 1" in request.instruction else "low"

    result = run(make_task(3), broken, tmp_path / "run")
    assert [row.reason for row in result.missing] == ["KeyError: 'weights'", "it returned NoneType, not a string"]
    with pytest.raises(otoscope.OtoscopeError, match="neither a spec, a function"):
        otoscope.run("starter", model=5)  # type: ignore[arg-type]


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


WRONG: dict[str, tuple[Any, str]] = {
    "answer None": (Reply(answer=None), "the reply's answer is NoneType, not str"),  # type: ignore[arg-type]
    "answer 5": (Reply(answer=5), "the reply's answer is int, not str"),  # type: ignore[arg-type]
    "error 5": (Reply(error=5), "the reply's error is int, not str"),  # type: ignore[arg-type]
    "audio text": (Reply(audio="a.wav"), "the reply's audio is str, not bytes"),  # type: ignore[arg-type]
    "audio array": (Reply(audio=bytearray(b"RIFF")), "the reply's audio is bytearray"),  # type: ignore[arg-type]
    "usage None": (Reply("low", usage=None), "the reply's usage is NoneType"),  # type: ignore[arg-type]
    "usage NaN": (Reply("low", usage={"cost": float("nan")}), "the reply's usage has 'cost': float, not"),
    "usage text": (Reply("low", usage={"cost": "3"}), "the reply's usage has 'cost': str, not"),  # type: ignore[dict-item]
    "usage numpy": (Reply("low", usage={"cost": np.float32(1)}), "the reply's usage has 'cost': float32"),  # type: ignore[dict-item]
    "usage huge": (Reply("low", usage={"cost": 10**400}), "the reply's usage has 'cost': int, not"),
    "usage negative": (Reply("low", usage={"cost": -1}), "the reply's usage has 'cost': int, not"),
    "usage number": (Reply("low", usage={1: 1}), "the reply's usage has 1: int, not"),  # type: ignore[dict-item]
    "exception": (UnspeakableError(), "UnspeakableError: its message cannot be had: RuntimeError"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_reply_of_the_wrong_form_is_an_error_of_its_sample(case: str, make_task: MakeTask, tmp_path: Path) -> None:
    returned, reason = WRONG[case]

    def model(request: otoscope.Request) -> Any:
        if "tone 1" not in request.instruction:
            return "low"
        if isinstance(returned, Exception):
            raise returned
        return returned

    [missing] = run(make_task(3), model, tmp_path / "run").missing
    assert missing.sample == "r1"
    assert missing.reason.startswith(reason)


@pytest.mark.parametrize(
    ("replies", "reason"),
    [(["low"], "the model gave str where a Reply is due"), (None, "the model gave NoneType where a list of Reply is")],
)
def test_an_object_that_gives_no_replies_is_told_so(
    replies: Any, reason: str, make_task: MakeTask, tmp_path: Path
) -> None:
    class Object(FunctionModel):
        def answer(self, requests: Sequence[otoscope.Request]) -> Any:
            return replies and replies * len(requests)

    result = otoscope.run(str(make_task(2)), model=Object(answering("")), folder=tmp_path / "run")
    assert [row.reason.startswith(reason) for row in result.missing] == [True, True]


class Breaking:
    """An object as its users write it: it answers in batches, and raises at tone 0."""

    id, batch, concurrency = "breaking", 2, 1
    settings: Mapping[str, Any] = {}
    intake = Intake()

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
        if any("tone 0" in request.instruction for request in requests):
            raise self.error
        return [Reply("low") for _ in requests]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("out of memory"), "RuntimeError: out of memory"),
        (KeyError("weights"), "KeyError: 'weights'"),
        (UnspeakableError(), "UnspeakableError: its message cannot be had: RuntimeError"),
        (ModelCallError("busy"), "busy"),
    ],
)
def test_what_an_object_raises_costs_its_batch(
    error: Exception, reason: str, make_task: MakeTask, tmp_path: Path
) -> None:
    result = otoscope.run(str(make_task(5)), model=Breaking(error), judge="rules", folder=tmp_path / "run")
    assert [(row.sample, row.outcome, row.reason) for row in result.missing] == [
        ("r0", "error", reason),
        ("r1", "error", reason),
    ]


@pytest.mark.parametrize("error", [ModelLoadingError("no weights"), KeyboardInterrupt()])
def test_what_stops_a_run_stops_it_from_an_object_too(
    error: BaseException, make_task: MakeTask, tmp_path: Path
) -> None:
    with pytest.raises(type(error)):
        otoscope.run(str(make_task(2)), model=Breaking(error), judge="rules", folder=tmp_path / "run")


def test_what_a_model_of_the_package_raises_is_not_taken_for_an_answer(
    make_task: MakeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(_self: object, _requests: object) -> list[Reply]:
        raise KeyError("our mistake")

    monkeypatch.setattr(NullModel, "answer", mistaken)
    with pytest.raises(KeyError, match="our mistake"):
        otoscope.run(str(make_task(2)), model=NullModel(), judge="rules", folder=tmp_path / "run")


@pytest.mark.parametrize("limit", ["3", True, [3], float("nan"), 0, -1])
def test_a_limit_that_is_no_number_of_samples_is_named(limit: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^--limit .*: give a number of samples"):
        otoscope.run("starter", model="null", limit=limit, folder=tmp_path / "run")
    with pytest.raises(UsageError, match=r"^--limit .*: give a number of samples"):
        otoscope.probe("null", limit=limit)


def test_settings_that_cannot_be_stored_are_refused(tmp_path: Path) -> None:
    model = FunctionModel(answering("low"))
    for value in (float("nan"), {1, 2}, "\ud83d"):
        model.settings = {"temperature": value}
        with pytest.raises(ModelLoadingError, match="its settings cannot be stored as JSON"):
            otoscope.run("starter", model=model, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_models_with_like_names_have_folders_of_their_own(
    make_task: MakeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, model = str(make_task(1)), FunctionModel(answering("low"))
    monkeypatch.chdir(tmp_path)
    folders = []
    for name in ("a/b", "a-b", "a b", "x" * 80, "x" * 81, "x" * 82):
        model.id = name
        folders.append(otoscope.run(task, model=model).folder.name.partition("--")[2])
    assert len(set(folders)) == 6
    assert (folders[1], folders[3]) == ("a-b", "x" * 80), "a plain name stays as it is"


def test_options_are_for_a_model_that_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="model_options are for a model that is named"):
        otoscope.run("starter", model=answering(""), model_options={"threads": "2"}, folder=tmp_path / "run")


def test_a_model_that_loses_replies_fails_its_batch(make_task: MakeTask, tmp_path: Path) -> None:
    class Losing(FunctionModel):
        def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
            return super().answer(requests)[1:]

    result = otoscope.run(str(make_task(2)), model=Losing(Counting()), judge="rules", folder=tmp_path / "run")
    assert {row.reason for row in result.missing} == {"the model gave 0 replies to 1 requests"}


def test_two_runs_are_replayed_apart(make_task: MakeTask, tmp_path: Path) -> None:
    task, replayed = make_task(2), tmp_path / "replayed"
    for word in ("low", "high"):
        run(task, answering(word), tmp_path / word)
    answers = []
    for word in ("low", "high"):
        run(task, f"replay/{tmp_path / word}", replayed)
        answers.append(
            {json.loads(line)["answer"] for line in (replayed / "predictions.jsonl").read_text().splitlines()}
        )
    assert answers == [{"low"}, {"low", "high"}]


def test_a_stopped_command_leaves_the_finished_run_as_it_was(make_task: MakeTask, tmp_path: Path) -> None:
    task, folder = make_task(4), tmp_path / "run"
    run(task, Counting(), folder)
    before = (folder / "samples.jsonl").read_bytes()

    class StopError(Exception):
        """What nobody catches."""

    def watch(_event: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        run(task, Counting(), folder, limit=2, watch=watch)
    with pytest.raises(otoscope.OtoscopeError, match="--limit nan"):
        run(task, Counting(), folder, limit=float("nan"))
    assert (folder / "samples.jsonl").read_bytes() == before
    assert otoscope.score_run(folder).scores[0].n == 4


def test_an_interrupted_first_run_can_be_scored_as_far_as_it_came(make_task: MakeTask, tmp_path: Path) -> None:
    class StopError(BaseException):
        """As an interrupt."""

    counting, seen = Counting(), 0

    def watch(_event: object) -> None:
        nonlocal seen
        seen += 1
        if seen > 3:
            raise StopError

    with pytest.raises(StopError):
        run(make_task(6), counting, tmp_path / "run", watch=watch)
    result = otoscope.score_run(tmp_path / "run")
    assert result.scores[0].n == 6
    assert result.scores[0].counts["missing"] > 0


def test_a_run_is_scored_by_the_rules_that_judged_it(make_task: MakeTask, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(make_task(3), Counting(), folder)
    for name in ("header.jsonl", "judgements.jsonl"):
        (folder / name).write_text((folder / name).read_text().replace(RULES, "rules-0"))
    judgements = [json.loads(line) for line in (folder / "judgements.jsonl").read_text().splitlines()]
    assert {row["judge"] for row in judgements} == {"rules-0"}
    stored = otoscope.score_run(folder)
    assert stored.judge == "rules-0"
    assert stored.missing, "keys name the version, so these were made by other rules"


@pytest.mark.parametrize("name", ["header.jsonl", "tasks.json", "samples.jsonl"])
def test_a_damaged_file_of_a_run_is_named(make_task: MakeTask, tmp_path: Path, name: str) -> None:
    run(make_task(3), Counting(), tmp_path / "run")
    (tmp_path / "run" / name).write_text("{broken\n")
    with pytest.raises(otoscope.OtoscopeError, match=name):
        otoscope.score_run(tmp_path / "run")


SLOW = """
import sys, time
import otoscope

def slow(request):
    time.sleep(0.02)
    return "high" if len(request.instruction) % 2 else "low"

otoscope.run(sys.argv[1], model=slow, judge="rules", folder=sys.argv[2])
"""


def spawn(task: Path, folder: Path, seed: str = "0") -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.Popen([sys.executable, "-c", SLOW, str(task), str(folder)], text=True, env=environment)


def test_kill_9_at_any_time_then_the_same_command(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(60)
    start = time.monotonic()
    with spawn(task, tmp_path / "undisturbed") as process:
        assert process.wait() == 0
    whole = time.monotonic() - start  # so that kills fall into a run on a machine of any speed
    chance, kills, rounds = random.Random(1), 0, 0
    while kills < KILLS:
        folder = tmp_path / f"disturbed-{rounds}"
        rounds += 1
        while True:
            with spawn(task, folder, seed=str(kills)) as process:
                try:
                    assert process.wait(timeout=chance.uniform(0.1, 1.2) * whole) == 0
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    kills += 1
        assert timeless(folder) == timeless(tmp_path / "undisturbed")
        keys = [json.loads(line)["key"] for line in (folder / "predictions.jsonl").read_text().splitlines()]
        assert len(keys) == len(set(keys)) == 60


def test_a_wrong_row_stops_its_task_and_no_other(make_task: MakeTask, tmp_path: Path) -> None:
    bad, good = make_task(3, name="bad"), make_task(3, name="good")
    rows = (bad / "samples.jsonl").read_text()
    (bad / "samples.jsonl").write_text(rows.replace('"id": "r2"', '"id": "r1"'))
    names = [str(bad), str(good)]
    result = otoscope.run(names, model=Counting(), judge="rules", folder=tmp_path / "run")
    assert [score.task for score in result.scores] == ["good"]
    [missing] = result.missing
    assert (missing.task, missing.outcome) == ("bad", "error")
    assert "row 3: id 'r1' is used twice" in missing.reason
    (bad / "samples.jsonl").write_text(rows)
    again = otoscope.run(names, model=Counting(), judge="rules", folder=tmp_path / "run")
    assert [score.n for score in again.scores] == [3, 3]


@pytest.mark.parametrize(("unit", "value"), [("degrees", 20.0), ("deg", 20.0), ("radians", None)])
def test_angles_are_measured_in_the_unit_that_the_task_names(
    make_task: MakeTask, unit: str, value: float | None
) -> None:
    folder = make_task(1)
    form = {"type": "number", "unit": unit}
    task = {"name": "turn", "kind": "regression", "metrics": ["angle_difference"], "target_format": form}
    (folder / "task.json").write_text(json.dumps(task))
    row = {"audio": "0.wav", "instruction": "From which direction does the sound come?", "label": "350"}
    (folder / "samples.jsonl").write_text(json.dumps(row) + "\n")
    (score,) = otoscope.run(folder, model=lambda _request: "10", folder=folder.parent / "run").scores
    assert score.value == (value if value is None else pytest.approx(value))
