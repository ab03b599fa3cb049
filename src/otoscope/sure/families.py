"""The families of rows: what is done to a source, what is asked, and whether it can be answered."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from otoscope.audio import read_audio, resample
from otoscope.errors import TaskError, UsageError
from otoscope.records import Expect
from otoscope.sure import noise
from otoscope.sure.noise import Fit, Wave

Kind = Literal["supported", "non-speech", "babble"]
Asked = Literal["transcribe", "first-word", "main-speaker"]
RecipeName = Literal["A", "B"]
Facts = Mapping[str, float | str]

NOISE_RMS = 0.05
TONE_AMPLITUDE = 0.1
TONE_HERTZ = (200.0, 2000.0)
CONCERT_PITCH = 440.0
CHORD_HERTZ = (440.0, 554.37, 659.26)
SPEEDS = (0.9, 1.1)
QUIET = 0.1
"""A gain of -20 dB."""
SILENT = 1e-6
"""Below this peak a 16-bit file holds zeros alone."""
CLIP_SUFFIXES = frozenset({".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff"})


@dataclass(frozen=True, slots=True)
class Scene:
    """What a row is made from.

    Attributes:
        speech: the source.
        rng: randomness of this row alone.
        voices: the constituents of babble.
        fit: what happens to a voice shorter than the source.
    """

    speech: Wave
    rng: np.random.Generator
    voices: Sequence[Wave] = ()
    fit: Fit = "tile"


class Made(NamedTuple):
    """The samples of a row, and what was drawn or measured."""

    samples: Wave
    facts: Facts


@dataclass(frozen=True, slots=True)
class Family:
    """One row of each source."""

    name: str
    kind: Kind
    asked: Asked
    make: Callable[[Scene], Made]
    talkers: int = 0
    """How many constituents babble has."""

    @property
    def expect(self) -> Expect:
        """Whether the row is to be answered."""
        return "answer" if self.kind == "supported" else "abstain"


def _clean(scene: Scene) -> Made:
    return Made(scene.speech, {})


def _noisy(snr: float, scene: Scene) -> Made:
    mixed = noise.mix(scene.speech, noise.coloured(len(scene.speech), 0, scene.rng), snr)
    return Made(mixed.samples, {"snr_active_db": round(mixed.active_snr, 3), "snr_whole_db": round(mixed.whole_snr, 3)})


def _reverberant(scene: Scene) -> Made:
    return Made(noise.reverberate(scene.speech, scene.rng), {})


def _telephone(scene: Scene) -> Made:
    return Made(noise.telephone(scene.speech), {})


def _quiet(scene: Scene) -> Made:
    return Made(scene.speech * QUIET, {})


def _faster_or_slower(scene: Scene) -> Made:
    factor = float(scene.rng.choice(SPEEDS))
    return Made(noise.change_speed(scene.speech, factor), {"speed": factor})


def _silence(scene: Scene) -> Made:
    return Made(np.zeros(len(scene.speech)), {})


def _coloured(slope: float, scene: Scene) -> Made:
    return Made(NOISE_RMS * noise.coloured(len(scene.speech), slope, scene.rng), {})


def _speech_shaped(scene: Scene) -> Made:
    return Made(NOISE_RMS * noise.speech_shaped(scene.speech, scene.rng), {})


def _any_tone(scene: Scene) -> Made:
    frequency = float(np.exp(scene.rng.uniform(*np.log(TONE_HERTZ))))
    return Made(noise.tone(len(scene.speech), [frequency], TONE_AMPLITUDE), {"hertz": round(frequency, 2)})


def _tones(frequencies: Sequence[float], scene: Scene) -> Made:
    return Made(noise.tone(len(scene.speech), frequencies, TONE_AMPLITUDE), {})


def _babble(scene: Scene) -> Made:
    """Add the voices at one level. The level is that of a whole voice: the part that is heard may be a pause."""
    size = len(scene.speech)
    voices = [noise.fit(voice / noise.active_rms(voice), size, scene.fit) for voice in scene.voices]
    total = np.sum(voices, axis=0)
    return Made(total * (NOISE_RMS / noise.rms(total)), {})


def _clip_of(files: Sequence[Path], scene: Scene) -> Made:
    file = files[int(scene.rng.integers(len(files)))]
    samples = resample(read_audio(file), noise.RATE).samples.astype(np.float64)
    if np.max(np.abs(samples)) < SILENT:
        raise TaskError(f"{file}: silent; take it out of the folder, the family silence has such rows")
    size = len(scene.speech)
    piece = noise.fit(noise.loudest(samples, size), size, "tile")
    return Made(piece * (NOISE_RMS / noise.rms(piece)), {"clip": file.name})


def _supported(name: str, make: Callable[[Scene], Made]) -> Family:
    return Family(name, "supported", "transcribe", make)


def _first_word(name: str, make: Callable[[Scene], Made]) -> Family:
    return Family(f"first-word-{name}", "supported", "first-word", make)


def _non_speech(name: str, make: Callable[[Scene], Made]) -> Family:
    return Family(name, "non-speech", "transcribe", make)


_COMMON = (
    _supported("clean", _clean),
    _supported("white-20db", partial(_noisy, 20)),
    _supported("white-10db", partial(_noisy, 10)),
    _supported("white-5db", partial(_noisy, 5)),
    _supported("reverb", _reverberant),
)
_BABBLE = tuple(Family(f"babble-{talkers}", "babble", "main-speaker", _babble, talkers) for talkers in (2, 4))

#: Each recipe has 9 supported, 5 non-speech and 2 babble rows a source.
RECIPES: Mapping[RecipeName, tuple[Family, ...]] = {
    "A": (
        *_COMMON,
        _supported("telephone", _telephone),
        _supported("gain-20db", _quiet),
        _supported("speed", _faster_or_slower),
        _first_word("clean", _clean),
        _non_speech("silence", _silence),
        _non_speech("white", partial(_coloured, 0)),
        _non_speech("pink", partial(_coloured, 1)),
        _non_speech("brown", partial(_coloured, 2)),
        _non_speech("tone", _any_tone),
        *_BABBLE,
    ),
    "B": (
        *_COMMON,
        _supported("gain-20db", _quiet),
        _first_word("clean", _clean),
        _first_word("white-10db", partial(_noisy, 10)),
        _first_word("reverb", _reverberant),
        _non_speech("silence", _silence),
        _non_speech("white", partial(_coloured, 0)),
        _non_speech("pink", partial(_coloured, 1)),
        _non_speech("sine", partial(_tones, (CONCERT_PITCH,))),
        _non_speech("chord", partial(_tones, CHORD_HERTZ)),
        *_BABBLE,
    ),
}

#: Families that the published counts do not hold.
EXTRA: Mapping[str, Family] = {
    "blue": _non_speech("blue", partial(_coloured, -1)),
    "violet": _non_speech("violet", partial(_coloured, -2)),
    "speech-shaped": _non_speech("speech-shaped", _speech_shaped),
}


def clip_family(name: str, folder: Path) -> Family:
    """Return a family of clips without speech that somebody recorded, one drawn for each source.

    A clip is cut to the source's length around its loudest sample, or looped, and brought to the level of the noises.

    Args:
        name: name of the family.
        folder: audio files, at any depth.

    Raises:
        UsageError: the folder holds no audio file.
    """
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in CLIP_SUFFIXES)
    if not files:
        raise UsageError(f"--{name} {folder}: no audio files ({', '.join(sorted(CLIP_SUFFIXES))}) in it")
    return _non_speech(name, partial(_clip_of, files))
