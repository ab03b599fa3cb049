"""What every metric promises, on random samples."""

import json
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.errors import MetricError, UnknownNameError, UnreadableValueError
from otoscope.metrics import METRICS, Metric, MetricName, Rows, metric

NAMES = get_args(MetricName)
#: A first call may import a library, which is no reason to fail.
few = settings(max_examples=30, deadline=None)
words = st.lists(st.sampled_from(["a", "b", "C", "don't", "你", "好", "end."]), max_size=6).map(" ".join)
numbers = st.integers(-9, 9).map(lambda value: str(value / 10))
angles = st.integers(-62, 62).map(lambda value: str(value / 10))
times = st.lists(st.integers(0, 40), max_size=6).map(lambda found: json.dumps([value / 10 for value in found]))
bounds = st.tuples(st.integers(0, 40), st.integers(0, 20)).map(lambda found: [found[0] / 10, sum(found) / 10])
spans = st.lists(bounds, max_size=4).map(json.dumps)
labelled = st.lists(st.tuples(st.sampled_from("ab"), bounds), max_size=4).map(
    lambda found: json.dumps([[label, *span] for label, span in found])
)
slots = st.lists(st.tuples(st.sampled_from("ab"), words), max_size=3).map(json.dumps)
verdicts = st.sampled_from(["yes", "no"])

ANSWERS: dict[str, st.SearchStrategy[str]] = {
    "accuracy": verdicts,
    "angle_difference": angles,
    "diarization_error_rate": labelled,
    "entity_f1": spans,
    "event_based_f1": labelled,
    "iou": spans,
    "kendall_tau": numbers,
    "linear_correlation": numbers,
    "llm_judge_accuracy": verdicts,
    "mae": numbers,
    "mean_absolute_difference": numbers,
    "median_absolute_error": numbers,
    "miss_time": times,
    "mse": numbers,
    "na_rate": st.sampled_from(["1", "0", "[]"]),
    "pearson": numbers,
    "pearson_correlation": numbers,
    "slot_type_f1": slots,
    "slot_value_cer": slots,
    "spearman_correlation": numbers,
}
MALFORMED = [name for name in ANSWERS if "accuracy" not in name and name != "na_rate"]
TARGETS = {
    "iou": "[0, 1]",
    "entity_f1": "[0, 1]",
    "event_based_f1": '[["a", 0, 1]]',
    "diarization_error_rate": '[["a", 0, 1]]',
    "slot_type_f1": '{"a": "b"}',
    "slot_value_cer": '{"a": "b"}',
}
#: Letters and marks of all kinds that neither write a number nor are nothing between brackets and commas.
junk = st.text(
    st.characters(exclude_categories=["N", "Cs", "Z", "Cc"], exclude_characters="[](){},;'\""), min_size=1
).filter(lambda text: text.casefold() not in {"e", "inf", "nan", "infinity"})
CORRELATIONS = ["kendall_tau", "linear_correlation", "pearson", "pearson_correlation", "spearman_correlation"]


def answers(name: str) -> st.SearchStrategy[str]:
    return ANSWERS.get(name, words)


def rows(chosen: Metric, samples: list[tuple[str, str]]) -> Rows:
    return np.array([chosen.row(target, answer) for target, answer in samples], dtype=float)


def samples(name: str, smallest: int = 1) -> st.SearchStrategy[list[tuple[str, str]]]:
    return st.lists(st.tuples(answers(name), answers(name)), min_size=smallest, max_size=12)


@pytest.mark.parametrize("name", NAMES)
def test_key_name_and_signature_agree(name: MetricName) -> None:
    chosen = METRICS[name]
    assert chosen.name == name
    assert chosen.signature.startswith(f"{name}|")
    assert " " not in chosen.signature


def test_signatures_differ() -> None:
    assert len({chosen.signature for chosen in METRICS.values()}) == len(METRICS)


@pytest.mark.parametrize("name", NAMES)
@few
@given(data=st.data())
def test_order_never_matters(name: MetricName, data: st.DataObject) -> None:
    chosen = METRICS[name]
    found = rows(chosen, data.draw(samples(name)))
    order = data.draw(st.permutations(range(len(found))))
    assert chosen.value(found[order]) == chosen.value(found)


@pytest.mark.parametrize("name", NAMES)
@few
@given(data=st.data())
def test_a_value_is_finite_or_none_and_scoring_twice_counts_once(name: MetricName, data: st.DataObject) -> None:
    drawn = data.draw(samples(name))
    found = rows(METRICS[name], drawn)
    assert np.array_equal(rows(METRICS[name], drawn), found)
    value = METRICS[name].value(found)
    assert value is None or np.isfinite(value)


