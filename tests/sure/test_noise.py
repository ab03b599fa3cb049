import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal
from sure_sets import pseudo_speech

from otoscope.sure import noise

RATE = noise.RATE


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


def _decibels(ratio: float) -> float:
    return float(20 * np.log10(ratio))


def _slope(samples: NDArray[np.float64], low: float, high: float) -> float:
    """Return how the power falls with frequency between two frequencies, as an exponent."""
    frequencies, power = signal.welch(samples, RATE, nperseg=4096)
    band = (frequencies >= low) & (frequencies <= high)
    return -float(np.polyfit(np.log(frequencies[band]), np.log(power[band]), 1)[0])


@pytest.mark.parametrize("slope", [0, 1, 2, -1, -2])
def test_colours(slope: float) -> None:
    samples = noise.coloured(60 * RATE, slope, _rng())
    assert noise.rms(samples) == pytest.approx(1)
    assert samples.mean() == pytest.approx(0, abs=1e-9)
    assert _slope(samples, 100, 6000) == pytest.approx(slope, abs=0.05)


def test_brown_noise_is_flat_below_20_hz() -> None:
    frequencies, power = signal.periodogram(noise.coloured(300 * RATE, 2, _rng()), RATE)
    bands = [power[(frequencies >= low) & (frequencies < low + 5)].mean() for low in (5, 14)]
    assert bands[0] == pytest.approx(bands[1], rel=0.1)


def test_speech_shaped_noise_has_the_spectrum_of_the_speech() -> None:
    speech = noise.telephone(noise.coloured(20 * RATE, 1, _rng()))
    shaped = noise.speech_shaped(speech, np.random.default_rng(2))
    assert noise.rms(shaped) == pytest.approx(1)
    power = [signal.welch(one / noise.rms(one), RATE, nperseg=512)[1] for one in (speech, shaped)]
    band = slice(400 * 512 // RATE, 3200 * 512 // RATE)
    assert np.abs(10 * np.log10(power[1][band] / power[0][band])).max() < 1
    assert np.corrcoef(speech, shaped)[0, 1] == pytest.approx(0, abs=0.02)


@settings(deadline=None)
@given(snr=st.floats(-10, 40), gain=st.floats(0.05, 1), offset=st.floats(-0.3, 0.3))
def test_noise_lies_where_it_should(snr: float, gain: float, offset: float) -> None:
    speech = gain * pseudo_speech(5, 2) + offset
    mixed = noise.mix(speech, noise.coloured(len(speech), 0, _rng()), snr)
    found = _decibels(noise.active_rms(speech) / noise.rms(mixed.samples - speech))
    assert found == pytest.approx(snr, abs=1e-6)
    assert mixed.active_snr == pytest.approx(snr, abs=1e-6)


def test_pauses_do_not_change_the_active_level() -> None:
    speech = pseudo_speech(6, 3)
    paused = np.concatenate((np.zeros(2 * RATE), speech, 1e-4 * _rng().standard_normal(3 * RATE)))
    assert _decibels(noise.active_rms(paused) / noise.active_rms(speech)) == pytest.approx(0, abs=0.15)
    assert _decibels(noise.rms(paused) / noise.rms(speech)) < -3
    assert noise.active_rms(np.zeros(RATE)) == 0


def test_reverberation_decays_by_60_db_in_0_4_s() -> None:
    click = np.zeros(RATE)
    click[0] = 1
    response = noise.reverberate(click, _rng())
    assert response[0] == pytest.approx(1)
    assert np.sum(np.square(response[1:])) == pytest.approx(1)
    left = np.cumsum(np.square(response[1:])[::-1])[::-1]
    decay = 10 * np.log10(left[[800, 4000]] / left[0])
    assert (decay[0] - decay[1]) / (3200 / RATE) == pytest.approx(60 / 0.4, rel=0.05)
    assert len(noise.reverberate(pseudo_speech(1, 1.5), _rng())) == round(1.5 * RATE)


def test_telephone_band() -> None:
    white = noise.coloured(20 * RATE, 0, _rng())
    narrow = noise.telephone(white)
    assert len(narrow) == len(white)
    frequencies, power = signal.welch(narrow, RATE, nperseg=4096)
    decibels = 10 * np.log10(power / power[(frequencies > 800) & (frequencies < 2000)].mean())
    assert decibels[np.searchsorted(frequencies, 300)] == pytest.approx(-3, abs=1.5)
    assert decibels[frequencies < 100].max() < -20
    assert decibels[frequencies > 4200].max() < -60


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_speed_changes_length_and_pitch(factor: float) -> None:
    found = noise.change_speed(noise.tone(2 * RATE, [500], 0.5), factor)
    assert len(found) == pytest.approx(2 * RATE / factor, abs=1)
    spectrum = np.abs(np.fft.rfft(found * np.hanning(len(found))))
    assert np.argmax(spectrum) * RATE / len(found) == pytest.approx(500 * factor, abs=1)


def test_a_short_voice_is_looped_or_followed_by_silence() -> None:
    samples = np.array([1.0, 2.0, 3.0])
    assert noise.fit(samples, 8, "tile").tolist() == [1, 2, 3, 1, 2, 3, 1, 2]
    assert noise.fit(samples, 8, "pad").tolist() == [1, 2, 3, 0, 0, 0, 0, 0]
    assert noise.fit(samples, 2, "tile").tolist() == noise.fit(samples, 2, "pad").tolist() == [1, 2]


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 49))
def test_a_cut_holds_the_loudest_sample(length: int, size: int, peak: int) -> None:
    samples = np.zeros(length)
    samples[peak % length] = -1
    cut = noise.loudest(samples, size)
    assert len(cut) == min(length, size)
    assert cut.min() == -1


@given(st.lists(st.floats(-5, 5), min_size=1))
def test_no_peak_exceeds_the_limit(values: list[float]) -> None:
    samples = np.array(values)
    limited, gain = noise.limit(samples)
    assert np.abs(limited).max() <= 0.99 + 1e-12
    assert np.allclose(limited, samples * gain)
    assert gain == 1 or np.abs(samples).max() > 0.99
