"""Append-only logs: torn tails, damage, one writer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.errors import CorruptLogError, RunLockedError
from otoscope.records import digest
from otoscope.runner.log import Log, RunLock


def filled(path: Path, count: int) -> list[dict[str, str]]:
    rows = [{"key": digest(str(number)), "text": f"row {number} é"} for number in range(count)]
    log = Log(path)
    for row in rows:
        log.append(row)
    log.close()
    return rows


def test_records_are_found_again_by_key(tmp_path: Path) -> None:
    rows = filled(tmp_path / "a.jsonl", 5)
    log = Log(tmp_path / "a.jsonl")
    assert [log.get(row["key"]) for row in rows] == rows
    assert log.get(digest("absent")) is None
    log.close()


def test_of_two_records_with_one_key_the_last_counts(tmp_path: Path) -> None:
    [row] = filled(tmp_path / "a.jsonl", 1)
    log = Log(tmp_path / "a.jsonl")
    log.append({**row, "text": "newer"})
    assert (log.get(row["key"]) or {})["text"] == "newer"
    assert len(log) == 1
    log.close()


@given(cut=st.integers(1, 60))
def test_a_log_cut_anywhere_in_its_last_line_loses_that_line_only(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "a.jsonl"
    rows = filled(path, 3)
    data = path.read_bytes()
    last = len(data.splitlines(keepends=True)[-1])
    path.write_bytes(data[: -min(cut, last)])
    log = Log(path)
    assert log.get(rows[2]["key"]) is None
    log.append(rows[2])
    log.close()
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == rows


def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    filled(path, 3)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text(lines[0] + "{broken\n" + lines[2], "utf-8")
    with pytest.raises(CorruptLogError, match="line 2"):
        Log(path)


def test_a_second_process_is_refused_and_a_dead_one_leaves_no_lock(tmp_path: Path) -> None:
    code = f"from otoscope.runner.log import RunLock\nfrom pathlib import Path\nlock = RunLock(Path({str(tmp_path)!r}))"
    hold = subprocess.Popen(
        [sys.executable, "-c", code + "\nlock.__enter__()\nprint('held', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with hold:
        assert hold.stdout is not None
        assert hold.stdout.readline() == "held\n"
        with pytest.raises(RunLockedError, match="another process"), RunLock(tmp_path):
            pass
        hold.kill()
    with RunLock(tmp_path):
        assert (tmp_path / "run.lock").exists()
