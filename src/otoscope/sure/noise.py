"""Signals and what is done to them. Every signal is mono float64 at 16 kHz, full scale 1.0."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import soxr
from numpy.typing import NDArray
from scipy import signal

RATE = 16_000
TELEPHONE_RATE = 8_000
TELEPHONE_BAND = (300, 3400)
"""Hz."""
LOWEST_NOISE_FREQUENCY = 20
"""Hz; a coloured spectrum is flat below it, else the power of brown noise would lie where nobody hears it."""
FRAME, HOP = 480, 160
"""Samples: 30 ms frames every 10 ms."""
ACTIVE_RANGE_DB = 30
"""A frame is active if its level is within this range of the loudest frame's."""
ACTIVE_FLOOR = 1e-3
"""RMS (-60 dBFS) under which no frame is active."""
RT60_SECONDS = 0.4
PEAK = 0.99

Wave = NDArray[np.float64]
Fit = Literal["tile", "pad"]
"""What happens to a voice that is shorter than the clip: it is looped, or silence follows."""


class Mixed(NamedTuple):
    """Speech with noise, and the ratio of their levels in dB: over active frames, and over the whole clip."""

    samples: Wave
    active_snr: float
    whole_snr: float


def rms(samples: Wave) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(samples))))


def active_rms(speech: Wave) -> float:
    """Return the RMS over the frames that are active, so that pauses do not lower it; 0.0 where none is.

    A constant offset is no sound and is taken away first.
    """
    centred = speech - speech.mean()
    frames = np.lib.stride_tricks.sliding_window_view(centred, min(FRAME, len(centred)))[::HOP]
    power = np.mean(np.square(frames), axis=1)
    floor = max(power.max() * 10 ** (-ACTIVE_RANGE_DB / 10), ACTIVE_FLOOR**2)
    active = power[power >= floor]
    return float(np.sqrt(active.mean())) if len(active) else 0.0


def coloured(size: int, slope: float, rng: np.random.Generator) -> Wave:
    """Return Gaussian noise with an RMS of 1 whose power falls with frequency as ``f ** -slope``.

    Args:
        size: samples.
        slope: 0 white, 1 pink, 2 brown, -1 blue, -2 violet.
        rng: source of randomness.
    """
    frequencies = np.fft.rfftfreq(size, 1 / RATE)
    return _noise(size, np.maximum(frequencies, LOWEST_NOISE_FREQUENCY) ** (-slope / 2), rng)


def speech_shaped(speech: Wave, rng: np.random.Generator) -> Wave:
    """Return Gaussian noise with an RMS of 1, the length of ``speech`` and its long-term average spectrum."""
    frequencies, power = signal.welch(speech, RATE, nperseg=min(512, len(speech)))
    amplitude = np.interp(np.fft.rfftfreq(len(speech), 1 / RATE), frequencies, np.sqrt(power))
    return _noise(len(speech), amplitude, rng)


def _noise(size: int, amplitude: Wave, rng: np.random.Generator) -> Wave:
    spectrum = (rng.standard_normal(len(amplitude)) + 1j * rng.standard_normal(len(amplitude))) * amplitude
    spectrum[0] = 0
    noise = np.fft.irfft(spectrum, size)
    return noise / rms(noise)


def mix(speech: Wave, noise: Wave, snr: float) -> Mixed:
    """Add ``noise``, whose RMS is 1, so that the active level of ``speech`` lies ``snr`` dB above it."""
    scaled = noise * (active_rms(speech) * 10 ** (-snr / 20))
    whole = 20 * np.log10(rms(speech) / rms(scaled))
    return Mixed(speech + scaled, 20 * np.log10(active_rms(speech) / rms(scaled)), float(whole))


def reverberate(speech: Wave, rng: np.random.Generator) -> Wave:
    """Return ``speech`` in a made-up room, cut to its own length.

    The impulse response is the direct path, with amplitude 1, and Gaussian noise that decays by 60 dB in 0.4 s and
    holds as much energy as the direct path.
    """
    seconds = np.arange(1, round(RT60_SECONDS * RATE)) / RATE
    tail = rng.standard_normal(len(seconds)) * 10 ** (-3 * seconds / RT60_SECONDS)
    response = np.concatenate(([1.0], tail / np.sqrt(np.sum(np.square(tail)))))
    return np.asarray(signal.fftconvolve(speech, response)[: len(speech)], np.float64)


def telephone(speech: Wave) -> Wave:
    """Return ``speech`` through a fourth-order Butterworth band pass of 300 to 3400 Hz and 8 kHz."""
    band = signal.butter(4, TELEPHONE_BAND, "bandpass", fs=RATE, output="sos")
    narrow = soxr.resample(signal.sosfilt(band, speech), RATE, TELEPHONE_RATE)
    return fit(np.asarray(soxr.resample(narrow, TELEPHONE_RATE, RATE), np.float64), len(speech), "pad")


def change_speed(speech: Wave, factor: float) -> Wave:
    """Return ``speech`` faster by ``factor``, by resampling: pitch changes with speed."""
    return speech if factor == 1 else np.asarray(soxr.resample(speech, RATE * factor, RATE), np.float64)


def tone(size: int, frequencies: Sequence[float], amplitude: float) -> Wave:
    """Return the sum of sines of ``frequencies`` (Hz), which share ``amplitude`` equally."""
    seconds = np.arange(size) / RATE
    sines = [np.sin(2 * np.pi * frequency * seconds) for frequency in frequencies]
    return np.asarray(np.sum(sines, axis=0) * (amplitude / len(frequencies)), np.float64)


def fit(samples: Wave, size: int, how: Fit) -> Wave:
    """Return the first ``size`` samples; what is missing is looped or silent."""
    if how == "tile":
        return np.resize(samples, size)
    return np.pad(samples, (0, max(0, size - len(samples))))[:size]


def loudest(samples: Wave, size: int) -> Wave:
    """Return ``size`` samples around the loudest one, or all of them if they are fewer."""
    start = int(np.argmax(np.abs(samples))) - size // 2
    return samples[max(0, min(start, len(samples) - size)) :][:size]


def limit(samples: Wave) -> tuple[Wave, float]:
    """Scale so that no peak exceeds 0.99; return the samples and the factor. Nothing is clipped."""
    peak = float(np.max(np.abs(samples)))
    gain = min(1.0, PEAK / peak) if peak else 1.0
    return samples * gain, gain
