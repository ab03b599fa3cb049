"""Music whose truth is known because it was rendered: MIDI events through FluidSynth and FluidR3 GM."""

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from starter.clips import Clip, to_pcm

RATE = 16000
TICKS = 480
"""MIDI ticks in a second: the file runs at 60 quarter notes a minute, so times are written in seconds."""

PEAK = 0.5
"""Every rendering is scaled to this peak: the sampled instruments differ by 20 dB."""

DRUMS = 9
"""The MIDI channel of drum kits, counted from 0."""

KICK, SNARE, HAT = 36, 38, 42

PROGRAMS = {"piano": 0, "organ": 19, "guitar": 24, "violin": 40, "cello": 42, "trumpet": 56, "flute": 73}
"""General MIDI programs, counted from 0."""

SOUNDFONT = ("fluid-soundfont-gm", "usr/share/sounds/sf2/FluidR3_GM.sf2")


@dataclass(frozen=True, slots=True)
class Note:
    """A key pressed at ``start`` for ``length`` seconds."""

    start: float
    length: float
    key: int
    velocity: int = 96


def midi(notes: Iterable[Note], channel: int, program: int, seconds: float) -> bytes:
    """Return a Standard MIDI File of format 0 that ends ``seconds`` after its start, or with its last note."""
    events = [(0, bytes([0xFF, 0x51, 3]) + (1_000_000).to_bytes(3, "big")), (0, bytes([0xC0 | channel, program]))]
    for note in notes:
        events.append((round(note.start * TICKS), bytes([0x90 | channel, note.key, note.velocity])))
        events.append((round((note.start + note.length) * TICKS), bytes([0x80 | channel, note.key, 0])))
    # At one tick, notes end (0x8.) before others begin (0x9.); the set-up events stay first.
    ordered = events[:2] + sorted(events[2:], key=lambda event: (event[0], event[1][0]))
    track, last = bytearray(), 0
    for tick, message in ordered:
        track += _variable_length(tick - last) + message
        last = tick
    track += _variable_length(max(0, round(seconds * TICKS) - last)) + b"\xff\x2f\x00"
    header = b"MThd" + (6).to_bytes(4, "big") + (0).to_bytes(2, "big") + (1).to_bytes(2, "big")
    return header + TICKS.to_bytes(2, "big") + b"MTrk" + len(track).to_bytes(4, "big") + bytes(track)


def _variable_length(value: int) -> bytes:
    digits = [value & 0x7F]
    while value := value >> 7:
        digits.append(0x80 | value & 0x7F)
    return bytes(reversed(digits))


def rendered(root: Path, name: str, notes: Sequence[Note], instrument: str, seconds: float) -> Clip:
    """Return ``seconds`` of the notes, played by an instrument of ``PROGRAMS`` or by ``drums``."""
    channel, program = (DRUMS, 0) if instrument == "drums" else (0, PROGRAMS[instrument])
    package, path = SOUNDFONT
    with tempfile.TemporaryDirectory() as folder:
        score, sound = Path(folder) / "score.mid", Path(folder) / "sound.wav"
        score.write_bytes(midi(notes, channel, program, seconds + 1))
        # Reverb and chorus off: they carry state that would make the sound depend on more than the notes.
        options = ["-ni", "-q", "-R", "0", "-C", "0", "-g", "0.5", "-r", str(RATE), "-O", "float", "-F", str(sound)]
        subprocess.run(
            ["fluidsynth", *options, str(root / package / path), str(score)],  # noqa: S607
            check=True,
            stdout=subprocess.DEVNULL,
        )
        samples, _ = soundfile.read(sound, dtype="float64", always_2d=True)
    mono = samples.mean(1)[: round(seconds * RATE)]
    mono *= PEAK / np.abs(mono).max()
    keys = "drum kit" if instrument == "drums" else f"program {program}, keys {' '.join(str(n.key) for n in notes)}"
    made = f"rendered by FluidSynth with FluidR3_GM.sf2, {keys}, no reverb or chorus; scaled to a peak of {PEAK}"
    return Clip(name, RATE, to_pcm(mono), "MIT", ("Frank Wen",), (SOUNDFONT,), made)


def melody(keys: Sequence[int], step: float) -> list[Note]:
    """Return the keys one after the other, every ``step`` seconds, the last one twice as long."""
    lengths = [step] * (len(keys) - 1) + [2 * step]
    return [Note(i * step, length * 0.95, key) for i, (key, length) in enumerate(zip(keys, lengths, strict=True))]


def drum_beat(bpm: float, seconds: float) -> list[Note]:
    """Return bass drum and snare in turn on the beats, with the hi-hat twice a beat, for at least ``seconds``."""
    beat = 60 / bpm
    notes: list[Note] = []
    for i in range(int(seconds / beat) + 2):
        notes.append(Note(i * beat, 0.1, SNARE if i % 2 else KICK, 110))
        notes += [Note((i + half) * beat, 0.05, HAT, 70) for half in (0, 0.5)]
    return notes
