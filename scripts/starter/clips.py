"""Clips: read from an unpacked package or made, and written as FLAC with their provenance."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from starter.packages import PACKAGES

PEAK = 0.99
"""Highest absolute sample value, as a fraction of full scale."""

ASTERISK = "usr/share/asterisk/sounds"
SCRATCH = "usr/share/scratch/Media/Sounds"


@dataclass(frozen=True, slots=True)
class Clip:
    """One mono clip of 16-bit samples, with where it came from."""

    name: str
    rate: int
    pcm: NDArray[np.int16]
    license: str
    artists: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    """Package and path in it, for each recording that went in; empty if the clip is synthetic."""
    made: str

    @property
    def seconds(self) -> float:
        """Duration."""
        return len(self.pcm) / self.rate


@dataclass(frozen=True, slots=True)
class Voice:
    """One voice of telephone prompts; ``speaker`` is the same for one person in two languages."""

    package: str
    folder: str
    speaker: str
    artist: str
    license: str
    language: str


VOICES = {
    "allison-en": Voice(
        "asterisk-core-sounds-en-wav", "en_US_f_Allison", "allison", "Allison Smith", "CC-BY-SA-3.0", "English"
    ),
    "allison-es": Voice(
        "asterisk-core-sounds-es-wav", "es_MX_f_Allison", "allison", "Allison Smith", "CC-BY-SA-3.0", "Spanish"
    ),
    "june-fr": Voice("asterisk-core-sounds-fr-wav", "fr_CA_f_June", "june", "June Wallack", "CC-BY-SA-3.0", "French"),
    "carlo-it": Voice("asterisk-core-sounds-it-wav", "it_IT_m_Carlo", "carlo", "Carlo Flora", "CC-BY-3.0", "Italian"),
    "paola-it": Voice(
        "asterisk-prompt-it-menardi-wav",
        "it_IT_f_Menardi",
        "paola",
        "Marco Menardi and Paola Dal Zot",
        "CC-BY-SA-3.0-IT",
        "Italian",
    ),
    "ivrvoice-ru": Voice(
        "asterisk-core-sounds-ru-wav",
        "ru_RU_f_IvrvoiceRU",
        "ivrvoice",
        "IvrvoiceRU, provided by Maxim Topal",
        "CC-BY-3.0",
        "Russian",
    ),
}


class Library:
    """The unpacked packages under one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prompt(self, voice: str, key: str) -> Clip:
        """Return a telephone prompt, unaltered."""
        who = VOICES[voice]
        path = f"{ASTERISK}/{who.folder}/{key}.wav"
        return self._recording(f"{voice}-{key.replace('/', '-')}", who.package, path, who.license, who.artist)

    def librivox(self, number: str) -> Clip:
        """Return a sentence of an audiobook, unaltered."""
        path = f"usr/share/pocketsphinx/test/data/librivox/sense_and_sensibility_01_austen_64kb-{number}.wav"
        artist = "LibriVox volunteer reader"
        return self._recording(f"librivox-{number}", "pocketsphinx-testdata", path, "BSD-2-Clause", artist)

    def librivox_text(self, number: str) -> str:
        """Return the transcript that the package gives for an audiobook sentence."""
        file = self.root / "pocketsphinx-testdata/usr/share/pocketsphinx/test/data/librivox/transcription"
        line = next(line for line in file.read_text(encoding="utf-8").splitlines() if f"-{number})" in line)
        return line.removeprefix("<s>").split("</s>")[0].strip()

    def effect(self, path: str, name: str) -> Clip:
        """Return a sound effect of Scratch, unaltered."""
        artist = "Massachusetts Institute of Technology"
        return self._recording(f"effect-{name}", "scratch", f"{SCRATCH}/{path}.wav", "CC-BY-SA-3.0", artist)

    def sample(self, stem: str, artist: str) -> Clip:
        """Return a sample of Sonic Pi, mixed to mono."""
        path = f"usr/share/sonic-pi/samples/{stem}.flac"
        return self._recording(f"sonicpi-{stem.replace('_', '-')}", "sonic-pi-samples", path, "CC0-1.0", artist)

    def hold_music(self, stem: str, artist: str) -> Clip:
        """Return a track of music on hold, unaltered."""
        path = f"usr/share/asterisk/moh/{stem}.wav"
        name = f"moh-{stem.replace('_', '-')}"
        return self._recording(name, "asterisk-moh-opsound-wav", path, "CC-BY-SA-3.0", artist)

    def _recording(self, name: str, package: str, path: str, licence: str, artist: str) -> Clip:
        samples, rate = soundfile.read(self.root / package / path, dtype="float64", always_2d=True)
        made = "recording unaltered" if samples.shape[1] == 1 else "recording, channels averaged"
        return fitted(Clip(name.lower(), rate, to_pcm(samples.mean(1)), licence, (artist,), ((package, path),), made))


