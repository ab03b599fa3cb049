"""What keeps a task from being run, and what the benchmark asks of one before it takes it."""

import math
from collections.abc import Iterator

from otoscope.audio import read_audio
from otoscope.datasets import try_samples
from otoscope.errors import AudioError, MetricError, TaskError
from otoscope.judges.labels import labels_of, name_of
from otoscope.judges.question import Question
from otoscope.records import Sample
from otoscope.runner.judging import is_choosable
from otoscope.task import UNKNOWN, Task

_FEWEST_SAMPLES = 32
"""The fewest examples that the benchmark accepts."""


class Contents:
    """What the samples of a task amount to.

    Attributes:
        samples: how many there are.
        unnamed: how many have an instruction that leaves out an option.
        instructions: their different instructions.
        labels: the names of all labels and options, as judges compare them.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.samples = 0
        self.unnamed = 0
        self.instructions: set[str] = set()
        self.labels: set[str] = set()

    def add(self, sample: Sample) -> None:
        """Count a sample in."""
        self.samples += 1
        self.instructions.add(sample.instruction)
        instruction = sample.instruction.casefold()
        self.unnamed += not all(option.casefold() in instruction for option in sample.options)
        if self._task.synonyms:
            self.labels |= labels_of(_question(self._task, sample)).names


def problems(task: Task, contents: Contents) -> Iterator[str]:
    """Yield what is wrong with a task, its rows and its clips; the samples go into ``contents``."""
    if task.hub_parts:
        return
    for sample in try_samples(task):
        if isinstance(sample, TaskError):
            yield str(sample)
            continue
        contents.add(sample)
        for problem in (*_clip_problems(sample), *_option_problems(sample), *_label_problems(task, sample)):
            yield f"{task.id} {sample.id}: {problem}"
    yield from _synonym_problems(task, contents)


def _clip_problems(sample: Sample) -> Iterator[str]:
    for clip in sample.clips:
        try:
            read_audio(clip.source, clip.name)
        except AudioError as error:
            yield f"{error.reason}: {error}"


def _option_problems(sample: Sample) -> Iterator[str]:
    """Yield which options no answer could choose, or tell apart."""
    named: dict[str, str] = {}
    for option in sample.options:
        name = name_of(option, musical=True)
        if not option.strip():
            yield "options: one is empty"
        elif name in named:
            yield f"options: {named[name]!r} and {option!r} are the same to a judge"
        named[name] = option


def _label_problems(task: Task, sample: Sample) -> Iterator[str]:
    """Yield why no answer to a sample could be scored."""
    key = task.columns.label
    if not sample.instruction.strip():
        yield f"{task.columns.instruction}: empty"
    if sample.expect == "abstain":
        return
    if task.kind != "classification":
        for name in task.metrics:
            try:
                task.metric(name).row(sample.target, sample.target)
            except MetricError as error:
                yield f"{key}: {name}: {error}"
    elif not sample.target.strip():
        yield f"{key}: empty"
    elif not is_choosable(_question(task, sample)):
        yield f"{key}: {sample.target!r} is not among the options {', '.join(sample.options)}"


def _synonym_problems(task: Task, contents: Contents) -> Iterator[str]:
    for label in task.synonyms if contents.samples else ():
        if not {name_of(label), name_of(label, musical=True)} & contents.labels:
            yield f"{task.file}: synonyms: {label!r} is neither an option nor the label of a row"


def _question(task: Task, sample: Sample) -> Question:
    """Return what a judge would be asked, but for the answer."""
    return Question(sample.instruction, sample.target, "", sample.options, task.multi_label, task.synonyms)


def notes(task: Task, contents: Contents) -> Iterator[str]:
    """Yield where a task falls short of what the benchmark asks of one."""
    wanted = max(math.ceil(contents.samples / 20), 10)
    if contents.samples < _FEWEST_SAMPLES:
        yield f"{contents.samples} samples; the benchmark takes tasks of {_FEWEST_SAMPLES} or more"
    if len(contents.instructions) < wanted:
        yield f"{len(contents.instructions)} different instructions; the benchmark asks for {wanted} or more"
    if task.kind == "classification" and contents.unnamed:
        yield f"{contents.unnamed} samples have an instruction that does not name every option"
    if task.license in ("", UNKNOWN):
        yield "license: missing; the benchmark takes data that may be redistributed"
