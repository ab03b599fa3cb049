"""``otoscope models check`` and ``otoscope models workers``: for the authors of workers."""

import shutil
from pathlib import Path

import click

from otoscope.cli.options import json_option, key_values, print_json, say

INCOMPLETE = 1


@click.command("check")
@click.argument("model", metavar="cmd/PROGRAM")
@click.option(
    "-M", "model_options", multiple=True, metavar="KEY=VALUE", help="timeout=SECONDS or start_timeout=SECONDS."
)
@json_option
def check(model: str, model_options: tuple[str, ...], as_json: bool) -> int:
    """Put a worker program to the rules of the worker protocol.

    Exit status 1 if it breaks one.

    \b
    Example:
      otoscope models check 'cmd/python examples/worker.py'
    """
    from otoscope.conformance import check_worker
    from otoscope.errors import UsageError

    provider, _, command = model.partition("/")
    if provider != "cmd" or not command:
        raise UsageError(f"{model}: only workers can be checked; write 'cmd/PROGRAM ARGUMENTS'")
    findings = []
    for finding in check_worker(command, key_values("-M", model_options)):
        findings.append(finding)
        if not as_json:
            say(f"{'pass' if finding.passed else 'FAIL'}  {finding.rule}")
            if not finding.passed:
                say(f"      {finding.detail}")
                say(f"      to do: {finding.advice}")
    if as_json:
        print_json([finding.to_json() for finding in findings])
    return 0 if all(finding.passed for finding in findings) else INCOMPLETE


@click.command("workers")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def workers(folder: Path) -> int:
    """Copy otoscope_worker.py and the worker scripts of known models into FOLDER.

    A file of that name that is there stays as it is.

    \b
    Example:
      otoscope models workers my-workers
    """
    import otoscope

    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted((Path(otoscope.__file__).parent / "workers").glob("*.py")):
        target = folder / script.name
        if target.exists():
            say(f"kept {target}")
        else:
            shutil.copyfile(script, target)
            say(f"wrote {target}")
    return 0
