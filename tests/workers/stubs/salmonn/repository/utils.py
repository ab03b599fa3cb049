"""What the worker uses of the repository's utils.py."""

from typing import Any

from stub_audio import describe
from transformers import WhisperFeatureExtractor


def prepare_one_sample(wav_path: str, wav_processor: Any) -> dict[str, str]:
    assert isinstance(wav_processor, WhisperFeatureExtractor)
    return {"raw_wav": describe(wav_path, 16_000)}
