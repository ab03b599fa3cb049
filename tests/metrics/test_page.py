"""docs/metrics.md says what the code does."""

import re
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from otoscope.errors import MetricError, UnreadableValueError
from otoscope.metrics import METRICS, MetricName

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
NAMES = get_args(MetricName)


def field(section: str, name: str) -> str:
    found = re.search(rf"^- {name}: (.*(?:\n  .*)*)", section, flags=re.MULTILINE)
    assert found is not None, f"no {name} in {section}"
    return " ".join(found[1].split())


def samples(cell: str) -> list[str]:
    return [text for text, _ in re.findall(r"`([^`]+)`|\((empty)\)", cell)]


def scored(name: MetricName, targets: list[str], answers: list[str]) -> str:
    metric = METRICS[name]
    try:
        rows = np.array([metric.row(*pair) for pair in zip(targets, answers, strict=True)], float)
    except UnreadableValueError:
        return "N/A"
    except MetricError:
        return "error"
    value = metric.value(rows)
    return "undefined" if value is None else f"{value:.4g}"


def test_every_metric_has_a_section() -> None:
    assert list(SECTIONS) == list(METRICS)


@pytest.mark.parametrize("name", NAMES)
def test_the_section_says_what_the_code_says(name: MetricName) -> None:
    section, metric = SECTIONS[name], METRICS[name]
    signature = metric.signature.replace(version("sacrebleu"), "VERSION")
    assert field(section, "Signature") == f"`{signature}`"
    assert field(section, "Unit").endswith(f". {metric.better.capitalize()} is better.")
    for part in ("Formula", "Corpus", "Edges", "Source"):
        assert len(field(section, part)) > len("undefined")


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_have_the_values_they_say(name: MetricName) -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \| (\S+) \|$", SECTIONS[name], flags=re.MULTILINE)[1:]
    assert len(rows) >= 3
    for target, answer, value in rows:
        assert scored(name, samples(target), samples(answer)) == value, f"{target} against {answer}"


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_show_an_empty_answer(name: MetricName) -> None:
    assert "| (empty) |" in SECTIONS[name]
