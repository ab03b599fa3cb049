"""Spans and counts of tokens, found once for all places of an answer, so that reading takes time linear in it."""

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate


class Bounds:
    """The spans between the tokens that end one.

    Args:
        words: all tokens.
        marks: the tokens that end a span; they belong to none.
    """

    def __init__(self, words: Sequence[str], marks: Collection[str]) -> None:
        self._starts = [0]
        for at, word in enumerate(words, 1):
            self._starts.append(at if word in marks else self._starts[-1])
        ends = [len(words)]
        for at in range(len(words) - 1, -1, -1):
            ends.append(at if words[at] in marks else ends[-1])
        self._ends = ends[::-1]

    def start(self, at: int) -> int:
        """Return where the span before a place starts."""
        return self._starts[at]

    def end(self, at: int) -> int:
        """Return where the span after a place ends."""
        return self._ends[at]


class Tally:
    """How many tokens of one kind stand between two places.

    Args:
        words: all tokens.
        counts: whether a token is of that kind.
    """

    def __init__(self, words: Sequence[str], counts: Callable[[str], bool]) -> None:
        self._before = list(accumulate(map(counts, words), initial=0))

    def between(self, start: int, end: int) -> int:
        """Return the number from ``start`` on and before ``end``; 0 if nothing is between them."""
        return max(0, self._before[end] - self._before[start])
