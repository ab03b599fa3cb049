"""The presets: every system of the papers, known without a library, and the page that shows them."""

import csv
import importlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from otoscope.cli.main import cli
from otoscope.errors import UnknownNameError, UsageError
from otoscope.models import PRESETS, load_model
from otoscope.models.presets import DYNAMIC_SUPERB, HOME, SURE, describe, expand_preset
from otoscope.models.transformers import FAMILIES
from otoscope.published import SYSTEMS

ROOT = Path(__file__).parents[2]


def test_every_system_of_the_papers_has_one_preset() -> None:
    labels = [preset.papers[DYNAMIC_SUPERB] for preset in PRESETS.values() if DYNAMIC_SUPERB in preset.papers]
    assert sorted(labels) == sorted(SYSTEMS.values())
    with (ROOT / "src" / "otoscope" / "catalogue" / "published.csv").open() as file:
        assert {row["model"] for row in csv.DictReader(file)} == set(labels)
    backbones = {preset.papers[SURE] for preset in PRESETS.values() if SURE in preset.papers}
    assert backbones == {
        "Qwen2-Audio",
        "Qwen2.5-Omni",
        "Qwen-Audio-Chat",
        "Audio Flamingo Next",
        "Audio Flamingo 3",
        "MiniCPM-o",
    }


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_all_there_is_and_never_nothing(name: str) -> None:
    preset, facts = PRESETS[name], describe(name)
    for fact in ("weights", "license", "memory", "audio", "generation", "tried"):
        assert facts[fact]
    worker = preset.spec.startswith("cmd/")
    assert facts["tried"] == (
        "only with a stub of the package it imports" if worker else "only with tiny random weights"
    )
    assert set(preset.options) <= {"prompt", "revision"}


def test_a_worker_is_started_by_the_python_of_its_environment() -> None:
    options = {"python": "/opt/s/bin/python", "arguments": "--repository 'my SALMONN'", "timeout": "9"}
    spec, left = expand_preset("salmonn-13b", options)
    assert spec == f"cmd//opt/s/bin/python {HOME}/salmonn.py 13b --repository 'my SALMONN'"
    assert left == {"timeout": "9"}
    assert expand_preset("gama", {}) == (f"cmd/python {HOME}/gama.py", {})


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].spec.startswith("cmd/")])
def test_the_command_line_of_a_worker_has_all_that_its_script_asks_for(name: str) -> None:
    words = shlex.split(describe(name)["start"])
    assert words[:5] == ["otoscope", "run", "starter", "--model", name]
    options = dict(word.split("=", 1) for word in words[6::2])
    spec, left = expand_preset(name, {**options, "python": sys.executable})
    program, script, *arguments = shlex.split(spec.removeprefix("cmd/"))
    assert not left
    usage = subprocess.run([program, script, *arguments, "--help"], check=True, capture_output=True, text=True).stdout
    required = re.findall(r"--\w+", re.sub(r"\[[^]]*\]", "", usage.partition("\n\n")[0]))
    assert sorted(required) == sorted(word for word in arguments if word.startswith("--"))


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].spec.startswith("cmd/")])
def test_the_script_of_a_worker_comes_with_the_package(name: str) -> None:
    _, script, *_ = shlex.split(expand_preset(name, {})[0])
    assert Path(script).is_file()


def test_what_the_user_says_comes_after_what_the_preset_says() -> None:
    assert expand_preset("phi-4-multimodal", {})[1] == {"revision": "refs/pr/70"}
    assert expand_preset("phi-4-multimodal", {"revision": "main"})[1] == {"revision": "main"}
    with pytest.raises(UsageError, match="no option 'python'"):
        load_model("qwen2-audio", {"python": "python3"})


def test_a_name_that_is_nearly_a_preset_is_offered() -> None:
    with pytest.raises(UnknownNameError, match="did you mean qwen2-audio"):
        load_model("qwen2-audios")


def test_show_prints_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    cli(["models", "show", "minicpm-o", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == {"name": "minicpm-o", **describe("minicpm-o")}
    cli(["models", "show", "minicpm-o"], standalone_mode=False)
    text = capsys.readouterr().out
    assert all(fact in text for fact in describe("minicpm-o").values())
    with pytest.raises(UnknownNameError, match="unknown preset 'gamma'"):
        cli(["models", "show", "gamma"], standalone_mode=False)


def test_the_page_of_models_is_what_the_presets_say(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "write_model_docs.py"), str(tmp_path / "models.md")]
    subprocess.run(command, check=True)
    assert (ROOT / "docs" / "models.md").read_text("utf-8") == (tmp_path / "models.md").read_text("utf-8"), "make docs"


def test_each_family_is_a_class_of_the_library() -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("no transformers: pip install '.[transformers]'")
    from transformers.models.auto.auto_mappings import CONFIG_MAPPING_NAMES

    assert set(FAMILIES) <= set(CONFIG_MAPPING_NAMES)
