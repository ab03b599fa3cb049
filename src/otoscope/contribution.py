"""What keeps a task from being run, and what the benchmark asks of one before it takes it."""

import math
from collections.abc import Iterator, Sequence

from otoscope.audio import read_audio
from otoscope.datasets import try_samples
from otoscope.errors import AudioError, MetricError, TaskError
from otoscope.judges.labels import labels_of, name_of
from otoscope.judges.question import Question
from otoscope.models.replay import request_digest
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
        copies: those that ask the same about the same audio as one before them, each with the id of that one.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.samples = 0
        self.unnamed = 0
        self.instructions: set[str] = set()
        self.labels: set[str] = set()
        self.copies: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def add(self, sample: Sample) -> None:
        """Count a sample in."""
        self.samples += 1
        self.instructions.add(sample.instruction)
        instruction = sample.instruction.casefold()
        self.unnamed += not all(option.casefold() in instruction for option in sample.options)
        if self._task.synonyms:
            self.labels |= labels_of(_question(self._task, sample)).names

    def add_request(self, sample: Sample, audio: Sequence[str]) -> None:
        """Find out whether the same was asked before.

        Args:
            sample: the sample.
            audio: digests of its clips.
        """
        first = self._asked.setdefault(request_digest(audio, sample.instruction, sample.text), sample.id)
        if first != sample.id:
            self.copies[sample.id] = first


def problems(task: Task, contents: Contents) -> Iterator[str]:
    """Yield what is wrong with a task, its rows and its clips; the samples go into ``contents``."""
    if task.hub_parts:
        return
    for sample in try_samples(task):
        if isinstance(sample, TaskError):
            yield str(sample)
            continue
        contents.add(sample)
        audio, unheard = _read_clips(sample)
        if not unheard:
            contents.add_request(sample, audio)
        for problem in (*unheard, *_option_problems(sample), *_label_problems(task, sample)):
            yield f"{task.id} {sample.id}: {problem}"
    yield from _synonym_problems(task, contents)


def _read_clips(sample: Sample) -> tuple[list[str], list[str]]:
    """Return the digests of the clips, and why others of them cannot be decoded."""
    digests, problems = [], []
    for clip in sample.clips:
        try:
            digests.append(read_audio(clip.source, clip.name).digest)
        except AudioError as error:
            problems.append(f"{error.reason}: {error}")
    return digests, problems


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
    """Yield where a task falls short of what the benchmark asks of one, and what counts more than once."""
    wanted = max(math.ceil(contents.samples / 20), 10)
    if contents.samples < _FEWEST_SAMPLES:
        yield f"{contents.samples} samples; the benchmark takes tasks of {_FEWEST_SAMPLES} or more"
    if len(contents.instructions) < wanted:
        yield f"{len(contents.instructions)} different instructions; the benchmark asks for {wanted} or more"
    if task.kind == "classification" and contents.unnamed:
        yield f"{contents.unnamed} samples have an instruction that does not name every option"
    if contents.copies:
        copy, first = next(iter(contents.copies.items()))
        yield (
            f"{len(contents.copies)} samples ask the same about the same audio as one before them, such as {copy} and "
            f"{first}; each counts: leave them out, or give both one cluster"
        )
    if task.license in ("", UNKNOWN):
        yield "license: missing; the benchmark takes data that may be redistributed"
