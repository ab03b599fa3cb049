"""The leakage screen: a row whose voices come from another split tells one split about another."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from otoscope.sure.plan import PlannedRow, Source


class Screened(NamedTuple):
    """Rows that stay within their split, and rows that do not, each in order."""

    kept: list[PlannedRow]
    leaking: list[PlannedRow]


def screen(rows: Iterable[PlannedRow], sources: Sequence[Source]) -> Screened:
    """Divide rows by whether every source that is heard in them lies in their own split."""
    split = {source.utterance.id: source.split for source in sources}
    kept: list[PlannedRow] = []
    leaking: list[PlannedRow] = []
    for row in rows:
        within = all(split[heard] == row.source.split for heard in row.constituents)
        (kept if within else leaking).append(row)
    return Screened(kept, leaking)
