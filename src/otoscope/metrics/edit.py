"""Edit-distance rates: errors are counted in all samples, then divided by the length of all references.

A reference without tokens adds its insertions and no length, so the rate can exceed 1 and is undefined only when all
references are empty. Minimal alignments are not unique, so the errors are not split into kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz.distance import Levenshtein

from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.records import Better
from otoscope.text import NORMALISERS, TOKENISERS


def edits(reference: Sequence[str], answer: Sequence[str]) -> tuple[float, float]:
    """Return the least number of substitutions, deletions and insertions, and the length of the reference."""
    return Levenshtein.distance(reference, answer), len(reference)


@dataclass(frozen=True, slots=True)
class EditRate:
    """Errors per reference token.

    Attributes:
        name: the name by which a task asks for it.
        unit: the tokeniser, a key of ``text.TOKENISERS``.
        normaliser: a key of ``text.NORMALISERS``, applied to both sides.
    """

    name: str
    unit: str
    normaliser: str
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Unit, normaliser, corpus rule and version."""
        return f"{self.name}|unit:{self.unit}|norm:{self.normaliser}|rule:sum(errors)/sum(reference)|v:1"

    def tokens(self, text: str) -> Sequence[str]:
        """Return the normalised tokens of the text."""
        return TOKENISERS[self.unit](NORMALISERS[self.normaliser](text))

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (errors, reference tokens)."""
        return edits(self.tokens(target), self.tokens(answer))

    def value(self, rows: Rows) -> float | None:
        """Return all errors over all reference tokens, or None where the references hold no token."""
        return ratio(rows)
