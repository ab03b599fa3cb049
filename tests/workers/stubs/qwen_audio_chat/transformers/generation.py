"""The configuration that the checkpoint ships."""

from typing import Any


class GenerationConfig:
    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    @classmethod
    def from_pretrained(
        cls, weights: str, *, revision: str, trust_remote_code: bool, **fields: Any
    ) -> "GenerationConfig":
        assert (weights, revision, trust_remote_code) == ("Qwen/Qwen-Audio-Chat", "main", True)
        return cls({"do_sample": True, "top_p": 0.5, "max_new_tokens": 512, **fields})
