"""Decode, mix to mono, resample, join, cut or chunk audio; every change is told, none is silent."""

import io
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from otoscope.errors import (
    EmptyAudioError,
    MissingAudioError,
    NonFiniteAudioError,
    TooLongAudioError,
    TruncatedAudioError,
    UndecodableAudioError,
)
from otoscope.records import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JOIN_SILENCE_SECONDS = 0.5
"""Silence between joined clips (Dynamic-SUPERB Phase-2, section 4)."""

LimitPolicy = Literal["cut", "chunk", "refuse"]
"""What happens to audio longer than a model takes: keep the beginning, ask once a piece, or fail by name."""

_WAV_SIZE_UNKNOWN = 0xFFFFFFFF
_OGG_LAST_PAGE = 0x04


@dataclass(frozen=True, slots=True)
class Audio:
    """Decoded mono audio.

    Attributes:
        samples: float32, shape (samples,), full scale 1.0.
        rate: samples a second (Hz).
        digest: identifies the decoded content before mixing and resampling, whatever the file's name or container.
        changes: what was done since decoding, in order.
    """

    samples: "NDArray[np.float32]"
    rate: int
    digest: str
    changes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return len(self.samples) / self.rate


@dataclass(frozen=True, slots=True)
class Intake:
    """What audio a model takes.

    Attributes:
        rate: sampling rate in Hz.
        clips: most clips a request may hold; more are joined into one.
        longest: longest clip in seconds, or None if there is no limit.
    """

    rate: int = 16_000
    clips: int = 1
    longest: float | None = None


AudioSource = Path | str | bytes | BinaryIO | tuple["NDArray[np.generic]", int]


def read_audio(source: AudioSource, name: str = "") -> Audio:
    """Decode ``source`` to mono float32 at its own rate.

    Several channels become one by their mean. Integer arrays are scaled by their type's full scale.

    Args:
        source: a path, the bytes of an audio file, an open binary file, or a pair (array, rate in Hz) whose array
            has shape (samples,) or (samples, channels).
        name: how errors name the clip; a path names itself.

    Raises:
        AudioError: a subclass says what is wrong with the clip.
    """
    if isinstance(source, tuple):
        frames, rate = _from_array(*source)
    else:
        data, name = _read_bytes(source, name)
        frames, rate = _decode(data, name)
    return _to_mono(frames, rate, name or "audio")


def _read_bytes(source: Path | str | bytes | BinaryIO, name: str) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, name or "audio bytes"
    if isinstance(source, str | Path):
        path = Path(source)
        try:
            return path.read_bytes(), name or str(path)
        except FileNotFoundError:
            raise MissingAudioError(f"{path}: there is no such file; check the row's audio path") from None
        except OSError as error:
            raise UndecodableAudioError(f"{path}: cannot be read: {error.strerror}") from error
    return source.read(), name or str(getattr(source, "name", "audio file"))


def _from_array(array: "NDArray[np.generic]", rate: int) -> tuple["NDArray[np.float32]", int]:
    import numpy as np

    frames = np.asarray(array, np.float32)
    if array.dtype.kind in "iu":
        frames /= np.iinfo(array.dtype.name).max
    return frames.reshape(len(frames), -1) if frames.size else frames.reshape(0, 1), rate


