"""Each worker script with a stub of what it imports, which checks how it is called and answers from what it hears."""

import ast
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from otoscope.audio import Audio, Intake, read_audio
from otoscope.conformance import check_worker
from otoscope.models import Reply, Request
from otoscope.models.command import CommandModel

WORKERS = Path(__file__).parents[2] / "workers"
STUBS = Path(__file__).parent / "stubs"
SALMONN = "--repository {stubs}/repository --llama llama --whisper whisper --beats beats.pt --checkpoint salmonn.pth"

#: The arguments, and what the model says of itself.
SCRIPTS = {
    "qwen_audio_chat": ("", "qwen-audio-chat", Intake(16_000, 7, 30)),
    "minicpm_o": ("", "minicpm-o", Intake(16_000, 1, 600)),
    "salmonn": (f"7b {SALMONN}", "salmonn-7b", Intake(16_000, 1, 30)),
    "ltu_as": ("--repository {stubs}/repository", "ltu-as", Intake(16_000, 1, 10)),
    "wavllm": ("--fairseq {stubs}/fairseq --checkpoint final.pt --batch 4", "wavllm", Intake(16_000, 1, 100)),
    "mu_llama": (
        "--repository {stubs}/repository --checkpoint checkpoint.pth --llama LLaMA-2",
        "mu-llama",
        Intake(24_000, 1, 60),
    ),
    "gama": (
        "--repository {stubs}/repository --llama llama --checkpoint stage5/pytorch_model.bin",
        "gama",
        Intake(16_000, 1, 10.24),
    ),
}
SAMPLES_WITHOUT_AUDIO = {"qwen_audio_chat", "minicpm_o", "gama"}


@pytest.fixture(autouse=True)
def _environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the stubs of a script where its environment would have the packages."""
    folder = STUBS / request.node.callspec.params["name"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (STUBS, folder, folder / "site"))))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")


def command(name: str, arguments: str = "") -> str:
    return f"{sys.executable} {WORKERS / name}.py {(arguments or SCRIPTS[name][0]).format(stubs=STUBS / name)}"


def clip(rate: int, seconds: float) -> Audio:
    return read_audio((np.zeros(round(rate * seconds)), rate))


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_says_what_it_takes_and_answers_from_what_it_hears(name: str) -> None:
    _, identity, intake = SCRIPTS[name]
    model = CommandModel(command(name), {"timeout": "60"})
    assert (model.id, model.intake) == (f"cmd/{identity}", intake)
    assert model.settings.get("temperature", 0) == 0
    assert not model.settings.get("do_sample")
    lengths = (0.25, 0.5) if intake.clips > 1 else (0.75,)
    long = Request((clip(intake.rate, intake.longest or 30),), "Which language?", "Choose one.")
    requests = [
        Request(tuple(clip(intake.rate, length) for length in lengths), "Wie viele \u00bbW\u00f6rter\u00ab?"),
        long,
        Request((), "What do you hear?"),
        Request((clip(intake.rate, 0.1),), "And now?"),
    ]
    first, second, without, last = model.answer(requests)
    heard = " ".join(f"{length:.2f}s" for length in lengths)
    assert first == Reply(f"{heard}: Wie viele \u00bbW\u00f6rter\u00ab?")
    newline = " " if name == "wavllm" else "\n"  # its table has a line for each request
    assert second == Reply(f"{intake.longest or 30:.2f}s: Which language?{newline}Choose one.")
    if name in SAMPLES_WITHOUT_AUDIO:
        assert without == Reply("nothing: What do you hear?")
    else:
        assert without.error.endswith("answers nothing without audio")
    assert last == Reply("0.10s: And now?")


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_conforms(name: str) -> None:
    failed = [finding for finding in check_worker(command(name), {"timeout": "60"}) if not finding.passed]
    assert failed == []


@pytest.mark.parametrize("name", ["salmonn"])
def test_both_sizes_are_models_of_their_own(name: str) -> None:
    seven, thirteen = (CommandModel(command(name, f"{size} {SALMONN}"), {}) for size in ("7b", "13b"))
    assert (seven.id, thirteen.id) == ("cmd/salmonn-7b", "cmd/salmonn-13b")


@pytest.mark.parametrize("name", ["ltu_as"])
def test_whole_clips_on_demand(name: str) -> None:
    model = CommandModel(command(name, "--repository {stubs}/repository --whole"), {})
    assert model.intake == Intake(16_000, 1, None)


@pytest.mark.parametrize("name", [*SCRIPTS, "otoscope_worker", "demo_script"])
def test_it_is_written_for_old_environments(name: str) -> None:
    source = (WORKERS / f"{name}.py").read_text("utf-8")
    ast.parse(source, feature_version=(3, 8))
    for field in ("Install, in an environment of its own", "Licence: ", "Memory: ", "Weights", "likeliest token"):
        assert name not in SCRIPTS or field.lower() in " ".join(source.split()).lower()
