"""``otoscope sure build``, through the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from sure_sets import read_rows, write_librispeech

from otoscope.cli.main import cli
from otoscope.errors import UsageError


def _invoke(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["sure", "build", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_extended_from_a_folder(tmp_path: Path) -> None:
    speech = write_librispeech(tmp_path / "speech", speakers=12, each=12)
    output = _invoke(
        *("--speech", speech, "--set", "extended", "--disjoint", "speaker", "--seed", 3, "-o", tmp_path / "set")
    )
    assert "test    30 sources: 270 supported, 150 non-speech, 60 babble; 6 leak; 474 rows written" in output
    assert [len(read_rows(tmp_path / "set" / split)) for split in ("train", "dev", "test")] == [954, 474, 474]


def test_every_option_reaches_the_datasheet(tmp_path: Path) -> None:
    noises = tmp_path / "noises"
    write_librispeech(noises, speakers=1, each=2)
    output = _invoke(
        *("--recipe", "B", "--seed", 7, "--babble", "within-split", "--no-speed", "--short", "pad", "--no-screen"),
        *("--add", "blue", "--add", "violet", "--add", "speech-shaped", "--music", noises, "--environment", noises),
        *("--self-abstain", "--json", "-o", tmp_path / "set"),
    )
    datasheet = json.loads(output)
    assert datasheet["settings"] == {
        "name": "mini",
        "recipe": "B",
        "seed": 7,
        "babble": "within-split",
        "speed": False,
        "fit": "pad",
        "disjoint": "source",
        "distinct_speakers": False,
        "screen": False,
        "self_abstain": True,
    }
    assert datasheet["counts"]["test"]["kinds"] == {"supported": 45, "non-speech": 50, "babble": 10}
    assert datasheet == json.loads((tmp_path / "set" / "datasheet.json").read_text("utf-8"))


def test_a_set_that_needs_speech(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--set core needs --speech"):
        _invoke("--set", "core", "-o", tmp_path / "set")
