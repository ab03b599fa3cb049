"""What the engines refuse before they start anything."""

import importlib.util
import threading
from pathlib import Path

import pytest
from conftest import MakeTask

import otoscope
from otoscope.errors import ModelLoadingError, UsageError
from otoscope.models.local import local_threads


def test_options_of_actors_are_not_for_the_local_engine() -> None:
    with pytest.raises(UsageError, match="are for --engine ray"):
        otoscope.run("starter", model="null", actors=2)
    with pytest.raises(UsageError, match="unknown engine 'rya'; did you mean ray"):
        otoscope.run("starter", model="null", engine="rya")  # type: ignore[arg-type]


def test_without_ray_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelLoadingError, match=r"pip install 'otoscope\[ray\]'"):
        otoscope.run("starter", model="null", engine="ray", folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_numbers_that_make_no_sense_are_refused(make_task: MakeTask) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'otoscope[ray]'")
    task = str(make_task(1))
    with pytest.raises(UsageError, match="a run has one or more actors"):
        otoscope.run(task, model="null", engine="ray", actors=0)
    with pytest.raises(UsageError, match=r"^--actors 1 --gpus-per-actor 0 --cpus-per-actor 0: .* has CPUs or GPUs"):
        otoscope.run(task, model="null", engine="ray", cpus_per_actor=0)
    for size in (float("nan"), float("inf"), -1.0):
        with pytest.raises(UsageError, match=r"--gpus-per-actor (nan|inf|-1) "):
            otoscope.run(task, model="null", engine="ray", gpus_per_actor=size)


def test_a_model_that_cannot_be_sent_is_refused(make_task: MakeTask, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'otoscope[ray]'")
    lock = threading.Lock()

    def locked(_request: otoscope.Request) -> str:
        with lock:
            return "low"

    locked.__dict__["settings"] = {}
    with pytest.raises(otoscope.OtoscopeError, match=r"the model cannot be sent to an actor: .*lock"):
        otoscope.run(str(make_task(1)), model=locked, engine="ray", folder=tmp_path / "run")


@pytest.mark.parametrize(("given", "threads"), [("3", 3), ("1", 1)])
def test_a_local_model_takes_the_threads_it_is_given(monkeypatch: pytest.MonkeyPatch, given: str, threads: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert local_threads() == threads


@pytest.mark.parametrize("given", ["", "0", "many", "4,2"])
def test_a_number_of_threads_that_is_none_leaves_all_cores(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = local_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert local_threads() == cores
