"""The cheap evidence: whether a clip is sound at all, how long it lasts and how loud it gets."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otoscope.audio import FRAMES_UNKNOWN, Audio, Channels, average, read_bytes, read_channels, resample
from otoscope.errors import AudioError, TooLongAudioError
from otoscope.gate.signal import RATE
from otoscope.records import Clip, digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HOP_SECONDS = 0.01
HOPS = 3
"""Hops in a frame: levels are over 30 ms, every 10 ms."""
LONGEST_SECONDS = 3600.0
"""A longer clip is not decoded."""
MOST_VALUES = 3600 * 48_000 * 2
"""Nor is one of more samples, all channels together: an hour of stereo at 48 kHz, which fills 1.4 GB."""
QUIETEST = 1e-12
"""RMS that stands for digital silence, -240 dBFS."""

CLIPPED_SHARE = 1e-3
CLIPPED_PEAK = 0.1
"""Peak below which a flat top is no sign of clipping: -20 dBFS. The steps of 16 bits alone flatten quieter low tones
(measured at 200 Hz and 48 kHz)."""
DC_OFFSET = 0.02
UNSCALED_PEAK = 4.0
"""Floating-point audio may pass full scale by some decibels; 12 dB over it are integers that were not scaled."""
UNSCALED_INTEGERS = (2**8, 2**15)
"""An int32 array whose peak lies between these holds 16-bit samples that were not scaled: full scale is 2**31, and no
recording stays 96 dB below it. Up to the first, it is silence with dither."""
ANTI_PHASE = -0.9
"""Correlation of two channels below which their mean is no longer the sound that is heard in each."""
ANTI_PHASE_LOSS = 10.0
"""dB that the mean of all channels must lie below the loudest one, for the pair to have done harm."""


@dataclass(frozen=True, slots=True)
class Sound:
    """What is known of a clip before any model hears it.

    Attributes:
        digest: identifies the decoded content, or the failure.
        code: why the clip cannot be used, or an empty string.
        message: what is wrong, in words.
        flags: what was noticed: ``clipped``, ``dc``.
        samples: mono float32 at 16 kHz; empty where the clip cannot be decoded.
        seconds: duration.
        level: RMS of the loudest 30 ms in dBFS, after the mean was taken away.
    """

    digest: str
    code: str
    message: str
    flags: tuple[str, ...]
    samples: "NDArray[np.float32]"
    seconds: float
    level: float


@dataclass(frozen=True, slots=True)
class Energy:
    """The screen by duration and level.

    Attributes:
        shortest: seconds; a shorter clip holds no word.
        floor: dBFS; a clip whose loudest 30 ms stay below it holds nothing to hear. It applies to audio as recorded:
            automatic gain before the gate voids it.
    """

    shortest: float = 0.1
    floor: float = -60.0

    name = "energy"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The two limits."""
        return asdict(self)

    def code(self, seconds: float, level: float) -> str:
        """Return ``too-short``, ``near-silent``, or an empty string."""
        if seconds < self.shortest:
            return "too-short"
        # Written so that a level that is no number does not pass.
        return "" if level >= self.floor else "near-silent"


def read_sound(clip: Clip, longest: float = LONGEST_SECONDS) -> Sound:
    """Decode a clip and look at it; whatever is wrong with its content becomes a code, never an exception.

    The codes are the ``reason`` of the audio errors (``missing``, ``undecodable``, ``empty``, ``non-finite``,
    ``truncated``, ``too-long``), ``unscaled`` for samples far beyond full scale, and ``anti-phase`` for channels that
    cancel in the mean, which is what a model gets.

    Args:
        clip: the clip.
        longest: seconds; a longer clip is ``too-long``, as is one of more than ``MOST_VALUES`` samples.

    Raises:
        UsageError: the source is nothing that a clip can be read from, such as a list, a pair the wrong way round or
            a transposed array. A slip in a program would otherwise turn all that it sends away, unnoticed.
    """
    import numpy as np

    try:
        source = clip.source if isinstance(clip.source, Path | tuple) else read_bytes(clip.source, clip.name)
        if not isinstance(source, tuple):
            _refuse_announced(source, clip.name, longest)
        channels = read_channels(source, clip.name, MOST_VALUES)
        audio = average(channels)
        _refuse_long(audio.seconds, clip.name, longest)  # not every header says how long the audio is
        samples = resample(audio, RATE).samples
    except AudioError as error:
        nothing = np.zeros(0, np.float32)
        return Sound(digest("unusable", error.reason, clip.name), error.reason, str(error), (), nothing, 0.0, -240.0)
    level = peak_level(audio.samples, audio.rate)
    code, message = _examine(channels, audio)
    if not code and isinstance(source, tuple) and _holds_smaller_integers(source[0]):
        code = "unscaled"
        message = f"{clip.name}: an int32 array with 16-bit samples, its full scale is 2**31; give the array as int16"
    return Sound(audio.digest, code, message, tuple(_flags(audio.samples)), samples, audio.seconds, level)