@pytest.mark.parametrize("name", [name for name in NAMES if METRICS[name].pooling != "rows" and name != "sacrebleu"])
@few
@given(data=st.data())
def test_a_perfect_sample_never_worsens_a_pooled_metric(name: MetricName, data: st.DataObject) -> None:
    chosen = METRICS[name]
    drawn = data.draw(samples(name))
    target = data.draw(answers(name))
    before = chosen.value(rows(chosen, drawn))
    after = chosen.value(rows(chosen, [*drawn, (target, "yes" if "accuracy" in name else target)]))
    if before is not None:
        assert after is not None
        gain = after - before if chosen.better == "higher" else before - after
        assert gain >= -1e-12


@pytest.mark.parametrize("name", [name for name in NAMES if METRICS[name].pooling != "rows"])
@few
@given(data=st.data())
def test_a_pooled_value_depends_on_the_sum_alone(name: MetricName, data: st.DataObject) -> None:
    found = rows(METRICS[name], data.draw(samples(name)))
    whole, summed = METRICS[name].value(found), METRICS[name].value(found.sum(axis=0, keepdims=True))
    assert (whole is None) == (summed is None)
    assert whole is None or whole == pytest.approx(summed)


@pytest.mark.parametrize("name", NAMES)
@few
@given(data=st.data())
def test_no_sample_no_value(name: MetricName, data: st.DataObject) -> None:
    found = rows(METRICS[name], data.draw(samples(name)))
    assert METRICS[name].value(found[:0]) is None


@pytest.mark.parametrize("name", MALFORMED)
@few
@given(junk=junk)
def test_malformed_answers_are_told_from_malformed_targets(name: MetricName, junk: str) -> None:
    chosen, good = METRICS[name], TARGETS.get(name, "1")
    with pytest.raises(UnreadableValueError):
        chosen.row(good, junk)
    with pytest.raises(MetricError) as caught:
        chosen.row(junk, good)
    assert not isinstance(caught.value, UnreadableValueError)


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999", "1e101", "", "three", "1,5"])
@pytest.mark.parametrize("name", ["mse", "mae", "median_absolute_error", *CORRELATIONS])
def test_only_finite_numbers_are_scored(name: MetricName, text: str) -> None:
    with pytest.raises(UnreadableValueError):
        METRICS[name].row("1", text)


@pytest.mark.parametrize(
    "text",
    [
        "[NaN, 1]",
        "[0, Infinity]",
        "[2, 1]",
        "[[0, 1], [2]]",
        '[["a", 1]]',
        "[true, 2]",
        "{}",
        "0-1",
        "[0, 1",
        "[" * 5000,
        f"[0, 1{'0' * 400}]",
    ],
)
def test_only_spans_are_scored(text: str) -> None:
    with pytest.raises(UnreadableValueError):
        METRICS["iou"].row("[0, 1]", text)


@pytest.mark.parametrize(
    "text", ['[["dog", 1]]', '[["dog", "1", "2"]]', "[[null, 1, 2]]", '[{"event": "dog"}]', '"dog"']
)
def test_only_labelled_spans_are_scored(text: str) -> None:
    with pytest.raises(UnreadableValueError):
        METRICS["event_based_f1"].row("[]", text)


@pytest.mark.parametrize("verdict", ["Yes", "", "3", "yes "])
def test_only_verdicts_are_counted(verdict: str) -> None:
    with pytest.raises(UnreadableValueError, match="neither 'yes' nor 'no'"):
        METRICS["accuracy"].row("yes", verdict)


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean wer"):
        metric("werr")
    with pytest.raises(UnknownNameError, match="degrees"):
        metric("angle_difference", format="degree")
    with pytest.raises(UnknownNameError, match="spans"):
        metric("iou", format="span")


def test_options_a_metric_has_no_use_for_are_ignored() -> None:
    assert metric("wer", kind="sequence", language="zh", format="anything") is METRICS["wer"]
    assert metric("accuracy", kind="classification") is METRICS["accuracy"]


@pytest.mark.parametrize(("language", "tokenizer"), [("en", "13a"), ("zh-TW", "zh"), ("ja", "char"), ("th_TH", "char")])
def test_the_language_chooses_the_bleu_tokenizer(language: str, tokenizer: str) -> None:
    assert f"|tok:{tokenizer}|" in metric("sacrebleu", language=language).signature


def test_heavy_libraries_wait_until_they_are_used() -> None:
    program = (
        "import sys, otoscope.metrics, otoscope.stats\n"
        "print(sorted({'numpy', 'scipy', 'sacrebleu'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
