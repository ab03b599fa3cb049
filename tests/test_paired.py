"""Tests of two systems on the same samples: against SciPy, and their promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy import stats

from otoscope.metrics import METRICS, MetricName, Rows
from otoscope.stats import difference_interval, holm, interval, mcnemar, name_code, sign_flip

slow = settings(max_examples=25, deadline=None)
flags = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.sampled_from("abcdefg")), min_size=2, max_size=30)


def means(values: ArrayLike) -> Rows:
    flat = np.asarray(values, float)
    return np.column_stack([flat, np.ones_like(flat)])


def names(count: int) -> list[str]:
    return [f"{index:03}" for index in range(count)]


@pytest.mark.parametrize(("one", "other"), [(0, 0), (1, 0), (5, 5), (8, 1), (0, 12), (30, 55)])
def test_mcnemar_is_a_binomial_tail(one: int, other: int) -> None:
    tail = sum(stats.binom.pmf(k, one + other, 0.5) for k in range(min(one, other) + 1))
    assert mcnemar(one, other) == mcnemar(other, one) == pytest.approx(min(1.0, 2 * tail))


@pytest.mark.parametrize("name", ["mse", "wer", "pearson", "median_absolute_error"])
def test_sign_flip_looks_at_every_exchange(name: MetricName) -> None:
    value = METRICS[name].value
    rng = np.random.default_rng(1)
    one, other = (np.abs(rng.normal(shift, 1, (9, 1 if name == "median_absolute_error" else 2))) for shift in (2, 2.6))

    def difference(flips: tuple[bool, ...]) -> float:
        flip = np.array(flips)[:, np.newaxis]
        a, b = value(np.where(flip, other, one)), value(np.where(flip, one, other))
        assert a is not None
        assert b is not None
        return abs(a - b)

    observed = difference((False,) * 9)
    reached = sum(difference(flips) >= observed - 1e-12 for flips in itertools.product((False, True), repeat=9))
    assert sign_flip(METRICS[name], one, other, names(9)) == pytest.approx(reached / 2**9)


def test_sign_flip_of_a_mean_agrees_with_the_permutation_test_of_scipy() -> None:
    rng = np.random.default_rng(2)
    one, other = rng.normal(0, 1, 12), rng.normal(0.5, 1, 12)
    oracle = stats.permutation_test(
        (one, other), lambda x, y: x.mean() - y.mean(), permutation_type="samples", n_resamples=np.inf
    )
    found = sign_flip(METRICS["mse"], means(one), means(other), names(12))
    assert found == pytest.approx(oracle.pvalue)
    drawn = sign_flip(METRICS["mse"], means(np.tile(one, 2)), means(np.tile(other, 2)), names(24))
    assert drawn is not None
    assert found is not None
    assert 1 / 10_000 <= drawn < found


@slow
@given(flags)
def test_exchanging_the_systems_changes_no_p_value(rows: list[tuple[int, int, str]]) -> None:
    one, other = means([a for a, _, _ in rows]), means([b for _, b, _ in rows])
    clusters = [cluster for _, _, cluster in rows]
    metric = METRICS["accuracy"]
    assert sign_flip(metric, one, other, clusters) == sign_flip(metric, other, one, clusters)
    assert sign_flip(metric, one, other, clusters) == sign_flip(metric, one, other, list(map(name_code, clusters)))


def test_of_independent_rows_sign_flip_is_mcnemar() -> None:
    one, other = [1] * 9 + [0] * 2 + [1] * 20, [0] * 9 + [1] * 2 + [1] * 20
    assert sign_flip(METRICS["accuracy"], means(one), means(other), names(31)) == pytest.approx(mcnemar(9, 2))


def test_systems_that_agree_do_not_differ() -> None:
    rows = means([1, 0, 1, 1, 0])
    assert sign_flip(METRICS["accuracy"], rows, rows, names(5)) == 1
    assert difference_interval(METRICS["accuracy"], rows, rows, names(5)) is None


def test_clusters_that_share_their_fate_weaken_the_evidence() -> None:
    one, other = means([1] * 60), means([0] * 60)
    alone = sign_flip(METRICS["accuracy"], one, other, names(60))
    shared = sign_flip(METRICS["accuracy"], one, other, [str(index // 20) for index in range(60)])
    assert alone == pytest.approx(1 / 10_000)
    assert shared == pytest.approx(2 / 2**3)


def test_where_nothing_can_be_said_there_is_no_p_value() -> None:
    rows = means([1, 0])
    assert sign_flip(METRICS["accuracy"], rows, rows, ["a", "a"]) is None
    constant = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 2.0]])
    assert sign_flip(METRICS["pearson"], constant, constant, names(3)) is None


def test_p_values_are_uniform_under_the_null() -> None:
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(300):
        one, other = (np.repeat(rng.normal(0, 1, 10), 3) for _ in range(2))
        p = sign_flip(METRICS["mse"], means(one), means(other), [str(index // 3) for index in range(30)])
        assert p is not None
        below += p <= 0.1
    assert 0.05 <= below / 300 <= 0.15


def test_pairing_narrows_the_interval_of_a_difference() -> None:
    rng = np.random.default_rng(4)
    hard = rng.gamma(2, 3, 80)
    one, other = means(hard + rng.normal(0, 0.1, 80)), means(hard + 0.5 + rng.normal(0, 0.1, 80))
    found = difference_interval(METRICS["mae"], one, other, names(80))
    single = interval(METRICS["mae"], one, names(80))
    assert found is not None
    assert single is not None
    assert found.low < -0.5 < found.high < 0
    assert found.high - found.low < 0.1 * (single.high - single.low)


def test_the_interval_of_a_difference_agrees_with_scipy() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.normal(3, 1, 100), rng.normal(3.2, 1, 100)
    oracle = stats.bootstrap(
        (one - other,), np.mean, n_resamples=4000, method="percentile", rng=rng
    ).confidence_interval
    found = difference_interval(METRICS["mae"], means(one), means(other), names(100))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.03)


@pytest.mark.parametrize("name", ["wer", "pearson"])
def test_row_order_and_names_of_clusters_never_matter(name: MetricName) -> None:
    rng = np.random.default_rng(6)
    one, other = rng.integers(1, 9, (40, 2)).astype(float), rng.integers(1, 9, (40, 2)).astype(float)
    clusters = [name_code(str(index % 17)) for index in range(40)]
    order = rng.permutation(40)
    shuffled = one[order], other[order], [clusters[index] for index in order]
    metric = METRICS[name]
    assert difference_interval(metric, *shuffled) == difference_interval(metric, one, other, clusters)
    assert sign_flip(metric, *shuffled, draws=200) == sign_flip(metric, one, other, clusters, draws=200)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(given_values: list[float]) -> None:
    adjusted = holm(given_values)
    assert all(value <= found <= 1 for value, found in zip(given_values, adjusted, strict=True))
    pairs = sorted(zip(given_values, adjusted, strict=True))
    assert [found for _, found in pairs] == sorted(adjusted)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
