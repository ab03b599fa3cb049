"""Edit-distance rates: errors are counted in all samples, then divided by the length of all references.

A reference without tokens adds its insertions and no length, so the rate can exceed 1 and is undefined only when all
references are empty. Minimal alignments are not unique, so the errors are not split into kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz.distance import Levenshtein

from otoscope.metrics.protocol import Metric, Pooling, Rows, ratio
from otoscope.records import Better
from otoscope.text import NORMALISERS, TOKENISERS, runs_on


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


class RunOn:
    """Counts the references whose words no space separates, where a metric counts words.

    Args:
        metrics: the metrics that take the references.
    """

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._names = [metric.name for metric in metrics if isinstance(metric, EditRate) and metric.unit == "word"]
        self._found = 0
        self._of = 0

    def add(self, target: str) -> None:
        """Count a reference in."""
        self._of += 1
        self._found += bool(self._names) and runs_on(target)

    def notes(self) -> Iterator[str]:
        """Yield what to know of the scores, if there is such a reference."""
        if self._found:
            yield (
                f"{', '.join(self._names)}: {self._found} of {self._of} references are in a script without spaces "
                "between words, so what stands between two spaces counts as one word; take cer, or mer where "
                "languages are mixed"
            )
