"""Hub datasets through the hub's own client: every row schema, revisions, gates, and a hub that dies."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from loopback_hub import HEAD_COMMIT, DatasetHub

PINNED = "a" * 40
Run = subprocess.CompletedProcess[str]


def clip(frequency: float, rate: int = 16_000) -> dict[str, Any]:
    """Return a cell of an audio column."""
    buffer = io.BytesIO()
    times = np.arange(rate // 5) / rate
    soundfile.write(buffer, 0.5 * np.sin(2 * np.pi * frequency * times), rate, format="WAV")
    return {"bytes": buffer.getvalue(), "path": f"{frequency:g}.wav"}


def parquet(rows: list[dict[str, Any]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=2)
    return buffer.getvalue()


@pytest.fixture
def hub() -> Iterator[DatasetHub]:
    with DatasetHub() as server:
        yield server


def write_task(folder: Path, name: str, **content: Any) -> Path:
    path = folder / name
    path.mkdir()
    task = {"name": name, "path": f"Org/{name}", "version": PINNED, "metrics": ["accuracy"], **content}
    (path / "task.json").write_text(json.dumps(task))
    return path


def run(hub: DatasetHub, home: Path, *arguments: str | Path, **environment: str) -> Run:
    """Run the command line against the loopback hub, with a cache of its own."""
    variables = {
        **os.environ,
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        **environment,
    }
    command = [
        sys.executable,
        "-m",
        "otoscope",
        "run",
        *map(str, arguments),
        "--judge",
        "rules",
        "-o",
        str(home / "run"),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


def samples(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "run" / "samples.jsonl").read_text().splitlines()]


BASE = {"instruction": "Is it a or b?", "file": "x.wav"}
VARIATIONS: dict[str, tuple[dict[str, Any], int, str]] = {
    "default": ({"audio": clip(200), "label": "a"}, 1, "a"),
    "second-audio": ({"audio": clip(200), "audio2": clip(300), "file2": "y.wav", "label": "a"}, 2, "a"),
    "four-audios": ({f"audio{n or ''}": clip(200 + n) for n in (0, 2, 3, 4)} | {"label": "4.5"}, 4, "4.5"),
    "audio1": ({"audio1": clip(200), "audio2": clip(300), "file1": "x", "label": "b"}, 2, "b"),
    "enrollment": ({"enrollment": clip(200), "testing": clip(300), "label": "yes"}, 2, "yes"),
    "query": ({"query": clip(200), "doc": clip(300), "label": "no"}, 2, "no"),
    "no-audio": ({"label": "a"}, 0, "a"),
    "more-labels": ({"audio": clip(200), "label": "a", "label2": "b", "label3": None}, 1, "a, b"),
    "list-label": ({"audio": clip(200), "label": ["a", "b"]}, 1, '["a", "b"]'),
    "printed-list": ({"audio": clip(200), "label": "['a', 'b']"}, 1, "['a', 'b']"),
    "int-label": ({"audio": clip(200), "label": 3}, 1, "3"),
    "extra-columns": ({"audio": clip(200), "label": "a", "speakerId": "7", "action": "go"}, 1, "a"),
    "other-rate": ({"audio": clip(200, rate=48_000), "label": "a"}, 1, "a"),
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_every_row_schema_runs(name: str, hub: DatasetHub, tmp_path: Path) -> None:
    row, clips, target = VARIATIONS[name]
    rows = [{**BASE, **row, "file": f"{number}.wav"} for number in range(3)]
    data = {"data/train-00000-of-00001.parquet": b"never read", "data/test-00000-of-00001.parquet": parquet(rows)}
    hub.datasets[f"Org/{name}"] = data
    declared = {} if clips else {"audios": 0}
    result = run(hub, tmp_path, write_task(tmp_path, name, **declared), "--model", "null")
    assert result.returncode in {0, 1}, result.stderr
    found = samples(tmp_path)
    assert [(len(sample["audio"]), sample["target"]) for sample in found] == [(clips, target)] * 3
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["tasks"][0]["n"] == 3
    assert hub.gets["data/train-00000-of-00001.parquet"] == 0


def test_no_audio_must_be_declared(hub: DatasetHub, tmp_path: Path) -> None:
    hub.datasets["Org/mute"] = {"data/test-0.parquet": parquet([{**BASE, "label": "a"}])}
    result = run(hub, tmp_path, write_task(tmp_path, "mute"), "--model", "null", "--json")
    assert result.returncode == 1
    assert "row 1: audio: missing; the row has instruction" in json.loads(result.stdout)["missing"][0]["reason"]


def test_a_split_without_rows_is_not_complete(hub: DatasetHub, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"instruction": pa.array([], pa.string())}), buffer)
    hub.datasets["Org/empty"] = {"data/test-0.parquet": buffer.getvalue()}
    result = run(hub, tmp_path, write_task(tmp_path, "empty"), "--model", "null", "--json")
    assert result.returncode == 1
    assert "split 'test' has no rows" in json.loads(result.stdout)["missing"][0]["reason"]


def test_audio_as_label_is_refused_by_name(hub: DatasetHub, tmp_path: Path) -> None:
    hub.datasets["Org/SE"] = {"data/test-0.parquet": parquet([{**BASE, "audio": clip(200), "label": clip(300)}])}
    result = run(hub, tmp_path, write_task(tmp_path, "SE"), "--model", "null")
    assert result.returncode == 1
    assert "label: holds audio; only text answers can be scored" in result.stdout


def test_folds_are_one_task_and_an_unknown_revision_is_resolved_once(hub: DatasetHub, tmp_path: Path) -> None:
    for fold in (1, 2):
        hub.datasets[f"Org/F{fold}"] = {
            f"data/test-{fold}.parquet": parquet(
                [{**BASE, "audio": clip(200 * fold), "label": "a", "file": f"f{fold}.wav"}]
            )
        }
    parts = [{"path": "Org/F1", "version": PINNED}, {"path": "Org/F2"}]
    folder = tmp_path / "folds"
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps({"name": "folds", "metrics": ["accuracy"], "parts": parts}))
    assert run(hub, tmp_path, folder, "--model", "null").returncode == 0
    assert [sample["id"] for sample in samples(tmp_path)] == ["f1.wav", "f2.wav"]
    written = (tmp_path / "run" / "tasks.json").read_text()
    assert HEAD_COMMIT in written
    assert PINNED in written


def test_a_gated_and_a_vanished_dataset_stop_their_task_only(hub: DatasetHub, tmp_path: Path) -> None:
    hub.datasets["Org/open"] = {"data/test-0.parquet": parquet([{**BASE, "audio": clip(200), "label": "a"}])}
    hub.datasets["Org/gated"] = hub.datasets["Org/open"]
    hub.gated.add("Org/gated")
    tasks = [write_task(tmp_path, name) for name in ("vanished", "gated", "open")]
    result = run(hub, tmp_path, *tasks, "--model", "null", "--json")
    assert result.returncode == 1
    content = json.loads(result.stdout)
    reasons = {row["task"]: row["reason"] for row in content["missing"]}
    assert "is not there, or private" in reasons["vanished"]
    assert "is gated: ask for access" in reasons["gated"]
    assert [score["task"] for score in content["tasks"] if score["counts"].get("ok")] == ["open"]
    again = run(hub, tmp_path, *tasks[1:], "--model", "null", "--json", HF_TOKEN=hub.token)
    assert again.returncode == 0, again.stderr


def test_a_missing_split_names_what_is_there(hub: DatasetHub, tmp_path: Path) -> None:
    hub.datasets["Org/old"] = {"data/evaluate-0.parquet": parquet([{**BASE, "audio": clip(200), "label": "a"}])}
    result = run(hub, tmp_path, write_task(tmp_path, "old"), "--model", "null", "--json")
    assert "has no split 'test': data/evaluate-0.parquet" in json.loads(result.stdout)["missing"][0]["reason"]
    assert (
        run(hub, tmp_path, write_task(tmp_path, "new", path="Org/old", split="evaluate"), "--model", "null").returncode
        == 0
    )


def test_a_hub_that_dies_loses_nothing_and_the_cache_works_offline(hub: DatasetHub, tmp_path: Path) -> None:
    rows = [{**BASE, "audio": clip(200 + n), "label": "a", "file": f"{n}.wav"} for n in range(4)]
    hub.datasets["Org/first"] = {"data/test-0.parquet": parquet(rows[:2])}
    hub.datasets["Org/second"] = {"data/test-1.parquet": parquet(rows[2:])}
    tasks = [write_task(tmp_path, name) for name in ("first", "second")]
    assert run(hub, tmp_path, tasks[0], "--model", "null").returncode == 0
    hub.broken = True
    broken = run(hub, tmp_path, *tasks, "--model", "null", "--json", HF_HUB_DOWNLOAD_TIMEOUT="2")
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["tasks"][0]["counts"] == {"ok": 2}
    hub.broken = False
    assert run(hub, tmp_path, *tasks, "--model", "null").returncode == 0
    log = (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()
    assert len(log) == len({json.loads(line)["key"] for line in log}) == 4
    hub.shutdown()
    hub.server_close()
    assert run(hub, tmp_path, *tasks, "--model", "null").returncode == 0, "a run knows its files"
    (tmp_path / "run" / "tasks.json").unlink()
    assert run(hub, tmp_path, *tasks, "--model", "null", HF_HUB_OFFLINE="1").returncode == 0, "so does the hub's cache"
    gone = run(hub, tmp_path / "elsewhere", tasks[0], "--model", "null", "--json")
    assert "cannot be fetched now" in json.loads(gone.stdout)["missing"][0]["reason"]


def test_pulled_rows_are_not_fetched_again(hub: DatasetHub, tmp_path: Path) -> None:
    hub.datasets["Org/here"] = {"data/test-0.parquet": parquet([{**BASE, "audio": clip(200), "label": "a"}])}
    here, gone = write_task(tmp_path, "here"), write_task(tmp_path, "gone")
    variables = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
    command = [sys.executable, "-m", "otoscope", "tasks", "pull", str(here), str(gone)]
    pulled = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert pulled.returncode == 1
    assert "here: 1 files" in pulled.stdout
    assert "Org/gone is not there" in pulled.stderr
    sent = hub.gets.total()
    assert run(hub, tmp_path, here, "--model", "null").returncode == 0
    assert hub.gets.total() == sent
