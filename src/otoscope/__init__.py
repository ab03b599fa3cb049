"""Otoscope examines what spoken language models hear.

import otoscope
result = otoscope.run("starter", model="cascade", limit=3)
for score in result.scores:
    print(score.task, score.metric, score.value)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otoscope.api import judge_run, merge_runs, probe, run, score_run
    from otoscope.audio import Audio, Intake, read_audio
    from otoscope.errors import OtoscopeError
    from otoscope.models.protocol import Model, Reply, Request
    from otoscope.probing import Probe
    from otoscope.records import Judgement, Prediction, Sample, Score
    from otoscope.runner.local import RunResult
    from otoscope.task import Task, read_task

_HOMES = {
    "Audio": "audio",
    "Intake": "audio",
    "Judgement": "records",
    "Model": "models.protocol",
    "OtoscopeError": "errors",
    "Prediction": "records",
    "Probe": "probing",
    "Reply": "models.protocol",
    "Request": "models.protocol",
    "RunResult": "runner.local",
    "Sample": "records",
    "Score": "records",
    "Task": "task",
    "judge_run": "api",
    "probe": "api",
    "merge_runs": "api",
    "read_audio": "audio",
    "read_task": "task",
    "run": "api",
    "score_run": "api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import otoscope`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'otoscope' has no attribute {name!r}")
    return getattr(importlib.import_module(f"otoscope.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(_HOMES)


__all__ = [
    "Audio",
    "Intake",
    "Judgement",
    "Model",
    "OtoscopeError",
    "Prediction",
    "Probe",
    "Reply",
    "Request",
    "RunResult",
    "Sample",
    "Score",
    "Task",
    "judge_run",
    "merge_runs",
    "probe",
    "read_audio",
    "read_task",
    "run",
    "score_run",
]
