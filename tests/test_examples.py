"""The examples for clusters: a shell can read them, Kubernetes would find its keys, and their commands exist."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from otoscope.cli.main import cli

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".sh", ".sbatch"})
KUBERAY = EXAMPLES / "kuberay.yaml"


def commands(text: str) -> list[list[str]]:
    """Return the arguments of every ``otoscope`` command, each variable and each pattern with the value 1."""
    plain = re.sub(r"\$\(\([^)]*\)\)|\$\{[^}]*\}|\$\w+|\*", "1", text.replace("\\\n", " "))
    lines = [re.sub(r'^.*--wrap="(.*)"$', r"\1", line) for line in plain.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("otoscope ")]


def parse(arguments: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the options as click reads them, in a folder that has what the arguments name."""
    monkeypatch.chdir(folder)
    for argument in arguments:
        if argument.startswith("1/part"):
            Path(argument).mkdir(parents=True, exist_ok=True)
    command = cli.get_command(click.Context(cli), arguments[0])
    assert command is not None
    return command.make_context(arguments[0], arguments[1:]).params


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shell_can_read_it(name: str) -> None:
    result = subprocess.run(["/bin/bash", "-n", EXAMPLES / name], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ray_multi_gpu.sh", [{"engine": "ray", "gpus_per_actor": 1.0, "actors": None, "address": None}]),
        ("slurm_ray.sbatch", [{"engine": "ray", "gpus_per_actor": 1.0, "actors": 1, "address": "1"}]),
        (
            "slurm_array.sbatch",
            [{"folder": Path("1/whole")}, {"shard": "1/1", "folder": Path("1/part-1"), "engine": "local"}],
        ),
    ],
)
def test_its_commands_exist(
    name: str, expected: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [parse(arguments, tmp_path, monkeypatch) for arguments in commands((EXAMPLES / name).read_text("utf-8"))]
    assert [{key: one[key] for key in wanted} for one, wanted in zip(found, expected, strict=True)] == expected


def test_every_script_is_tested() -> None:
    assert SCRIPTS == ["ray_multi_gpu.sh", "slurm_array.sbatch", "slurm_ray.sbatch"]


def test_the_kubernetes_job_has_what_its_operator_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = yaml.safe_load(KUBERAY.read_text("utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    program, *arguments = shlex.split(job["spec"]["entrypoint"])
    options = parse(arguments, tmp_path, monkeypatch)
    assert (program, options["engine"]) == ("otoscope", "ray")
    cluster = job["spec"]["rayClusterSpec"]
    [worker] = cluster["workerGroupSpecs"]
    [container] = worker["template"]["spec"]["containers"]
    limits = container["resources"]["limits"]
    assert options["actors"] * options["gpus_per_actor"] == worker["replicas"] * int(limits["nvidia.com/gpu"])
    assert options["cpus_per_actor"] <= float(limits["cpu"])
    [head] = cluster["headGroupSpec"]["template"]["spec"]["containers"]
    assert str(options["folder"]).startswith(head["volumeMounts"][0]["mountPath"])
    assert cluster["headGroupSpec"]["template"]["spec"]["volumes"][0]["name"] == head["volumeMounts"][0]["name"]
