"""Tests of two systems against statsmodels."""

import random

import pytest

from otoscope.stats import holm, mcnemar

tables = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")


def test_mcnemar_agrees() -> None:
    rng = random.Random(8)
    for _ in range(300):
        one, other = rng.randint(0, 40), rng.randint(1, 40)
        oracle = tables.mcnemar([[7, one], [other, 9]], exact=True).pvalue
        assert mcnemar(one, other) == pytest.approx(oracle)


def test_holm_agrees() -> None:
    rng = random.Random(9)
    for _ in range(300):
        p_values = [rng.random() ** 3 for _ in range(rng.randint(1, 20))]
        oracle = multitest.multipletests(p_values, method="holm")[1]
        assert holm(p_values) == pytest.approx(list(oracle))
