"""Sets that were built: from the recordings of the starter suite, and from folders of pseudo-speech."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sure_sets import RATE, Built, Json, build_mini, decode, pseudo_speech, read_rows, write_librispeech

import otoscope
from otoscope.datasets import read_samples
from otoscope.errors import TaskError, UsageError
from otoscope.sure import noise
from otoscope.sure.build import build_set
from otoscope.sure.families import EXTRA, clip_family
from otoscope.sure.plan import Settings
from otoscope.sure.sources import MINI, load, read_utterances
from otoscope.task import read_suite, read_task
from otoscope.text import standard

STARTER = Path(otoscope.__file__).parent / "starter"
SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build_mini(tmp_path_factory.mktemp("mini") / "set")


def _of_family(built: Built, family: str) -> list[Json]:
    return [row for split in SPLITS for row in built.rows(split) if row["family"] == family]


def _hashes(built: Built) -> dict[str, str]:
    return {row["id"]: row["pcm_sha256"] for split in SPLITS for row in built.rows(split)}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def _clean(built: Built, row: Json) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    file = built.folder / row["split"] / "audio" / row["cluster"] / "clean.flac"
    return decode(file)


def test_mini_is_made_of_real_sentences_with_exact_texts() -> None:
    manifest = {
        Path(row["file"]).stem: row
        for row in map(json.loads, (STARTER / "manifest.jsonl").read_text("utf-8").splitlines())
    }
    labels = {row["cluster"]: row["label"] for row in read_rows(STARTER / "transcription-en")}
    rows = [json.loads(line) for line in MINI.read_text("utf-8").splitlines()]
    assert len({standard(row["text"]) for row in rows}) == len(rows) == 20
    for row in rows:
        assert manifest[row["id"]]["seconds"] > 3
        assert manifest[row["id"]]["license"] == row["license"]
        assert (MINI.parent / row["audio"]).is_file()
        assert labels.get(row["id"], row["text"]) == row["text"]


def test_counts_of_mini(mini: Built) -> None:
    kinds = {split: Counter(row["kind"] for row in mini.rows(split)) for split in SPLITS}
    assert kinds == {
        "train": {"supported": 90, "non-speech": 50, "babble": 14},
        "dev": {"supported": 45, "non-speech": 25, "babble": 4},
        "test": {"supported": 45, "non-speech": 25, "babble": 4},
    }
    assert len(mini.datasheet["leaking"]) == 18
    assert not set(mini.datasheet["leaking"]) & set(_hashes(mini))


def test_every_row_is_there_and_can_be_heard(mini: Built) -> None:
    for split in SPLITS:
        rows = mini.rows(split)
        for row in rows:
            samples = mini.samples(row)
            assert len(samples) / RATE == pytest.approx(row["seconds"], abs=1e-4)
            assert np.abs(samples).max() <= 0.99
            assert (np.abs(samples).max() > 0) == (row["family"] != "silence")
            assert (row["expect"] == "answer") == (row["kind"] == "supported") == bool(row["label"])
            assert row["id"] == f"mini/{split}/{row['cluster']}/{row['family']}"
        named = {row["audio"] for row in rows}
        assert named == {str(file.relative_to(mini.folder / split)) for file in (mini.folder / split).rglob("*.flac")}


def test_main_path_takes_the_folder(mini: Built, tmp_path: Path) -> None:
    assert [task.id for task in read_suite(mini.folder)] == ["sure/mini/test"]
    samples = list(read_samples(read_task(mini.folder / "dev")))
    assert Counter(sample.expect for sample in samples) == {"answer": 45, "abstain": 29}
    assert len({sample.cluster for sample in samples}) == 5
    assert {sample.meta["split"] for sample in samples} == {"dev"}
    result = otoscope.run(str(mini.folder), model="null", folder=tmp_path / "run")
    assert not result.missing
    assert result.scores[0].n == 74


def test_same_seed_same_bytes(mini: Built, tmp_path: Path) -> None:
    again = build_mini(tmp_path / "again")
    assert _files(again.folder) == _files(mini.folder)


def test_another_seed_changes_what_is_drawn_and_nothing_else(mini: Built, tmp_path: Path) -> None:
    other = _hashes(build_mini(tmp_path / "other", Settings("mini", seed=1)))
    changed = Counter(name.rpartition("/")[2] for name, content in _hashes(mini).items() if other[name] != content)
    drawn = {"white-20db", "white-10db", "white-5db", "reverb", "white", "pink", "brown", "tone"}
    assert {family for family, count in changed.items() if count == 20} == drawn
    assert set(changed) <= {*drawn, "speed", "babble-2", "babble-4"}
    assert min(changed["speed"], changed["babble-2"], changed["babble-4"]) > 0


def test_more_families_and_other_sources_leave_rows_as_they_are(mini: Built, tmp_path: Path) -> None:
    extra = [*EXTRA.values(), clip_family("environment", STARTER / "audio")]
    more = build_mini(tmp_path / "more", extra=extra)
    before, after = _hashes(mini), _hashes(more)
    assert {name: after[name] for name in before} == before
    added = {name.rpartition("/")[2] for name in after.keys() - before.keys()}
    assert added == {"blue", "violet", "speech-shaped", "environment"}

    reversed_sources = list(read_utterances(MINI))[::-1]
    build_set(reversed_sources, Settings("mini"), tmp_path / "reversed")
    moved = _hashes(Built(tmp_path / "reversed", {}))
    places = {name.split("/", 2)[2]: content for name, content in moved.items()}
    for name, content in before.items():
        if "babble" not in name:
            assert places[name.split("/", 2)[2]] == content


@pytest.mark.parametrize(("family", "snr"), [("white-20db", 20), ("white-10db", 10), ("white-5db", 5)])
def test_snr_measured_back(mini: Built, family: str, snr: float) -> None:
    rows = _of_family(mini, family)
    assert len(rows) == 20
    for row in rows:
        speech = _clean(mini, row)
        added = mini.samples(row) / row["gain"] - speech
        assert 20 * np.log10(noise.active_rms(speech) / noise.rms(added)) == pytest.approx(snr, abs=0.1)
        assert 20 * np.log10(noise.rms(speech) / noise.rms(added)) == pytest.approx(row["snr_whole_db"], abs=0.1)
        assert row["snr_active_db"] == snr
        assert row["snr_whole_db"] < snr


def test_clean_rows_are_the_source(mini: Built) -> None:
    for row in _of_family(mini, "clean"):
        if row["speaker"] == "librivox":
            original, _ = soundfile.read(STARTER / "audio" / f"{row['cluster']}.flac", dtype="int16")
            written, _ = soundfile.read(mini.folder / row["split"] / row["audio"], dtype="int16")
            assert np.array_equal(original, written)


def test_levels_and_lengths(mini: Built) -> None:
    for family in ("white", "pink", "brown", "babble-2", "babble-4"):
        for row in _of_family(mini, family):
            samples = mini.samples(row)
            assert len(samples) == len(_clean(mini, row))
            assert noise.rms(samples) / row["gain"] == pytest.approx(0.05, rel=0.01)
    for row in _of_family(mini, "tone"):
        assert np.abs(mini.samples(row)).max() == pytest.approx(0.1, rel=0.01)
        assert 200 <= row["hertz"] <= 2000
    for row in _of_family(mini, "speed"):
        assert len(mini.samples(row)) == pytest.approx(len(_clean(mini, row)) / row["speed"], abs=1)
    for row in _of_family(mini, "gain-20db"):
        assert noise.rms(mini.samples(row)) == pytest.approx(0.1 * noise.rms(_clean(mini, row)), rel=0.01)


def test_what_is_asked(mini: Built) -> None:
    first = {row["cluster"]: row["label"] for row in _of_family(mini, "first-word-clean")}
    assert first["librivox-0870"] == "and"
    assert first["allison-en-demo-nomatch"] == "i'm"
    assert {row["asked"] for row in _of_family(mini, "babble-4")} == {"main-speaker"}
    assert len({row["instruction"] for split in SPLITS for row in mini.rows(split)}) == 3


def test_babble_holds_its_voices(mini: Built) -> None:
    """The mixture is rebuilt here from the clean rows."""
    row = _of_family(mini, "babble-2")[0]
    voices = {one["cluster"]: mini.samples(one) for one in _of_family(mini, "clean")}
    size = len(_clean(mini, row))
    total = np.zeros(size)
    for name, factor in zip(row["constituents"], row["speeds"], strict=True):
        voice = noise.change_speed(voices[name], factor)
        total += np.tile(voice / noise.active_rms(voice), 1 + size // len(voice))[:size]
    assert np.corrcoef(total, mini.samples(row))[0, 1] > 0.999
    assert set(row["speeds"]) <= {0.9, 1.1}
    assert row["cluster"] not in row["constituents"]


def test_groups_without_speed_with_padding_and_a_way_to_abstain(mini: Built, tmp_path: Path) -> None:
    plain = build_mini(
        tmp_path / "plain", Settings("mini", babble="disjoint", speed=False, fit="pad", self_abstain=True)
    )
    before, after = _hashes(mini), _hashes(plain)
    assert {name.rpartition("/")[2] for name in before if before[name] != after[name]} == {"babble-2", "babble-4"}
    assert len(after) == 320
    assert all("UNSUPPORTED" in row["instruction"] for row in plain.rows("test"))
    assert not any("UNSUPPORTED" in row["instruction"] for row in mini.rows("test"))
    assert {factor for row in _of_family(plain, "babble-4") for factor in row["speeds"]} == {1}
    assert Counter(row["group"] for row in plain.rows("train")) == {"train-1": 80, "train-2": 80}


def test_core_has_its_published_counts_and_names_what_leaks(tmp_path: Path) -> None:
    utterances = read_utterances(write_librispeech(tmp_path / "speech", speakers=4, each=10))
    datasheet = build_set(utterances, Settings("core", "B", babble="circular"), tmp_path / "core")
    test = Counter(row["kind"] for row in read_rows(tmp_path / "core" / "test"))
    assert test == {"supported": 90, "non-speech": 50, "babble": 20}
    assert datasheet["counts"]["test"]["rows"] == {
        "planned": 160,
        "leaking": 6,
        "after the screen": 154,
        "written": 160,
    }
    assert datasheet["speakers_in_two_splits"] == []
    assert len(datasheet["leaking"]) == 18
    text = (tmp_path / "core" / "datasheet.md").read_text("utf-8")
    assert "| test | 10 | 90 | 50 | 20 | 6 | 154 | 160 |" in text
    assert all(name in text for name in datasheet["leaking"])
    assert datasheet["licenses"] == {"not stated": 40}


def test_clips_of_a_folder(tmp_path: Path) -> None:
    clips = tmp_path / "clips" / "deep"
    clips.mkdir(parents=True)
    soundfile.write(clips / "short.wav", pseudo_speech(1, 0.5), 8000)
    soundfile.write(clips / "long.ogg", np.pad(pseudo_speech(2, 2), (30 * RATE, 0)), RATE)
    built = build_mini(tmp_path / "set", extra=[clip_family("music", tmp_path / "clips")])
    rows = _of_family(built, "music")
    assert {row["clip"] for row in rows} == {"short.wav", "long.ogg"}
    for row in rows:
        assert row["expect"] == "abstain"
        assert noise.rms(built.samples(row)) / row["gain"] == pytest.approx(0.05, rel=0.02)
    soundfile.write(clips / "short.wav", np.zeros(8000), 8000)
    with pytest.raises(TaskError, match=r"short\.wav: silent"):
        build_mini(tmp_path / "other", extra=[clip_family("music", tmp_path / "clips")])
    with pytest.raises(UsageError, match=r"--music .* no audio files"):
        clip_family("music", tmp_path / "set" / "test" / "audio" / "none")


def test_nothing_is_overwritten_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="there is something already"):
        build_mini(tmp_path / "taken")

    speech = tmp_path / "speech"
    shutil.copytree(STARTER / "audio", speech)
    rows = [json.loads(line) for line in MINI.read_text("utf-8").splitlines()]
    manifest = speech / "manifest.jsonl"
    manifest.write_text("".join(json.dumps({**row, "audio": Path(row["audio"]).name}) + "\n" for row in rows))
    soundfile.write(speech / Path(rows[3]["audio"]).name, np.zeros(RATE * 4), RATE)
    with pytest.raises(TaskError, match="no frame above -60 dBFS"):
        build_set(read_utterances(manifest), Settings("mini"), tmp_path / "failed")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["speech", "taken"]


def test_reading_librispeech(tmp_path: Path) -> None:
    utterances = list(read_utterances(write_librispeech(tmp_path / "LibriSpeech" / "dev-clean", speakers=2, each=3)))
    assert [utterance.id for utterance in utterances[:2]] == ["100-7-0000", "100-7-0001"]
    assert [utterance.speaker for utterance in utterances] == ["100"] * 3 + ["101"] * 3
    assert utterances[4].text == "WORD4 AND ANOTHER"
    speech = load(utterances[4])
    assert (speech.rate, len(speech.samples)) == (RATE, round(1.04 * RATE))


def test_reading_a_manifest(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "one.wav", pseudo_speech(1, 1.5), 8000)
    (tmp_path / "m.csv").write_text("audio,text,speaker\none.wav,Hello there.,anna\n")
    (utterance,) = read_utterances(tmp_path / "m.csv", "CC0-1.0")
    assert (utterance.id, utterance.speaker, utterance.license) == ("one", "anna", "CC0-1.0")
    speech = load(utterance)
    assert (speech.rate, speech.seconds, len(speech.samples)) == (8000, 3.0, 48_000)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('{"text": "hello"}', r"m\.jsonl: row 1: audio: missing"),
        ('{"audio": "a.wav", "text": " - "}', r"row 1: a: no transcript"),
        ('{"audio": "a.wav", "text": "hi", "id": "../a"}', r"row 1: id '\.\./a': use letters"),
        ('{"audio": "a.wav", "text": "hi"}\n{"audio": "b/a.wav", "text": "ho"}', "'a' is there twice"),
        ("[]", "a row is an object"),
    ],
)
def test_manifests_that_are_wrong(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "m.jsonl").write_text(rows + "\n")
    with pytest.raises(TaskError, match=message):
        list(read_utterances(tmp_path / "m.jsonl"))


def test_speech_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file or folder"):
        read_utterances(tmp_path / "none")
    with pytest.raises(UsageError, match=r"no utterances; give a folder with speaker/chapter"):
        list(read_utterances(tmp_path))


def test_a_source_that_is_too_short(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", pseudo_speech(1, 0.99), RATE)
    (tmp_path / "m.jsonl").write_text('{"audio": "a.wav", "text": "hi"}\n')
    with pytest.raises(TaskError, match=r"a\.wav: 0\.99 s; a source has at least 1 s"):
        load(next(read_utterances(tmp_path / "m.jsonl")))


def test_an_expectation_that_is_no_such_word(mini: Built, tmp_path: Path) -> None:
    shutil.copy(mini.folder / "dev" / "task.json", tmp_path)
    row = {**mini.rows("dev")[0], "expect": "refuse"}
    (tmp_path / "samples.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(TaskError, match=r"row 1: expect: 'refuse' is not one of answer, abstain"):
        list(read_samples(read_task(tmp_path)))
