"""Decoding, its named errors, joining, and the limit policies."""

import io
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope import audio as module
from otoscope.audio import Alteration, Audio, Intake, alteration, fit, join, read_audio, read_channels, resample, to_wav
from otoscope.errors import (
    AudioError,
    EmptyAudioError,
    MissingAudioError,
    NonFiniteAudioError,
    TooLongAudioError,
    TruncatedAudioError,
    UndecodableAudioError,
    UsageError,
)

NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 8000).astype(np.float32)


def encode(container: str, subtype: str | None = None, frames: np.ndarray = NOISE, rate: int = 16_000) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, frames, rate, format=container, subtype=subtype)
    return buffer.getvalue()


def silence(seconds: float, rate: int = 16_000, digest: str = "00") -> Audio:
    return Audio(np.zeros(round(seconds * rate), np.float32), rate, digest)


@pytest.mark.parametrize(
    ("container", "subtype"), [("WAV", "PCM_16"), ("FLAC", "PCM_24"), ("MP3", None), ("OGG", "VORBIS")]
)
def test_formats_are_read_by_content_from_path_bytes_and_file(
    container: str, subtype: str | None, tmp_path: Path
) -> None:
    data = encode(container, subtype)
    path = tmp_path / "misleading.txt"
    path.write_bytes(data)
    from_path, from_bytes = read_audio(path), read_audio(data)
    with path.open("rb") as file:
        from_file = read_audio(file)
    assert from_path.digest == from_bytes.digest == from_file.digest
    assert from_path.rate == 16_000
    assert from_path.seconds == pytest.approx(0.5, abs=0.1)


def test_opus_is_read() -> None:
    assert read_audio(encode("OGG", "OPUS", rate=48_000)).rate == 48_000


def test_one_content_in_two_containers_has_one_digest() -> None:
    whole = (NOISE * 32767).astype(np.int16)
    assert read_audio(encode("WAV", "PCM_16", whole)).digest == read_audio(encode("FLAC", "PCM_16", whole)).digest


@pytest.mark.parametrize("kind", ["int16", "int32"])
def test_a_file_and_its_integer_samples_have_one_digest(kind: str) -> None:
    whole = (NOISE * 32767).astype(np.int16).astype(kind)
    whole *= 1 if kind == "int16" else 2**16
    subtype = "PCM_16" if kind == "int16" else "PCM_32"
    assert read_audio((whole, 16_000)).digest == read_audio(encode("WAV", subtype, whole)).digest


def test_one_changed_sample_changes_the_digest() -> None:
    changed = NOISE.copy()
    changed[4000] += 0.01
    assert read_audio((NOISE, 16_000)).digest != read_audio((changed, 16_000)).digest


def test_an_integer_array_is_scaled_to_full_scale() -> None:
    audio = read_audio((np.array([0, 16384, -32768], np.int16), 16_000))
    assert audio.samples == pytest.approx([0, 0.5, -1], abs=1e-4)


def test_channels_are_averaged_and_told() -> None:
    stereo = np.stack([np.full(100, 0.5), np.full(100, -0.25)], axis=1).astype(np.float32)
    audio = read_audio((stereo, 16_000))
    assert audio.samples == pytest.approx(np.full(100, 0.125))
    assert audio.changes == ("averaged 2 channels",)


def encode_big_endian() -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, NOISE, 16_000, format="WAV", endian="BIG")
    return buffer.getvalue()


def announce(frames: int) -> bytes:
    """Return a FLAC stream whose header announces ``frames``; 0 is what a program writes to a pipe."""
    data = bytearray(encode("FLAC", "PCM_16"))
    data[21] = data[21] & 0xF0 | frames >> 32
    data[22:26] = (frames & 0xFFFFFFFF).to_bytes(4, "big")
    return bytes(data)


