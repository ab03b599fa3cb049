"""Speech from a dataset on the hub, through the hub's own client."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loopback_hub import HEAD_COMMIT, DatasetHub
from sure_sets import read_rows, write_librispeech

from otoscope.errors import DataUnavailableError, UsageError
from otoscope.sure.sources import read_utterances

PINNED = "a" * 40
Json = dict[str, Any]


def parquet(rows: list[Json]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer, row_group_size=4)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_librispeech(tmp_path_factory.mktemp("speech"), speakers=4, each=10)


@pytest.fixture
def hub(speech: Path) -> Iterator[DatasetHub]:
    """Serve 40 utterances in the layout of LibriSpeech on the hub, 25 of them in the first file."""
    rows = [
        {
            "file": utterance.clip.name,
            "audio": {"bytes": Path(utterance.clip.name).read_bytes(), "path": f"{utterance.id}.flac"},
            "text": utterance.text,
            "speaker_id": int(utterance.speaker),
        }
        for utterance in read_utterances(speech)
    ]
    with DatasetHub() as server:
        server.datasets["Org/speech"] = {
            "clean/validation/0000.parquet": parquet(rows[:25]),
            "clean/validation/0001.parquet": parquet(rows[25:]),
            "clean/test/0000.parquet": b"not read",
            "README.md": b"",
        }
        yield server


def build(hub: DatasetHub, home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(home / "hf"), "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "otoscope", "sure", "build", "-o", str(home / "set"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables | environment)


def test_a_dataset_gives_what_the_folder_gives_and_only_the_file_that_is_needed(
    hub: DatasetHub, speech: Path, tmp_path: Path
) -> None:
    source = "hub:Org/speech/clean/validation"
    result = build(hub, tmp_path, "--speech", source, "--column", "speaker=speaker_id", "--disjoint", "source")
    assert result.returncode == 0, result.stderr
    assert dict(hub.gets) == {"clean/validation/0000.parquet": 1}
    made = json.loads((tmp_path / "set" / "datasheet.json").read_text("utf-8"))
    assert made["attributions"] == [f"Org/speech at {HEAD_COMMIT}"]
    assert {row["speaker"] for row in read_rows(tmp_path / "set" / "train")} == {"100"}

    local = tmp_path / "local"
    assert build(hub, local, "--speech", str(speech)).returncode == 0
    assert made["content"] == json.loads((local / "set" / "datasheet.json").read_text("utf-8"))["content"]


def test_a_commit_is_kept_and_serves_without_the_network(hub: DatasetHub, tmp_path: Path) -> None:
    options = ("--speech", f"hub:Org/speech@{PINNED}/clean/validation", "--set", "core")
    assert build(hub, tmp_path, *options).returncode == 0
    assert set(hub.gets) == {"clean/validation/0000.parquet", "clean/validation/0001.parquet"}
    first = (tmp_path / "set" / "datasheet.json").read_text("utf-8")
    assert f"Org/speech at {PINNED}" in first
    (tmp_path / "set").rename(tmp_path / "first")
    again = build(hub, tmp_path, *options, HF_HUB_OFFLINE="1")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "set" / "datasheet.json").read_text("utf-8") == first
    assert hub.gets.total() == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--speech", "hub:Org/none"), 1, "Org/none is not there, or private"),
        (("--speech", "hub:Org/speech/dirty"), 1, "no Parquet file whose name begins with 'dirty': clean/test/0000"),
        (("--speech", "hub:speech"), 2, "write hub:ORG/NAME"),
        (("--speech", "hub:Org/speech/clean/val", "--column", "words=text"), 2, "unknown column of speech 'words'"),
        (("--speech", "hub:Org/speech/clean/val", "--column", "text=sentence"), 1, "row 1: sentence: missing; the row"),
        (("--speech", "hub:Org/speech/clean/val", "--disjoint", "speaker"), 2, "'100-7-0000' has no speaker"),
        (("--speech", "hub:Org/speech/clean/val", "--set", "extended"), 2, "needs 120 utterances, there are 40"),
    ],
)
def test_what_is_wrong_is_said(
    hub: DatasetHub, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = build(hub, tmp_path, *arguments)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert not (tmp_path / "set").exists()


def test_a_gated_dataset_needs_its_token(hub: DatasetHub, tmp_path: Path) -> None:
    hub.gated.add("Org/speech")
    assert "is gated: ask for access" in build(hub, tmp_path, "--speech", "hub:Org/speech/clean").stderr
    assert build(hub, tmp_path, "--speech", "hub:Org/speech/clean/val", HF_TOKEN=hub.token).returncode == 0


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataUnavailableError, match=r"needs the hub's client: pip install 'otoscope\[hub\]'"):
        next(read_utterances(f"hub:Org/speech@{PINNED}"))


def test_a_folder_has_no_columns_to_name(speech: Path) -> None:
    with pytest.raises(UsageError, match="has no columns to name"):
        read_utterances(speech, columns={"text": "sentence"})
