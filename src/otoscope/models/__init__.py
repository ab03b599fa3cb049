"""Models by their spec: ``provider/name`` or the name of a preset, with options as key=value."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from otoscope.errors import UnknownNameError, UsageError
from otoscope.models.chat import Chat, load_chat
from otoscope.models.presets import PRESETS, expand_preset
from otoscope.models.protocol import Model, Reply, Request

ProviderName = Literal["cascade", "hf", "openai", "cmd", "replay", "null"]

DEFAULT_MODEL = "cascade"

PROVIDERS: dict[ProviderName, str] = {
    "cascade": "cascade/ASR+LLM: speech recognition, then a chat model that reads the transcript (the default)",
    "hf": "hf/REPO or hf/FOLDER: a spoken language model of the transformers library",
    "openai": "openai/NAME: a server that speaks the OpenAI chat API and takes audio (-M base_url=...)",
    "cmd": "cmd/PROGRAM: a program that answers JSON lines, in its own environment",
    "replay": "replay/RUN: the answers stored in a run folder",
    "null": "null: answers nothing, at once",
}
"""Every kind of model, with one line about it."""


def load_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """Load a model.

    Args:
        spec: one of the forms in ``PROVIDERS``, or a name in ``PRESETS``.
        options: what follows ``-M`` on the command line.

    Raises:
        UnknownNameError: there is no such provider or preset.
        ModelLoadingError: the model cannot be loaded.
    """
    if spec in PRESETS:
        spec, options = expand_preset(spec, options or {})
    provider, _, name = spec.partition("/")
    loaders: dict[str, Callable[[str, Mapping[str, str]], Model]] = {
        "cascade": _cascade,
        "hf": _transformers,
        "openai": _openai,
        "cmd": _command,
        "replay": _replay,
        "null": _null,
    }
    if provider not in loaders:
        raise UnknownNameError("model", spec, [*get_args(ProviderName), *PRESETS])
    return loaders[provider](name, options or {})


def _cascade(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.cascade import Cascade

    return Cascade(name, options)


def _transformers(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.transformers import TransformersModel

    _named(name, "hf/REPO")
    return TransformersModel(name, options)


def _openai(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.openai import OpenAIModel

    _named(name, "openai/NAME")
    return OpenAIModel(name, options)


def _command(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.command import CommandModel

    _named(name, "cmd/PROGRAM")
    return CommandModel(name, options)


def _replay(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.replay import ReplayModel

    _named(name, "replay/RUN")
    _no_options("replay", options)
    return ReplayModel(Path(name))


def _null(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.null import NullModel

    if name:
        raise UsageError(f"null/{name}: the null model has no name after a slash")
    _no_options("null", options)
    return NullModel()


def _named(name: str, form: str) -> None:
    if not name:
        raise UsageError(f"a model of the form {form} needs a name after the slash")


def _no_options(provider: str, options: Mapping[str, str]) -> None:
    if options:
        raise UsageError(f"{provider} takes no -M options, got {', '.join(options)}")


__all__ = ["DEFAULT_MODEL", "PRESETS", "PROVIDERS", "Chat", "Model", "Reply", "Request", "load_chat", "load_model"]
