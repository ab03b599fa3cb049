"""The starter suite, read as plain JSON: its files are what its manifest, its licences and its labels say."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

import otoscope

STARTER = Path(otoscope.__file__).parent / "starter"
FREE = {"CC0-1.0", "MIT", "BSD-2-Clause", "CC-BY-3.0", "CC-BY-SA-3.0", "CC-BY-SA-3.0-IT"}

Json = dict[str, Any]


def _read_rows(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _read_json(file: Path) -> Json:
    content: Json = json.loads(file.read_text(encoding="utf-8"))
    return content


SUITE = _read_json(STARTER / "suite.json")
TASKS = {name.split("/")[0]: _read_json(STARTER / name) for name in SUITE["tasks"]}
ROWS = {folder: _read_rows(STARTER / folder / task["path"]) for folder, task in TASKS.items()}
MANIFEST = _read_rows(STARTER / "manifest.jsonl")

each_task = pytest.mark.parametrize("folder", TASKS)
each_clip = pytest.mark.parametrize("clip", MANIFEST, ids=lambda clip: clip["file"])


def _audio(row: Json) -> list[str]:
    """Return the clips of a row, named as the manifest names them."""
    return [row[key].removeprefix("../") for key in sorted(row) if re.fullmatch(r"audio\d*", key)]


def _decode(file: str) -> tuple[NDArray[np.float64], int]:
    samples, rate = soundfile.read(STARTER / file, always_2d=True)
    return samples, rate


def test_size_of_the_suite() -> None:
    assert len(TASKS) >= 10
    assert 120 <= sum(map(len, ROWS.values())) <= 145
    assert {task["kind"] for task in TASKS.values()} == {"classification", "regression", "sequence"}
    assert {task["domain"][0].split("/")[0] for task in TASKS.values()} == {"Speech", "Audio", "Music"}
    assert sum(file.stat().st_size for file in (STARTER / "audio").iterdir()) <= 15_000_000


def test_every_task_folder_is_in_the_suite() -> None:
    assert {file.parent.name for file in STARTER.glob("*/task.json")} == set(TASKS)


def test_every_clip_is_in_the_manifest_and_used() -> None:
    listed = [clip["file"] for clip in MANIFEST]
    assert len(listed) == len(set(listed))
    assert set(listed) == {f"audio/{file.name}" for file in (STARTER / "audio").iterdir()}
    assert set(listed) == {name for rows in ROWS.values() for row in rows for name in _audio(row)}


def test_ids_are_unique() -> None:
    ids = [row["id"] for rows in ROWS.values() for row in rows]
    assert len(ids) == len(set(ids))
    assert len({task["id"] for task in TASKS.values()}) == len(TASKS)


@each_clip
def test_clip_is_the_listed_one_and_can_be_heard(clip: Json) -> None:
    content = (STARTER / clip["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == clip["sha256"]
    samples, rate = _decode(clip["file"])
    assert (samples.shape[1], rate) == (1, clip["rate"])
    pcm = np.rint(samples[:, 0] * 32768).astype("<i2")
    assert hashlib.sha256(pcm.tobytes()).hexdigest() == clip["pcm_sha256"]
    assert clip["seconds"] == len(samples) / rate
    assert 0.5 < clip["seconds"] <= 20
    assert np.sqrt(np.mean(samples**2)) > 10 ** (-40 / 20)
    assert np.abs(samples).max() <= 0.99 + 1 / 32768


@each_clip
def test_clip_is_free_and_credited(clip: Json) -> None:
    assert set(clip["license"].split(" AND ")) <= FREE
    assert clip["made"]
    notice = (STARTER / "NOTICE.md").read_text(encoding="utf-8")
    for source in clip["sources"]:
        assert f"{source['package']} {source['version']}" in notice
    assert bool(clip["sources"]) == bool(clip["artists"])


@each_task
def test_task_file_is_complete(folder: str) -> None:
    task = TASKS[folder]
    assert task["id"] == f"starter/{folder}"
    assert task["primary_metric"] in task["metrics"]
    assert set(task["metrics"]) <= {"accuracy", "wer", "cer", "mse", "mae", "pearson"}
    assert (task["split"], task["version"]) == ("test", "1")
    assert all(task[key] for key in ("name", "description", "keywords", "source"))
    assert ("options" in task) == (task["kind"] == "classification")
    assert ("target_format" in task) == (task["kind"] == "regression")


@each_task
def test_license_and_source_of_a_task_cover_its_clips(folder: str) -> None:
    used = {name for row in ROWS[folder] for name in _audio(row)}
    clips = [clip for clip in MANIFEST if clip["file"] in used]
    assert set(TASKS[folder]["license"].split(" AND ")) == {
        licence for clip in clips for licence in clip["license"].split(" AND ")
    }
    for clip in clips:
        assert all(source["package"] in TASKS[folder]["source"] for source in clip["sources"])


@each_task
def test_instructions_are_many_and_spread_evenly(folder: str) -> None:
    counts = Counter(row["instruction"] for row in ROWS[folder])
    assert len(counts) >= max(len(ROWS[folder]) / 20, 10)
    assert max(counts.values()) - min(counts.values()) <= 1


def _missing(words: list[str], text: str) -> list[str]:
    return [word for word in words if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


@each_task
def test_instructions_name_what_can_be_answered(folder: str) -> None:
    task = TASKS[folder]
    form = task.get("target_format", {})
    named = task.get("options", []) + [f"{form[end]:g}" for end in ("low", "high") if end in form]
    for row in ROWS[folder]:
        assert "{" not in row["instruction"]
        assert _missing(named, row["instruction"]) == []


@each_task
def test_labels_have_the_form_of_their_task(folder: str) -> None:
    task = TASKS[folder]
    for row in ROWS[folder]:
        assert isinstance(row["label"], str)
        assert row["label"] == row["label"].strip() != ""
        assert row["cluster"]
        if task["kind"] == "classification":
            assert row["label"] in task["options"]
        if task["kind"] == "regression":
            assert task["target_format"]["low"] <= float(row["label"]) <= task["target_format"]["high"]


@pytest.mark.parametrize("folder", [name for name, task in TASKS.items() if task["kind"] == "classification"])
def test_every_option_is_right_equally_often(folder: str) -> None:
    counts = Counter(row["label"] for row in ROWS[folder])
    assert set(counts) == set(TASKS[folder]["options"])
    assert len(set(counts.values())) == 1
    assert set(TASKS[folder]["synonyms"]) <= set(counts)


def test_duration_labels_are_the_decoded_durations() -> None:
    for row in ROWS["duration"]:
        samples, rate = _decode(*_audio(row))
        assert row["label"] == f"{len(samples) / rate:.3f}"


def test_pitch_labels_are_the_frequencies_in_the_clips() -> None:
    for row in ROWS["pitch"]:
        samples, rate = _decode(*_audio(row))
        assert _harmonic_peak(samples[:, 0], rate, float(row["label"])) == pytest.approx(float(row["label"]), rel=0.01)


def _harmonic_peak(samples: NDArray[np.float64], rate: int, around: float) -> float:
    """Return the fundamental within a fifth of ``around`` whose first four harmonics are strongest."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 1 << 17))
    candidates = np.arange(around / 1.5, around * 1.5, 0.1)
    bins = np.rint(np.outer(candidates, range(1, 5)) * (1 << 17) / rate).astype(int)
    return float(candidates[np.log(spectrum[bins] + 1e-9).sum(1).argmax()])


