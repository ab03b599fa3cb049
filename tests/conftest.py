"""What several tests need: small clips, and small tasks made of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

MakeTask = Callable[..., Path]


def write_clip(path: Path, seconds: float = 0.2, frequency: float = 440.0, rate: int = 16_000) -> Path:
    """Write a sine of half scale; the format follows the file's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    times = np.arange(round(seconds * rate)) / rate
    soundfile.write(path, 0.5 * np.sin(2 * np.pi * frequency * times), rate)
    return path


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    """Give a function that makes a task folder of sines, row number i at 200 + 10 i Hz."""

    def make(rows: int = 4, name: str = "tones", **task: Any) -> Path:
        folder = tmp_path / name
        content = {"name": name, "metrics": ["accuracy"], "options": ["low", "high"], **task}
        folder.mkdir(parents=True)
        (folder / "task.json").write_text(json.dumps(content))
        lines = []
        for number in range(rows):
            write_clip(folder / f"{number}.wav", frequency=200 + 10 * number)
            label = "low" if number % 2 else "high"
            row = {"id": f"r{number}", "audio": f"{number}.wav", "instruction": f"Is tone {number} low or high?"}
            lines.append(json.dumps({**row, "label": label}))
        (folder / "samples.jsonl").write_text("\n".join(lines) + "\n")
        return folder

    return make