HOSTILE = {
    "empty": (b"", EmptyAudioError),
    "no-samples": (encode("WAV", frames=np.zeros(0, np.float32)), EmptyAudioError),
    "text": (b"this is not audio at all", UndecodableAudioError),
    "truncated-flac": (encode("FLAC")[:-4000], TruncatedAudioError),
    "truncated-wav": (encode("WAV")[:-4000], TruncatedAudioError),
    "truncated-ogg": (encode("OGG", "VORBIS", np.tile(NOISE, 20))[:-2000], TruncatedAudioError),
    "truncated-big-endian-wav": (encode_big_endian()[:-4000], TruncatedAudioError),
    "truncated-aiff": (encode("AIFF")[:-4000], TruncatedAudioError),
    "truncated-rf64": (encode("RF64")[:-4000], TruncatedAudioError),
    "truncated-w64": (encode("W64")[:-4000], TruncatedAudioError),
    "truncated-caf": (encode("CAF")[:-4000], TruncatedAudioError),
    "truncated-au": (encode("AU")[:-4000], TruncatedAudioError),
    "truncated-sphere": (encode("NIST")[:-4000], TruncatedAudioError),
    "truncated-voc": (encode("VOC")[:-4000], TruncatedAudioError),
    "truncated-svx": (encode("SVX")[:-4000], TruncatedAudioError),
    "half-a-header-wav": (encode("WAV")[:30], TruncatedAudioError),
    "half-a-header-aiff": (encode("AIFF")[:30], TruncatedAudioError),
    "flac-that-announces-2^36-samples": (announce(2**36 - 1), TruncatedAudioError),
    "rate-of-1-hz": (encode("WAV", rate=1), UndecodableAudioError),
    "rate-of-2^31-hz": (encode("WAV", rate=2**31 - 1), UndecodableAudioError),
    "nan": (encode("WAV", "FLOAT", np.array([0, np.nan], np.float32)), NonFiniteAudioError),
    "infinite": (encode("WAV", "FLOAT", np.array([0, np.inf], np.float32)), NonFiniteAudioError),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_clip_is_named_with_its_reason(name: str) -> None:
    data, error = HOSTILE[name]
    with pytest.raises(error, match=r"clip-7") as caught:
        read_audio(data, "clip-7")
    assert caught.value.reason == error.reason != "audio"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingAudioError, match=r"gone\.wav"):
        read_audio(tmp_path / "gone.wav")


@pytest.mark.parametrize("name", ["nul\0.wav", "surrogate\ud800.wav", "\udcff.wav"])
def test_a_name_that_no_file_has_is_missing_and_can_be_logged(name: str) -> None:
    with pytest.raises(MissingAudioError, match=r"\.wav") as caught:
        read_audio(name)
    assert str(caught.value).encode().isascii()


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", Path("/dev/zero"), ""):
        with pytest.raises(UndecodableAudioError, match="not a regular file"):
            read_audio(path)


def test_a_file_beyond_the_size_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.wav"
    with path.open("wb") as file:
        file.truncate(module.MOST_BYTES + 1)
    with pytest.raises(TooLongAudioError, match=r"sparse\.wav: larger than 4 GiB"):
        read_audio(path)


