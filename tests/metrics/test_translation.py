"""BLEU from per-sample rows against sacreBLEU's own corpus score."""

import random

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics.bleu import BLEU

from otoscope.metrics import metric

WORDS = ["the", "cat", "sat", "on", "a", "mat", ",", "and", "was", "n't", "3.5", "km", "away", "-", "“really”", "?"]


def sentences(rng: random.Random, tokenizer: str) -> tuple[str, str]:
    reference = rng.choices(
        WORDS if tokenizer == "13a" else list("今天气很好我们去公园走吧。the"), k=rng.randint(1, 20)
    )
    answer = [word for word in reference if rng.random() > 0.15]
    glue = " " if tokenizer == "13a" else ""
    return glue.join(reference), glue.join(answer)


@pytest.mark.parametrize(("language", "tokenizer"), [("en", "13a"), ("zh", "zh"), ("ja", "char")])
def test_corpora_agree_with_sacrebleu(language: str, tokenizer: str) -> None:
    rng = random.Random(6)
    chosen = metric("sacrebleu", language=language)
    pairs = [sentences(rng, tokenizer) for _ in range(1000)]
    rows = np.array([chosen.row(*pair) for pair in pairs])
    for size in (1, 2, 5, 20, 100, 1000):
        for start in range(0, min(1000, 20 * size), size):
            part = pairs[start : start + size]
            oracle = sacrebleu.corpus_bleu(
                [answer for _, answer in part], [[reference for reference, _ in part]], tokenize=tokenizer
            )
            assert chosen.value(rows[start : start + size]) == pytest.approx(oracle.score, abs=1e-9)


def test_the_signature_names_what_sacrebleu_names() -> None:
    oracle = BLEU()
    oracle.corpus_score(["a"], [["a"]])
    assert metric("sacrebleu").signature == f"sacrebleu|{oracle.get_signature()}"


def test_references_of_other_sentences_are_not_shared() -> None:
    """Given per sentence instead of per stream, sacreBLEU takes each reference for all and says 100."""
    chosen = metric("sacrebleu")
    rows = np.array([chosen.row("a b c d", "e f g h"), chosen.row("e f g h", "a b c d")])
    assert chosen.value(rows) == 0.0
