"""What every stub says of a clip: its length, after a look at its form."""

import wave


def describe(path: str, rate: int) -> str:
    print(f"reading {path}")  # libraries do
    with wave.open(path, "rb") as clip:
        assert (clip.getnchannels(), clip.getsampwidth(), clip.getframerate()) == (1, 2, rate)
        return f"{clip.getnframes() / rate:.2f}s"
