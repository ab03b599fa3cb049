"""Two runs compared sample by sample."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import soundfile
from conftest import MakeTask

import otoscope
from otoscope.audio import Intake
from otoscope.compare import compare_runs
from otoscope.errors import ModelCallError, RunError
from otoscope.runner.folder import read_header
from otoscope.stats import mcnemar

ROWS = 12


def answering(answer: Callable[[int], str]) -> Callable[[otoscope.Request], str]:
    """Return a model that answers by the number of the tone."""

    def model(request: otoscope.Request) -> str:
        return answer(int(request.instruction.split()[2]))

    return model


def right(number: int) -> str:
    return "low" if number % 2 else "high"


def right_below(limit: int) -> Callable[[int], str]:
    return lambda number: right(number) if number < limit else right(number + 1)


def right_but_for(wrong: set[int]) -> Callable[[int], str]:
    return lambda number: right(number + (number in wrong))


def run(task: Path, answer: Callable[[int], str], folder: Path, **options: Any) -> Path:
    otoscope.run(str(task), model=answering(answer), judge="rules", folder=folder, **options)
    return folder


def add_to_rows(task: Path, change: Callable[[int], dict[str, Any]]) -> None:
    lines = (task / "samples.jsonl").read_text().splitlines()
    rows = [{**json.loads(line), **change(number)} for number, line in enumerate(lines)]
    (task / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_difference_its_test_and_the_flips(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)
    found = compare_runs(run(task, right, tmp_path / "a"), run(task, right_below(5), tmp_path / "b"))
    [compared] = found.tasks
    [row] = compared.differences
    assert [row.a, row.b, row.difference, row.n] == pytest.approx([1, 5 / 12, 7 / 12, ROWS])
    assert (row.test, row.p, row.adjusted) == ("mcnemar", mcnemar(7, 0), row.p)
    assert row.low is not None
    assert row.high is not None
    assert 0 < row.low < 7 / 12 < row.high < 1
    assert [flip.sample for flip in compared.flips] == [f"r{number}" for number in range(5, ROWS)]
    assert compared.flips[0]._asdict() == {
        "sample": "r5",
        "target": "low",
        "right": "a",
        "answer_a": "low",
        "answer_b": "high",
    }
    assert found.complete


def test_exchanging_the_runs_changes_the_sign_alone(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)
    a, b = run(task, right, tmp_path / "a"), run(task, right_below(5), tmp_path / "b")
    [one], [other] = (compare_runs(*runs).tasks[0].differences for runs in ((a, b), (b, a)))
    assert one.low is not None
    assert one.high is not None
    assert other.p == one.p
    assert [other.difference, other.low, other.high] == pytest.approx([-7 / 12, -one.high, -one.low])


def test_samples_of_one_source_are_exchanged_together(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)
    add_to_rows(task, lambda number: {"cluster": f"speaker {number // 4}"})
    a, b = run(task, right, tmp_path / "a"), run(task, right_below(0), tmp_path / "b")
    [row] = compare_runs(a, b).tasks[0].differences
    assert (row.test, row.clusters, row.p) == ("sign-flip", 3, 2 / 2**3)


def test_few_sources_are_told_where_the_interval_and_the_test_may_disagree(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(24)
    add_to_rows(task, lambda number: {"cluster": f"speaker {number % 8}"})
    a, b = run(task, right, tmp_path / "a"), run(task, right_but_for({0, 8, 16, 1, 9, 2, 3}), tmp_path / "b")
    [compared] = compare_runs(a, b).tasks
    [row] = compared.differences
    assert row.low is not None
    assert row.p is not None
    assert row.low > 0
    assert row.p > 0.05
    [note] = compared.notes
    assert note.startswith("with fewer than 20 sources the bootstrap interval is too narrow")


def test_many_sources_and_undefined_intervals_need_no_note(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(20)
    a, b = run(task, right, tmp_path / "a"), run(task, right_below(10), tmp_path / "b")
    assert compare_runs(a, b).tasks[0].notes == ()
    assert compare_runs(a, run(task, right, tmp_path / "c", limit=5)).tasks[0].notes == ()


def test_p_values_are_adjusted_over_tasks(make_task: MakeTask, tmp_path: Path) -> None:
    tasks = [str(make_task(ROWS, name=name)) for name in ("one", "two")]
    for name, limit in (("a", ROWS), ("b", 3)):
        otoscope.run(tasks, model=answering(right_below(limit)), judge="rules", folder=tmp_path / name)
    rows = [row for task in compare_runs(tmp_path / "a", tmp_path / "b").tasks for row in task.differences]
    assert [row.task for row in rows] == ["one", "two"]
    assert [(row.p, row.adjusted) for row in rows] == [(mcnemar(9, 0), 2 * mcnemar(9, 0))] * 2
    command = [sys.executable, "-m", "otoscope", "compare", str(tmp_path / "a"), str(tmp_path / "b")]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert table.count("note: one, two: with fewer than 20 sources") == table.count("note: ") == 1


def test_only_samples_with_two_outcomes_count(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)

    def broken(number: int) -> str:
        if number < 3:
            raise ModelCallError("out of order")
        return right(number)

    a, b = run(task, right, tmp_path / "a", limit=8), run(task, broken, tmp_path / "b")
    found = compare_runs(a, b)
    [compared] = found.tasks
    chosen = {json.loads(line)["id"] for line in (a / "samples.jsonl").read_text().splitlines()}
    failed = {"r0", "r1", "r2"}
    counts = {
        "ok / error": len(chosen & failed),
        "absent / error": len(failed - chosen),
        "absent / ok": ROWS - len(chosen | failed),
    }
    assert compared.left_out == {outcomes: count for outcomes, count in counts.items() if count}
    assert compared.differences[0].n == len(chosen - failed)
    assert not found.complete


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "target": ({"label": "high"}, "another target"),
    "clip": ({"audio": "3.wav"}, "other audio"),
    "clips": ({"audio2": "3.wav"}, "other audio"),
    "instruction": ({"instruction": "Is tone 1 low?"}, "another instruction"),
    "text": ({"text": "Think twice."}, "another text"),
    "options": ({"options": ["low", "high", "none"]}, "other options"),
    "source": ({"cluster": "a flute"}, "another source"),
    "several": ({"label": "high", "audio": "3.wav"}, "another target, other audio"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_sample_that_is_not_the_same_in_both_runs_is_left_out(name: str, make_task: MakeTask, tmp_path: Path) -> None:
    change, state = CHANGES[name]
    task = make_task(4)
    a = run(task, right, tmp_path / "a")
    add_to_rows(task, lambda number: change if number == 1 else {})
    found = compare_runs(a, run(task, right, tmp_path / "b"))
    [compared] = found.tasks
    assert compared.left_out == {state: 1}
    assert compared.differences[0].n == 3
    assert not found.complete


def test_rows_that_moved_beneath_their_numbers_are_not_paired(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    file = task / "samples.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    runs = []
    for folder, listed in (("a", rows), ("b", [rows[1], *rows])):
        numbered = [{**row, "id": str(number)} for number, row in enumerate(listed)]
        file.write_text("".join(json.dumps(row) + "\n" for row in numbered))
        runs.append(run(task, right, tmp_path / folder))
    found = compare_runs(*runs)
    moved = "another target, other audio, another instruction"
    assert found.tasks[0].left_out == {moved: 4, "absent / ok": 1}
    assert found.tasks[0].differences[0].p is None
    assert not found.complete


def test_models_that_take_audio_differently_are_paired(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    add_to_rows(task, lambda number: {"audio2": f"{3 - number}.wav"})

    class Narrow:
        id: str = "narrow"
        settings: ClassVar[dict[str, str]] = {}
        intake = Intake(rate=8_000, clips=1, longest=0.8)
        batch = concurrency = 1

        def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
            return [otoscope.Reply(right(int(request.instruction.split()[2]))) for request in requests]

    a, b = run(task, right, tmp_path / "a"), tmp_path / "b"
    otoscope.run(str(task), model=Narrow(), judge="rules", folder=b)
    found = compare_runs(a, b)
    assert (found.tasks[0].differences[0].n, found.complete) == (4, True)


def test_runs_that_read_no_row_are_not_complete(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    (task / "samples.jsonl").write_text("")
    found = compare_runs(run(task, right, tmp_path / "a"), run(task, right, tmp_path / "b"))
    assert (found.tasks[0].left_out, found.complete) == ({}, False)


def test_a_clip_that_one_run_could_not_decode_is_an_error_there_and_no_other_clip(
    make_task: MakeTask, tmp_path: Path
) -> None:
    task = make_task(4)
    a = run(task, right, tmp_path / "a")
    (task / "1.wav").write_bytes(b"")
    assert compare_runs(a, run(task, right, tmp_path / "b")).tasks[0].left_out == {"ok / error": 1}


def test_errors_of_sequences_are_compared_by_sources(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS, kind="sequence", metrics=["wer", "cer"])
    a, b = run(task, right, tmp_path / "a"), run(task, right_below(4), tmp_path / "b")
    [compared] = compare_runs(a, b).tasks
    assert [(row.metric, row.test) for row in compared.differences] == [("wer", "sign-flip"), ("cer", "sign-flip")]
    assert [compared.differences[0].difference, compared.differences[0].p] == pytest.approx([-8 / 12, 2 / 2**8])
    assert compared.flips == ()


def test_refusing_hard_samples_is_told_beside_the_difference(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4, kind="regression", metrics=["mae"])
    add_to_rows(task, lambda number: {"label": str(number)})
    a = run(task, lambda number: str(number + 1) if number < 2 else "I cannot tell.", tmp_path / "a")
    b = run(task, lambda number: str(number + (2 if number < 2 else 9)), tmp_path / "b")
    found = compare_runs(a, b)
    [compared] = found.tasks
    [row] = compared.differences
    assert (row.a, row.b, row.n, row.na_rate_a, row.na_rate_b) == (1, 2, 2, 0.5, 0)
    assert compared.left_out == {"na / ok": 2}
    [note, *_] = compared.notes
    assert note.startswith("A gave no value on 2 of 4, B on 0 of 4; the difference is over the samples")
    assert found.complete
    assert found.to_json()["notes"] == {"tones": list(compared.notes)}
    command = [sys.executable, "-m", "otoscope", "compare", str(a), str(b)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "50%, 0%" in table
    assert f"note: tones: {note}" in table


def test_equal_rates_of_answers_without_a_value_need_no_note(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(24, kind="regression", metrics=["mae"])
    add_to_rows(task, lambda number: {"label": str(number)})
    a = run(task, lambda number: str(number + 1) if number else "N/A", tmp_path / "a")
    b = run(task, lambda number: str(number + 2) if number else "N/A", tmp_path / "b")
    [compared] = compare_runs(a, b).tasks
    assert compared.differences[0].na_rate_a == compared.differences[0].na_rate_b == pytest.approx(1 / 24)
    assert compared.notes == ()


def test_samples_that_a_gate_kept_from_one_run_alone_are_told(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)
    for number in range(5):
        soundfile.write(task / f"{number}.wav", np.zeros(4000 + number), 16_000)
    add_to_rows(task, lambda number: {"expect": "abstain"} if number in {3, 4} else {})
    gated, alone = run(task, right, tmp_path / "a", gate="energy"), run(task, right, tmp_path / "b")
    found = compare_runs(gated, alone)
    [compared] = found.tasks
    assert compared.left_out == {"abstained / ok": 3, "abstained / unsupported": 2}
    assert compared.notes[-1] == (
        "a gate kept A from answering 5 samples that B answered (2 of them hold nothing to answer), and B from "
        "answering 0 samples that A answered; the difference is over the samples that both answered"
    )
    assert found.complete
    assert "B from answering 5 samples that A answered" in compare_runs(alone, gated).tasks[0].notes[-1]
    assert not any("gate" in note for note in compare_runs(gated, gated).tasks[0].notes)


def test_runs_of_different_judges_are_refused(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    a, b = run(task, right, tmp_path / "a"), run(task, right, tmp_path / "b")
    header = read_header(b)
    header["judge"] = {"spec": "llm:x", "id": "llm:x", "rules": "rules-1", "llm": {"id": "x", "settings": {"seed": 1}}}
    (b / "header.jsonl").write_text(json.dumps(header) + "\n")
    with pytest.raises(RunError, match=r'rules-\d+, .*llm:x with {"seed": 1}.*--force'):
        compare_runs(a, b)
    found = compare_runs(a, b, force=True)
    assert found.tasks[0].left_out == {"ok / missing": 4}
    assert found.tasks[0].differences[0].p is None


def test_runs_without_a_common_task_are_refused(make_task: MakeTask, tmp_path: Path) -> None:
    runs = [run(make_task(2, name=name), right, tmp_path / f"run-{name}") for name in ("one", "two")]
    with pytest.raises(RunError, match=r"run-one has one; .*run-two has two"):
        compare_runs(*runs)


def test_the_command_prints_a_table_or_one_document(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(ROWS)
    runs = run(task, right, tmp_path / "a"), run(task, right_below(5), tmp_path / "b")
    command = [sys.executable, "-m", "otoscope", "compare", *map(str, runs)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "note: tones: with fewer than 20 sources" in table
    assert "flipped: tones r5: 'low' is right, A said 'low', B said 'high'" in table
    assert f"A: {runs[0]}, model" in table
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert found == json.loads(json.dumps(compare_runs(*runs).to_json()))
    assert found["complete"]
    assert len(found["flips"]) == 7


def test_the_command_fails_where_samples_are_not_the_same(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(4)
    a = run(task, right, tmp_path / "a")
    add_to_rows(task, lambda number: {"instruction": f"Is tone {number} low?"})
    b = run(task, right, tmp_path / "b")
    command = [sys.executable, "-m", "otoscope", "compare", str(a), str(b)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "left out: tones: 4 samples (another instruction)" in found.stdout
