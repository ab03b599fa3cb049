"""What the demo uses of transformers."""

from typing import Any


class GenerationConfig:
    def __init__(self, **fields: Any) -> None:
        self.fields = fields
