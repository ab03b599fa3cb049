"""``otoscope models``: what can be examined."""

from typing import NamedTuple

import click

from otoscope.cli.check import check, workers
from otoscope.cli.options import json_option, print_json, say

PRESET = "NAME: a preset, one of the systems of the papers or of today's (otoscope models show NAME)"


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
    about: dict[str, str] = {**dict(PROVIDERS.items()), "preset": PRESET}
    if as_json:
        kinds = {kind: {"about": text, **details[kind]._asdict()} for kind, text in about.items()}
        print_json(kinds)
        return 0
    for kind, text in about.items():
        found = details[kind]
        say(text)
        for line in (*found.names, f"-M: {', '.join(found.options) or 'none'}", f"example: {found.example}"):
            say(f"    {line}")
    return 0


command.add_command(check)
command.add_command(workers)


@command.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> int:
    """Print what is known of a preset: its weights, licence, memory, audio and decoding.

    \b
    Example:
      otoscope models show qwen2-audio-instruct
    """
    from otoscope.errors import UnknownNameError
    from otoscope.models.presets import PRESETS, describe

    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    facts = describe(name)
    if as_json:
        print_json({"name": name, **facts})
        return 0
    width = max(map(len, facts))
    for fact, text in {"name": name, **facts}.items():
        say(f"{fact:<{width}}  {text}")
    return 0


def _details() -> dict[str, Details]:
    from otoscope.models import command as worker
    from otoscope.models import openai, server
    from otoscope.models.chat import MAX_TOKENS
    from otoscope.models.generation import BATCH, DTYPES, SWITCHES
    from otoscope.models.presets import PRESETS
    from otoscope.models.transformers import FAMILIES, PROMPTS

    chat = (
        "base_url=URL (or OPENAI_BASE_URL)",
        "api_key=KEY (or OPENAI_API_KEY)",
        f"concurrency={server.CONCURRENCY}",
        f"timeout={server.TIMEOUT_SECONDS:g}",
        f"retries={server.RETRIES}",
        f"max_tokens={MAX_TOKENS}",
        "price_in=PRICE",
        "price_out=PRICE",
    )
    seconds = f"{worker.TIMEOUT_SECONDS:g}"
    return {
        "cascade": Details(
            (
                "threads=N",
                "the options of the LLM's kind",
                "asr.OPTION=VALUE for those of the ASR's kind, such as asr.base_url=URL",
            ),
            "otoscope run starter --model cascade/whisper-tiny.en+smollm2-135m -M threads=2",
            _cascade_names(),
        ),
        "hf": Details(
            (
                "attention=eager|sdpa|flash_attention_2|...",
                f"batch={BATCH}",
                f"compile={'|'.join(SWITCHES)}",
                "device=cuda:0|cpu|auto|...",
                f"dtype={'|'.join(DTYPES)}",
                f"max_tokens={MAX_TOKENS}",
                f"prompt={'|'.join(PROMPTS)}",
                "revision=COMMIT",
            ),
            "otoscope run starter --model hf/Qwen/Qwen2-Audio-7B-Instruct -M batch=8 -M dtype=bfloat16",
            (f"architectures: {', '.join(FAMILIES)}",),
        ),
        "openai": Details(
            (
                *chat,
                "audio=input_audio|audio_url",
                f"clips={openai.CLIPS}",
                "longest=SECONDS",
                "voice=NAME",
            ),
            "otoscope run starter --model openai/NAME -M base_url=http://127.0.0.1:8000/v1 -M concurrency=2",
        ),
        "cmd": Details(
            (f"timeout={seconds}", f"start_timeout={seconds}"),
            "otoscope run starter --model 'cmd/python examples/worker.py' -M timeout=60",
        ),
        "replay": Details((), "otoscope run starter --model replay/runs/starter--null"),
        "null": Details((), "otoscope run starter --model null"),
        "preset": Details(
            ("the options of its kind", "python=PATH and arguments=WORDS where it is a worker"),
            "otoscope run starter --model qwen2-audio-instruct -M batch=8",
            tuple(f"{name}: {preset.spec}" for name, preset in PRESETS.items()),
        ),
    }


def _cascade_names() -> tuple[str, str]:
    """Return what either half of a cascade's name may be."""
    from otoscope.models.local import named_with
    from otoscope.models.whisper import FILES

    speech, language = ", ".join(named_with(FILES)), ", ".join(named_with((), ".gguf"))
    return (
        f"ASR: {speech}, a folder, a repository on the hub, hf/REPO, or openai/NAME",
        f"LLM: {language}, a .gguf file, ORG/REPO/FILE.gguf on the hub, hf/REPO, or openai/NAME",
    )
