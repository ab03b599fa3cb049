"""Voice activity and tagging, on graphs made here and on the real weights where they are on this machine."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import otoscope
from otoscope.audio import read_audio, resample
from otoscope.cli.main import cli
from otoscope.errors import ModelLoadingError, UsageError
from otoscope.gate import onnx
from otoscope.gate.rule import load_gate, write_gate
from otoscope.gate.signal import Heard
from otoscope.gate.tagger import Yamnet, load_tagger, read_checkpoint
from otoscope.gate.vad import Silero, WebRtc, speech_seconds
from otoscope.weights import fetch

RATE = 16_000
AUDIO = Path(otoscope.__file__).parent / "starter" / "audio"


def clip(name: str) -> NDArray[np.float32]:
    return resample(read_audio(AUDIO / f"{name}.flac"), RATE).samples


def named(name: str) -> str:
    """Name weights that are there."""
    assert fetch(name).is_dir()
    return name


@pytest.mark.parametrize(
    ("probabilities", "steps"),
    [
        ([], 0),
        ([0.4, 0.49, 0.4], 0),
        ([0.5, 0.4, 0.36, 0.34, 0.4], 3),
        ([0.9, 0.1, 0.9], 2),
        ([0.35, 0.5, 0.35], 2),
    ],
)
def test_speech_begins_high_and_ends_low(probabilities: list[float], steps: int) -> None:
    assert speech_seconds(np.array(probabilities, np.float32)) == pytest.approx(steps * 0.032)


@pytest.mark.parametrize("wrong", [-1.0, 1.1, float("nan")])
def test_what_is_no_probability_is_no_number(wrong: float) -> None:
    assert np.isnan(speech_seconds(np.array([0.9, wrong], np.float32)))


def test_a_graph_computes_what_was_written() -> None:
    pytest.importorskip("onnxruntime")
    weights = np.arange(6, dtype=np.float32).reshape(3, 2)
    nodes = [onnx.node("MatMul", ["x", "w"], ["y"]), onnx.node("Relu", ["y"], ["z"])]
    content = onnx.model(nodes, [onnx.tensor("w", weights)], {"x": (None, 3)}, {"z": (None, 2)})
    x = np.array([[1, -2, 3], [-1, 0, 0]], np.float32)
    [found] = onnx.session(content).run(None, {"x": x})
    assert np.array_equal(found, np.maximum(x @ weights, 0))


def test_silero_equals_its_published_graph_step_by_step() -> None:
    file = fetch("silero-vad")
    published = onnx.session(str(file / "silero_vad.onnx"))
    samples = np.concatenate([clip("librivox-0870"), np.zeros(8000, np.float32), clip("effect-horse")])[: 40 * RATE]
    padded = np.pad(samples, (64, -len(samples) % 512))
    state, expected = np.zeros((2, 1, 128), np.float32), []
    for start in range(0, len(padded) - 64, 512):
        inputs = {"input": padded[None, start : start + 576], "state": state, "sr": np.array(RATE)}
        probability, state = published.run(None, inputs)
        expected.append(probability[0, 0])
    found = Silero().probabilities(samples)
    assert np.abs(found - np.array(expected)).max() < 1e-5
    assert found.max() > 0.9


def test_silero_hears_speech_in_speech_alone_and_remembers_nothing() -> None:
    silero = Silero(named("silero-vad"))
    speech = silero.measure(Heard(clip("allison-en-digits-13")))
    assert speech.values["silero"] > 0.3
    assert silero.measure(Heard(clip("noise-white-1"))).values["silero"] == 0.0
    assert silero.measure(Heard(clip("allison-en-digits-13"))) == speech


@pytest.mark.parametrize("offset", [0.1, 0.2, 0.5])
def test_quiet_speech_is_heard_beside_a_constant_offset(offset: float) -> None:
    silero = Silero(named("silero-vad"))
    quiet = clip("librivox-0870") * 10**-1.5
    expected = silero.measure(Heard(quiet)).values
    found = silero.measure(Heard(quiet + np.float32(offset))).values
    assert found["silero"] == pytest.approx(expected["silero"], abs=0.1)
    assert found["silero_max"] == pytest.approx(expected["silero_max"], abs=0.01)


def test_long_audio_is_the_same_in_pieces() -> None:
    silero = Silero(named("silero-vad"))
    once = clip("librivox-0880")
    long = np.tile(once, 1 + 40 * RATE // len(once))
    whole, half = silero.probabilities(long), silero.probabilities(long[: 20 * 512])
    assert np.abs(whole[:20] - half).max() < 1e-6
    assert len(whole) == -(-len(long) // 512)


def test_another_model_is_not_silero(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "other.onnx"
    path.write_bytes(onnx.model([], [], {}, {}))
    for content in (path.read_bytes(), b"\xff" * 30, b""):
        path.write_bytes(content)
        with pytest.raises(ModelLoadingError, match="not Silero VAD 6"):
            Silero(str(path)).probabilities(np.zeros(512, np.float32))


def test_webrtc_takes_noise_for_voice_and_silence_for_none() -> None:
    pytest.importorskip("webrtcvad")
    detector = WebRtc()
    assert detector.measure(Heard(np.zeros(RATE, np.float32))).values["webrtc"] == 0.0
    assert detector.measure(Heard(clip("allison-en-demo-nomatch"))).values["webrtc"] > 1.0


def test_yamnet_hears_speech_and_what_is_none() -> None:
    tagger = Yamnet(named("yamnet"))
    assert len(tagger.classes) == 521
    assert tagger.measure(Heard(clip("librivox-0870"))).values["speech"] > 0.9
    assert tagger.measure(Heard(clip("drums-108"))).values["speech"] < 0.05
    rooster = tagger.tag(clip("effect-rooster")).max(axis=0)
    assert tagger.classes[int(rooster.argmax())] in {"Animal", "Chicken, rooster", "Fowl", "Crowing, cock-a-doodle-doo"}


@pytest.mark.parametrize(("samples", "patches"), [(1, 1), (15_600, 1), (15_601, 2), (15_600 + 7680, 2)])
def test_every_sample_is_in_a_patch(samples: int, patches: int) -> None:
    assert len(Yamnet(named("yamnet")).tag(np.zeros(samples, np.float32))) == patches


def test_what_is_no_checkpoint_is_said(tmp_path: Path) -> None:
    for name in ("variables.index", "variables.data-00000-of-00001", "yamnet_class_map.csv"):
        (tmp_path / name).write_bytes(b"\xff" * 60)
    with pytest.raises(ModelLoadingError, match="not the checkpoint of YAMNet"):
        read_checkpoint(tmp_path)


def small_ast(folder: Path) -> str:
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, max_length=64,
        id2label={0: "Speech", 1: "Crowd", 2: "Music"}, label2id={"Speech": 0, "Crowd": 1, "Music": 2},
    )  # fmt: skip
    transformers.ASTForAudioClassification(config).save_pretrained(folder)
    transformers.ASTFeatureExtractor(max_length=64).save_pretrained(folder)
    return str(folder)


@pytest.mark.filterwarnings("ignore:At least one mel filter")
def test_an_ast_tags_by_its_own_classes(tmp_path: Path) -> None:
    scores = load_tagger(small_ast(tmp_path)).measure(Heard(clip("allison-en-digits-13"))).values
    assert set(scores) == {"speech", "crowd"}
    assert all(0 < value < 1 for value in scores.values())


@pytest.mark.filterwarnings("ignore:At least one mel filter")
def test_an_ast_is_reached_from_the_command_line_and_survives_freezing(tmp_path: Path) -> None:
    spec, file = small_ast(tmp_path / "ast"), str(AUDIO / "allison-en-digits-13.flac")
    command = ["gate", "check", file, "--gate", "energy+tagger", "-G", f"tagger={spec}"]
    found = CliRunner().invoke(cli, [*command, "--force", "--json"], catch_exceptions=False)
    assert 0 < json.loads(found.stdout)["scores"]["speech"] < 1
    with pytest.raises(UsageError, match="chosen for yamnet, not for"):
        CliRunner().invoke(cli, command, catch_exceptions=False)
    gate = load_gate("tagger", options={"tagger": spec}, force=True)
    write_gate(gate, tmp_path / "gate.json")
    assert load_gate(str(tmp_path / "gate.json")).settings["signals"]["tagger"]["spec"] == spec
