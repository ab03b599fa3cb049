"""What the worker uses of transformers."""

from pathlib import Path


class WhisperFeatureExtractor:
    @classmethod
    def from_pretrained(cls, weights: str) -> "WhisperFeatureExtractor":
        assert Path(weights).is_absolute()
        return cls()
