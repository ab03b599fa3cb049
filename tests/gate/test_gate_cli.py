"""``otoscope gate`` through its own process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile
from conftest import write_clip


def gate(*arguments: str | Path, given: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "gate", *map(str, arguments)]
    with (given or Path(os.devnull)).open() as standard_input:
        return subprocess.run(command, stdin=standard_input, capture_output=True, text=True, check=False)


def test_each_file_is_one_json_line(tmp_path: Path) -> None:
    tone = write_clip(tmp_path / "tone.wav", 1.0)
    quiet = tmp_path / "quiet.wav"
    soundfile.write(quiet, np.zeros(16_000), 16_000)
    result = gate("check", tone, quiet, "--gate", "energy", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0
    assert [(row["outcome"], row["reason"]) for row in rows] == [("answer", "evidence"), ("abstain", "near-silent")]
    assert rows[0]["file"] == str(tone)
    assert gate("check", tone, quiet, "--gate", "energy", "--strict").returncode == 1


def test_a_file_that_cannot_be_examined_fails_and_the_others_are_decided(tmp_path: Path) -> None:
    tone = write_clip(tmp_path / "tone.wav", 1.0)
    result = gate("check", tmp_path / "absent.wav", tone, "--gate", "energy")
    assert result.returncode == 1
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["missing", "evidence"]


def test_one_clip_is_read_from_standard_input(tmp_path: Path) -> None:
    tone = write_clip(tmp_path / "tone.flac", 1.0)
    [first, second] = gate("check", "-", tone, "--gate", "energy", "--json", given=tone).stdout.splitlines()
    by_name, by_file = json.loads(first), json.loads(second)
    assert (by_name["file"], by_name["reason"], by_name["key"]) == ("-", "evidence", by_file["key"])
    empty = gate("check", "-", "--gate", "energy")
    assert (empty.returncode, empty.stdout) == (1, "abstain  empty             -: the file has no bytes\n")
    twice = gate("check", "-", "-", given=tone)
    assert (twice.returncode, "name it once" in twice.stderr) == (2, True)


def test_a_folder_stands_for_its_audio_files(tmp_path: Path) -> None:
    for name in ("b.flac", "a/z.WAV", "a/c.ogg", "notes.txt"):
        write_clip(tmp_path / name, 1.0) if name.endswith("WAV") else (tmp_path / name).write_bytes(b"")
    result = gate("check", tmp_path, "--gate", "energy", "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["file"], row["reason"]) for row in rows] == [
        (str(tmp_path / "a/c.ogg"), "empty"),
        (str(tmp_path / "a/z.WAV"), "evidence"),
        (str(tmp_path / "b.flac"), "empty"),
    ]
    (tmp_path / "none").mkdir()
    result = gate("check", tmp_path / "none")
    assert result.returncode == 2
    assert "none: no audio file in this folder" in result.stderr


def test_a_file_that_is_not_there_is_no_row(tmp_path: Path) -> None:
    said = gate("check", tmp_path / "absent.wav", "--gate", "energy").stdout
    assert said.endswith("absent.wav: there is no such file; check the path\n")


def test_what_is_wrong_with_a_file_is_told(tmp_path: Path) -> None:
    tone, broken = write_clip(tmp_path / "tone.wav", 1.0), tmp_path / "broken.wav"
    broken.write_bytes(b"no audio at all")
    plain = gate("check", broken, "--gate", "energy").stdout
    [bad, good] = map(json.loads, gate("check", broken, tone, "--gate", "energy", "--json").stdout.splitlines())
    assert bad["reason"] == "undecodable"
    assert bad["message"].startswith(f"{broken}: ")
    assert bad["message"] in plain
    assert "message" not in good


def test_wrong_usage_exits_with_2(tmp_path: Path) -> None:
    tone = write_clip(tmp_path / "tone.wav", 1.0)
    for arguments in (
        ("check", tone, "--gate", "enrgy"),
        ("check", tone, "--gate", "whisper", "-G", "scorer"),
        ("check", tone, "--gate", "sure-paper", "-G", "scorer=whisper-base"),
        ("calibrate", tmp_path, "--gate", "energy"),
        ("calibrate", tmp_path, "-o", tmp_path / "gate.csv"),
        ("calibrate", tmp_path, "-o", tone / "gate.json"),
        ("calibrate", tmp_path, "--delta", "nan"),
        ("calibrate", tmp_path, "--rule", "bounded", "--alpha", "nan"),
        ("check", tone, "--gate", "whisper", "--threshold", "nan"),
        ("check", tone, "--gate", "whisper", "--threshold", "1.5"),
    ):
        result = gate(*arguments)
        assert result.returncode == 2, arguments
        assert "otoscope:" in result.stderr


def test_what_there_is_can_be_listed() -> None:
    assert {"energy", "sure-paper", "whisper"} <= {line.split()[0] for line in gate("list").stdout.splitlines()}


def test_names_that_a_terminal_would_obey_are_shown(tmp_path: Path) -> None:
    odd = tmp_path / "a\x1b[31m\u202e\n.wav"
    write_clip(odd, 1.0)
    plain = gate("check", odd, "--gate", "energy")
    assert plain.returncode == 0
    assert plain.stdout.count("\n") == 1
    assert r"a\x1b[31m\u202e\n.wav" in plain.stdout
    [line] = gate("check", odd, "--gate", "energy", "--json").stdout.splitlines()
    assert json.loads(line)["file"] == str(odd)
