"""Decode, mix to mono, resample, join, cut or chunk audio; every change is told, none is silent."""

import io
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

from otoscope.container import breaks_off, fill_in_size
from otoscope.errors import (
    EmptyAudioError,
    MissingAudioError,
    NonFiniteAudioError,
    TooLongAudioError,
    TruncatedAudioError,
    UndecodableAudioError,
    UsageError,
)
from otoscope.records import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JOIN_SILENCE_SECONDS = 0.5
"""Silence between joined clips (Dynamic-SUPERB Phase-2, section 4)."""

SUFFIXES = frozenset(
    {".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".rf64", ".sph", ".w64", ".wav"}
    | {".aac", ".m4a", ".mp4", ".webm"}  # through ffmpeg
)
"""How the names of audio files in a folder end. A file that is named itself may be called anything."""

LOWEST_RATE, HIGHEST_RATE = 1_000, 768_000
"""Sampling rates in Hz that are read. Outside of them a header lies, and resampling would fill the memory or leave
nothing."""

MOST_BYTES = 2**32
"""Largest file that is read, in bytes: 4 GiB, what a plain WAV file can hold."""

MOST_VALUES = 2**31
"""Most samples, all channels together, that a file may decode to: 3 hours of stereo at 96 kHz."""

MOST_CHANNELS = 1024
"""Most channels of a file that libsndfile reads. An array of more lies on its side."""

FRAMES_UNKNOWN = 2**63 - 1
"""What libsndfile says where a header does not tell how many frames there are."""

LOUDEST = 10 ** (1 / 20)
"""Peak beyond which a clip is scaled down: 1 dB over full scale. Resampling alone may pass it by less (0.7 dB in the
starter suite), and 16-bit files clip that."""

CANCELLED = 20.0
"""dB that the mean of the channels must lie under the loudest one to be told."""

LimitPolicy = Literal["cut", "chunk", "refuse"]
"""What happens to audio longer than a model takes: keep the beginning, ask once a piece, or fail by name."""

Alteration = Literal["averaged", "resampled", "scaled", "joined", "cut", "chunked", "removed"]
"""What can be done to a clip before a model gets it; each change begins with one of these words."""

_BLOCK_VALUES = 2**24


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


AudioBytes = bytes | bytearray | memoryview

AudioSource = Path | str | AudioBytes | BinaryIO | tuple["NDArray[np.generic]", int]


class Channels(NamedTuple):
    """Decoded audio before its channels are averaged.

    Attributes:
        frames: float32, shape (samples, channels), full scale 1.0.
        rate: samples a second (Hz).
        name: how errors name the clip.
    """

    frames: "NDArray[np.float32]"
    rate: int
    name: str


def read_audio(source: AudioSource, name: str = "") -> Audio:
    """Decode ``source`` to mono float32 at its own rate: ``average`` of ``read_channels``, which say what is raised."""
    return average(read_channels(source, name))


def read_channels(source: AudioSource, name: str = "", most: int = MOST_VALUES) -> Channels:
    """Decode ``source`` to float32 at its own rate.

    Integer arrays are scaled by their type's full scale; uint8 has its zero at 128, as in a WAV file.

    Args:
        source: a path, the bytes of an audio file, an open binary file, or a pair (array, rate in Hz) whose array
            has shape (samples,) or (samples, channels), and no more channels than samples. A file that can seek is
            read from its start and left where it was, so that each reader gets all of it.
        name: how errors name the clip; a path names itself.
        most: samples, all channels together, beyond which a file is not decoded.

    Raises:
        AudioError: a subclass says what is wrong with the clip.
        UsageError: ``source`` is none of these, which is a mistake of the caller and not a fault of the clip.
    """
    if isinstance(source, tuple):
        name = _printable(name or "audio")
        frames, rate = _from_array(source, name)
    else:
        data, name = _read_source(source, name)
        frames, rate = _decode(data, name, most)
    return Channels(frames, rate, name)


def _printable(name: str) -> str:
    """Return ``name`` with what UTF-8 cannot hold escaped, so that an error about it can be logged."""
    return name.encode(errors="backslashreplace").decode()


def _read_source(source: Path | str | AudioBytes | BinaryIO, name: str) -> tuple[bytes, str]:
    if isinstance(source, str | Path):
        return _read_file(Path(source)), _printable(name or str(source))
    name = _printable(name or str(getattr(source, "name", "audio")))
    return read_bytes(source, name), name


def read_bytes(source: AudioBytes | BinaryIO, name: str) -> bytes:
    """Return the bytes of an audio file; an open file that can seek is read from its start and left where it was.

    Raises:
        UndecodableAudioError: the file cannot be read.
        UsageError: ``source`` is neither bytes nor an open binary file.
    """
    if isinstance(source, AudioBytes):
        return bytes(source)
    found = type(source).__name__
    if getattr(source, "closed", False):
        raise UsageError(f"{name}: the file is closed; give one that is still open, or its pathlib.Path")
    if hasattr(source, "read"):
        try:
            data = _read_whole(source)
        except (OSError, ValueError) as error:
            raise UndecodableAudioError(f"{name}: the open file cannot be read: {error}") from error
        if isinstance(data, AudioBytes):
            return bytes(data)
        found += f" of {type(data).__name__}"
    raise UsageError(f"{name}: audio is a path, bytes, an open binary file or a pair (array, rate), not {found}")


def _read_whole(file: BinaryIO) -> Any:
    if not (hasattr(file, "seekable") and file.seekable()):
        return file.read()
    position = file.tell()
    file.seek(0)
    try:
        return file.read()
    finally:
        file.seek(position)


def _read_file(path: Path) -> bytes:
    name = _printable(str(path))
    try:
        status = path.stat()
        regular = stat.S_ISREG(status.st_mode)
        data = path.read_bytes() if regular and status.st_size <= MOST_BYTES else b""
    except FileNotFoundError:
        raise MissingAudioError(f"{name}: there is no such file; check the path") from None
    except ValueError:
        raise MissingAudioError(f"{name!r}: no file can have this name; check the path") from None
    except OSError as error:
        raise UndecodableAudioError(f"{name}: cannot be read: {error.strerror}") from error
    if not regular:
        raise UndecodableAudioError(f"{name}: not a regular file; give the path of an audio file")
    if status.st_size > MOST_BYTES:
        raise TooLongAudioError(f"{name}: larger than {MOST_BYTES // 2**30} GiB; cut the file into pieces")
    return data


def _from_array(source: tuple[Any, ...], name: str) -> tuple["NDArray[np.float32]", int]:
    import numpy as np

    if len(source) != 2 or not isinstance(source[0], np.ndarray):  # noqa: PLR2004
        found = ", ".join(type(item).__name__ for item in source)
        turn = "; swap them" if len(source) == 2 and isinstance(source[1], np.ndarray) else ""  # noqa: PLR2004
        raise UsageError(f"{name}: a pair (numpy array, rate in Hz) is needed, not ({found}){turn}")
    array, rate = source
    if not isinstance(rate, int | np.integer) and not (isinstance(rate, float | np.floating) and rate.is_integer()):
        raise UsageError(f"{name}: the rate is {rate!r}; give whole Hz")
    if array.dtype.kind != "f" and array.dtype.name not in {"uint8", "int8", "int16", "int32"}:
        raise UsageError(
            f"{name}: an array of {array.dtype} is no audio; give floating point of full scale 1.0, or uint8, int8, "
            "int16 or int32 of their own"
        )
    if array.ndim not in {1, 2}:
        raise UsageError(f"{name}: shape {array.shape} is neither (samples,) nor (samples, channels)")
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
        frames = np.asarray(array, np.float32)
    frames = frames.reshape(len(frames), -1) if frames.size else frames.reshape(0, 1)
    if frames.size and len(frames) < frames.shape[1]:
        message = f"{name}: shape {array.shape} has more channels than samples; transpose the array"
        # A clip of so few samples that they are fewer than its channels is a fault of the clip.
        raise (UsageError if frames.shape[1] > MOST_CHANNELS else UndecodableAudioError)(message)
    if array.dtype.kind == "u":
        frames /= 128
        frames -= 1
    elif array.dtype.kind == "i":
        frames /= -float(np.iinfo(array.dtype.name).min)  # as libsndfile does: a file and its samples are one clip
    return frames, int(rate)


def _decode(data: bytes, name: str, most: int) -> tuple["NDArray[np.float32]", int]:
    import soundfile

    if not data:
        raise EmptyAudioError(f"{name}: the file has no bytes")
    if breaks_off(data):
        raise TruncatedAudioError(f"{name}: the file ends before the audio its header announces; fetch it again")
    try:
        with soundfile.SoundFile(io.BytesIO(fill_in_size(data))) as file:
            announced, rate = file.frames, file.samplerate
            frames = _read_frames(file, name, most)
    except soundfile.LibsndfileError as error:
        if data[:4] == b"fLaC":
            raise TruncatedAudioError(f"{name}: the FLAC stream breaks off or is damaged; fetch it again") from error
        return _decode_with_ffmpeg(data, name)
    if len(frames) < announced < FRAMES_UNKNOWN:
        raise TruncatedAudioError(f"{name}: the file ends before the audio its header announces; fetch it again")
    return frames, rate


def _read_frames(file: Any, name: str, most: int) -> "NDArray[np.float32]":
    """Read in growing blocks, so that memory follows what a file holds and not what its header announces."""
    import numpy as np

    # Else soundfile seeks after each block, which changes the samples of an MP3 and fails at a FLAC of unknown length.
    file.seekable = lambda: False
    channels = file.channels
    frames = np.empty((min(file.frames, _BLOCK_VALUES // channels), channels), np.float32)
    filled = len(file.read(out=frames))
    while filled == len(frames) < file.frames:
        if frames.size >= most:
            raise TooLongAudioError(f"{name}: more than {most:,} samples; cut the file into pieces")
        frames.resize((min(file.frames, 2 * filled, most // channels + 1), channels), refcheck=False)
        filled += len(file.read(out=frames[filled:]))
    return frames[:filled]


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


def average(channels: Channels) -> Audio:
    """Return the mean of all channels.

    Raises:
        AudioError: there are no samples, the rate is none of audio, or a sample is no number.
    """
    import numpy as np

    frames, rate, name = channels
    if not frames.size:
        raise EmptyAudioError(f"{name}: the file holds no samples")
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise UndecodableAudioError(
            f"{name}: the rate is {rate} Hz; audio of {LOWEST_RATE:,} to {HIGHEST_RATE:,} Hz is read"
        )
    if not np.isfinite(frames).all():
        raise NonFiniteAudioError(f"{name}: the samples contain NaN or infinity")
    content = frames if sys.byteorder == "little" else frames.byteswap()
    identity = digest(f"{rate} {frames.shape[1]}", np.ascontiguousarray(content).data.cast("B"))
    if frames.shape[1] == 1:
        return Audio(frames[:, 0], rate, identity)
    mono = frames.mean(axis=1, dtype=np.float32)
    change = f"averaged {frames.shape[1]} channels"
    powers = np.einsum("ij,ij->j", frames, frames, dtype=np.float64)
    loss = 10 * np.log10(max(powers.max(), 1e-30) / max(np.dot(mono.astype(np.float64), mono), 1e-30))
    if loss > CANCELLED:
        change += f", which cancel: the mean is {min(loss, 240):.0f} dB under the loudest"
    return Audio(mono, rate, identity, (change,))


def resample(audio: Audio, rate: int) -> Audio:
    """Return ``audio`` at ``rate`` Hz, by soxr's high-quality resampler.

    Raises:
        EmptyAudioError: the clip is so short that no sample is left.
    """
    if audio.rate == rate:
        return audio
    import soxr

    samples = soxr.resample(audio.samples, audio.rate, rate)
    if not len(samples):
        raise EmptyAudioError(f"{len(audio.samples)} samples at {audio.rate} Hz: nothing is left at {rate} Hz")
    return Audio(samples, rate, audio.digest, (*audio.changes, f"resampled from {audio.rate} to {rate} Hz"))


def scale(audio: Audio) -> Audio:
    """Return ``audio`` with its peak at full scale if it lies more than 1 dB over it, as 16-bit files would clip it."""
    import numpy as np

    peak = float(np.abs(audio.samples).max(initial=0.0))
    if peak <= LOUDEST:
        return audio
    change = f"scaled by {1 / peak:.3g}, its peak was {peak:.3g} of full scale"
    return Audio(audio.samples / np.float32(peak), audio.rate, audio.digest, (*audio.changes, change))


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


def fit(audios: Sequence[Audio], intake: Intake, policy: LimitPolicy, *, allow_cut: bool = False) -> list[list[Audio]]:
    """Make the clips of one request fit what a model takes: resample, scale, join, then apply the limit.

    A clip beyond full scale is scaled down for every model alike, whether it gets samples or a 16-bit file.

    Args:
        audios: the clips of one sample.
        intake: what the model takes.
        policy: what to do with audio longer than ``intake.longest``.
        allow_cut: whether cutting joined clips may remove some of them whole.

    Returns:
        One list of clips a call: a single call, but for ``chunk``, which makes as many as there are pieces.

    Raises:
        EmptyAudioError: nothing is left of a clip at the model's rate.
        TooLongAudioError: the policy is ``refuse``, or cutting joined clips would remove one of them whole and may not.
    """
    clips = [scale(resample(audio, intake.rate)) for audio in audios]
    starts = [0.0]
    if len(clips) > intake.clips:
        for clip in clips[:-1]:
            starts.append(starts[-1] + clip.seconds + JOIN_SILENCE_SECONDS)
        clips = [join(clips)]
    longest = intake.longest
    if longest is None or all(clip.seconds <= longest for clip in clips):
        return [clips]
    if longest * intake.rate < 1:
        raise TooLongAudioError(f"the model takes {longest:g} s, not one sample at {intake.rate} Hz")
    if policy == "refuse":
        seconds = max(clip.seconds for clip in clips)
        raise TooLongAudioError(f"{seconds:.1f} s of audio, the model takes {longest:g} s; use --long cut or chunk")
    if policy == "cut":
        removed = _told(number for number, start in enumerate(starts, 1) if start >= longest)
        if removed and not allow_cut:
            raise TooLongAudioError(
                f"cutting the joined clips at {longest:g} s would remove clip {removed} of {len(starts)} whole; "
                "use --allow-cut to ask all the same, or a model that takes several clips"
            )
        told = (f"removed clip {removed} of {len(starts)} whole",) if removed else ()
        return [[_piece(clip, 0, longest, "cut", told) for clip in clips]]
    if len(clips) > 1:
        raise TooLongAudioError("several clips, one beyond the model's limit, cannot be chunked; use --long cut")
    return [[piece] for piece in _pieces(clips[0], longest)]


def alteration(change: str) -> str:
    """Return which ``Alteration`` an entry of ``Audio.changes`` tells of."""
    return change.split(maxsplit=1)[0].rstrip(":")


def _told(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _piece(clip: Audio, start: int, longest: float, how: Alteration, told: Sequence[str] = ()) -> Audio:
    size = int(longest * clip.rate)
    if start == 0 and len(clip.samples) <= size:
        return clip
    end = min(start + size, len(clip.samples))
    change = f"{how}: kept {start / clip.rate:g} to {end / clip.rate:g} s of {clip.seconds:.2f} s"
    return Audio(clip.samples[start:end], clip.rate, clip.digest, (*clip.changes, change, *told))


def _pieces(clip: Audio, longest: float) -> list[Audio]:
    size = int(longest * clip.rate)
    return [_piece(clip, start, longest, "chunked") for start in range(0, len(clip.samples), size)]


def to_wav(audio: Audio) -> bytes:
    """Return ``audio`` as the bytes of a 16-bit WAV file; what passes full scale is clipped, ``fit`` leaves 1 dB."""
    import soundfile

    buffer = io.BytesIO()
    soundfile.write(buffer, audio.samples, audio.rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
