"""Overlapped speech: short statistics of a clip, and a logistic regression that was trained on them.

Several voices at once leave fewer pauses, a flatter spectrum and slower modulation than one voice does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from otoscope.gate.signal import RATE, Heard, Scores
from otoscope.gate.spectrum import FFT, FRAME, HOP, blocks, magnitudes, mel_filters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MFCCS, BANDS = 13, 26
ROLLOFF = 0.85
ACTIVE_RANGE = 40.0
"""dB under the loudest frame; quieter frames are pauses and not part of the statistics but for their share."""
TINY = 1e-10
ITERATIONS = 50
PENALTY = 1.0
"""Weight of the squared coefficients of standardised features."""


def overlap_features(samples: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Return the features of mono audio at 16 kHz.

    They are mean and deviation, over active frames, of level, spectral centroid, bandwidth, roll-off, flatness,
    zero-crossing rate, 13 cepstral coefficients and their differences; and the share of active frames.
    """
    import numpy as np

    padded = samples if len(samples) >= FRAME + HOP else np.pad(samples, (0, FRAME + HOP - len(samples)))
    every = np.vstack([_of_frames(block) for block in blocks(padded)])
    level, cepstrum = every[:, 0], every[:, -MFCCS:]
    active = level > level.max() - ACTIVE_RANGE
    kept = (column[active] for column in (*every.T, *np.gradient(cepstrum, axis=0).T))
    means, deviations = zip(*((column.mean(), column.std()) for column in kept), strict=True)
    return np.array([*means, *deviations, active.mean()])


def _of_frames(samples: "NDArray[np.float32]") -> "NDArray[np.float64]":
    """Return what each frame has, shape (frames, 19): level first, cepstral coefficients last."""
    import numpy as np
    from scipy.fft import dct

    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[::HOP]
    power = magnitudes(samples).astype(np.float64) ** 2 + TINY
    hertz = np.linspace(0, RATE / 2, FFT // 2 + 1)
    total = power.sum(axis=1)
    centroid = power @ hertz / total
    bandwidth = np.sqrt(np.maximum(power @ hertz**2 / total - centroid**2, 0))
    rolloff = hertz[(np.cumsum(power, axis=1) >= ROLLOFF * total[:, None]).argmax(axis=1)]
    flatness = np.exp(np.log(power).mean(axis=1)) / power.mean(axis=1)
    crossings = (np.diff(np.signbit(frames), axis=1)).mean(axis=1)
    level = 10 * np.log10(total)
    cepstrum = dct(np.log(power @ mel_filters(BANDS, 20.0, RATE / 2) + TINY), norm="ortho", axis=1)[:, :MFCCS]
    return np.column_stack([level, centroid, bandwidth, rolloff, flatness, crossings, cepstrum])


@dataclass(frozen=True, slots=True)
class Overlap:
    """A trained classifier. Score: ``overlap``, the probability of several voices on data like that of its training.

    Attributes:
        weights: one a feature, for features as they are.
        bias: added to the weighted sum.
        trained_on: digest of the training rows.
    """

    weights: tuple[float, ...]
    bias: float
    trained_on: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The coefficients."""
        return {"weights": list(self.weights), "bias": self.bias, "trained_on": self.trained_on}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the classifier that ``settings`` described."""
        return cls(tuple(settings["weights"]), settings["bias"], settings["trained_on"])

    def measure(self, heard: Heard) -> Scores:
        """Return the probability of several voices."""
        return Scores({"overlap": self.score(overlap_features(heard.samples))})

    def score(self, features: "NDArray[np.float64]") -> float:
        """Return the probability of several voices."""
        from scipy.special import expit

        return float(expit(features @ self.weights + self.bias))


def train_overlap(features: "NDArray[np.float64]", several: Sequence[bool], trained_on: str) -> Overlap:
    """Fit a logistic regression by Newton's method; both classes weigh the same, however many rows they have.

    Args:
        features: shape (rows, features).
        several: whether a row holds several voices.
        trained_on: digest of the rows.
    """
    import numpy as np
    from scipy.special import expit

    target = np.asarray(several, np.float64)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < TINY] = 1.0
    rows = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    weight = np.where(target == 1, 1 / max(target.sum(), 1), 1 / max((1 - target).sum(), 1)) * len(target) / 2
    ridge = np.diag([PENALTY] * features.shape[1] + [0.0])
    found = np.zeros(rows.shape[1])
    for _ in range(ITERATIONS):
        probability = expit(rows @ found)
        gradient = rows.T @ (weight * (probability - target)) + ridge @ found
        curvature = (rows * (weight * np.maximum(probability * (1 - probability), 1e-9))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - converged
            break
    weights = found[:-1] / scale
    return Overlap(tuple(map(float, weights)), float(found[-1] - mean @ weights), trained_on)
