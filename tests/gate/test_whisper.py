"""The score: from probabilities by hand, and from a real model where its weights are on this machine."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import otoscope
from otoscope.audio import read_audio, resample
from otoscope.errors import UnknownNameError
from otoscope.gate.rule import CONDITIONS, Gate
from otoscope.gate.signal import Heard
from otoscope.gate.whisper import (
    Conventions,
    Ctranslate2Decoder,
    Steps,
    TransformersDecoder,
    WhisperScore,
    load_whisper_score,
    max_probability,
    prompt_tokens,
    score_steps,
)
from otoscope.records import Clip
from otoscope.weights import locate

RATE = 16_000
PROBABILITY = st.floats(1e-5, 1.0)
AUDIO = Path(otoscope.__file__).parent / "starter" / "audio"


class Scripted:
    """Decodes each window to the next of some steps."""

    identity = {"spec": "scripted"}  # noqa: RUF012 - never changed

    def __init__(self, *windows: Steps) -> None:
        self._windows = iter(windows)

    def decode(self, samples: NDArray[np.float32], conventions: Conventions) -> Steps:
        assert len(samples) <= 30 * RATE
        assert conventions.max_tokens > 0
        return next(self._windows)


def steps(*likeliest: float, tokens: int | None = None, language: str = "en") -> Steps:
    count = len(likeliest) - 1 if tokens is None else tokens
    return Steps(likeliest, tuple(range(count)), ended=count < len(likeliest), no_speech=0.1, language=language)


def loud(seconds: float) -> NDArray[np.float32]:
    return (0.1 * np.sin(np.arange(round(seconds * RATE)) / 5)).astype(np.float32)


@given(st.lists(PROBABILITY, min_size=2, max_size=50), st.booleans())
def test_the_geometric_mean_never_exceeds_the_score(likeliest: list[float], end_of_text: bool) -> None:
    scores = score_steps(steps(*likeliest), Conventions(end_of_text=end_of_text))
    counted = likeliest if end_of_text else likeliest[:-1]
    assert scores["whisper"] == pytest.approx(sum(counted) / len(counted))
    assert math.exp(scores["avg_logprob"]) <= scores["whisper"] * (1 + 1e-15)


def test_the_end_of_text_is_counted_or_not() -> None:
    found = score_steps(steps(0.5, 0.7, 0.9), Conventions())
    assert found["whisper"] == pytest.approx(0.7)
    assert found["whisper_text"] == pytest.approx(0.6)
    assert score_steps(steps(0.5, 0.7, 0.9), Conventions(end_of_text=False))["whisper"] == pytest.approx(0.6)
    assert score_steps(steps(0.9), Conventions())["whisper_text"] == 0.0


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_the_largest_probability_is_that_of_the_softmax(logits: list[float]) -> None:
    array = np.array(logits, np.float32)
    softmax = np.exp(array - array.max(), dtype=np.float64)
    assert max_probability(array) == pytest.approx((softmax / softmax.sum()).max(), rel=1e-5)


def test_forbidden_tokens_have_no_probability() -> None:
    lowest = float(np.finfo(np.float32).min)
    assert max_probability(np.array([1.0, lowest, float("-inf")], np.float32)) == 1.0
    assert math.isnan(max_probability(np.array([1.0, float("nan")], np.float32)))


def test_windows_with_sound_are_scored_and_the_best_one_counts() -> None:
    samples = np.concatenate([loud(30), np.zeros(30 * RATE, np.float32), loud(30), loud(0.05)])
    scores = WhisperScore(Scripted(steps(0.2, 0.4), steps(0.6, 0.8, language="fr")), Conventions()).measure(
        Heard(samples)
    )
    assert scores.values["whisper"] == pytest.approx(0.7)
    assert scores.language == "fr"
    assert [(row["start"], row["end"]) for row in scores.windows] == [(0.0, 30.0), (60.0, 90.0)]
    for conventions, expected in ((Conventions(pooling="mean"), 0.5), (Conventions(pooling="min"), 0.3)):
        decoder = Scripted(steps(0.2, 0.4), steps(0.6, 0.8))
        assert WhisperScore(decoder, conventions).measure(Heard(samples)).values["whisper"] == pytest.approx(expected)


def test_one_window_that_failed_makes_the_clip_fail() -> None:
    for windows in ((steps(math.nan, math.nan), steps(0.9, 0.9)), (steps(0.9, 0.9), steps(math.nan, math.nan))):
        gate = Gate("whisper", {"whisper": WhisperScore(Scripted(*windows), Conventions())}, [CONDITIONS["whisper"]])
        assert gate.decide([Clip((loud(60), RATE), "x")]).reason == "score-error"


def test_silence_is_one_window() -> None:
    scores = WhisperScore(Scripted(steps(0.7, 0.7)), Conventions()).measure(Heard(np.zeros(90 * RATE, np.float32)))
    assert len(scores.windows) == 1


def test_loops_missing_text_and_missing_ends_are_flagged() -> None:
    looping = Steps((0.9,) * 9, (1, *(2, 3) * 4), ended=False, no_speech=0.0, language="")
    assert WhisperScore(Scripted(looping), Conventions()).measure(Heard(loud(1))).flags == ("truncated-text", "loop")
    assert WhisperScore(Scripted(steps(0.9)), Conventions()).measure(Heard(loud(1))).flags == ("no-text",)
    assert WhisperScore(Scripted(steps(0.9, 0.9, 0.9)), Conventions()).measure(Heard(loud(1))).flags == ()


def test_every_convention_stands_in_the_settings() -> None:
    settings = WhisperScore(Scripted(), Conventions(end_of_text=False, precision="float32")).settings
    assert settings == {
        "spec": "scripted",
        "end_of_text": False,
        "suppression": "model",
        "precision": "float32",
        "language": "detect",
        "max_tokens": 224,
        "pooling": "max",
        "window": "whole",
    }
    with pytest.raises(UnknownNameError, match="unknown pooling"):
        load_whisper_score({"spec": "whisper-tiny.en", "pooling": "median"})
    assert prompt_tokens("") == ["<|startoftranscript|>", "<|notimestamps|>"]


# A real model


@pytest.fixture(scope="module")
def tiny() -> Ctranslate2Decoder:
    pytest.importorskip("ctranslate2")
    if locate("whisper-tiny.en") is None:
        pytest.skip("otoscope weights fetch whisper-tiny.en")
    return Ctranslate2Decoder("whisper-tiny.en", "float32", threads=1)


def speech(name: str) -> NDArray[np.float32]:
    return resample(read_audio(AUDIO / f"{name}.flac"), RATE).samples


def test_silence_has_one_score_whatever_its_length(tiny: Ctranslate2Decoder) -> None:
    scorer = WhisperScore(tiny, Conventions(precision="float32"))
    found = [scorer.measure(Heard(np.zeros(seconds * RATE, np.float32))).values for seconds in (1, 30)]
    assert found[0] == found[1]
    assert found[0]["whisper"] == pytest.approx(0.7268, abs=1e-3)
    assert found[0]["whisper_text"] == pytest.approx(0.4855, abs=1e-3)


def test_the_score_does_not_depend_on_what_was_scored_before(tiny: Ctranslate2Decoder) -> None:
    scorer = WhisperScore(tiny, Conventions(precision="float32", max_tokens=4))
    first, second = speech("librivox-0870")[: 2 * RATE], speech("allison-en-demo-nomatch")[: 2 * RATE]
    alone = scorer.measure(Heard(first))
    assert scorer.measure(Heard(second)) != alone
    assert scorer.measure(Heard(first)) == alone
    assert 0.7 < alone.values["whisper"] < 1


def test_suppression_and_short_windows_are_other_scores(tiny: Ctranslate2Decoder) -> None:
    samples = speech("allison-en-digits-13")
    every = [
        Conventions(max_tokens=3),
        Conventions(max_tokens=3, suppression="none"),
        Conventions(max_tokens=3, window="short"),
    ]
    scores = {WhisperScore(tiny, one).measure(Heard(samples)).values["whisper"] for one in every}
    assert len(scores) == 3


def test_a_limit_of_tokens_is_kept_and_flagged(tiny: Ctranslate2Decoder) -> None:
    scores = tiny.decode(speech("librivox-0870")[: 3 * RATE], Conventions(max_tokens=3))
    assert (len(scores.tokens), len(scores.likeliest), scores.ended) == (3, 3, False)


def test_no_number_is_not_admitted(tiny: Ctranslate2Decoder) -> None:
    scorer = WhisperScore(tiny, Conventions(max_tokens=3))
    scores = scorer.measure(Heard(np.full(RATE, np.nan, np.float32)))
    assert math.isnan(scores.values["whisper"])


def test_transformers_says_the_same(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    torch.manual_seed(0)
    names = ["<|endoftext|>", *prompt_tokens("en"), "<|nospeech|>", *(f"w{n}" for n in range(20))]
    vocabulary = {name: number for number, name in enumerate(names)}
    config = transformers.WhisperConfig(
        vocab_size=len(names), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=0, bos_token_id=0,
        eos_token_id=0, decoder_start_token_id=1, begin_suppress_tokens=None,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config).eval()
    model.generation_config.suppress_tokens = [7]
    model.save_pretrained(tmp_path)
    tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "w0")).save(str(tmp_path / "tokenizer.json"))
    conventions = Conventions(precision="float32", max_tokens=6)
    decoder = TransformersDecoder(str(tmp_path), conventions)
    found = decoder.decode(loud(1), conventions)
    assert 7 not in found.tokens
    assert len(found.likeliest) == len(found.tokens) + found.ended
    assert all(1 / len(names) <= probability <= 1 for probability in found.likeliest)
    assert decoder.decode(loud(1), conventions) == found
