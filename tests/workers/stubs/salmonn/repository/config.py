"""The configuration of the repository, without its file format."""

import argparse
from pathlib import Path
from types import SimpleNamespace


class Config:
    def __init__(self, args: argparse.Namespace) -> None:
        assert Path(args.cfg_path).read_text().startswith("# the configuration")  # from the repository's folder
        values = dict(option.split("=", 1) for option in args.options)
        model = {name[6:]: value for name, value in values.items() if name.startswith("model.")}
        generate = {name[9:]: value for name, value in values.items() if name.startswith("generate.")}
        assert set(values) == {f"model.{name}" for name in model} | {f"generate.{name}" for name in generate}
        self.config = SimpleNamespace(
            model=SimpleNamespace(prompt_template="USER: {}\nASSISTANT:", **model), generate=generate
        )
