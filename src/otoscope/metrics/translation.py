"""BLEU as sacreBLEU computes it, on its scale from 0 to 100."""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Final

from otoscope.errors import UsageError
from otoscope.metrics.protocol import Pooling, Rows, totals
from otoscope.records import Better

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_ORDERS: Final = 4
#: Tokenizers for languages of which the default one would see a sentence as one word, by every code of the language.
#: The others that sacreBLEU offers for them need a dictionary or download a model.
_TOKENIZERS: Final = {
    code: tokenizer
    for codes, tokenizer in (
        ("zh zho chi cmn yue wuu nan hak", "zh"),
        ("ja jpn th tha lo lao km khm my mya bur", "char"),
    )
    for code in codes.split()
}
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


def tokenizer_for(language: str) -> str:
    """Return the sacreBLEU tokenizer for a language tag such as ``en`` or ``zh-TW``.

    Raises:
        UsageError: it is no language tag.
    """
    if not _TAG.fullmatch(language):
        raise UsageError(f"language {language!r} is no tag; give one such as en, zh or pt-BR")
    return _TOKENIZERS.get(re.split("[-_]", language)[0].casefold(), "13a")


@dataclass(frozen=True, slots=True)
class SacreBleu:
    """Corpus BLEU of raw answers against one reference each; no mean of sentence scores."""

    name: str
    tokenizer: str = "13a"
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """The parts of sacreBLEU's own signature."""
        from importlib.metadata import version

        return f"{self.name}|nrefs:1|case:mixed|eff:no|tok:{self.tokenizer}|smooth:exp|version:{version('sacrebleu')}"

    def row(self, target: str, answer: str) -> tuple[float, ...]:
        """Return (answer length, reference length, 4 counts of shared n-grams, 4 counts of the answer's n-grams)."""
        found = _bleu(self.tokenizer).sentence_score(answer, [target])
        return (found.sys_len, found.ref_len, *found.counts, *found.totals)

    def value(self, rows: Rows) -> float | None:
        """Return corpus BLEU, or None where the references hold no token."""
        if not len(rows):
            return None
        answer, reference, *ngrams = map(int, totals(rows))
        if not reference:
            return None
        scored = _bleu(self.tokenizer).compute_bleu(
            ngrams[:_ORDERS], ngrams[_ORDERS:], sys_len=answer, ref_len=reference, smooth_method="exp"
        )
        return float(scored.score)


@cache
def _bleu(tokenizer: str) -> "BLEU":
    from sacrebleu.metrics.bleu import BLEU

    # Effective order changes only the score of one sentence, which is not used, and silences a warning about it.
    return BLEU(tokenize=tokenizer, effective_order=True)