def to_pcm(samples: NDArray[np.float64]) -> NDArray[np.int16]:
    """Return samples of -1 to 1 as 16-bit integers."""
    return np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16)


def to_float(clip: Clip) -> NDArray[np.float64]:
    """Return a clip's samples as fractions of full scale."""
    return clip.pcm / 32768


def fitted(clip: Clip) -> Clip:
    """Return the clip with its peak lowered to ``PEAK`` if it is above."""
    samples = to_float(clip)
    peak = float(np.abs(samples).max())
    if peak <= PEAK:
        return clip
    return replace(clip, pcm=to_pcm(samples * (PEAK / peak)), made=f"{clip.made}; scaled to a peak of {PEAK}")


def cut(clip: Clip, start: float, seconds: float, name: str) -> Clip:
    """Return a part of a clip, with 50 ms faded in and out."""
    part = to_float(clip)[round(start * clip.rate) : round((start + seconds) * clip.rate)].copy()
    ramp = np.linspace(0, 1, round(0.05 * clip.rate))
    part[: len(ramp)] *= ramp
    part[-len(ramp) :] *= ramp[::-1]
    made = f"{clip.made}; {seconds:g} s from {start:g} s, faded in and out over 0.05 s"
    return replace(clip, name=name, pcm=to_pcm(part), made=made)


def joined(clips: Sequence[Clip], gap: float, name: str) -> Clip:
    """Return clips of one sampling rate one after the other, with ``gap`` seconds of silence between them."""
    (rate,) = {clip.rate for clip in clips}
    pieces = [piece for clip in clips for piece in (np.zeros(round(gap * rate), np.int16), clip.pcm)][1:]
    made = f"{len(clips)} recordings joined with {gap:g} s of silence between them"
    return _combined(clips, np.concatenate(pieces), name, made)


def mixed(speech: Clip, other: Clip, snr: float, name: str) -> Clip:
    """Return speech with the beginning of another clip, ``snr`` dB below it in mean power, added."""
    (rate,) = {speech.rate, other.rate}
    voice, noise = to_float(speech), to_float(other)[: len(speech.pcm)]
    gain = np.sqrt(np.mean(voice**2) / np.mean(noise**2)) * 10 ** (-snr / 20)
    mix = voice + gain * noise
    mix *= min(1.0, PEAK / np.abs(mix).max())
    made = f"{speech.name} with {other.name} added at a signal-to-noise ratio of {snr:g} dB"
    return replace(_combined([speech, other], to_pcm(mix), name, made), rate=rate)


def white_noise(seconds: float, rate: int, seed: int) -> Clip:
    """Return Gaussian white noise at -20 dBFS."""
    samples = 0.1 * np.random.default_rng(seed).standard_normal(round(seconds * rate))
    made = f"white noise by numpy.random.default_rng({seed}), standard deviation 0.1"
    return Clip(f"noise-white-{seed}", rate, to_pcm(samples), "CC0-1.0", (), (), made)


def _combined(clips: Sequence[Clip], pcm: NDArray[np.int16], name: str, made: str) -> Clip:
    licences = sorted({clip.license for clip in clips} - {"CC0-1.0"})
    artists = tuple(dict.fromkeys(artist for clip in clips for artist in clip.artists))
    sources = tuple(dict.fromkeys(source for clip in clips for source in clip.sources))
    return Clip(name, clips[0].rate, pcm, " AND ".join(licences), artists, sources, made)


def write_clip(clip: Clip, folder: Path) -> dict[str, Any]:
    """Write a clip as FLAC and return its row of the manifest."""
    file = folder / f"{clip.name}.flac"
    soundfile.write(file, clip.pcm, clip.rate, subtype="PCM_16", format="FLAC")
    return {
        "file": f"audio/{file.name}",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "pcm_sha256": hashlib.sha256(clip.pcm.astype("<i2").tobytes()).hexdigest(),
        "seconds": clip.seconds,
        "rate": clip.rate,
        "license": clip.license,
        "artists": list(clip.artists),
        "sources": [
            {"package": package, "version": PACKAGES[package].version, "path": path} for package, path in clip.sources
        ],
        "made": clip.made,
    }
