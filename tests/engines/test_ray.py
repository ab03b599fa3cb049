"""Model actors on a real Ray cluster of two nodes on this machine: lost nodes, lost actors, poison, resume."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeTask

pytest.importorskip("ray", reason="needs Ray: pip install 'otoscope[ray]'")

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
CASCADE = "cascade/whisper-tiny.en+smollm2-135m"

SCRIPT = """
import os, signal, sys, time
import otoscope

task, folder, log, engine, address = sys.argv[1:]

def model(request):
    with open(log, "a") as file:
        file.write(f"{os.getpid()} {request.instruction}\\n")
    time.sleep(0.05)
    if "poison" in request.instruction:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "once" in request.instruction and not os.path.exists(log + ".died"):
        open(log + ".died", "w").close()
        os._exit(1)
    return "high" if len(request.instruction) % 2 else "low"

more = {"engine": "ray", "address": address, "actors": 2} if engine == "ray" else {}
result = otoscope.run(task.split(":"), model=model, folder=folder, batch=2, **more)
print(result.made)
"""


class TwoNodes:
    """A cluster of two nodes, each with room for one actor."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        self._second = self._cluster.add_node(num_cpus=1)
        self.address = str(self._cluster.address)

    def kill_second(self) -> None:
        """Kill all processes of the second node."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def stop(self) -> None:
        """End both nodes."""
        self._cluster.shutdown()


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoNodes]:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    cluster = TwoNodes()
    yield cluster
    cluster.stop()


def timeless(folder: Path) -> str:
    """Return scores.json without its times, as text."""
    content: dict[str, Any] = json.loads((folder / "scores.json").read_text("utf-8"))
    for score in content["tasks"]:
        del score["seconds"]
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True)


def answers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text("utf-8").splitlines()]


def rename(task: Path, number: int, word: str) -> None:
    """Put a word into the instruction of one row."""
    file = task / "samples.jsonl"
    file.write_text(file.read_text().replace(f"Is tone {number} low", f"Is the {word} tone {number} low"))


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    return subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **QUIET}
    )


def finish(process: subprocess.Popen[str]) -> str:
    stdout, stderr = process.communicate(timeout=200)
    assert process.returncode == 0, stderr
    return stdout


def wait_for_answers(folder: Path, number: int, process: subprocess.Popen[str]) -> None:
    log = folder / "predictions.jsonl"
    while not log.exists() or len(log.read_bytes().splitlines()) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_a_node_lost_in_the_middle_of_the_starter_suite_changes_no_score(nodes: TwoNodes, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "otoscope", "run", "starter", "--model", CASCADE, "-M", "threads=1"]
    local = subprocess.Popen(
        [*command, "-o", str(tmp_path / "local")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    more = ["--engine", "ray", "--address", nodes.address, "--actors", "2", "-o", str(tmp_path / "ray")]
    with subprocess.Popen([*command, *more], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_answers(tmp_path / "ray", 30, process)
        nodes.kill_second()
        _, stderr = process.communicate()
    assert process.returncode == local.wait(), stderr
    assert timeless(tmp_path / "ray") == timeless(tmp_path / "local")
    keys = [row["key"] for row in answers(tmp_path / "ray")]
    assert len(keys) == len(set(keys)) == len(answers(tmp_path / "local"))


def test_actors_that_die_and_requests_that_kill_them(nodes: TwoNodes, make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(24)
    finish(start(task, tmp_path / "local", tmp_path / "asked", "local", ""))
    rename(task, 5, "once")
    rename(task, 16, "poison")
    log = tmp_path / "asked by actors"
    finish(start(task, tmp_path / "ray", log, "ray", nodes.address))
    asked = [line.split(maxsplit=1) for line in log.read_text().splitlines()]
    assert len({process for process, _ in asked}) >= 4, "two at first, and each loss brings another"
    times = Counter(instruction for _, instruction in asked)
    # In its batch, unless the other request ended the actor while that batch was waiting there; then three times alone.
    assert times["Is the poison tone 16 low or high?"] in {3, 4}
    assert max(count for instruction, count in times.items() if "poison" not in instruction) <= 3
    failed = [row for row in answers(tmp_path / "ray") if row["status"] == "error"]
    assert [row["sample"] for row in failed] == ["r16"]
    assert "3 times with this request alone" in failed[0]["reason"]
    expected = {row["sample"]: row["answer"] for row in answers(tmp_path / "local")}
    given = {row["sample"]: row["answer"] for row in answers(tmp_path / "ray")}
    same = expected.keys() - {"r5", "r16"}  # their instructions are others
    assert {name: given[name] for name in same} == {name: expected[name] for name in same}


def test_a_driver_killed_by_kill_9_goes_on_where_it_was(nodes: TwoNodes, make_task: MakeTask, tmp_path: Path) -> None:
    task, folder, log = make_task(60), tmp_path / "ray", tmp_path / "asked"
    finish(start(task, tmp_path / "local", tmp_path / "asked locally", "local", ""))
    with start(task, folder, log, "ray", nodes.address) as process:
        wait_for_answers(folder, 10, process)
        process.send_signal(signal.SIGKILL)
    before = len(answers(folder))
    assert before < 60
    finish(start(task, folder, log, "ray", nodes.address))
    assert timeless(folder) == timeless(tmp_path / "local")
    keys = [row["key"] for row in answers(folder)]
    assert len(keys) == len(set(keys)) == 60
    assert len(log.read_text().splitlines()) <= 60 + 2 * 2 * 2, "no more than was in flight is asked twice"
    assert finish(start(task, folder, log, "ray", nodes.address)).strip() == "0"


def test_one_pool_of_actors_serves_all_tasks(nodes: TwoNodes, make_task: MakeTask, tmp_path: Path) -> None:
    tasks = ":".join(str(make_task(8, name=f"task-{letter}")) for letter in "abc")
    for number, file in enumerate(sorted(tmp_path.glob("task-?/samples.jsonl"))):  # else their requests are the same
        file.write_text(file.read_text().replace("Is tone", f"In task {number}, is tone"))
    finish(start(tasks, tmp_path / "ray", tmp_path / "asked", "ray", nodes.address))
    processes = Counter(line.split()[0] for line in (tmp_path / "asked").read_text().splitlines())
    assert processes.total() == 24
    assert len(processes) <= 2, "an actor that starts late may find nothing left to do, but no task brings its own"


NOWHERE = """
import sys, types
import otoscope
from otoscope.models.null import NullModel

code = "from otoscope.models.null import NullModel\\nclass Mine(NullModel):\\n    id = 'mine'\\n"
module = types.ModuleType("only_here")
exec(code, module.__dict__)
sys.modules["only_here"] = module
otoscope.run(sys.argv[1], model=module.Mine(), folder=sys.argv[2], engine="ray", address=sys.argv[3], actors=1)
"""


def test_a_model_that_the_nodes_do_not_have_is_named(nodes: TwoNodes, make_task: MakeTask, tmp_path: Path) -> None:
    command = [sys.executable, "-c", NOWHERE, str(make_task(2)), str(tmp_path / "run"), nodes.address]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **QUIET})
    assert "ModelLoadingError: node " in result.stderr
    assert "No module named 'only_here'; install there what is installed here" in result.stderr


def test_an_address_without_a_cluster_is_told_at_once(make_task: MakeTask, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "otoscope", "run", str(make_task(1)), "--model", "null", "--engine", "ray"]
    more = ["--address", "127.0.0.1:9", "-o", str(tmp_path / "run")]
    result = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "no Ray cluster listens at 127.0.0.1:9" in result.stderr
