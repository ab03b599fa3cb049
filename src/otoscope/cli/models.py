"""``otoscope models``: what can be examined."""

import json
from typing import TYPE_CHECKING, NamedTuple

import click

from otoscope.cli.check import check, workers
from otoscope.cli.options import json_option, say

if TYPE_CHECKING:
    from otoscope.models import ProviderName


class Details(NamedTuple):
    """What there is to know of one kind of model.

    Attributes:
        options: what it takes after ``-M``, with the default or what the value is.
        example: a command.
        names: what its name may be made of, one line each.
    """

    options: tuple[str, ...]
    example: str
    names: tuple[str, ...] = ()


@click.group("models", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """List the kinds of models that --model takes, with their -M options.

    \b
    Examples:
      otoscope models
      otoscope models --json
    """
    if context.invoked_subcommand:
        return 0
    from otoscope.models import PROVIDERS

    details = _details()
    if as_json:
        kinds = {kind: {"about": text, **details[kind]._asdict()} for kind, text in PROVIDERS.items()}
        click.echo(json.dumps(kinds, indent=1))
        return 0
    for kind, text in PROVIDERS.items():
        found = details[kind]
        say(text)
        for line in (*found.names, f"-M: {', '.join(found.options) or 'none'}", f"example: {found.example}"):
            say(f"    {line}")
    return 0


command.add_command(check)
command.add_command(workers)


def _details() -> "dict[ProviderName, Details]":
    from otoscope.models import command as worker
    from otoscope.models import openai
    from otoscope.models.chat import MAX_TOKENS

    chat = (
        "base_url=URL (or OPENAI_BASE_URL)",
        "api_key=KEY (or OPENAI_API_KEY)",
        f"concurrency={openai.CONCURRENCY}",
        f"timeout={openai.TIMEOUT_SECONDS:g}",
        f"retries={openai.RETRIES}",
        f"max_tokens={MAX_TOKENS}",
    )
    seconds = f"{worker.TIMEOUT_SECONDS:g}"
    return {
        "cascade": Details(
            ("threads=N", "and where the LLM is openai/NAME the options of openai up to max_tokens"),
            "otoscope run starter --model cascade/whisper-tiny.en+smollm2-135m -M threads=2",
            _cascade_names(),
        ),
        "openai": Details(
            (
                *chat,
                "audio=input_audio|audio_url",
                f"clips={openai.CLIPS}",
                "longest=SECONDS",
                "voice=NAME",
                "price_in=PRICE",
                "price_out=PRICE",
            ),
            "otoscope run starter --model openai/NAME -M base_url=http://127.0.0.1:8000/v1 -M concurrency=2",
        ),
        "cmd": Details(
            (f"timeout={seconds}", f"start_timeout={seconds}"),
            "otoscope run starter --model 'cmd/python examples/worker.py' -M timeout=60",
        ),
        "replay": Details((), "otoscope run starter --model replay/runs/starter--null"),
        "null": Details((), "otoscope run starter --model null"),
    }


def _cascade_names() -> tuple[str, str]:
    """Return what either half of a cascade's name may be; the named weights are told apart by their files."""
    from otoscope.models.whisper import FILES
    from otoscope.weights import WEIGHTS

    files = {name: {file.name for file in weights.files} for name, weights in WEIGHTS.items()}
    speech = [name for name, found in files.items() if found.issuperset(FILES)]
    language = [name for name, found in files.items() if any(file.endswith(".gguf") for file in found)]
    return (
        f"ASR: {', '.join(speech)}, a folder, or a repository on the hub",
        f"LLM: {', '.join(language)}, a .gguf file, ORG/REPO/FILE.gguf on the hub, or openai/NAME",
    )
