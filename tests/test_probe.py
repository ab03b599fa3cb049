"""Deaf models of several kinds are found, hearing ones are cleared, and what cannot be told is not claimed."""

import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeTask

import otoscope
from otoscope.datasets import read_samples
from otoscope.judges.options import listed
from otoscope.models.function import FunctionModel
from otoscope.probing import ALPHA, DEFAULT_TASKS, MOST_CHANGED, Probe
from otoscope.runner.controls import pair_up
from otoscope.task import read_task, select_tasks
from otoscope.weights import fetch


def probe_cli(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "probe", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hear(request: otoscope.Request) -> str:
    """Tell the parity of a tone of ``make_task`` from its frequency."""
    samples = request.audios[0].samples
    frequency = np.argmax(np.abs(np.fft.rfft(samples))) / request.audios[0].seconds
    return "low" if round((frequency - 200) / 10) % 2 else "high"


def majority_label() -> Callable[[otoscope.Request], str]:
    """Return a model that knows the most frequent target of every default task and gives it for each clip."""
    frequent = {
        sample.instruction: Counter(other.target for other in samples).most_common(1)[0][0]
        for task in select_tasks(DEFAULT_TASKS)
        for samples in [list(read_samples(task))]
        for sample in samples
    }
    return lambda request: frequent[request.instruction]


def first_option(request: otoscope.Request) -> str:
    return next(iter(listed(request.instruction)), ("nothing",))[0]


@pytest.mark.parametrize("model", ["null", majority_label(), first_option], ids=["silent", "majority", "instruction"])
def test_a_model_that_ignores_its_audio_is_deaf(model: Any) -> None:
    found = otoscope.probe(model)
    assert found.hearing == "deaf"
    assert found.contrasts[0].changed[:2] == (0, 40)
    assert found.contrasts[0].changed.high <= MOST_CHANGED
    assert (found.repetition, found.passed, found.failed) == ("repeats", False, True)
    right = {task.task: task.values["true"] for task in found.tasks}
    if model != "null":  # sometimes right, and deaf all the same
        assert any(0 < (value or 0) < 1 for value in right.values())
    assert all(task.values["true"] == task.values["swapped"] for task in found.tasks)


def test_a_model_that_hears_is_cleared(make_task: MakeTask) -> None:
    found = otoscope.probe(hear, str(make_task(10)), limit=10)
    assert (found.hearing, found.repetition, found.passed) == ("hears", "repeats", True)
    swapped, silence, none = found.contrasts
    assert (swapped.better, swapped.worse, swapped.p) == (10, 0, 2 * 0.5**10)
    assert swapped.changed[:2] == (10, 10)
    assert silence.better == 5  # of silence it says high, which half of the tones are
    assert (none.samples, none.p, none.error) == (0, 1.0, "IndexError: tuple index out of range")
    [task] = found.tasks
    assert task.values == {"true": 1.0, "swapped": 0.0, "silence": 0.5, "none": None, "again": 1.0}
    assert task.outcomes["none"] == {"error": 10}


def test_samples_of_one_source_have_one_vote(make_task: MakeTask) -> None:
    folder = make_task(10)
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    for row in rows:
        row["cluster"] = f"source {int(row['id'][1:]) // 5}"
    (folder / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = otoscope.probe(hear, str(folder), limit=10)
    assert (found.hearing, found.contrasts[0].better, found.contrasts[0].p) == ("cannot tell", 2, 0.5)


def test_answers_that_follow_the_clip_and_not_what_is_in_it_are_neither(make_task: MakeTask) -> None:
    def follow(request: otoscope.Request) -> str:
        return ["low", "high"][int("".join(audio.digest for audio in request.audios) or "0", 16) % 2]

    found = otoscope.probe(follow, str(make_task(40)), limit=40)
    assert found.hearing == "cannot tell"
    assert 5 < found.contrasts[0].changed.number < 35
    assert found.contrasts[0].p > ALPHA
    assert "answers change with the clip, but with the true clip the answers are better at" in found.because


def test_too_few_samples_are_too_few() -> None:
    found = otoscope.probe("null", limit=2)
    assert found.hearing == "cannot tell"
    assert found.because == (
        "too few samples to call it deaf: 0 of 10 answers change with the clip, at most 31% of all, "
        "which leaves 10% open"
    )


def test_a_model_that_only_fails_cannot_be_told_from_anything(make_task: MakeTask) -> None:
    def broken(_request: otoscope.Request) -> str:
        raise KeyError("weights")

    found = otoscope.probe(broken, str(make_task(3)))
    assert (found.hearing, found.repetition) == ("cannot tell", "cannot tell")
    assert "KeyError: 'weights'" in found.because
    assert not found.passed
    assert not found.failed


def test_a_model_that_draws_its_answers_does_not_repeat_itself(make_task: MakeTask) -> None:
    draw = random.Random(1)
    found = otoscope.probe(lambda _request: draw.choice(["low", "high"]), str(make_task(20)), limit=20)
    assert (found.repetition, found.failed) == ("does not repeat", True)
    assert len(found.differences) == 20 - found.repeated.number > 3
    assert all(row.first != row.second for row in found.differences)


class _Batched(FunctionModel):
    """Its answer depends on how many are asked at once, as with careless padding."""

    batch = 4

    def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
        return [otoscope.Reply(f"{hear(one)} {len(requests)}" if one.audios else "") for one in requests]


def test_the_second_time_batches_have_another_size(make_task: MakeTask) -> None:
    found = otoscope.probe(_Batched(hear), str(make_task(8)))
    assert found.repeated[:2] == (0, 8)
    assert {row.first[-1] + row.second[-1] for row in found.differences} == {"41"}


def test_the_second_time_the_order_is_another(make_task: MakeTask) -> None:
    numbers = itertools.count()
    found = otoscope.probe(lambda _request: f"answer {next(numbers)}", str(make_task(4)))
    assert [(row.first[7:], row.second[7:]) for row in found.differences] == [
        (str(place), str(19 - place)) for place in range(4)
    ]


def test_answers_that_name_one_option_are_counted_by_instruction(make_task: MakeTask) -> None:
    def wordy(request: otoscope.Request) -> str:
        return "It is low." if "tone 1" in request.instruction else "It may be low, or it may be high."

    found = otoscope.probe(wordy, str(make_task(4)))
    assert found.obedience[:2] == (1, 4)
    assert {row.instruction: row.obeyed.number for row in found.instructions} == {
        f"Is tone {number} low or high?": int(number == 1) for number in range(4)
    }


def test_values_and_words_are_compared_with_their_targets(make_task: MakeTask) -> None:
    lengths = make_task(8, name="lengths", kind="regression", metrics=["pearson", "mae"])
    rows = [json.loads(line) for line in (lengths / "samples.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        row["label"] = str(200 + 10 * number)
    (lengths / "samples.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def measure(request: otoscope.Request) -> str:
        samples = request.audios[0].samples
        return str(np.argmax(np.abs(np.fft.rfft(samples))) / request.audios[0].seconds)

    found = otoscope.probe(measure, str(lengths))
    assert (found.hearing, found.tasks[0].metric) == ("hears", "mae")
    assert (found.tasks[0].values["true"] or 0) < 1 < (found.tasks[0].values["swapped"] or 0)


def test_a_task_without_a_metric_of_one_sample_is_refused(make_task: MakeTask) -> None:
    folder = make_task(4, kind="regression", metrics=["pearson"])
    with pytest.raises(otoscope.OtoscopeError, match="pearson cannot be told of one sample"):
        otoscope.probe(hear, str(folder))


def test_a_swapped_clip_has_another_target(make_task: MakeTask) -> None:
    task = read_task(make_task(5) / "task.json")
    pairs = pair_up(task, list(read_samples(task)))
    assert all(pair.other and pair.other.target != pair.sample.target for pair in pairs)
    alone = pair_up(task, list(read_samples(task))[:1])
    assert alone[0].other is None
    found: Probe = otoscope.probe(hear, str(task.file.parent), limit=1)
    assert found.because.endswith("no other sample of the task has another target")


def test_exit_statuses_and_json() -> None:
    deaf = probe_cli("null", "--json")
    assert deaf.returncode == 4
    assert probe_cli("replay/nowhere").returncode == 1
    content = json.loads(deaf.stdout)
    assert (content["hearing"], content["alpha"], content["tasks"][0]["samples"]) == ("deaf", ALPHA, 8)
    assert probe_cli("null", "--limit", "2").returncode == 3
    assert probe_cli("null", "--limit", "some").returncode == 2
    assert "Hearing: deaf: 0 of 40 answers change with the clip" in probe_cli("null").stdout


def test_the_cascade_is_cleared() -> None:
    for name in ("whisper-base", "qwen2.5-coder-1.5b"):
        assert fetch(name).is_dir()
    result = probe_cli("cascade", "starter/spoken-number", "--limit", "6")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Hearing: hears: with the true clip the answers are better at 6 sources and worse at 0" in result.stdout
    assert "Repetition: repeats: 6 of 6" in result.stdout
