"""Intervals: against SciPy, against the published tables, and their promises."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from otoscope.metrics import METRICS, MetricName, Rows
from otoscope.stats import Interval, bootstrap_interval, exact_interval, interval


def proportion(flags: list[int]) -> Rows:
    return np.array([[float(flag), 1.0] for flag in flags])


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (15, 204, 0.042, 0.118),
        (196, 204, 0.924, 0.983),
        (46, 54, 0.729, 0.934),
        (10, 270, 0.018, 0.067),
        (0, 270, 0, 0.0136),
    ],
)
def test_published_exact_intervals(successes: int, n: int, low: float, high: float) -> None:
    found = exact_interval(successes, n)
    assert found is not None
    assert found.low == pytest.approx(low, abs=5e-4)
    assert found.high == pytest.approx(high, abs=5e-4)


@settings(deadline=None)
@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95, 0.99])
)
def test_exact_interval_agrees_with_scipy(trial: tuple[int, int], confidence: float) -> None:
    oracle = stats.binomtest(*trial).proportion_ci(confidence, method="exact")
    found = exact_interval(*trial, confidence=confidence)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_exact_interval_of_nothing() -> None:
    assert exact_interval(0, 0) is None
    with pytest.raises(ValueError, match="3 successes in 2 trials"):
        exact_interval(3, 2)


NAMES: list[MetricName] = ["accuracy", "wer", "mse", "median_absolute_error", "pearson", "spearman_correlation"]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(30)))
def test_row_order_never_matters(name: MetricName, order: list[int]) -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (30, 2)).astype(float) if name == "accuracy" else rng.normal(5, 1, (30, 2))
    rows = rows[:, :1] if name == "median_absolute_error" else rows
    clusters = [f"speaker{index % 7}" for index in range(30)]
    draw = partial(bootstrap_interval, METRICS[name].value, additive=METRICS[name].pooling != "rows", draws=100)
    assert draw(rows[order], [clusters[index] for index in order]) == draw(rows, clusters)


def test_summing_clusters_first_changes_nothing() -> None:
    rows = np.random.default_rng(2).integers(0, 9, (60, 2)).astype(float)
    clusters = [str(index % 13) for index in range(60)]
    value = METRICS["wer"].value
    assert bootstrap_interval(value, rows, clusters, additive=True) == bootstrap_interval(value, rows, clusters)


def test_bootstrap_agrees_with_scipy_on_cluster_sums() -> None:
    rng = np.random.default_rng(3)
    sums = np.column_stack([rng.poisson(3, 200), rng.poisson(20, 200)]).astype(float)
    found = bootstrap_interval(METRICS["wer"].value, sums, [f"{index:03}" for index in range(200)], additive=True)
    oracle = stats.bootstrap(
        (sums[:, 0], sums[:, 1]),
        lambda errors, length, axis: errors.sum(axis=axis) / length.sum(axis=axis),
        paired=True,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(4),
    ).confidence_interval
    assert found is not None
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.003)


def test_clusters_that_share_their_fate_widen_the_interval() -> None:
    flags = [int(source % 2) for source in range(20) for _ in range(6)]
    sources = [str(source) for source in range(20) for _ in range(6)]
    clustered = interval(METRICS["accuracy"], proportion(flags), sources)
    alone = exact_interval(sum(flags), len(flags))
    assert clustered is not None
    assert alone is not None
    assert clustered.method == "bootstrap"
    assert clustered.high - clustered.low > 1.8 * (alone.high - alone.low)


def test_coverage_over_clusters_is_near_nominal() -> None:
    rng = np.random.default_rng(5)
    clusters = [f"{source:02}" for source in range(40) for _ in range(6)]
    covered = 0
    for _ in range(200):
        rows = proportion(np.repeat(rng.random(40) < 0.6, 6).astype(int).tolist())
        found = bootstrap_interval(METRICS["accuracy"].value, rows, clusters, additive=True, draws=400)
        assert found is not None
        covered += found.low <= 0.6 <= found.high
    assert 0.90 <= covered / 200 <= 0.99


def test_a_proportion_of_independent_samples_is_exact() -> None:
    names = [str(index) for index in range(10)]
    assert interval(METRICS["accuracy"], proportion([1] * 7 + [0] * 3), names) == exact_interval(7, 10)


@pytest.mark.parametrize("flag", [0, 1])
def test_equal_rows_are_exact_over_clusters(flag: int) -> None:
    found = interval(METRICS["accuracy"], proportion([flag] * 12), list("aabbccddeeff"))
    exact = exact_interval(6 * flag, 6)
    assert exact is not None
    assert found == Interval(exact.low, exact.high, "exact-clusters")


def test_one_cluster_has_no_interval() -> None:
    for rows, clusters in ((proportion([1, 0, 1]), ["a"] * 3), (proportion([1]), ["a"]), (np.empty((0, 2)), [])):
        assert interval(METRICS["accuracy"], rows, clusters) is None
        assert bootstrap_interval(METRICS["wer"].value, rows, clusters) is None


def test_a_bootstrap_without_width_is_undefined() -> None:
    assert interval(METRICS["wer"], np.array([[0.0, 5.0]] * 10), list("abcdefghij")) is None


def test_undefined_draws_are_left_out_up_to_a_share() -> None:
    def seldom(rows: Rows) -> float | None:
        return None if (rows[:, 0] == rows[0, 0]).all() else float(rows[:, 0].mean())

    few = np.array([[1.0], [1.0], [2.0]])
    many = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    assert bootstrap_interval(seldom, few, list("abc")) is None
    found = bootstrap_interval(seldom, many, list("abcde"))
    assert found is not None
    assert math.isfinite(found.low)
    assert found.low < found.high


def test_the_seed_decides() -> None:
    rows = np.random.default_rng(6).random((50, 2))
    names = [str(index) for index in range(50)]
    one, again, other = (
        bootstrap_interval(METRICS["mse"].value, rows, names, additive=True, seed=s) for s in (0, 0, 1)
    )
    assert one == again != other