ARRAYS: dict[str, tuple[Any, Any, type[Exception]]] = {
    "complex": (np.zeros(9, np.complex64), 16_000, UsageError),
    "objects": (np.array([None, 0.5]), 16_000, UsageError),
    "text": (np.array(["a", "b"]), 16_000, UsageError),
    "booleans": (np.zeros(9, bool), 16_000, UsageError),
    "int64": (np.zeros(9, np.int64), 16_000, UsageError),
    "0-d": (np.ones((), np.float32), 16_000, UsageError),
    "3-d": (np.zeros((9, 2, 2)), 16_000, UsageError),
    "channels-first": (np.zeros((2, 16_000)), 16_000, UsageError),
    "one-frame-of-two-channels": (np.zeros((1, 2)), 16_000, UndecodableAudioError),
    "no-samples": (np.zeros((0, 2)), 16_000, EmptyAudioError),
    "no-channels": (np.zeros((9, 0)), 16_000, EmptyAudioError),
    "beyond-float32": (np.array([0, 1e300]), 16_000, NonFiniteAudioError),
    "rate-0": (NOISE, 0, UndecodableAudioError),
    "rate-below-0": (NOISE, -16_000, UndecodableAudioError),
    "rate-of-half-hertz": (NOISE, 16_000.5, UsageError),
    "rate-nan": (NOISE, float("nan"), UsageError),
    "rate-infinite": (NOISE, np.float64("inf"), UsageError),
    "rate-text": (NOISE, "16000", UsageError),
    "rate-none": (NOISE, None, UsageError),
    "list": ([0.1, 0.2], 16_000, UsageError),
    "none": (None, 16_000, UsageError),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_bad_array_is_named_with_its_reason(name: str) -> None:
    array, rate, error = ARRAYS[name]
    with pytest.raises(error, match=r"clip-7"):
        read_audio((array, rate), "clip-7")


def test_channels_first_is_told_to_be_transposed() -> None:
    with pytest.raises(UsageError, match=r"\(2, 16000\) has more channels than samples; transpose"):
        read_audio((np.zeros((2, 16_000)), 16_000))


@pytest.mark.parametrize("source", [None, [0.1, 0.2], 16_000, NOISE, (NOISE,), (), io.StringIO("text")])
def test_what_is_no_audio_source_is_refused(source: Any) -> None:
    with pytest.raises(UsageError, match=r"clip-7.*not"):
        read_audio(source, "clip-7")


def test_a_pair_the_wrong_way_round_is_told_to_be_swapped() -> None:
    with pytest.raises(UsageError, match=r"clip-7: a pair \(numpy array, rate .*not \(int, ndarray\); swap them"):
        read_audio((16_000, NOISE), "clip-7")  # type: ignore[arg-type]


def test_a_uint8_array_is_what_the_same_wav_is() -> None:
    whole = np.arange(256, dtype=np.uint8)
    from_wav = read_audio(encode("WAV", "PCM_U8", (whole.astype(np.float32) - 128) / 128))
    from_array = read_audio((whole, 16_000))
    assert from_array.digest == from_wav.digest
    assert from_array.samples[[0, 128]].tolist() == [-1, 0]


def test_a_whole_rate_has_one_digest_whatever_its_type() -> None:
    rates = (16_000, 16_000.0, np.int64(16_000), np.float32(16_000))
    assert len({read_audio((NOISE, rate)).digest for rate in rates}) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("container", ["AIFF", "RF64", "W64", "CAF", "AU", "NIST"])
def test_a_whole_file_of_any_container_has_the_digest_of_the_wav(container: str) -> None:
    whole = (NOISE * 32767).astype(np.int16)
    assert read_audio(encode(container, "PCM_16", whole)).digest == read_audio(encode("WAV", "PCM_16", whole)).digest
    assert read_audio(encode_big_endian()).digest == read_audio(encode("WAV", "PCM_16")).digest


@pytest.mark.parametrize("container", ["WAV", "FLAC", "MP3", "OGG", "AIFF"])
def test_reading_in_blocks_changes_no_sample(container: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = encode(container)
    whole = read_audio(data)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 500)
    assert read_audio(data).digest == whole.digest
    with pytest.raises(TooLongAudioError, match=r"clip-7: more than 4,000 samples"):
        read_channels(data, "clip-7", most=4_000)


def test_a_flac_from_a_pipe_with_unknown_length_is_read() -> None:
    assert read_audio(announce(0)).digest == read_audio(encode("FLAC", "PCM_16")).digest


def with_size(size: int, data: bytes, order: Literal["little", "big"] = "little") -> bytes:
    """Return a WAV file with another size of its samples, and of the whole as programs fill it in beside it."""
    at = data.index(b"data")
    whole = min(size + at, 2**32 - 1)
    sizes = [number.to_bytes(4, order) for number in (whole, size)]
    return data[:4] + sizes[0] + data[8 : at + 4] + sizes[1] + data[at + 8 :]


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0x7FFFFFDB, 0x7FFFFFFF, 0x80000000, 2**32 - 37, 2**32 - 2, 2**32 - 1])
def test_a_wav_from_a_pipe_with_a_placeholder_for_its_size_is_whole(size: int) -> None:
    data = encode("WAV", "PCM_16")
    assert read_audio(with_size(size, data)).digest == read_audio(data).digest
    assert read_audio(with_size(size, encode_big_endian(), "big")).digest == read_audio(data).digest


def test_silence_behind_a_size_of_0_is_audio() -> None:
    silent = encode("WAV", frames=np.zeros(800, np.float32))
    assert read_audio(with_size(0, silent)).digest == read_audio(silent).digest


def test_a_wav_without_samples_is_empty_whatever_chunks_follow() -> None:
    silent = encode("WAV", frames=np.zeros(0, np.float32))
    for more in (b"", b"LIST\x04\x00\x00\x00INFO", b"id3 \x03\x00\x00\x00abc"):
        with pytest.raises(EmptyAudioError):
            read_audio(silent + more)


def test_an_ordinary_size_beyond_the_end_is_no_placeholder() -> None:
    with pytest.raises(TruncatedAudioError):
        read_audio(with_size(0x7FFFEFFF, encode("WAV", "PCM_16")))


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed, so there is no decoder for m4a")
def test_m4a_is_read_where_ffmpeg_is(tmp_path: Path) -> None:
    source, target = tmp_path / "a.wav", tmp_path / "a.m4a"
    source.write_bytes(encode("WAV", "PCM_16"))
    subprocess.run([shutil.which("ffmpeg") or "", "-v", "error", "-i", source, target], check=True)
    assert read_audio(target).seconds == pytest.approx(0.5, abs=0.1)


def test_resampling_is_told_and_keeps_the_duration() -> None:
    audio = resample(read_audio((NOISE, 8_000)), 16_000)
    assert audio.seconds == pytest.approx(1.0)
    assert audio.changes == ("resampled from 8000 to 16000 Hz",)


