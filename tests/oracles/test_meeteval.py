"""Corpus word error rates against MeetEval."""

import random

import numpy as np
import pytest

from otoscope.metrics import METRICS

wer = pytest.importorskip("meeteval.wer")


def test_corpora_agree_with_meeteval() -> None:
    rng = random.Random(1)
    names = [chr(code) for code in range(ord("a"), ord("m"))]
    pairs = [tuple(" ".join(rng.choices(names, k=rng.randint(0, 20))) for _ in range(2)) for _ in range(1000)]
    found = np.array([METRICS["wer_raw"].row(*pair) for pair in pairs])
    rates = [wer.siso_word_error_rate(*pair) for pair in pairs]
    assert [tuple(row) for row in found] == [(rate.errors, rate.length) for rate in rates]
    assert METRICS["wer_raw"].value(found) == wer.combine_error_rates(rates).error_rate


def test_meeteval_too_leaves_the_rate_of_an_empty_reference_undefined() -> None:
    assert wer.siso_word_error_rate("", "a b").error_rate is None
    assert METRICS["wer_raw"].value(np.array([METRICS["wer_raw"].row("", "a b")])) is None
