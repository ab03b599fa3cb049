"""Gates before stored answers and before live models: the same decisions, and no call for what is turned away."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner
from conftest import write_clip

import otoscope
from otoscope.cli.display import print_result
from otoscope.cli.main import cli
from otoscope.errors import RunError, UsageError
from otoscope.gate.evidence import Energy
from otoscope.gate.rule import CONDITIONS, Gate, load_gate, write_gate
from otoscope.gate.signal import Heard, Scores
from otoscope.records import Decision, Prediction
from otoscope.runner.folder import RunFolder
from otoscope.runner.replay import read_frozen, replay, rows_of


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """Four rows with a tone, four with silence."""
    folder = tmp_path / "tones"
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps({"name": "tones", "kind": "sequence", "metrics": ["wer"]}))
    rows = []
    for number in range(8):
        name = f"{number}.wav"
        if number < 4:
            write_clip(folder / name, frequency=300 + number)
        else:
            soundfile.write(folder / name, np.zeros(4000 + number), 16_000)
        expect = "answer" if number < 4 else "abstain"
        rows.append({"id": f"r{number}", "audio": name, "instruction": "Say it.", "label": "beep", "expect": expect})
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class Counting:
    settings: Mapping[str, Any] = {}  # how often it was asked changes no answer

    def __init__(self) -> None:
        self.calls = 0
        self.__module__, self.__qualname__ = "tests", "counting"

    def __call__(self, request: otoscope.Request) -> str:
        assert len(request.audios) == 1
        self.calls += 1
        return "beep"


class Unsure:
    """Scores nothing until it is mended."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.value = float("nan")

    def measure(self, heard: Heard) -> Scores:
        assert len(heard.samples)
        return Scores({"whisper": self.value})


def run(task: Path, folder: Path, model: Any, gate: Any = "energy") -> otoscope.RunResult:
    return otoscope.run(str(task), model=model, folder=folder, gate=gate)


def test_what_is_turned_away_is_not_asked_about(task: Path, tmp_path: Path) -> None:
    model = Counting()
    result = run(task, tmp_path / "gated", model)
    assert model.calls == 4
    assert result.missing == []
    assert result.scores[0].counts == {"ok": 4, "abstained": 4}
    with (tmp_path / "gated" / "decisions.jsonl").open() as lines:
        decisions = [Decision.from_json(json.loads(line)) for line in lines]
    assert [decision.reason for decision in decisions] == ["evidence"] * 4 + ["near-silent"] * 4
    header = json.loads((tmp_path / "gated" / "header.jsonl").read_text())
    assert header["gate"]["signature"] == load_gate("energy").signature


def test_a_gated_run_continues_without_deciding_or_asking_again(task: Path, tmp_path: Path) -> None:
    class Once:
        def __init__(self, gate: Gate) -> None:
            self.id, self.signature, self.settings = gate.id, gate.signature, gate.settings
            self.calls, self._gate = 0, gate

        def decide(self, clips: Any, prompt: str = "") -> Decision:
            self.calls += 1
            return self._gate.decide(clips, prompt)

    model, gate = Counting(), Once(load_gate("energy"))
    run(task, tmp_path / "gated", model, gate)
    assert run(task, tmp_path / "gated", model, gate).made == 0
    assert (model.calls, gate.calls) == (4, 8)


def test_answers_are_shared_and_rejections_are_not_confused_with_them(task: Path, tmp_path: Path) -> None:
    model = Counting()
    run(task, tmp_path / "one", model, gate=None)
    assert model.calls == 8
    result = run(task, tmp_path / "one", model)
    assert model.calls == 8
    assert result.scores[0].counts == {"ok": 4, "abstained": 4}
    again = run(task, tmp_path / "one", model, gate=None)
    assert model.calls == 8
    assert again.scores[0].counts == {"ok": 4, "unsupported": 4}
    lines = (tmp_path / "one" / "predictions.jsonl").read_text().splitlines()
    rows = [Prediction.from_json(json.loads(line)) for line in lines]
    assert len({row.key for row in rows}) == 12
    assert {row.status for row in rows[8:]} == {"abstained"}


class Asking:
    """Turns low tones away as silence, asks which voice is meant of the lowest two, and admits the rest."""

    id, signature = "asking", "asking-1"
    settings: Mapping[str, Any] = {}

    def decide(self, clips: Any, prompt: str = "") -> Decision:
        del prompt
        number = int(Path(clips[0].name).stem)
        if number < 2:
            return Decision("", self.id, "clarify", "ambiguous-source")
        return Decision("", self.id, "answer" if number < 3 else "abstain", "evidence" if number < 3 else "near-silent")


