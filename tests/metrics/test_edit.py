"""Edit-distance rates against two libraries, and the traps those libraries set."""

import random

import jiwer
import numpy as np
import pytest

from otoscope.metrics import METRICS
from otoscope.metrics.edit import EditRate, edits
from otoscope.text import NORMALISERS, TOKENISERS

kaldialign = pytest.importorskip("kaldialign")

LETTERS = "abcdefgh我你他"


def noisy_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of spaced words, the second made from the first by random edits, with some empty answers."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(60)]
    pairs = []
    for _ in range(count):
        reference = rng.choices(vocabulary, k=rng.randint(1, 25))
        answer = [word for word in reference if rng.random() > 0.1]
        for _ in range(rng.randint(0, 6)):
            answer.insert(rng.randint(0, len(answer)), rng.choice(vocabulary))
        pairs.append((" ".join(reference), " ".join(answer) if rng.random() > 0.05 else ""))
    return pairs


PAIRS = noisy_pairs(1500, seed=1)


def test_words_agree_with_jiwer() -> None:
    for reference, answer in PAIRS:
        found = jiwer.process_words(reference, answer)
        errors = found.substitutions + found.deletions + found.insertions
        assert METRICS["wer_raw"].row(reference, answer) == (errors, len(reference.split()))
    corpus = jiwer.wer([pair[0] for pair in PAIRS], [pair[1] for pair in PAIRS])
    assert METRICS["wer_raw"].value(np.array([METRICS["wer_raw"].row(*pair) for pair in PAIRS])) == corpus


def test_characters_agree_with_jiwer() -> None:
    for reference, answer in PAIRS:
        found = jiwer.process_characters(reference, answer)
        errors = found.substitutions + found.deletions + found.insertions
        assert METRICS["cer_raw"].row(reference, answer) == (errors, len(reference))


def test_words_agree_with_kaldialign() -> None:
    for reference, answer in PAIRS:
        found = kaldialign.edit_distance(reference.split(), answer.split())
        assert edits(reference.split(), answer.split())[0] == found["total"]


def test_a_newline_separates_words_unlike_in_jiwer() -> None:
    assert jiwer.wer("hello world", "hello\nworld") == 1.0
    assert METRICS["wer_raw"].row("hello world", "hello\nworld") == (0, 2)


def test_mixed_error_rate_is_no_match_error_rate() -> None:
    assert jiwer.mer("a", "b c d") <= 1.0
    assert METRICS["mer"].row("a", "b c d") == (3, 1)


def test_counts_stay_exact_beyond_single_precision() -> None:
    rows = np.array([[2.0**24, 2.0**24], [1.0, 1.0], [1.0, 2.0]])
    assert METRICS["wer"].value(rows) == (2**24 + 2) / (2**24 + 3)


@pytest.mark.parametrize("unit", TOKENISERS)
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_tokens_are_strings_so_a_letter_is_never_a_number(unit: str, normaliser: str) -> None:
    rate = EditRate("test", unit, normaliser)
    assert {type(token) for token in rate.tokens("a 97, True 我")} == {str}
    assert rate.row("a", "97")[0] > 0


def test_rows_are_pairs_not_a_cross_product() -> None:
    rows = np.array([METRICS["wer"].row(*pair) for pair in PAIRS[:10]])
    assert rows.shape == (10, 2)
