"""The report over real run folders: the set mini, functions as models, a gate of energy alone."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import write_clip
from sure_sets import build_mini, read_rows

import otoscope
from otoscope.audio import Intake, read_audio
from otoscope.cli.main import cli
from otoscope.errors import RunError, UsageError
from otoscope.gate.calibrate import Plan, calibrate, save
from otoscope.gate.evidence import Energy
from otoscope.gate.rule import CONDITIONS, Gate, Measured, write_gate
from otoscope.gate.signal import Heard, Scores
from otoscope.report.sure import render
from otoscope.runner.folder import RunFolder
from otoscope.runner.gating import decision_key
from otoscope.runner.replay import Frozen, replay, told_apart
from otoscope.sure.control import build_control
from otoscope.sure.plan import Settings
from otoscope.sure.report import build
from otoscope.sure.runs import read_runs
from otoscope.task import read_task
from otoscope.weights import fetch

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]


def knowing(folder: Path, otherwise: str) -> Callable[[otoscope.Request], str]:
    """Return a model that knows every transcript, and says ``otherwise`` where there is none."""
    labels: dict[tuple[str, str], str] = {}
    for row in read_rows(folder):
        labels[read_audio(folder / row["audio"]).digest, row["instruction"]] = row["label"]

    def model(request: otoscope.Request) -> str:
        return labels[request.audios[0].digest, request.instruction] or otherwise

    model.__qualname__ = f"knowing-{otherwise or 'nothing'}"
    return model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_mini(tmp_path_factory.mktemp("sure") / "set").folder


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "talker"
    otoscope.run(str(folder), model=knowing(folder / "test", "You"), judge="rules", folder=path)
    return path


def report(runs: list[Path], *specs: str, cost: float = 0.5) -> Json:
    gates = replay(runs, specs)
    return build(read_runs(runs, gates), gates, cost)


def test_energy_turns_silence_away_and_nothing_else(run: Path) -> None:
    alone, behind = report([run], "energy")["models"]
    assert (alone["gate"], behind["gate"]) == ("none", "energy")
    assert alone["system_rejection"]["count"] == 0
    assert (behind["gate_rejection"]["count"], behind["gate_rejection"]["of"]) == (5, 29)
    assert behind["supported_accuracy"]["value"] == behind["retention"]["value"] == 1.0
    assert (behind["calls"], behind["rows"]) == (69, 74)
    assert behind["wer"] == {"value": 0, "errors": 0, "words": 440, "answered": 40, "of": 40, "sources": None}
    assert alone["seconds_with"] == alone["seconds_without"] == alone["model_seconds"] == behind["seconds_without"]


def test_each_stage_of_a_gate_has_its_seconds_and_its_clips(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("webrtcvad")
    found = report([shutil.copytree(run, tmp_path / "run")], "energy+webrtc", "webrtc")
    both, alone = (front["stages"] for front in found["front_ends"])
    assert list(both) == ["read", "energy", "webrtc"]
    assert [stage["clips"] for stage in both.values()] == [74, 74, 69]  # silence comes to no detector
    assert list(alone) == ["read", "webrtc"]
    assert all(stage["seconds"] > 0 for stage in (*both.values(), *alone.values()))
    for front in found["front_ends"]:
        assert sum(stage["seconds"] for stage in front["stages"].values()) < 3 * front["seconds"]
    lines = [line for line in render(found).splitlines() if "| webrtc | 0." in line]
    assert lines[0].endswith("| 69 |")


def rewrite(file: Path, change: Callable[[Json], Json]) -> None:
    rows = [change(json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def test_seconds_of_a_gate_that_takes_long_now_and_then_are_no_medians(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run")
    replay([path], ["energy"])
    contents = {row["id"]: "".join(row["content"]) for row in read_rows(path)}
    kinds = {contents[row["id"]]: row["meta"]["kind"] for row in read_rows(path)}
    slow = sorted(content for content, kind in kinds.items() if kind == "supported")[:20]
    hears = {row["id"] for row in read_rows(path) if contents[row["id"]] in slow}
    rewrite(
        path / "decisions.jsonl",
        lambda row: {**row, "seconds": 2.0 if contents[row["sample"]] in slow else 0.001},
    )
    rewrite(path / "predictions.jsonl", lambda row: {**row, "seconds": 0.5 if row["sample"] in hears else 0.1})
    found = report([path], "energy")
    behind = found["models"][1]
    dear = len(hears)
    assert 20 <= dear < 37  # less than half, so that no median shows them
    assert (behind["gate_median"], behind["model_median"]) == (0.001, 0.1)
    without = (0.5 * dear + 0.1 * (74 - dear)) / 74
    gate = (2.0 * dear + 0.001 * (74 - dear)) / 74
    assert behind["seconds_without"] == pytest.approx(without)
    assert behind["seconds_with"] == pytest.approx(gate + without - 5 * 0.1 / 74)  # five silences are not asked about
    assert behind["break_even"] == pytest.approx(gate / without)
    assert behind["seconds_with"] > behind["seconds_without"]
    assert f"| {gate / without:.0%}: cannot save time |" in render(found)
    assert f"{gate:.3f}, median 0.001" in render(found)


def test_rows_that_failed_have_no_seconds(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run")
    rewrite(path / "predictions.jsonl", lambda row: {**row, "seconds": 1.0})
    replay([path], ["energy"])
    rewrite(path / "decisions.jsonl", lambda row: {**row, "seconds": 0.25})
    broken = read_rows(path)[0]["prediction"]
    rewrite(
        path / "predictions.jsonl",
        lambda row: {**row, "status": "error", "answer": "", "seconds": 99.0} if row["key"] == broken else row,
    )
    behind = report([path], "energy")["models"][1]
    assert (behind["failed"], behind["timed"]) == (1, 73)
    assert (behind["seconds_without"], behind["seconds_with"]) == (1.0, pytest.approx(0.25 + 68 / 73))


def test_what_a_model_behind_a_gate_was_not_asked_about_has_no_seconds(folder: Path, tmp_path: Path) -> None:
    otoscope.run(str(folder), model="null", judge="rules", folder=tmp_path / "live", gate="energy")
    rewrite(tmp_path / "live" / "predictions.jsonl", lambda row: {**row, "seconds": 1.0})
    rewrite(tmp_path / "live" / "decisions.jsonl", lambda row: {**row, "seconds": 0.25})
    found = report([tmp_path / "live"])
    [live] = found["models"]
    assert (live["gate_seconds"], live["model_seconds"], live["timed"]) == (0.25, 1.0, 74)
    assert (live["seconds_without"], live["break_even"]) == (None, None)
    assert live["seconds_with"] == pytest.approx(0.25 + 69 / 74)
    assert "| unknown | 1.182 | 74 |" in render(found)


class Paid:
    """A model that costs."""

    id, batch, concurrency = "paid", 1, 1
    settings: Mapping[str, Any] = {"price": 2}
    intake = Intake()

    def answer(self, requests: Sequence[otoscope.Request]) -> list[otoscope.Reply]:
        return [otoscope.Reply("You", usage={"cost": 2.0, "tokens": 3.0}) for _ in requests]


def test_cost_is_told_with_and_without_the_gate(folder: Path, tmp_path: Path) -> None:
    otoscope.run(str(folder), model=Paid(), judge="rules", folder=tmp_path / "paid")
    found = report([tmp_path / "paid"], "energy")
    alone, behind = found["models"]
    assert alone["usage_with"] == alone["usage_without"] == behind["usage_without"] == {"cost": 148, "tokens": 222}
    assert behind["usage_with"] == {"cost": 138, "tokens": 207}
    assert alone["break_even"] is None
    assert "| cost 138 of 148, tokens 207 of 222 |" in render(found)


def test_what_a_model_behind_a_gate_was_not_asked_about_has_no_cost(folder: Path, tmp_path: Path) -> None:
    otoscope.run(str(folder), model=Paid(), judge="rules", folder=tmp_path / "live", gate="energy")
    found = report([tmp_path / "live"], "energy")
    [live] = found["models"]
    assert live["usage_with"] == {"cost": 138, "tokens": 207}
    assert live["usage_without"] is None
    assert found["notes"] == []
    assert "| cost 138 of unknown, tokens 207 of unknown |" in render(found)


def test_a_gate_that_is_not_put_before_a_run_behind_another_is_told(folder: Path, run: Path, tmp_path: Path) -> None:
    otoscope.run(str(folder), model="null", judge="rules", folder=tmp_path / "live", gate="energy")
    write_gate(Gate("energy", {"energy": Energy(floor=0.0)}, []), tmp_path / "gate.json")
    alone = shutil.copytree(run, tmp_path / "alone")
    found = report([tmp_path / "live", alone], str(tmp_path / "gate.json"), "energy")
    assert [row["gate"] for row in found["models"]] == ["energy (live)", "none", "gate (energy)", "energy"]
    [note] = found["notes"]
    assert note.startswith("live was made behind a gate, energy, ")
    assert "not behind gate (energy): " in note
    command = ["sure", "report", str(tmp_path / "live"), "--gate", str(tmp_path / "gate.json")]
    printed = CliRunner().invoke(cli, command, catch_exceptions=False, standalone_mode=False)
    assert printed.return_value == 0
    assert "not behind gate (energy): " in printed.stdout


def test_rejection_never_stands_without_retention(run: Path) -> None:
    found = report([run], "energy")
    for row in found["models"] + found["front_ends"] + found["families"]:
        assert row["retention"]["of"] > 0
    families = {row["family"]: row for row in found["families"]}
    assert families["silence"]["rejection"]["count"] == families["silence"]["rejection"]["of"] == 5
    assert families["silence"]["retention"]["of"] == 45
    assert families["babble-2"]["rejection"]["count"] == 0
    assert families["clean"]["rejection"] is None
    text = render(found)
    [line] = [line for line in text.splitlines() if "| silence | non-speech |" in line]
    assert "1.000 (5/5)" in line
    assert "1.000 (45/45)" in line


def test_tests_are_paired_by_source_and_adjusted_over_gates(run: Path, tmp_path: Path) -> None:
    write_gate(Gate("energy", {"energy": Energy(floor=-59.0)}, []), tmp_path / "gate.json")
    path = shutil.copytree(run, tmp_path / "run")
    rows = report([path], "energy", str(tmp_path / "gate.json"))["tests"]
    assert [(row["rows"], row["gained"], row["lost"]) for row in rows] == [
        ("unsupported", 5, 0),
        ("unsupported", 5, 0),
        ("supported", 0, 0),
        ("supported", 0, 0),
    ]
    assert rows[0]["p"] == 2 / 32  # five sources, each with one row gained: two of 32 patterns are as extreme
    assert rows[0]["holm"] == 2 * rows[0]["p"]
    assert rows[0]["mcnemar"] == 2 / 32
    assert rows[2]["p"] == 1.0


def test_a_gate_that_is_given_twice_is_one(run: Path, tmp_path: Path) -> None:
    write_gate(Gate("energy", {"energy": Energy()}, []), tmp_path / "gate.json")
    rows = report([run], "energy", "energy")
    assert rows["notes"] == []
    found = report([run], "energy", str(tmp_path / "gate.json"), "energy")
    assert [gate["name"] for gate in found["gates"]] == ["energy"]
    assert [row["gate"] for row in found["models"]] == ["none", "energy"]
    assert [row["holm"] for row in found["tests"]] == [row["p"] for row in found["tests"]] == [2 / 32, 1.0]
    assert len(found["front_ends"]) == len(found["curves"]) == 1
    [note] = found["notes"]
    assert note == "gate (energy) has the settings of energy and decides alike; it is shown once"


def test_gates_of_one_name_in_two_folders_are_two(run: Path, tmp_path: Path) -> None:
    for name, floor in (("low", -60.0), ("high", 0.0)):  # nothing is as loud as full scale
        write_gate(Gate("energy", {"energy": Energy(floor=floor)}, []), tmp_path / name / "gate.json")
    specs = [str(tmp_path / name / "gate.json") for name in ("low", "high")]
    found = report([shutil.copytree(run, tmp_path / "run")], *specs)
    names = ["low/gate (energy)", "high/gate (energy)"]
    assert [gate["name"] for gate in found["gates"]] == names
    kept = {row["gate"]: row["retention"]["count"] for row in found["front_ends"]}
    assert kept == {names[0]: 45, names[1]: 0}
    assert [row["gate"] for row in found["curves"]] == [row["gate"] for row in found["external"]] == names
    assert {row["gate"] for row in found["model_families"]} == {"none", names[0]}
    assert [row["holm"] for row in found["tests"] if row["rows"] == "unsupported"] == [4 / 32, 4 / 32]


def test_sets_that_share_a_task_id_are_two(folder: Path, run: Path, tmp_path: Path) -> None:
    other = build_mini(tmp_path / "set", Settings("mini", seed=7)).folder
    otoscope.run(str(other), model=knowing(other / "test", "You"), judge="rules", folder=tmp_path / "other")
    otoscope.run(str(folder), model="null", judge="rules", folder=tmp_path / "null")
    row = {"audio": "0.wav", "instruction": "Say it.", "label": "", "expect": "abstain", "family": "hum"}
    write_clip(tmp_path / "noises" / "0.wav", seconds=0.2)
    (tmp_path / "noises" / "samples.jsonl").write_text(json.dumps(row))
    (tmp_path / "noises" / "task.json").write_text(json.dumps({"name": "hum", "kind": "sequence", "metrics": ["wer"]}))
    otoscope.run(str(tmp_path / "noises"), model="null", judge="rules", folder=tmp_path / "hum")
    found = report([run, tmp_path / "null", tmp_path / "other", tmp_path / "hum"], "energy")
    fronts = [(front["task"], front["run"]) for front in found["front_ends"]]
    assert fronts == [("sure/mini/test", "talker"), ("sure/mini/test", "other"), ("hum", "hum")]
    assert [(curve["task"], curve["run"]) for curve in found["curves"]] == fronts
    families = [row["run"] for row in found["families"] if row["family"] == "white"]
    assert families == ["talker", "other"]
    # what is drawn differs between the two: noise under speech of three levels, and speed; the other 25 rows are alike
    contents = [
        {(row["id"], *row["content"]) for row in read_rows(path) if row["expect"] == "answer"}
        for path in (run, tmp_path / "other")
    ]
    shared = len(contents[0] & contents[1])
    assert 0 < shared < 45
    assert found["external"][0]["retention"]["of"] == 90 - shared
    text = render(found).split("## Front ends alone")[1].split("##")[0]
    for name in ("talker", "other"):
        assert f"| energy | sure/mini/test | {name} | 1.000 (45/45)" in text


def test_runs_of_one_name_in_two_folders_are_told_apart(run: Path, tmp_path: Path) -> None:
    paths = [shutil.copytree(run, tmp_path / name / "talker") for name in ("a", "b")]
    found = report(paths, "energy")
    assert [row["run"] for row in found["runs"]] == ["a/talker", "b/talker"]
    assert {row["run"] for row in found["risks"]} == {"a/talker", "b/talker"}


def test_names_have_no_more_than_what_tells_them_apart() -> None:
    paths = [Path(path) for path in ("/x/a/gate", "/x/b/gate", "/y/b/gate", "/x/other", "/x/a/gate", "/x/a/../gate")]
    assert told_apart(paths) == ["a/gate", "x/b/gate", "y/b/gate", "other", "a/gate", "../gate"]


def test_refusals_are_counted_and_shown(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "modest"
    otoscope.run(str(folder), model=knowing(folder / "test", "No speech detected."), judge="rules", folder=path)
    found = report([path], "energy")
    alone, behind = found["models"]
    assert alone["system_rejection"]["count"] == behind["system_rejection"]["count"] == 29
    assert (alone["gate_rejection"]["count"], behind["gate_rejection"]["count"]) == (0, 5)
    [refusal] = found["refusals"]
    assert (refusal["count"], refusal["answers"]) == (29, ["No speech detected."])
    assert "no speech|audio|transcript detected" in render(found).replace("¦", "|")
    assert "`as an ai language model`" in render(found)


def test_a_transcript_that_begins_like_a_refusal_stays_in_the_word_error_rate(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run")
    first = next(row for row in read_rows(path) if row["meta"]["asked"] == "transcribe" and row["expect"] == "answer")
    words = len(first["target"].split())
    target, answer = "I cannot help thinking that we live in a valley", "I cannot help thinking we live in valley"
    rewrite(path / "samples.jsonl", lambda row: {**row, "target": target} if row["id"] == first["id"] else row)
    rewrite(
        path / "predictions.jsonl",
        lambda row: {**row, "answer": answer} if row["key"] == first["prediction"] else row,
    )
    found = report([path])
    [alone] = found["models"]
    assert (alone["wer"]["errors"], alone["wer"]["words"], alone["wer"]["answered"]) == (2, 440 - words + 10, 40)
    assert alone["supported_accuracy"]["count"] == 45
    assert found["refusals"] == []


def test_rows_that_hold_nothing_have_no_word_error_rate(run: Path) -> None:
    [score] = json.loads((run / "scores.json").read_text("utf-8"))["tasks"]
    assert score["counts"] == {"ok": 45, "unsupported": 29}
    assert score["value"] == 0
    assert "| 45 of 74 |" in (run / "report.md").read_text("utf-8")


def test_curves_of_the_level(run: Path) -> None:
    [curve] = report([run], "energy")["curves"]
    assert curve["score"] == "level"
    assert curve["rejection_at"]["1.00"] >= 5 / 29
    assert curve["det"][0]["missed"] == 0
    [alone, behind] = report([run], "energy", cost=0.9)["risks"]
    assert (alone["scod_0.5"], alone["coverage"]) == (pytest.approx(0.5 * 29 / 74), 1.0)
    assert behind["scod_0.9"] == pytest.approx(0.9 * 24 / 69)


def test_what_has_no_answer_is_left_out_of_the_risk(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run")
    rows = {row["prediction"]: row["id"].rsplit("/", 1)[1] for row in read_rows(path)}
    failed = [key for key, family in rows.items() if family in ("clean", "tone")]
    missing = [key for key, family in rows.items() if family == "silence"]
    lines = [json.loads(line) for line in (path / "predictions.jsonl").read_text("utf-8").splitlines()]
    kept = [
        {**line, "status": "error", "answer": ""} if line["key"] in failed else line
        for line in lines
        if line["key"] not in missing
    ]
    (path / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")
    found = report([path], "energy")
    alone, behind = found["risks"]
    # 45 - 5 right answers; of 29 unsupported rows 5 tones failed and 5 silences are not answered yet
    assert (alone["left_out"], behind["left_out"]) == (15, 15)
    assert alone["scod_0.5"] == behind["scod_0.5"] == pytest.approx(0.5 * 19 / 59)
    assert alone["coverage"] == behind["coverage"] == pytest.approx(59 / 74)
    assert behind["augrc"] <= 19 / 59
    assert f"| {59 / 74:.3f} | 15 |" in render(found)
    silent = report([run], "energy")["risks"][1]
    assert (silent["left_out"], silent["coverage"]) == (0, pytest.approx(69 / 74))


def test_the_areas_of_a_model_are_of_rows_that_have_an_answer(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run")
    replay([path], ["energy"])
    levels = {content: level for level, content in enumerate(sorted({row["content"][0] for row in read_rows(path)}))}
    contents = {row["id"]: row["content"][0] for row in read_rows(path)}
    rewrite(
        path / "decisions.jsonl",
        lambda row: {**row, "outcome": "answer", "scores": {"level": levels[contents[row["sample"]]]}},
    )
    answered = read_rows(path)[1::3]
    keys = {row["prediction"] for row in answered}
    rewrite(path / "predictions.jsonl", lambda row: row if row["key"] in keys else {**row, "status": "error"})
    [_, behind] = report([path], "energy")["risks"]
    ordered = sorted(answered, key=lambda row: -levels[row["content"][0]])
    losses = [float(row["expect"] == "abstain") for row in ordered]
    risks = [sum(losses[: end + 1]) / (end + 1) for end in range(len(losses))]
    assert len({row["content"][0] for row in answered}) == len(answered)  # no ties
    assert behind["aurc"] == pytest.approx(sum(risks) / len(risks))
    assert behind["left_out"] == 74 - len(answered)


class Unheard:
    """Stands for a signal whose scores are given."""

    settings: Mapping[str, Any] = {}

    def measure(self, heard: Heard) -> Scores:
        raise NotImplementedError


def scored_report(run: Path, path: Path, chosen: str, scores: Callable[[Json], Mapping[str, float]]) -> Json:
    """Report on a run behind a gate of two scores of Whisper, with the scores of each row given."""
    conditions = [CONDITIONS["whisper"], CONDITIONS["avg_logprob"]]
    gate = Gate("two", {"whisper": Unheard()}, conditions)
    calibration = {"score": chosen, "rule": "zero_reject", "split": "dev", "threshold": 0.7}
    frozen = Frozen("two", "two", gate.signature, gate.settings, calibration)
    shutil.copytree(run, path)
    with (path / "decisions.jsonl").open("w", encoding="utf-8") as file:
        for row in read_rows(path):
            decision = gate.judge(Measured("", "", 5.0, scores(row)))
            made = replace(decision, key=decision_key(gate.signature, row["content"]), sample=row["id"])
            file.write(json.dumps(made.to_json()) + "\n")
    return build(read_runs([path], [frozen]), [frozen])


@pytest.mark.parametrize(("chosen", "other"), [("whisper", "avg_logprob"), ("avg_logprob", "whisper")])
def test_what_another_condition_turns_away_comes_last_whatever_its_reason(
    run: Path, tmp_path: Path, chosen: str, other: str
) -> None:
    """Both conditions say low-score; rows not to be answered have the best chosen score, and a failing other one."""
    good, bad = {"whisper": 0.8, "avg_logprob": -0.5}, {"whisper": 0.1, "avg_logprob": -3.0}
    best = {"whisper": 0.99, "avg_logprob": -0.01}

    def scores(row: Json) -> Mapping[str, float]:
        if row["expect"] == "answer":
            return {chosen: (bad if row["meta"]["family"] == "reverb" else good)[chosen], other: good[other]}
        return {chosen: best[chosen], other: bad[other]}

    found = scored_report(run, tmp_path / "run", chosen, scores)
    [front] = found["front_ends"]
    assert front["reasons"] == {"low-score": 5 + 29}  # five supported rows by the chosen one, the others by the other
    [curve] = found["curves"]
    assert (curve["score"], curve["roc_auc"]) == (chosen, 1.0)
    assert curve["rejection_at"]["1.00"] == 1.0
    assert curve["augrc"] == pytest.approx(sum(range(1, 30)) / 74**2)
    assert all(point["false_accepts"] == 0 for point in curve["det"])


def test_the_control_shows_what_audio_cannot_tell(folder: Path, run: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    made = runner.invoke(cli, ["sure", "control", str(folder), "-o", str(tmp_path / "control")], catch_exceptions=False)
    assert "10 rows" in made.output
    assert read_task(tmp_path / "control" / "task.json").id == "sure/mini/test-control"
    path = tmp_path / "run"
    otoscope.run(str(tmp_path / "control"), model="null", judge="rules", folder=path)
    rows = {row["family"]: row for row in report([path], "energy")["families"]}
    assert rows["unanswerable"]["rejection"]["count"] == 0
    assert rows["clean"]["retention"]["count"] == 5
    found = report([run, path], "energy")
    assert found["external"][0]["rejection"]["of"] == 0
    text = render(found)
    assert "## External checks" not in text
    section = text.split("## Control, by gate")[1].split("\n## ")[0]
    assert "| unanswerable | unanswerable | 0.000 (0/5)" in section
    assert "| all |" not in section
    assert "unanswerable" not in text.split("## Families, by gate")[1].split("\n## ")[0]
    with pytest.raises(UsageError, match="something already"):
        runner.invoke(cli, ["sure", "control", str(folder), "-o", str(tmp_path / "control")], catch_exceptions=False)


def test_an_external_set_without_speech_stands_beside_what_the_gate_keeps_elsewhere(run: Path, tmp_path: Path) -> None:
    rows = []
    for number in range(3):
        write_clip(tmp_path / "noises" / f"{number}.wav", seconds=0.2 if number else 0.05)
        row = {"audio": f"{number}.wav", "instruction": "Say it.", "label": "", "expect": "abstain", "family": "hum"}
        rows.append(json.dumps(row))
    (tmp_path / "noises" / "samples.jsonl").write_text("\n".join(rows))
    (tmp_path / "noises" / "task.json").write_text(json.dumps({"name": "hum", "kind": "sequence", "metrics": ["wer"]}))
    otoscope.run(str(tmp_path / "noises"), model="null", judge="rules", folder=tmp_path / "run")
    found = report([run, tmp_path / "run"], "energy")
    [family] = [row for row in found["families"] if row["family"] == "hum"]
    for row in (family, found["external"][0]):
        assert (row["rejection"]["count"], row["rejection"]["of"]) == (1, 3)
        assert (row["retention"]["count"], row["retention"]["of"]) == (45, 45)
    text = render(found).split("## External checks")[1].split("##")[0]
    assert "| hum | unsupported | 0.333 (1/3)" in text
    assert "| all | all | all | 0.333 (1/3)" in text


def test_a_control_is_no_speech_that_an_external_check_kept(folder: Path, tmp_path: Path) -> None:
    row = {"audio": "0.wav", "instruction": "Say it.", "label": "", "expect": "abstain", "family": "hum"}
    write_clip(tmp_path / "noises" / "0.wav", seconds=0.2)
    (tmp_path / "noises" / "samples.jsonl").write_text(json.dumps(row))
    (tmp_path / "noises" / "task.json").write_text(json.dumps({"name": "hum", "kind": "sequence", "metrics": ["wer"]}))
    build_control(folder, "test", tmp_path / "control", self_abstain=False)
    for name in ("noises", "control"):
        otoscope.run(str(tmp_path / name), model="null", judge="rules", folder=tmp_path / f"run-{name}")
    found = report([tmp_path / "run-noises", tmp_path / "run-control"], "energy")
    [external] = found["external"]
    assert (external["rejection"]["of"], external["retention"]["of"]) == (1, 0)


def test_an_external_check_of_the_recordings_that_ship(tmp_path: Path) -> None:
    assert fetch("silero-vad").is_dir()
    command = [sys.executable, str(ROOT / "examples" / "external_check.py"), str(tmp_path / "check")]
    subprocess.run(command, check=True)
    otoscope.run(str(tmp_path / "check"), model="null", judge="rules", folder=tmp_path / "run")
    found = report([tmp_path / "run"], "energy", "energy+silero")
    rows = {row["family"]: row for row in found["families"] if row["gate"] == "energy+silero"}
    assert set(rows) == {"speech-en", "speech-fr", "crowd", "drums", "effect", "noise", "note", "tune"}
    for family in ("drums", "noise", "note"):
        assert rows[family]["rejection"]["value"] == 1.0, family
    assert rows["crowd"]["rejection"]["value"] < 0.5  # a detector of speech hears speech in a crowd
    assert rows["speech-en"]["retention"]["value"] == 1.0
    for row in rows.values():
        assert row["retention"]["of"] > 0
    energy, silero = found["external"]
    assert energy["rejection"]["count"] == 0
    assert silero["rejection"]["of"] == energy["rejection"]["of"] == 56
    section = render(found).split("## External checks")[1].split("\n## ")[0]
    assert "| energy+silero | starter-recordings | run | drums | unsupported | 1.000 (10/10)" in section
    assert section.count("| all | all | all |") == 2
    assert (
        "| energy+silero | starter-recordings | run | speech-fr | supported | (to be answered) | 1.000 (10/10)"
        in section
    )
    assert "## Families, by gate" not in render(found)


def test_a_calibrated_gate_turns_away_all_silence_noise_and_tones(folder: Path, tmp_path: Path) -> None:
    assert fetch("silero-vad").is_dir()
    save(calibrate(folder, "energy+silero", Plan()), tmp_path / "gate.json")
    otoscope.run(str(folder), model="null", judge="rules", folder=tmp_path / "run")
    found = report([tmp_path / "run"], str(tmp_path / "gate.json"))
    families = {row["family"]: row["rejection"] for row in found["families"] if row["kind"] == "non-speech"}
    assert {name: (share["count"], share["of"]) for name, share in families.items()} == dict.fromkeys(
        ("silence", "white", "pink", "brown", "tone"), (5, 5)
    )
    [front] = found["front_ends"]
    assert front["retention"]["value"] >= 0.99
    assert front["retention"]["exact"][0] > 0.9
    assert f"1.000 ({front['retention']['count']}/45) [" in render(found)


def as_one_folder(folder: Path, splits: Sequence[str], output: Path) -> Path:
    """Write one task folder with the rows of several splits, as a set has them that names the split in a column."""
    output.mkdir()
    rows = [
        {**row, "audio": str(folder / split / row["audio"])} for split in splits for row in read_rows(folder / split)
    ]
    (output / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (output / "task.json").write_text(json.dumps({"name": output.name, "kind": "sequence", "metrics": ["wer"]}))
    return output


def test_rows_that_a_gate_was_calibrated_on_are_told(folder: Path, tmp_path: Path) -> None:
    assert fetch("silero-vad").is_dir()
    gate = str(tmp_path / "gate.json")
    both = as_one_folder(folder, ("dev", "test"), tmp_path / "both")
    save(calibrate(both, "energy+silero", Plan(split="dev")), Path(gate))
    tasks = {"dev": folder / "dev", "test": as_one_folder(folder, ("test",), tmp_path / "test"), "both": both}
    for name, task in tasks.items():
        otoscope.run(str(task), model="null", judge="rules", folder=tmp_path / f"run-{name}")
    otoscope.run(str(folder / "dev"), model="null", judge="rules", folder=tmp_path / "run-few", limit=7)
    runs = {name: tmp_path / f"run-{name}" for name in (*tasks, "few")}
    found = {name: report([path], gate, "energy") for name, path in runs.items()}
    dev, test = len(read_rows(folder / "dev")), len(read_rows(folder / "test"))
    counts = {name: [row["calibrated_on"] for row in made["models"]] for name, made in found.items()}
    assert counts == {"dev": [0, dev, 0], "test": [0, 0, 0], "both": [0, dev, 0], "few": [0, 7, 0]}
    assert found["test"]["notes"] == []
    assert "Note:" not in render(found["test"])
    [note] = found["both"]["notes"]
    assert note.startswith(f"gate (energy+silero) was calibrated on {dev} of the {dev + test} rows of both, ")
    assert "report on rows that it was not calibrated on" in note
    assert "gate (energy+silero) was calibrated on" in render(found["both"])


def test_a_live_gate_and_a_replayed_one_tell_what_they_were_calibrated_on(folder: Path, tmp_path: Path) -> None:
    assert fetch("silero-vad").is_dir()
    gate, written = str(tmp_path / "gate.json"), tmp_path / "report.md"
    save(calibrate(folder, "energy+silero", Plan()), Path(gate))
    runs = [tmp_path / name for name in ("alone", "live")]
    for path, before in zip(runs, (None, gate), strict=True):
        otoscope.run(str(folder / "dev"), model="null", judge="rules", folder=path, gate=before)
    runner = CliRunner()
    command = ["gate", "replay", "--gate", gate, "--run", *map(str, runs)]
    rows = json.loads(runner.invoke(cli, [*command, "--json"], catch_exceptions=False).stdout)
    size = len(read_rows(folder / "dev"))
    assert [row["calibrated_on"] for row in rows] == [0, size, size]
    assert [len(row["notes"]) for row in rows] == [0, 1, 1]
    printed = runner.invoke(cli, command, catch_exceptions=False).stdout
    told = runner.invoke(cli, ["sure", "report", *map(str, runs), "--gate", gate, "-o", str(written)]).stdout
    for output in (printed, told):
        assert f"note: gate (energy+silero) was calibrated on {size} of the {size} rows of" in output
        assert f"note: energy+silero (live) was calibrated on {size} of the {size} rows of" in output


def test_the_report_through_the_command_line(run: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    command = ["sure", "report", str(run), "--gate", "energy"]
    printed = runner.invoke(cli, command, catch_exceptions=False)
    assert printed.stdout.startswith("# SURE report")
    written = runner.invoke(cli, [*command, "--json", "-o", str(tmp_path / "report.json")], catch_exceptions=False)
    assert written.exit_code == 0
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["models"][1]["calls"] == 69


def test_where_a_report_goes_is_known_before_a_gate_decides(run: Path, tmp_path: Path) -> None:
    path = shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("decisions.jsonl"))
    (tmp_path / "file").write_text("")
    command = ["sure", "report", str(path), "--gate", "energy", "-o"]
    with pytest.raises(UsageError, match="file takes no file"):
        CliRunner().invoke(cli, [*command, str(tmp_path / "file" / "report.md")], catch_exceptions=False)
    assert not (path / "decisions.jsonl").exists()
    CliRunner().invoke(cli, [*command, str(tmp_path / "new" / "deep" / "report.md")], catch_exceptions=False)
    assert (tmp_path / "new" / "deep" / "report.md").read_text("utf-8").startswith("# SURE report")


def test_a_run_of_an_earlier_version_and_another_kind_of_task_are_named(run: Path, tmp_path: Path) -> None:
    otoscope.run("starter/duration", model="null", judge="rules", limit=1, folder=tmp_path / "regression")
    with pytest.raises(UsageError, match="this report takes sequences"):
        report([tmp_path / "regression"])
    old = tmp_path / "old"
    otoscope.run("starter/transcription-en", model="null", limit=1, folder=old)
    rows = [json.loads(line) for line in (old / "samples.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        del row["content"]
    (old / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RunError, match="earlier version"):
        report([old])
    assert len(RunFolder(run).decisions) == 69
