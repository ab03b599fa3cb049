"""Accuracy, set overlap and errors of numbers against scikit-learn."""

import json
import random

import numpy as np
import pytest

from otoscope.metrics import METRICS, MetricName, metric

learn = pytest.importorskip("sklearn.metrics")


def test_accuracy_of_values_agrees() -> None:
    rng = random.Random(5)
    chosen = metric("accuracy", kind="regression")
    for _ in range(1000):
        targets, answers = (rng.choices(["1", "2", "left", "right"], k=5) for _ in range(2))
        rows = np.array([chosen.row(*pair) for pair in zip(targets, answers, strict=True)])
        assert chosen.value(rows) == pytest.approx(learn.accuracy_score(targets, answers))


def test_set_iou_agrees_with_the_jaccard_score() -> None:
    rng = random.Random(6)
    chosen = metric("iou", format="set")
    for _ in range(1000):
        flags = [[rng.randint(0, 1) for _ in range(8)] for _ in range(2)]
        items = [json.dumps([index for index, flag in enumerate(side) if flag]) for side in flags]
        assert chosen.row(*items)[0] == pytest.approx(learn.jaccard_score(*flags, zero_division=1.0))


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("mse", learn.mean_squared_error),
        ("mae", learn.mean_absolute_error),
        ("mean_absolute_difference", learn.mean_absolute_error),
        ("median_absolute_error", learn.median_absolute_error),
    ],
)
def test_errors_agree(name: MetricName, oracle: object) -> None:
    assert callable(oracle)
    rng = random.Random(7)
    for _ in range(1000):
        pairs = [(rng.gauss(0, 10), rng.gauss(0, 10)) for _ in range(rng.randint(1, 9))]
        rows = np.array([METRICS[name].row(*map(str, pair)) for pair in pairs])
        targets, answers = zip(*pairs, strict=True)
        assert METRICS[name].value(rows) == pytest.approx(oracle(targets, answers))
