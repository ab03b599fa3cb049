"""What a gate's score is worth at every threshold, not only at the frozen one. Pure functions of scores and losses.

Higher scores speak for admission. Rows of one score are admitted together: where a measure orders rows, a block of
ties stands in every order at once, so that no measure depends on the order of the rows.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RiskCoverage(NamedTuple):
    """Areas under the curves of risk over coverage.

    Attributes:
        aurc: mean, over all coverages, of the risk among the rows admitted. A failure at the highest score weighs most.
        augrc: mean of risk times coverage, the share of all rows that fail unnoticed.
    """

    aurc: float
    augrc: float


def risk_coverage(scores: Sequence[float], losses: Sequence[float]) -> RiskCoverage | None:
    """Return the areas, or None of no rows.

    Args:
        scores: one a row; minus infinity for a row that is never admitted first.
        losses: what admitting the row costs, 0 to 1.
    """
    import numpy as np

    if not scores:
        return None
    values, blocks = np.unique(-np.asarray(scores, np.float64), return_inverse=True)
    sizes = np.bincount(blocks, minlength=len(values))
    means = np.bincount(blocks, np.asarray(losses, np.float64), len(values)) / sizes
    lost = np.cumsum(np.repeat(means, sizes))
    return RiskCoverage(float((lost / np.arange(1, len(lost) + 1)).mean()), float((lost / len(lost)).mean()))


def roc_auc(supported: Sequence[float], unsupported: Sequence[float]) -> float | None:
    """Return the share of pairs in which the supported row has the higher score; a tie is half a pair."""
    import numpy as np

    if not supported or not unsupported:
        return None
    low, high = _counts_below(supported, unsupported)
    return float((np.asarray(low) + np.asarray(high)).sum() / (2 * len(supported) * len(unsupported)))


def _counts_below(scores: Sequence[float], others: Sequence[float]) -> "tuple[NDArray[np.intp], NDArray[np.intp]]":
    """Return, for each score, how many of the others are below it, and how many are not above it."""
    import numpy as np

    ordered = np.sort(np.asarray(others, np.float64))
    values = np.asarray(scores, np.float64)
    return np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")


class Operating(NamedTuple):
    """What one threshold does; a row is admitted if its score is not below.

    Attributes:
        threshold: the threshold.
        missed: share of supported rows turned away.
        false_accepts: share of unsupported rows admitted.
    """

    threshold: float
    missed: float
    false_accepts: float


def det(supported: Sequence[float], unsupported: Sequence[float]) -> list[Operating]:
    """Return the detection error trade-off: one point a finite score that occurs, from the lowest; [] without rows."""
    import numpy as np

    if not supported or not unsupported:
        return []
    both = np.asarray([*supported, *unsupported], np.float64)
    thresholds = np.unique(both[np.isfinite(both)])
    missed, _ = _counts_below(thresholds.tolist(), supported)
    rejected, _ = _counts_below(thresholds.tolist(), unsupported)
    return [
        Operating(float(threshold), float(miss / len(supported)), float(1 - away / len(unsupported)))
        for threshold, miss, away in zip(thresholds, missed, rejected, strict=True)
    ]


def rejection_at(points: Sequence[Operating], retention: float) -> float | None:
    """Return the largest share of unsupported rows that can be turned away while so many supported ones are kept.

    None where not even the lowest threshold keeps them.
    """
    kept = [1 - point.false_accepts for point in points if 1 - point.missed >= retention - 1e-12]
    return max(kept, default=None)


class Scod(NamedTuple):
    """Selective classification where some rows should not be classified at all.

    Attributes:
        risk: mean loss of the rows admitted; None where none is. A row costs ``cost`` if it is unsupported, and
            1 - ``cost`` if it is supported and answered wrongly.
        coverage: share of rows admitted.
    """

    risk: float | None
    coverage: float


def scod(admitted: Sequence[bool], supported: Sequence[bool], wrong: Sequence[bool], cost: float) -> Scod:
    """Return the risk at a stated cost of answering an unsupported row, 0 to 1, and the coverage it is had at."""
    losses = [
        (1 - cost) * error if fits else cost
        for admits, fits, error in zip(admitted, supported, wrong, strict=True)
        if admits
    ]
    return Scod(sum(losses) / len(losses) if losses else None, len(losses) / len(admitted) if admitted else 0.0)
