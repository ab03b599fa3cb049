"""``otoscope run``: ask a model about tasks, judge its answers, score them."""

import re
import shlex
import sys
from pathlib import Path

import click

from otoscope.cli.options import asr_option, json_option, judge_options, key_values, read_limit

EPILOG = """\b
TASK is a suite (starter), a task id or glob ('starter/*-number'), or the path of a task or suite folder.
Run the same command again to continue a run that was interrupted; a clip whose content has not changed is not asked
about again.
"""


@click.command("run", epilog=EPILOG)
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--model", "-m", default="cascade", show_default=True, metavar="SPEC", help="See `otoscope models`.")
@click.option("-M", "model_options", multiple=True, metavar="KEY=VALUE", help="An option of the model.")
@judge_options
@click.option("--limit", metavar="N|FRACTION", help="Most samples a task, or a share of them below 1.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which samples --limit takes.")
@click.option(
    "--long",
    "policy",
    type=click.Choice(["cut", "chunk", "refuse"]),
    default="cut",
    show_default=True,
    help="What to do with audio longer than the model takes.",
)
@click.option("--allow-cut", is_flag=True, help="Ask also where cutting joined clips removes some of them whole.")
@click.option("--batch-size", type=click.IntRange(min=1), help="Most requests a call.")
@click.option("--output", "-o", "folder", type=click.Path(path_type=Path), help="Run folder; default runs/TASK--MODEL.")
@asr_option
@click.option("--gate", metavar="SPEC", help="Ask only about clips that this gate admits; see `otoscope gate list`.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Ask the model in this process, or in actors on many GPUs or machines.",
)
@click.option("--address", metavar="HOST:PORT", help="Ray cluster; default RAY_ADDRESS, else this machine alone.")
@click.option("--actors", type=click.IntRange(min=1), help="Ray actors; default as many as there is room for.")
@click.option("--gpus-per-actor", type=click.FloatRange(min=0), metavar="X", help="Default 0; 0.5 lets two share one.")
@click.option("--cpus-per-actor", type=click.FloatRange(min=0), metavar="X", help="Default 1.")
@click.option("--shard", metavar="I/N", help="Take one share of N of every task; see `otoscope merge`.")
@json_option
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    tasks: tuple[str, ...],
    model: str,
    model_options: tuple[str, ...],
    judge_spec: str,
    judge_options: tuple[str, ...],
    limit: str | None,
    seed: int,
    policy: str,
    allow_cut: bool,
    batch_size: int | None,
    folder: Path | None,
    asr: str,
    gate: str | None,
    engine: str,
    address: str | None,
    actors: int | None,
    gpus_per_actor: float | None,
    cpus_per_actor: float | None,
    shard: str | None,
    as_json: bool,
) -> int:
    """Ask a model about tasks, judge its answers, and score them.

    \b
    Examples:
      otoscope run starter
      otoscope run starter --limit 3 --judge rules
      otoscope run my-task --model openai/my-model -M base_url=http://127.0.0.1:8000/v1
      otoscope run starter --model 'cmd/python examples/worker.py'
      otoscope run sure-mini --gate gate.json
      otoscope run starter --engine ray --actors 8 --gpus-per-actor 1
      otoscope run starter --shard 2/8
    """
    from otoscope import api
    from otoscope.cli.display import Display, tell_result
    from otoscope.report.tables import printable

    with Display() as display:
        result = api.run(
            tasks,
            model=model,
            model_options=key_values("-M", model_options),
            judge=judge_spec,
            judge_options=key_values("-J", judge_options),
            limit=None if limit is None else read_limit(limit),
            seed=seed,
            policy=policy,  # type: ignore[arg-type]  # click has checked the choice
            batch=batch_size,
            folder=folder,
            command=printable(shlex.join(["otoscope", *map(_without_secret, sys.argv[1:])])),
            watch=display.watch,
            gate=gate,
            allow_cut=allow_cut,
            asr=asr,
            engine=engine,  # type: ignore[arg-type]  # as above
            address=address,
            actors=actors,
            gpus_per_actor=gpus_per_actor,
            cpus_per_actor=cpus_per_actor,
            shard=shard,
        )
    return tell_result(result, as_json=as_json)


def _without_secret(argument: str) -> str:
    """Return an argument as the header may hold it: a key, or who logs in to a server, is nobody else's business."""
    argument = re.sub(r"(api_key=).*", r"\1...", argument, flags=re.DOTALL)
    argument = re.sub(r"://[^/?#]*@", "://...@", argument)
    return re.sub(r"(://[^\s?]*\?)\S*", r"\1...", argument)
