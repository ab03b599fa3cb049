"""Golden cases: each file in cases/METRIC/ holds targets, answers, and the corpus value they must give."""

import json
from pathlib import Path

import numpy as np
import pytest

from otoscope.metrics import METRICS, metric

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.json"))


@pytest.mark.parametrize("path", CASES, ids=[f"{path.parent.name}-{path.stem}" for path in CASES])
def test_case(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    chosen = metric(path.parent.name, **case.get("options", {}))
    pairs = zip(case["target"], case["answer"], strict=True)
    value = chosen.value(np.array([chosen.row(target, answer) for target, answer in pairs]))
    if case["expected"] is None:
        assert value is None
    else:
        assert value == pytest.approx(case["expected"], rel=1e-12, abs=1e-12)


def test_every_metric_has_cases() -> None:
    assert {path.parent.name for path in CASES} == set(METRICS)