def test_a_run_tells_what_its_gate_turned_away(task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(task, tmp_path / "gated", Counting(), Asking())
    told = "Gate asking: turned away 7 of 8: 5 near-silent, 2 ambiguous-source (clarify)"
    print_result(result)
    assert told in capsys.readouterr().out.splitlines()
    content = json.loads((tmp_path / "gated" / "scores.json").read_text())
    assert content["gate"] == "asking"
    assert content["turned_away"] == {"tones": {"abstain": {"near-silent": 5}, "clarify": {"ambiguous-source": 2}}}
    report = (tmp_path / "gated" / "report.md").read_text()
    assert "| tones | 7 of 8 | 5 | 2 |" in report.splitlines()
    assert otoscope.score_run(tmp_path / "gated").to_json() == content
    print_result(run(task, tmp_path / "gated", Counting(), gate=None))
    assert "Gate" not in capsys.readouterr().out
    assert "## Gate" not in (tmp_path / "gated" / "report.md").read_text()


def test_another_threshold_is_another_gate(task: Path, tmp_path: Path) -> None:
    model = Counting()
    loud = Gate("energy", {"energy": Energy(floor=0.0)}, [])
    run(task, tmp_path / "one", model)
    result = run(task, tmp_path / "one", model, loud)
    assert result.scores[0].counts == {"abstained": 8}
    assert run(task, tmp_path / "one", model).scores[0].counts == {"ok": 4, "abstained": 4}
    assert model.calls == 4


def test_the_default_folder_names_the_gate(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = otoscope.run(str(task), model="null", gate="energy")
    assert re.fullmatch(rf"tones-\w+--null--energy-{load_gate('energy').signature[:8]}", result.folder.name)


def test_a_score_that_is_no_number_admits_nothing_and_is_tried_again(task: Path, tmp_path: Path) -> None:
    signal, model = Unsure(), Counting()
    gate = Gate("whisper", {"whisper": signal}, [CONDITIONS["whisper"]])
    result = run(task, tmp_path / "gated", model, gate)
    assert (model.calls, len(result.missing)) == (0, 8)
    assert result.missing[0].reason == "score-error"
    signal.value = 0.9
    mended = run(task, tmp_path / "gated", model, gate)
    assert (model.calls, mended.missing) == (8, [])


def test_a_clip_that_cannot_be_decoded_is_an_error_behind_a_gate_too(task: Path, tmp_path: Path) -> None:
    (task / "0.wav").write_bytes(b"not audio")
    [missing] = run(task, tmp_path / "gated", Counting()).missing
    assert missing.reason.startswith("undecodable")
    replay([tmp_path / "gated"], ["energy"])
    assert len(RunFolder(tmp_path / "gated").decisions) == 7


def test_replay_decides_what_a_live_run_decides(task: Path, tmp_path: Path) -> None:
    model = Counting()
    run(task, tmp_path / "raw", model, gate=None)
    run(task, tmp_path / "live", Counting())
    [gate] = replay([tmp_path / "raw"], ["energy"])
    assert model.calls == 8

    def decisions(folder: Path) -> dict[str, tuple[str, str, dict[str, float]]]:
        found = (Decision.from_json(row) for row in RunFolder(folder).decisions)
        return {one.key: (one.outcome, one.reason, dict(one.scores)) for one in found}

    assert gate.signature == load_gate("energy").signature
    assert decisions(tmp_path / "raw") == decisions(tmp_path / "live")


def test_decisions_are_copied_between_runs_without_the_audio(task: Path, tmp_path: Path) -> None:
    run(task, tmp_path / "one", Counting(), gate=None)
    run(task, tmp_path / "two", "null", gate=None)
    made = []
    replay([tmp_path / "one"], ["energy"], lambda done, total: made.append((done, total)))
    assert made[-1] == (8, 8)
    for clip in task.glob("*.wav"):
        clip.unlink()
    replay([tmp_path / "two", tmp_path / "one"], ["energy"], lambda done, total: made.append((done, total)))
    assert len(made) == 8
    assert len(RunFolder(tmp_path / "two").decisions) == 8


def test_changed_and_lost_audio_is_named(task: Path, tmp_path: Path) -> None:
    run(task, tmp_path / "one", "null", gate=None)
    write_clip(task / "5.wav", frequency=999)
    with pytest.raises(RunError, match="r5: the audio has changed"):
        replay([tmp_path / "one"], ["energy"])
    (task / "5.wav").unlink()
    with pytest.raises(RunError, match="r5: the audio is not as it was"):
        replay([tmp_path / "one"], ["energy"])
    rows = (task / "samples.jsonl").read_text().splitlines(keepends=True)
    (task / "samples.jsonl").write_text("".join(rows[1:5]))
    with pytest.raises(RunError, match=r"row r5 of .* is gone"):
        replay([tmp_path / "one"], ["energy"])


class StoppedError(Exception):
    """What stands for Ctrl-C."""


def test_what_was_decided_is_kept_when_a_replay_is_stopped(task: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        run(task, folder, "null", gate=None)
    made: list[int] = []

    def stop(done: int, _total: int) -> None:
        made.append(done)
        if len(made) == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        replay(folders, ["energy"], stop)
    assert [len(RunFolder(folder).decisions) for folder in folders] == [3, 3]
    replay(folders, ["energy"], lambda done, _total: made.append(done))
    assert made == [1, 2, 3, 1, 2, 3, 4, 5]
    assert [len(RunFolder(folder).decisions) for folder in folders] == [8, 8]


def test_meta_that_a_table_can_be_made_by_is_kept(task: Path, tmp_path: Path) -> None:
    lines = (task / "samples.jsonl").read_text().splitlines()
    row = {**json.loads(lines[0]), "family": "tone", "snr": 5.5, "voices": ["a"], "bad": float("nan"), "loud": True}
    (task / "samples.jsonl").write_text(json.dumps(row) + "\n")
    run(task, tmp_path / "one", "null", gate=None)
    [kept] = rows_of(RunFolder(tmp_path / "one"))
    assert kept["meta"] == {"family": "tone", "snr": 5.5, "loud": True}


def test_a_frozen_gate_is_read_without_its_weights_and_not_after_editing(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    write_gate(Gate("whisper", {"whisper": Unsure()}, [CONDITIONS["whisper"]]), path)
    assert read_frozen(str(path)).name == "gate (whisper)"
    path.write_text(path.read_text().replace("0.7", "0.1"))
    with pytest.raises(UsageError, match="edited"):
        read_frozen(str(path))
    path.write_text("{}")
    with pytest.raises(UsageError, match="not a frozen gate"):
        read_frozen(str(path))
    with pytest.raises(UsageError, match="no such file"):
        read_frozen(str(tmp_path / "none.json"))


def test_replay_through_the_command_line(task: Path, tmp_path: Path) -> None:
    run(task, tmp_path / "one", Counting(), gate=None)
    run(task, tmp_path / "two", "null", gate=None)
    command = ["gate", "replay", "--gate", "energy", "--run", str(tmp_path / "one"), str(tmp_path / "two")]
    printed = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert printed.exit_code == 0
    [line] = [line for line in printed.stdout.splitlines() if "counting" in line and "energy" in line]
    assert line.split() == ["python/tests.counting", "one", "energy", "4", "of", "8", "4/4", "4/4", "4/4", "4/4", "0"]
    rows = json.loads(CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False).stdout)
    assert [row["gate"] for row in rows] == ["none", "energy"] * 2
    live = CliRunner().invoke(
        cli, ["run", str(task), "--model", "null", "--gate", "energy", "-o", str(tmp_path / "three"), "--json"]
    )
    assert json.loads(live.stdout)["tasks"][0]["counts"] == {"ok": 4, "abstained": 4}


def test_what_is_not_answered_yet_is_told_by_replay_and_report(task: Path, tmp_path: Path) -> None:
    run(task, tmp_path / "one", Counting(), gate=None)
    lines = (tmp_path / "one" / "predictions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "one" / "predictions.jsonl").write_text("".join(lines[:5]))
    replayed = ["gate", "replay", "--gate", "energy", "--run", str(tmp_path / "one")]
    reported = ["sure", "report", str(tmp_path / "one"), "--gate", "energy"]
    for command in (replayed, reported):
        printed = CliRunner().invoke(cli, command, catch_exceptions=False, standalone_mode=False)
        assert printed.return_value == 1
        assert "one: 3 of the 8 rows are not answered yet and count as failed" in printed.stdout
    rows = CliRunner().invoke(cli, [*replayed, "--json"], catch_exceptions=False, standalone_mode=False)
    assert rows.return_value == 1
    assert [(row["failed"], len(row["notes"])) for row in json.loads(rows.stdout)] == [(3, 1), (0, 1)]
