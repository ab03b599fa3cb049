"""Intervals: exact for proportions of independent samples, by bootstrap over clusters for everything else.

Samples made from one source (a speaker, a recording, a song) share their fate, so the source is what is drawn anew.
On 40 sources of 6 such samples, a nominal 95 % interval over samples covers the truth 79 % of the time, one over
sources 94.5 %.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from otoscope.metrics.protocol import Metric, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Indices: TypeAlias = "NDArray[np.intp]"

_FEWEST_CLUSTERS = 2
_MOST_UNDEFINED = 0.05
_DRAWN_AT_ONCE = 4_000_000


class Interval(NamedTuple):
    """An interval in the units of its metric, and how it was found.

    Attributes:
        low: lower end.
        high: upper end.
        method: ``exact`` (Clopper-Pearson over samples), ``exact-clusters`` (the same over clusters) or ``bootstrap``.
    """

    low: float
    high: float
    method: str


def exact_interval(successes: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Return the Clopper-Pearson interval of a proportion of n independent trials, or None for none.

    Raises:
        ValueError: successes is not between 0 and n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials")
    if not n:
        return None
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(low, high, "exact")


def bootstrap_interval(
    value: Callable[[Rows], float | None],
    rows: Rows,
    clusters: Sequence[str],
    *,
    additive: bool = False,
    draws: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval over clusters; the order of the rows does not matter.

    Args:
        value: the corpus value of an (n, k) array of rows, or None where it is not defined.
        rows: one row a sample.
        clusters: one name a row; rows with one name are drawn together.
        additive: whether the value depends on the rows only through their sum, which makes drawing cheap.
        draws: number of bootstrap corpora.
        seed: seed of the draws.
        confidence: share of the draws inside the interval.

    Returns:
        None for fewer than two clusters, and where the value is undefined in more than 5 % of the draws; below that
        the undefined draws are left out.
    """
    import numpy as np

    # Sorted by cluster, then by value, so that the same draws meet the same rows whatever order they came in.
    order = np.lexsort((*rows.T[::-1], np.asarray(clusters)))
    rows, names = rows[order], np.asarray(clusters)[order]
    starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]]) if len(names) else np.array([], dtype=int)
    if len(starts) < _FEWEST_CLUSTERS:
        return None
    rng = np.random.default_rng(seed)
    corpora = _drawn_sums(rows, starts, draws, rng) if additive else _drawn_rows(rows, starts, draws, rng)
    values = [found for found in map(value, corpora) if found is not None]
    if len(values) < (1 - _MOST_UNDEFINED) * draws:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high), "bootstrap")


def _drawn_sums(rows: Rows, starts: _Indices, draws: int, rng: "np.random.Generator") -> Iterator[Rows]:
    """Yield, for each draw, the one row that the drawn clusters sum to."""
    import numpy as np

    sums = np.add.reduceat(rows, starts, axis=0)
    at_once = max(1, _DRAWN_AT_ONCE // sums.size)
    for done in range(0, draws, at_once):
        picks = rng.integers(0, len(sums), (min(at_once, draws - done), len(sums)))
        yield from sums[picks].sum(axis=1)[:, np.newaxis, :]


def _drawn_rows(rows: Rows, starts: _Indices, draws: int, rng: "np.random.Generator") -> Iterator[Rows]:
    """Yield, for each draw, the rows of the drawn clusters."""
    import numpy as np

    members = np.split(np.arange(len(rows)), starts[1:])
    for _ in range(draws):
        picks = rng.integers(0, len(members), len(members))
        yield rows[np.concatenate([members[pick] for pick in picks])]


def interval(metric: Metric, rows: Rows, clusters: Sequence[str]) -> Interval | None:
    """Return the 95 % interval of the metric's value that the data can support.

    Args:
        metric: the metric that made the rows.
        rows: one row a sample.
        clusters: one name a row; a sample without a known source has a name of its own.

    Returns:
        Of a proportion: exact over samples where each is its own cluster; exact over clusters where all rows are
        equal, since a bootstrap of equal rows has no width; else the bootstrap over clusters. Of any other metric:
        the bootstrap. None for fewer than two clusters, and for a bootstrap without width, which tells nothing.
    """
    names = len(set(clusters))
    if names < _FEWEST_CLUSTERS:
        return None
    if metric.pooling == "proportion":
        successes = int(rows[:, 0].sum())
        if names == len(rows):
            return exact_interval(successes, len(rows))
        if successes in {0, len(rows)}:
            found = exact_interval(names if successes else 0, names)
            return found and found._replace(method="exact-clusters")
    found = bootstrap_interval(metric.value, rows, clusters, additive=metric.pooling != "rows")
    return found if found and found.low < found.high else None
