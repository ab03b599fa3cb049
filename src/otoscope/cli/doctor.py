"""``otoscope doctor``: what is installed, which weights are found, what is missing and how to get it."""

import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import click

from otoscope.cli.options import json_option, print_json, say

EXTRAS = {
    "ctranslate2": "local",
    "tokenizers": "local",
    "xllamacpp": "local",
    "huggingface-hub": "local",
    "onnxruntime": "gate",
    "openai": "openai",
    "pyarrow": "hub",
}


class Finding(NamedTuple):
    """One thing that was looked for."""

    what: str
    found: str
    remedy: str
    """The command that gets it; empty if it is there."""


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """Say what is installed, which weights are found, and what is missing with the command to get it.

    \b
    Example:
      otoscope doctor
    """
    findings = [*_libraries(), *_programs(), *_decoders(), *_weights()]
    if as_json:
        print_json([finding._asdict() for finding in findings])
        return 0
    say(f"python {platform.python_version()} on {platform.platform()}")
    for finding in findings:
        remedy = f"    to get it: {finding.remedy}" if finding.remedy else ""
        say(f"{finding.what:<32} {finding.found}{remedy}")
    return 0


def _libraries() -> Iterator[Finding]:
    for name, extra in EXTRAS.items():
        try:
            yield Finding(name, version(name), "")
        except PackageNotFoundError:
            yield Finding(name, "missing", f"pip install 'otoscope[{extra}]'")


def _programs() -> Iterator[Finding]:
    ffmpeg = shutil.which("ffmpeg")
    yield Finding(
        "ffmpeg (m4a, aac)", ffmpeg or "missing", "" if ffmpeg else "install ffmpeg with the system's packages"
    )


def _decoders() -> Iterator[Finding]:
    """Write and read back a short tone in each format: a codec may be missing from the library that is installed."""
    import io

    import numpy as np
    import soundfile

    from otoscope.audio import read_audio
    from otoscope.errors import AudioError

    tone = np.sin(np.arange(4800) / 10).astype(np.float32)
    for container, subtype in (
        ("WAV", "PCM_16"),
        ("FLAC", "PCM_16"),
        ("MP3", None),
        ("OGG", "VORBIS"),
        ("OGG", "OPUS"),
    ):
        buffer = io.BytesIO()
        name = f"decode {container} {subtype or ''}".strip()
        try:
            soundfile.write(buffer, tone, 48_000, format=container, subtype=subtype)
            read_audio(buffer.getvalue(), name)
            yield Finding(name, "works", "")
        except (AudioError, soundfile.LibsndfileError) as error:
            yield Finding(name, f"fails: {error}", "pip install --upgrade soundfile")


def _weights() -> Iterator[Finding]:
    from otoscope.errors import WeightsMismatchError
    from otoscope.weights import WEIGHTS, locate

    for name in WEIGHTS:
        try:
            folder = locate(name)
        except WeightsMismatchError as error:
            yield Finding(
                f"weights {name}", f"damaged: {error}", f"delete the file, then otoscope weights fetch {name}"
            )
            continue
        yield Finding(
            f"weights {name}", str(folder) if folder else "missing", "" if folder else f"otoscope weights fetch {name}"
        )
