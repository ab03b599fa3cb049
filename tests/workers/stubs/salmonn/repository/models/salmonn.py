"""What the worker uses of the repository's model."""

from pathlib import Path
from typing import Any

import torch


class SALMONN:
    @classmethod
    def from_config(cls, config: Any) -> "SALMONN":
        for path in (config.llama_path, config.whisper_path, config.beats_path, config.ckpt):
            assert Path(path).is_absolute()
        return cls()

    def to(self, device: str) -> None:
        assert device == "cuda:0"

    def eval(self) -> None:
        print("ready")

    def generate(self, samples: dict[str, str], generate_cfg: dict[str, str], prompts: list[str]) -> list[str]:
        assert torch.cuda.entered
        assert generate_cfg == {"num_beams": "1", "max_new_tokens": "200"}
        [prompt] = prompts
        start, end = "USER: <Speech><SpeechHere></Speech> ", "\nASSISTANT:"
        assert prompt.startswith(start)
        assert prompt.endswith(end)
        return [f"<s> {samples['raw_wav']}: {prompt[len(start) : -len(end)]}</s>"]
