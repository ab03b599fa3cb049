"""What the worker uses of the repository's data/utils.py."""

from stub_audio import describe


def load_and_transform_audio_data(audio_paths: list[str], sample_rate: int = 24_000) -> list[str]:
    return [describe(path, sample_rate) for path in audio_paths]
