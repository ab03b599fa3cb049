"""Frames and mel filters that the tagger and the overlap features share."""

import functools
from typing import TYPE_CHECKING

from otoscope.gate.signal import RATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

FFT = 512
FRAME, HOP = 400, 160
"""Samples: 25 ms every 10 ms."""


BLOCK = 4096
"""Frames that are looked at together, 41 s: the spectra of an hour would fill gigabytes."""


def blocks(samples: "NDArray[np.float32]") -> "Iterator[NDArray[np.float32]]":
    """Yield pieces that have, one after another, just the whole frames that the audio has."""
    for start in range(0, len(samples) - FRAME + 1, BLOCK * HOP):
        yield samples[start : start + (BLOCK - 1) * HOP + FRAME]


def magnitudes(samples: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Return the magnitude spectra of whole frames under a Hann window, shape (frames, 257).

    Args:
        samples: mono audio at 16 kHz, at least one frame of it.
    """
    import numpy as np

    frames = np.lib.stride_tricks.sliding_window_view(samples, FRAME)[::HOP]
    hann = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype(np.float32)
    return np.abs(np.fft.rfft(frames * hann, FFT, axis=1)).astype(np.float32)


@functools.cache
def mel_filters(bands: int, low: float, high: float) -> "NDArray[np.float32]":
    """Return triangular filters whose knees are evenly spaced in HTK's mel, shape (257, bands).

    Args:
        bands: number of filters.
        low: where the first begins, in Hz.
        high: where the last ends, in Hz.
    """
    import numpy as np

    bins = 1127 * np.log1p(np.linspace(0, RATE / 2, FFT // 2 + 1) / 700)[:, np.newaxis]
    knees = np.linspace(1127 * np.log1p(low / 700), 1127 * np.log1p(high / 700), bands + 2)
    rising = (bins - knees[:-2]) / (knees[1:-1] - knees[:-2])
    falling = (knees[2:] - bins) / (knees[2:] - knees[1:-1])
    filters: NDArray[np.float32] = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    filters[0] = 0  # a constant offset is no sound
    return filters
