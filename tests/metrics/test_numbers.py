"""Numbers: errors, angles, and correlations against SciPy."""

import random
import warnings

import numpy as np
import pytest
from scipy import stats

from otoscope.errors import MetricError, UnreadableValueError
from otoscope.metrics import METRICS, MetricName, metric


def value(name: MetricName, targets: list[float], answers: list[float]) -> float | None:
    chosen = METRICS[name]
    return chosen.value(np.array([chosen.row(str(x), str(y)) for x, y in zip(targets, answers, strict=True)]))


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("pearson", stats.pearsonr), ("spearman_correlation", stats.spearmanr), ("kendall_tau", stats.kendalltau)],
)
def test_correlations_agree_with_scipy(name: MetricName, oracle: object) -> None:
    assert callable(oracle)
    rng = random.Random(3)
    for _ in range(1000):
        size = rng.randint(3, 30)
        coarse = rng.random() < 0.5
        targets = [float(rng.randint(1, 5)) if coarse else rng.gauss(0, 100) for _ in range(size)]
        answers = [x + rng.randint(-2, 2) if coarse else x + rng.gauss(0, 100) for x in targets]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.ConstantInputWarning)
            expected = float(oracle(targets, answers).statistic)
        found = value(name, targets, answers)
        assert found is None if np.isnan(expected) else found == pytest.approx(expected, abs=1e-12)


def test_mean_and_median_errors_agree_with_numpy() -> None:
    rng = np.random.default_rng(4)
    for _ in range(1000):
        targets, answers = rng.normal(size=(2, rng.integers(1, 20)))
        errors = np.abs(targets - answers)
        given = targets.tolist(), answers.tolist()
        assert value("mae", *given) == pytest.approx(errors.mean())
        assert value("mse", *given) == pytest.approx((errors**2).mean())
        assert value("median_absolute_error", *given) == pytest.approx(np.median(errors))


def test_angles_agree_with_the_angle_between_unit_vectors() -> None:
    rng = np.random.default_rng(5)
    chosen = metric("angle_difference", format="radians")
    for target, answer in rng.uniform(-2 * np.pi, 2 * np.pi, (1000, 2)):
        between = abs(np.angle(np.exp(1j * target) / np.exp(1j * answer)))
        assert chosen.row(str(target), str(answer))[0] == pytest.approx(between, abs=1e-9)


def test_degrees_are_not_read_as_radians() -> None:
    with pytest.raises(MetricError, match="declare the unit") as caught:
        METRICS["angle_difference"].row("350", "6.1")
    assert not isinstance(caught.value, UnreadableValueError)
    with pytest.raises(UnreadableValueError):
        METRICS["angle_difference"].row("6.1", "350")


def test_correlation_of_huge_and_tiny_numbers_is_defined() -> None:
    assert value("pearson", [1e90, 2e90, 3e90], [1e-90, 2e-90, 3e-90]) == pytest.approx(1.0)


def test_one_value_cannot_poison_a_correlation() -> None:
    with pytest.raises(UnreadableValueError):
        METRICS["pearson"].row("1", "nan")


def test_the_median_stands_where_the_mean_falls() -> None:
    targets, answers = [1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 1e9]
    assert value("mse", targets, answers) == pytest.approx(2e17, rel=1e-6)
    assert value("median_absolute_error", targets, answers) == 0.0
    assert value("spearman_correlation", targets, answers) == pytest.approx(1.0)
