"""Models by their spec: ``provider/name``, with options as key=value."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from otoscope.errors import UnknownNameError, UsageError
from otoscope.models.chat import Chat, load_chat
from otoscope.models.protocol import Model, Reply, Request

ProviderName = Literal["cascade", "openai", "cmd", "replay", "null"]

DEFAULT_MODEL = "cascade"

PROVIDERS: dict[ProviderName, str] = {
    "cascade": "cascade/ASR+LLM: speech recognition, then a chat model that reads the transcript (the default)",
    "openai": "openai/NAME: a server that speaks the OpenAI chat API and takes audio (-M base_url=...)",
    "cmd": "cmd/PROGRAM: a program that answers JSON lines, in its own environment",
    "replay": "replay/RUN: the answers stored in a run folder",
    "null": "null: answers nothing, at once",
}
"""Every kind of model, with one line about it."""


def load_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """Load a model.

    Args:
        spec: one of the forms in ``PROVIDERS``.
        options: what follows ``-M`` on the command line.

    Raises:
        UnknownNameError: there is no such provider.
        ModelLoadingError: the model cannot be loaded.
    """
    provider, _, name = spec.partition("/")
    loaders: dict[str, Callable[[str, Mapping[str, str]], Model]] = {
        "cascade": _cascade,
        "openai": _openai,
        "cmd": _command,
        "replay": _replay,
        "null": _null,
    }
    if provider not in loaders:
        raise UnknownNameError("model", spec, get_args(ProviderName))
    return loaders[provider](name, options or {})


def _cascade(name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.cascade import Cascade

    return Cascade(name, options)


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


def _null(_name: str, options: Mapping[str, str]) -> Model:
    from otoscope.models.null import NullModel

    _no_options("null", options)
    return NullModel()


def _named(name: str, form: str) -> None:
    if not name:
        raise UsageError(f"a model of the form {form} needs a name after the slash")


def _no_options(provider: str, options: Mapping[str, str]) -> None:
    if options:
        raise UsageError(f"{provider} takes no -M options, got {', '.join(options)}")


__all__ = ["DEFAULT_MODEL", "PROVIDERS", "Chat", "Model", "Reply", "Request", "load_chat", "load_model"]