def peak_level(samples: "NDArray[np.float32]", rate: int) -> float:
    """Return the RMS of the loudest 30 ms in dBFS, after the mean of the clip was taken away.

    The loudest frame decides, since pauses lower the level of a whole clip without limit.
    """
    import numpy as np

    hop = max(1, round(HOP_SECONDS * rate))
    centred = samples - samples.mean(dtype=np.float64).astype(np.float32)
    blocks = np.pad(centred, (0, -len(centred) % hop)).reshape(-1, hop)
    energies = np.einsum("ij,ij->i", blocks, blocks, dtype=np.float64)
    if len(energies) < HOPS:
        power = energies.sum() / len(samples)
    else:
        power = np.lib.stride_tricks.sliding_window_view(energies, HOPS).sum(axis=1).max() / (HOPS * hop)
    return float(20 * np.log10(max(np.sqrt(power), QUIETEST)))


def _refuse_long(seconds: float, name: str, longest: float) -> None:
    if seconds > longest:
        raise TooLongAudioError(f"{name}: {seconds:.0f} s; a gate takes {longest:g} s, cut the file into pieces")


def _refuse_announced(source: Path | bytes, name: str, longest: float) -> None:
    """Refuse what its header says to be too long; where it does not say, only decoding tells."""
    import soundfile

    try:
        if isinstance(source, Path) and not source.is_file():
            return  # nothing but a regular file is opened: a pipe would never answer
        header = soundfile.info(io.BytesIO(source) if isinstance(source, bytes) else source)
    except (soundfile.LibsndfileError, OSError, ValueError):  # the decoder says what is wrong
        return
    if header.frames < FRAMES_UNKNOWN:
        _refuse_long(float(header.duration), name, longest)
        if header.frames * header.channels > MOST_VALUES:
            raise TooLongAudioError(
                f"{name}: {header.channels} channels of {header.frames:,} samples; a gate takes {MOST_VALUES:,}, "
                "cut the file into pieces or keep fewer channels"
            )


def _holds_smaller_integers(array: "NDArray[Any]") -> bool:
    least, most = UNSCALED_INTEGERS
    return array.dtype.name == "int32" and least < max(int(array.max()), -int(array.min())) <= most


def _examine(channels: Channels, audio: Audio) -> tuple[str, str]:
    import numpy as np

    name = channels.name
    peak = float(np.abs(audio.samples).max())
    if peak > UNSCALED_PEAK:
        return "unscaled", f"{name}: samples reach {peak:g}, full scale is 1.0; divide integers by their full scale"
    if _cancels(channels):
        return "anti-phase", f"{name}: the channels cancel when they are averaged; invert one, or give one alone"
    return "", ""


def _cancels(channels: Channels) -> bool:
    """Tell whether two channels are each other's negative and the mean of all is the worse for it."""
    import numpy as np

    frames, rate, _ = channels
    if frames.shape[1] == 1:
        return False
    levels = [peak_level(channel, rate) for channel in frames.T]
    loudest = int(np.argmax(levels))
    if levels[loudest] - peak_level(frames.mean(axis=1), rate) < ANTI_PHASE_LOSS:
        return False
    centred = frames - frames.mean(axis=0)
    products = centred.T @ centred[:, loudest]
    norms = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    return bool((products < ANTI_PHASE * norms * norms[loudest]).any())


def _flags(samples: "NDArray[np.float32]") -> Iterator[str]:
    import numpy as np

    if abs(samples.mean(dtype=np.float64)) > DC_OFFSET:
        yield "dc"
    size = np.abs(samples)
    if size.max() < CLIPPED_PEAK:
        return
    flat = (samples[2:] == samples[1:-1]) & (samples[1:-1] == samples[:-2]) & (size[2:] > 0.9 * size.max())
    if len(flat) and CLIPPED_SHARE < flat.mean() < 1:  # a constant is flat everywhere, and no clipped sound
        yield "clipped"