def test_a_clip_of_which_resampling_leaves_nothing_is_empty() -> None:
    with pytest.raises(EmptyAudioError, match="1 samples at 96000 Hz: nothing is left at 16000 Hz"):
        fit([read_audio((NOISE[:1], 96_000))], Intake(), "cut")


def test_joined_clips_are_half_a_second_of_silence_apart() -> None:
    joined = join([silence(1), silence(2)])
    assert joined.seconds == 3.5
    assert joined.changes == ("joined 2 clips with 0.5 s silence",)


def test_clips_are_joined_only_beyond_what_the_model_takes() -> None:
    clips = [silence(1), silence(1)]
    assert [len(call) for call in fit(clips, Intake(clips=2), "cut")] == [2]
    assert [len(call) for call in fit(clips, Intake(clips=1), "cut")] == [1]


def test_cut_keeps_the_beginning_and_tells() -> None:
    [[clip]] = fit([silence(5)], Intake(longest=2), "cut")
    assert clip.seconds == 2
    assert clip.changes == ("cut: kept 0 to 2 s of 5.00 s",)


def test_refuse_names_the_limit() -> None:
    with pytest.raises(TooLongAudioError, match=r"5\.0 s of audio, the model takes 2 s"):
        fit([silence(5)], Intake(longest=2), "refuse")


def test_cutting_never_removes_a_whole_joined_clip() -> None:
    clips = [silence(3), silence(1), silence(1)]
    with pytest.raises(TooLongAudioError, match=r"remove clip 2, 3 of 3 whole; use --allow-cut"):
        fit(clips, Intake(longest=2), "cut")
    [[clip]] = fit(clips, Intake(longest=2), "cut", allow_cut=True)
    assert clip.changes[1:] == ("cut: kept 0 to 2 s of 6.00 s", "removed clip 2, 3 of 3 whole")
    assert set(map(alteration, clip.changes)) <= set(get_args(Alteration))


@given(st.integers(1, 100), st.integers(1, 30))
def test_chunks_are_the_clip_in_order(tenths: int, longest: int) -> None:
    samples = np.arange(tenths * 100, dtype=np.float32) / np.float32(2**20)
    calls = fit([Audio(samples, 1000, "00")], Intake(rate=1000, longest=longest / 10), "chunk")
    pieces = [call[0].samples for call in calls]
    assert np.array_equal(np.concatenate(pieces), samples)
    assert all(len(piece) <= longest * 100 for piece in pieces)


@settings(deadline=None)  # ffmpeg is started where libsndfile gives up
@given(st.binary(max_size=200))
def test_random_bytes_give_audio_or_a_named_error(data: bytes) -> None:
    try:
        audio = read_audio(data, "fuzz")
    except AudioError as error:
        message = str(error)
    else:
        message = "fuzz" if len(audio.samples) else ""
    assert "fuzz" in message


def test_wav_bytes_read_back() -> None:
    audio = read_audio((NOISE, 16_000))
    assert read_audio(to_wav(audio)).samples == pytest.approx(audio.samples, abs=1e-4)


@pytest.mark.parametrize("policy", ["cut", "chunk", "refuse"])
def test_a_limit_without_a_sample_is_told(policy: Any) -> None:
    clip = read_audio((np.ones(100), 16_000))
    with pytest.raises(TooLongAudioError, match="the model takes 1e-09 s, not one sample at 16000 Hz"):
        fit([clip], Intake(longest=1e-9), policy)


def test_a_clip_beyond_full_scale_is_scaled_and_told_and_its_file_is_not_clipped() -> None:
    loud = read_audio((8 * NOISE, 16_000))
    clip = fit([loud], Intake(), "refuse")[0][0]
    peak = np.abs(loud.samples).max()
    assert clip.digest == loud.digest
    assert clip.changes == (f"scaled by {1 / peak:.3g}, its peak was {peak:.3g} of full scale",)
    assert alteration(clip.changes[0]) == "scaled"
    assert read_audio(to_wav(clip)).samples == pytest.approx(loud.samples / peak, abs=1e-4)


def test_what_resampling_leaves_over_full_scale_stays() -> None:
    audio = read_audio((NOISE * 2 * 1.1, 16_000))
    assert fit([audio], Intake(), "refuse") == [[audio]]


def test_channels_that_cancel_are_told() -> None:
    for right, told in ((-NOISE, "240 dB"), (-0.9 * NOISE, "26 dB")):
        change = read_audio((np.column_stack([NOISE, right]), 16_000)).changes[0]
        assert change == f"averaged 2 channels, which cancel: the mean is {told} under the loudest"
        assert alteration(change) == "averaged"
    assert read_audio((np.column_stack([NOISE, 0 * NOISE]), 16_000)).changes == ("averaged 2 channels",)
