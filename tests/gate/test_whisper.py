"""The score: from probabilities by hand, and from a real model where its weights are on this machine."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

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
    Pooling,
    Steps,
    Suppression,
    TransformersDecoder,
    WhisperScore,
    load_whisper_score,
    max_probability,
    prompt_tokens,
    score_steps,
)
from otoscope.models.whisper import log_mel
from otoscope.records import Clip
from otoscope.weights import fetch

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


LOOPING = Steps((0.95,) * 9, (1, *(2, 3) * 4), ended=False, no_speech=0.0, language="ja")
SILENT = Steps((0.9,), (), ended=True, no_speech=0.0, language="en")


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_window_without_words_never_stands_before_one_with_words(order: slice) -> None:
    windows = [LOOPING, steps(0.86, 0.86), SILENT][order]
    scorer = WhisperScore(Scripted(*windows), Conventions())
    decision = Gate("whisper", {"whisper": scorer}, [CONDITIONS["whisper"]]).decide([Clip((loud(90), RATE), "x")])
    assert decision.admit
    assert decision.scores["whisper"] == pytest.approx(0.86)
    assert [row["whisper"] for row in decision.windows][order] == pytest.approx([0.95, 0.86, 0.9])
    assert [{"loop", "no-text"} & row.keys() for row in decision.windows][order] == [{"loop"}, set(), {"no-text"}]


def test_where_no_window_has_words_the_flag_decides() -> None:
    for windows, reason in (((LOOPING, SILENT), "loop"), ((SILENT, SILENT), "no-text")):
        gate = Gate("whisper", {"whisper": WhisperScore(Scripted(*windows), Conventions())}, [CONDITIONS["whisper"]])
        assert gate.decide([Clip((loud(60), RATE), "x")]).reason == reason


@pytest.mark.parametrize("pooling", ["mean", "min"])
def test_mean_and_min_are_of_every_window_and_so_are_their_flags(pooling: Pooling) -> None:
    scorer = WhisperScore(Scripted(LOOPING, steps(0.86, 0.86)), Conventions(pooling=pooling))
    found = scorer.measure(Heard(loud(60)))
    assert found.flags == ("truncated-text", "loop")
    assert found.values["whisper"] == pytest.approx(0.905 if pooling == "mean" else 0.86)


def test_one_window_that_failed_makes_the_clip_fail() -> None:
    for windows in ((steps(math.nan, math.nan), steps(0.9, 0.9)), (steps(0.9, 0.9), steps(math.nan))):
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
    assert fetch("whisper-tiny.en").is_dir()
    return Ctranslate2Decoder("whisper-tiny.en", "float32", threads=1)


def speech(name: str) -> NDArray[np.float32]:
    return resample(read_audio(AUDIO / f"{name}.flac"), RATE).samples


def test_silence_has_one_score_whatever_its_length(tiny: Ctranslate2Decoder) -> None:
    scorer = WhisperScore(tiny, Conventions(precision="float32"))
    found = [scorer.measure(Heard(np.zeros(seconds * RATE, np.float32))).values for seconds in (1, 5, 30)]
    assert found[0] == found[1] == found[2]
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


# A small model with random weights, in both backends

SUPPRESSED, FIRST_SUPPRESSED = 12, 0
FLOAT = Conventions(precision="float32", max_tokens=12)


class Both(NamedTuple):
    """One model in two backends, and as transformers loads it."""

    ctranslate2: Ctranslate2Decoder
    transformers: TransformersDecoder
    model: Any


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    converters = pytest.importorskip("ctranslate2").converters
    folder = tmp_path_factory.mktemp("whisper")
    torch.manual_seed(0)
    names = ["<|endoftext|>", *prompt_tokens("en"), "<|nospeech|>", *(f"w{n}" for n in range(45))]
    config = transformers.WhisperConfig(
        vocab_size=len(names), d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, pad_token_id=0, bos_token_id=0,
        eos_token_id=0, decoder_start_token_id=1, init_std=0.3,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config).eval()
    model.generation_config.suppress_tokens = [SUPPRESSED]
    model.generation_config.begin_suppress_tokens = [FIRST_SUPPRESSED]
    model.generation_config.alignment_heads = [[0, 0]]
    model.save_pretrained(folder)
    vocabulary = {name: number for number, name in enumerate(names)}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "w0"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    converters.TransformersConverter(str(folder), copy_files=["tokenizer.json"]).convert(str(folder / "converted"))
    converted = Ctranslate2Decoder(str(folder / "converted"), "float32", threads=1)
    return Both(converted, TransformersDecoder(str(folder), FLOAT), model)


def twenty_clips() -> list[NDArray[np.float32]]:
    """Return speech, music, effects and crowds, of which each is the first 10 s."""
    paths = sorted(AUDIO.glob("*.flac"))
    return [speech(path.stem)[: 10 * RATE] for path in paths[:: len(paths) // 20][:20]]


@pytest.mark.parametrize("suppression", ["model", "none"])
def test_both_backends_say_the_same_of_20_clips(both: Both, suppression: Suppression) -> None:
    conventions = replace(FLOAT, suppression=suppression)
    clips = twenty_clips()
    assert len(clips) == 20
    for samples in clips:
        one, two = (decoder.decode(samples, conventions) for decoder in both[:2])
        assert one.tokens == two.tokens
        assert one.ended == two.ended
        assert score_steps(one, conventions) == pytest.approx(score_steps(two, conventions), abs=1e-3)


def test_the_score_is_the_mean_of_a_softmax_by_hand(both: Both) -> None:
    torch = pytest.importorskip("torch")
    samples = speech("librivox-0870")[: 5 * RATE]
    found = both.transformers.decode(samples, FLOAT)
    prompt = [1, 4]  # start of transcript, no timestamps
    given = torch.tensor([[*prompt, *found.tokens]])
    features = torch.from_numpy(log_mel(samples))[None]
    with torch.inference_mode():
        logits = both.model(input_features=features, decoder_input_ids=given).logits[0].double().numpy()
    steps_by_hand = logits[len(prompt) - 1 :][: len(found.likeliest)]
    steps_by_hand[:, SUPPRESSED] = -np.inf
    steps_by_hand[0, FIRST_SUPPRESSED] = -np.inf
    softmax = np.exp(steps_by_hand) / np.exp(steps_by_hand).sum(axis=1, keepdims=True)
    assert softmax.argmax(axis=1).tolist()[: len(found.tokens)] == list(found.tokens)
    assert score_steps(found, FLOAT)["whisper"] == pytest.approx(softmax.max(axis=1).mean(), abs=1e-6)
    assert SUPPRESSED not in found.tokens


def test_both_backends_repeat_themselves_in_any_order(both: Both) -> None:
    clips = twenty_clips()[::4]
    for decoder in both[:2]:
        scorer = WhisperScore(decoder, FLOAT)
        ahead = [scorer.measure(Heard(samples)) for samples in clips]
        assert [scorer.measure(Heard(samples)) for samples in clips[::-1]] == ahead[::-1]
        for scores in ahead:
            assert math.exp(scores.values["avg_logprob"]) <= scores.values["whisper"] * (1 + 1e-15)