def _decode(data: bytes, name: str) -> tuple["NDArray[np.float32]", int]:
    import soundfile

    if not data:
        raise EmptyAudioError(f"{name}: the file has no bytes")
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            announced, rate = file.frames, file.samplerate
            frames = file.read(dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        if data[:4] == b"fLaC":
            raise TruncatedAudioError(f"{name}: the FLAC stream breaks off or is damaged; fetch it again") from error
        return _decode_with_ffmpeg(data, name)
    if len(frames) < announced or _breaks_off(data):
        raise TruncatedAudioError(f"{name}: the file ends before the audio its header announces; fetch it again")
    return frames, rate


def _breaks_off(data: bytes) -> bool:
    """Tell whether a WAV or Ogg file ends early; libsndfile reads what is there without a word."""
    if data[:4] == b"RIFF":
        return _wav_breaks_off(data)
    if data[:4] == b"OggS":
        last = data.rfind(b"OggS")
        return last + 5 >= len(data) or not data[last + 5] & _OGG_LAST_PAGE
    return False


def _wav_breaks_off(data: bytes) -> bool:
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"data":
            # Programs that write to a pipe do not know the size and leave 0 or all ones there.
            return size not in (0, _WAV_SIZE_UNKNOWN) and at + 8 + size > len(data)
        at += 8 + size + size % 2
    return False


def _decode_with_ffmpeg(data: bytes, name: str) -> tuple["NDArray[np.float32]", int]:
    """Decode what libsndfile cannot (m4a, aac, webm) if the ffmpeg program is installed."""
    import soundfile

    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise UndecodableAudioError(
            f"{name}: not a format that libsndfile reads; convert it to WAV or FLAC, or install ffmpeg for m4a and aac",
        )
    command = [ffmpeg, "-v", "error", "-i", "pipe:0", "-f", "wav", "-c:a", "pcm_f32le", "pipe:1"]
    result = subprocess.run(command, input=data, capture_output=True, check=False)
    if result.returncode or not result.stdout:
        lines = result.stderr.decode(errors="replace").strip().splitlines() or ["no output"]
        raise UndecodableAudioError(f"{name}: neither libsndfile nor ffmpeg can decode it ({lines[-1]})")
    frames, rate = soundfile.read(io.BytesIO(result.stdout), dtype="float32", always_2d=True)
    return frames, rate


def _to_mono(frames: "NDArray[np.float32]", rate: int, name: str) -> Audio:
    import numpy as np

    if not frames.size:
        raise EmptyAudioError(f"{name}: the file holds no samples")
    if not np.isfinite(frames).all():
        raise NonFiniteAudioError(f"{name}: the samples contain NaN or infinity")
    content = frames if sys.byteorder == "little" else frames.byteswap()
    identity = digest(f"{rate} {frames.shape[1]}", np.ascontiguousarray(content).tobytes())
    if frames.shape[1] == 1:
        return Audio(frames[:, 0], rate, identity)
    mono = frames.mean(axis=1, dtype=np.float32)
    return Audio(mono, rate, identity, (f"{frames.shape[1]} channels averaged",))


def resample(audio: Audio, rate: int) -> Audio:
    """Return ``audio`` at ``rate`` Hz, by soxr's high-quality resampler."""
    if audio.rate == rate:
        return audio
    import soxr

    samples = soxr.resample(audio.samples, audio.rate, rate)
    return Audio(samples, rate, audio.digest, (*audio.changes, f"resampled from {audio.rate} to {rate} Hz"))


def join(audios: Sequence[Audio]) -> Audio:
    """Return clips of one rate as a single clip with 0.5 s of silence between them."""
    import numpy as np

    first = audios[0]
    silence = np.zeros(round(JOIN_SILENCE_SECONDS * first.rate), np.float32)
    pieces = [piece for audio in audios for piece in (silence, audio.samples)][1:]
    changes = [change for audio in audios for change in audio.changes]
    identity = digest("join", *(audio.digest for audio in audios))
    changes.append(f"joined {len(audios)} clips with {JOIN_SILENCE_SECONDS} s silence")
    return Audio(np.concatenate(pieces), first.rate, identity, tuple(changes))


def fit(audios: Sequence[Audio], intake: Intake, policy: LimitPolicy) -> list[list[Audio]]:
    """Make the clips of one request fit what a model takes: resample, join, then apply the limit.

    Args:
        audios: the clips of one sample.
        intake: what the model takes.
        policy: what to do with audio longer than ``intake.longest``.

    Returns:
        One list of clips a call: a single call, but for ``chunk``, which makes as many as there are pieces.

    Raises:
        TooLongAudioError: the policy is ``refuse``, or cutting joined clips would remove one of them whole.
    """
    clips = [resample(audio, intake.rate) for audio in audios]
    starts = [0.0]
    if len(clips) > intake.clips:
        for clip in clips[:-1]:
            starts.append(starts[-1] + clip.seconds + JOIN_SILENCE_SECONDS)
        clips = [join(clips)]
    longest = intake.longest
    if longest is None or all(clip.seconds <= longest for clip in clips):
        return [clips]
    if policy == "refuse":
        seconds = max(clip.seconds for clip in clips)
        raise TooLongAudioError(f"{seconds:.1f} s of audio, the model takes {longest:g} s; use --long cut or chunk")
    if policy == "cut":
        if starts[-1] >= longest:
            raise TooLongAudioError(f"cutting the joined clips at {longest:g} s would remove a whole clip")
        return [[_piece(clip, 0, longest) for clip in clips]]
    if len(clips) > 1:
        raise TooLongAudioError("several clips, one beyond the model's limit, cannot be chunked; use --long cut")
    return [[piece] for piece in _pieces(clips[0], longest)]


def _piece(clip: Audio, start: int, longest: float) -> Audio:
    size = int(longest * clip.rate)
    if start == 0 and len(clip.samples) <= size:
        return clip
    change = (
        f"kept {start / clip.rate:g} to {min(start + size, len(clip.samples)) / clip.rate:g} s of {clip.seconds:.2f} s"
    )
    return Audio(clip.samples[start : start + size], clip.rate, clip.digest, (*clip.changes, change))


def _pieces(clip: Audio, longest: float) -> list[Audio]:
    size = int(longest * clip.rate)
    return [_piece(clip, start, longest) for start in range(0, len(clip.samples), size)]


def to_wav(audio: Audio) -> bytes:
    """Return ``audio`` as the bytes of a 16-bit WAV file."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, audio.samples, audio.rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
