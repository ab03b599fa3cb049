"""What the worker uses of the repository's package llama."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch


class Model:
    def __init__(self) -> None:
        self.tokenizer = SimpleNamespace(encode=self.encode)

    @staticmethod
    def encode(text: str, *, bos: bool, eos: bool) -> str:
        assert bos
        assert not eos
        return text

    def eval(self) -> None:
        print("ready")

    @staticmethod
    def generate(inputs: dict[str, Any], prompts: list[str], *, max_gen_len: int, temperature: float) -> list[str]:
        assert torch.cuda.entered
        assert (max_gen_len, temperature) == (512, 0)
        [audio], weight = inputs["Audio"]
        assert weight == 1
        [prompt] = prompts
        return [f" {audio}: {prompt.removeprefix('### Instruction: ')}\n"]


def load(model_path: str, llama_dir: str, *, mert_path: str, knn: bool, llama_type: str) -> Model:
    assert Path(model_path).is_absolute()
    assert Path(llama_dir).is_absolute()
    assert (mert_path, knn, llama_type) == ("m-a-p/MERT-v1-330M", False, "7B")
    assert Path("llama.py").is_file()  # in the repository's folder
    return Model()


def format_prompt(instruction: str) -> str:
    return f"### Instruction: {instruction}"
