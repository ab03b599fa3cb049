"""Relative scores and bounded gains."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.metrics import METRICS
from otoscope.records import Better, Score
from otoscope.relative import RANGES, Measure, bounded, compare, domain_names, improvement, measures, rank, scale

UNIT = st.floats(0, 1)
ERRORS = st.floats(0, 1e12)
DOMAIN = "Speech/Speech Recognition"


def _measure(task: str, value: float | None, metric: str = "accuracy", na_rate: float | None = None) -> Measure:
    better: Better = "higher" if metric in RANGES else "lower"
    return Measure(task, metric, better, (DOMAIN,), value, na_rate)


def test_ranges_are_those_of_the_metrics() -> None:
    assert set(RANGES) == {name for name, metric in METRICS.items() if metric.better == "higher"}


def test_scaling_by_na_rate() -> None:
    assert scale(0.8, "higher", 0.25) == pytest.approx(0.6)
    assert scale(0.6, "lower", 0.25) == pytest.approx(0.8)
    assert scale(0.8, "higher", 1) is None
    assert scale(0.0, "lower", 1) is None


def test_lower_error_is_a_positive_improvement() -> None:
    assert improvement(0.2, 0.4, "lower") == pytest.approx(0.5)
    assert improvement(0.6, 0.4, "higher") == pytest.approx(0.5)


@given(UNIT, UNIT)
def test_gain_of_bounded_metrics(one: float, other: float) -> None:
    assert -1 <= bounded(one, other, "accuracy", "higher") <= 1
    assert bounded(one, other, "accuracy", "higher") == -bounded(other, one, "accuracy", "higher")


@given(ERRORS, ERRORS)
def test_gain_of_errors(one: float, other: float) -> None:
    gain = bounded(one, other, "mse", "lower")
    assert -1 <= gain <= 1
    assert gain == -bounded(other, one, "mse", "lower")
    assert gain <= 0 or one < other
    assert gain >= 0 or one > other


def test_gain_at_the_ends() -> None:
    assert bounded(0.0, 5.0, "mse", "lower") == 1
    assert bounded(5.0, 0.0, "mse", "lower") == -1
    assert bounded(0.0, 0.0, "mse", "lower") == 0
    assert bounded(1.0, 2.0, "mse", "lower") == pytest.approx(1 / 3)
    assert bounded(1.0, -1.0, "pearson", "higher") == 1
    assert bounded(50.0, 25.0, "sacrebleu", "higher") == pytest.approx(0.25)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=8), ERRORS, st.floats(1e-9, 1e6))
def test_one_task_moves_a_domain_by_its_share_at_most(
    pairs: list[tuple[float, float]], wild: float, base: float
) -> None:
    system = [_measure(f"t{number}", one) for number, (one, _) in enumerate(pairs)]
    baseline = [_measure(f"t{number}", other) for number, (_, other) in enumerate(pairs)]
    without = compare(system, baseline).domains[DOMAIN].gain
    wilder = (
        compare([*system, _measure("w", wild, "mse")], [*baseline, _measure("w", base, "mse")]).domains[DOMAIN].gain
    )
    assert without is not None
    assert wilder is not None
    assert abs(wilder - without) <= 2 / (len(pairs) + 1) + 1e-12


def test_failing_does_not_help() -> None:
    baseline = [_measure("a", 0.5, na_rate=0.0), _measure("b", 0.5, na_rate=0.0)]
    weak = compare([_measure("a", 0.6, na_rate=0.0), _measure("b", 0.1, na_rate=0.0)], baseline)
    failing = compare([_measure("a", 0.6, na_rate=0.0), _measure("b", None, na_rate=1.0)], baseline)
    assert (failing.domains[DOMAIN].relative or 0) > (weak.domains[DOMAIN].relative or 0)  # the benchmark's rule
    assert (failing.domains[DOMAIN].gain or 0) < (weak.domains[DOMAIN].gain or 0)
    assert [row.excluded for row in failing.rows] == ["", "every answer is N/A"]


def test_reasons() -> None:
    cases = [
        (_measure("a", 0.5), None, "the baseline has no result", "the baseline has no result"),
        (_measure("a", 0.5), _measure("a", None), "the baseline has no result", "the baseline has no result"),
        (_measure("a", 0.5), _measure("a", None, na_rate=1.0), "every answer of the baseline is N/A", ""),
        (_measure("a", 0.5), _measure("a", 0.0), "the baseline is 0", ""),
        (_measure("a", None), _measure("a", 0.5), "no result", "no result"),
        (_measure("a", None, na_rate=1.0), _measure("a", 0.5), "every answer is N/A", ""),
        (_measure("a", 204.3), _measure("a", 0.5), "", "a value lies outside the range of its metric"),
        (_measure("a", 0.5), _measure("a", 0.4), "", ""),
    ]
    for system, baseline, excluded, gain_excluded in cases:
        row = compare([system], [baseline] if baseline else []).rows[0]
        assert (row.excluded, row.gain_excluded) == (excluded, gain_excluded)
        assert (row.relative is None, row.gain is None) == (bool(excluded), bool(gain_excluded))


def test_a_value_beyond_its_range_by_rounding_has_a_gain() -> None:
    [row] = compare([_measure("a", 100.00000000000004, "sacrebleu")], [_measure("a", 0.0, "sacrebleu")]).rows
    assert (row.gain, row.gain_excluded) == (1, "")
    for beyond in (100.001, -0.001):
        [row] = compare([_measure("a", beyond, "sacrebleu")], [_measure("a", 50.0, "sacrebleu")]).rows
        assert row.gain_excluded == "a value lies outside the range of its metric"


def test_negative_baseline_turns_the_sign_and_is_told() -> None:
    row = compare([_measure("a", -0.4, "kendall_tau")], [_measure("a", -0.2, "kendall_tau")]).rows[0]
    assert row.relative == pytest.approx(1.0)
    assert "turns the sign" in row.caveat
    assert row.gain == pytest.approx(-0.1)


def test_metrics_of_a_task_weigh_one_in_the_gain_and_each_in_the_rule() -> None:
    system = [_measure("a", 0.5), _measure("a", 2.0, "mae"), _measure("b", 0.75)]
    baseline = [_measure("a", 0.5), _measure("a", 1.0, "mae"), _measure("b", 0.5)]
    score = compare(system, baseline).domains[DOMAIN]
    assert (score.rows, score.tasks) == (3, 2)
    assert score.relative == pytest.approx((0 - 1 + 0.5) / 3)
    assert score.gain == pytest.approx(((0 - 1 / 3) / 2 + 0.25) / 2)


def test_json_has_words_for_what_is_missing() -> None:
    content = compare([_measure("a", 0.5)], [_measure("a", 0.0)]).to_json()
    assert content["domains"][DOMAIN]["relative"] == "undefined"
    assert content["excluded"] == [
        {"task": "a", "metric": "accuracy", "domains": [DOMAIN], "reason": "the baseline is 0"}
    ]


def test_standing_follows_the_intervals() -> None:
    base = dataclasses.replace(_measure("a", 0.5), low=0.4, high=0.6)
    for low, high, standing in ((0.7, 0.9, "ahead"), (0.1, 0.3, "behind"), (0.55, 0.8, "tied")):
        system = dataclasses.replace(_measure("a", (low + high) / 2), low=low, high=high)
        assert compare([system], [base]).rows[0].standing == standing
    assert compare([_measure("a", 0.9)], [base]).rows[0].standing == "unknown"


def test_ranks() -> None:
    intervals = {"a": (0.8, 0.9), "b": (0.7, 0.85), "c": (0.4, 0.6), "d": (0.5, 0.75)}
    assert rank(intervals, "higher") == {"a": 1, "b": 1, "c": 3, "d": 2}
    assert rank(intervals, "lower") == {"a": 3, "b": 2, "c": 1, "d": 1}


def test_measures_of_a_run() -> None:
    score = Score(
        task="t",
        kind="regression",
        metric="mae",
        better="lower",
        value=2.0,
        low=1.0,
        high=3.0,
        scaled=4.0,
        n=10,
        counts={},
        na_rate=0.5,
        clusters=10,
        chance=None,
        majority=None,
        seconds=0.0,
        signature="",
    )
    (measure,) = measures([score], {"t": ("Speech/Speech Recognition/Language",)})
    assert measure.domains == (DOMAIN,)
    assert measure.scaled == score.scaled
    assert measure.interval == (2.0, 6.0)
    assert domain_names(["a/b/c", "a/b/d", "a/e"]) == ("a/b", "a/e")
