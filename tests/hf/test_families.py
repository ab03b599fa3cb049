"""Each family of the transformers library end to end: real classes, random weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from conftest import MakeTask
from tiny import FAMILIES, tiny_folder, torch

import otoscope
from otoscope.audio import Audio, LimitPolicy, fit
from otoscope.models import Request, load_model
from otoscope.models import transformers as adapter
from otoscope.models.transformers import TransformersModel

SHORT = {"max_tokens": "8", "device": "cpu"}


def sound(seconds: float, pitch: float, beat: float = 2.0) -> Any:
    times = np.arange(round(seconds * 16_000)) / 16_000
    noise = np.random.default_rng(round(pitch)).standard_normal(len(times))
    wave = 0.3 * np.sin(2 * np.pi * pitch * times) * (1 + np.sin(2 * np.pi * beat * times)) + 0.02 * noise
    return wave.astype(np.float32)


def clip(seconds: float, pitch: float, beat: float = 2.0) -> Audio:
    return Audio(sound(seconds, pitch, beat), 16_000, f"{seconds} {pitch} {beat}")


def ask(model: TransformersModel, *clips: Audio, instruction: str = "What is it?") -> Request:
    [fitting] = fit(clips, model.intake, "cut")
    return Request(tuple(fitting), instruction)


def load(folder: Path, **options: str) -> TransformersModel:
    model = load_model(f"hf/{folder}", {**SHORT, **options})
    assert isinstance(model, TransformersModel)
    return model


def test_every_family_has_a_tiny_model() -> None:
    assert set(FAMILIES) == set(adapter.FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_the_same_in_any_batch_and_follow_the_audio(family: str) -> None:
    alone, together = load(tiny_folder(family), batch="1"), load(tiny_folder(family), batch="4")
    requests = [ask(alone, clip(0.8 + 0.6 * n, 150 * 3**n, 2 + n), instruction="Why" + n * "?") for n in range(4)]
    same = [ask(alone, clip(1.0, 150 * 3**n, 2 + n)) for n in range(4)]
    first, second = clip(1.0, 200), clip(1.7, 2000, 5)
    pairs = [ask(alone, first, second), ask(alone, second, first), ask(alone, first, first)]
    unheard = [Request((), "What is it?")]
    requests += [*same, *pairs, *unheard]
    replies = alone.answer(requests)
    assert [reply.error for reply in replies] == [""] * len(requests)
    assert together.answer(requests) == replies
    assert together.answer(requests[::-1]) == replies[::-1]
    answers = [reply.answer for reply in replies]
    assert len(set(answers[4:8])) > 1
    assert len(set(answers[8:11])) > 1
    assert all(0 < reply.usage["completion_tokens"] <= 8 for reply in replies)
    assert not any("What is it?" in reply.answer for reply in replies)
    assert sum(map(bool, answers)) > len(answers) // 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_under_each_policy(family: str, make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(2)
    soundfile.write(task / "long.wav", sound(45, 400), 16_000)
    rows = [json.loads(line) for line in (task / "samples.jsonl").read_text().splitlines()]
    rows += [{**rows[0], "id": "two", "audio2": "1.wav"}, {**rows[0], "id": "long", "audio": "long.wav"}]
    (task / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    longest = load(tiny_folder(family)).intake.longest
    policies: tuple[LimitPolicy, ...] = ("cut", "chunk", "refuse")
    for policy in policies:
        options = {**SHORT, "max_tokens": "2", "batch": "3"}
        result = otoscope.run(
            task, model=f"hf/{tiny_folder(family)}", model_options=options, policy=policy, folder=tmp_path / policy
        )
        logged = (tmp_path / policy / "predictions.jsonl").read_text().splitlines()
        predictions = {row["sample"]: row for row in map(json.loads, logged)}
        assert set(predictions) == {"r0", "r1", "two", "long"}
        long = predictions.pop("long")
        assert {row["status"] for row in predictions.values()} == {"ok"}
        assert ("joined" in str(predictions["two"]["audio"])) == (load(tiny_folder(family)).intake.clips == 1)
        if longest is None or longest >= 45:
            assert (long["status"], long["audio"]) == ("ok", [])
        elif policy == "refuse":
            assert long["reason"].startswith("too-long")
        else:
            kept = ["cut: kept 0 to 30 s of 45.00 s"]
            if policy == "chunk":
                kept = ["chunked: kept 0 to 30 s of 45.00 s", "chunked: kept 30 to 45 s of 45.00 s"]
            assert (long["status"], long["audio"]) == ("ok", kept)
        assert result.folder == tmp_path / policy


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_takes_the_same_inputs(family: str) -> None:
    model = load(tiny_folder(family), dtype="bfloat16", max_tokens="2")
    [reply] = model.answer([ask(model, clip(1.0, 300))])
    assert reply.error == ""
    assert model._model.dtype == torch.bfloat16  # noqa: SLF001 - no answer shows it