def test_tempo_labels_are_the_distances_of_the_beats() -> None:
    for row in ROWS["tempo"]:
        samples, rate = _decode(*_audio(row))
        assert len(samples) == 8 * rate
        hop = rate // 200
        onsets = np.maximum(0, np.diff(np.log(1e-4 + np.add.reduceat(samples[:, 0] ** 2, range(0, 8 * rate, hop)))))
        onsets -= onsets.mean()
        lags = np.correlate(onsets, onsets, "full")[len(onsets) - 1 :]
        # The beat of the label explains the onsets, and no beat 6 to 20 % slower or faster does as well.
        beat = 60 / float(row["label"]) * rate / hop
        near = np.concatenate([np.arange(beat * 0.8, beat * 0.94), np.arange(beat * 1.06, beat * 1.2)]).astype(int)
        assert lags[round(beat) - 1 : round(beat) + 2].max() > 2 * lags[near].max()


def test_speech_of_language_identification_lasts_over_two_seconds() -> None:
    seconds = {clip["file"]: clip["seconds"] for clip in MANIFEST}
    assert all(seconds[name] > 2 for row in ROWS["language-identification"] for name in _audio(row))


def test_speaker_labels_follow_from_the_credited_speakers() -> None:
    for row in ROWS["speaker-verification"]:
        assert len(_audio(row)) == 2
        assert row["label"] == ("yes" if len(row["speakers"]) == 1 else "no")
    for row in ROWS["speaker-counting"]:
        assert row["label"] == str(len(set(row["speakers"])))
