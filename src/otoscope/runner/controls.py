"""Put the same questions to a model with the true clips, and with others or none in their place."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from otoscope.audio import Audio, Intake, fit, read_audio
from otoscope.errors import AudioError
from otoscope.models.protocol import Model, Reply, Request
from otoscope.records import Sample, digest
from otoscope.runner.engine import ask
from otoscope.runner.spoken import UNUSABLE, Scribe, spell
from otoscope.runner.stage import run_stage
from otoscope.task import Task
from otoscope.text import clean_text

Condition = Literal["true", "swapped", "silence", "none", "again"]
"""What is heard: the sample's own clips, those of a sample with another target, silence of their length, nothing, or
its own clips once more."""

Place = tuple[str, str]
"""A task's id and a sample's id."""

_OTHER_BATCH = 2


class Control(NamedTuple):
    """A sample, and the sample whose clips are swapped for its own; None where all targets of its task are equal."""

    task: Task
    sample: Sample
    other: Sample | None

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.task.id, self.sample.id


def pair_up(task: Task, samples: Sequence[Sample]) -> list[Control]:
    """Give each sample the next one whose target differs; samples that hold nothing to answer are left out."""
    answerable = [sample for sample in samples if sample.expect == "answer"]
    targets = [sample.target.strip().casefold() for sample in answerable]
    pairs = []
    for at, sample in enumerate(answerable):
        following = [*range(at + 1, len(answerable)), *range(at)]
        other = next((answerable[place] for place in following if targets[place] != targets[at]), None)
        pairs.append(Control(task, sample, other))
    return pairs


def ask_under(
    model: Model,
    controls: Sequence[Control],
    condition: Condition,
    scribe: Scribe,
    count: Callable[[str], None],
) -> dict[Place, Reply]:
    """Ask a model about every sample under one condition. No stored answer is used and none is stored.

    Under ``again`` the order is reversed and the batches have another size, so that an answer that depends on what is
    asked beside or before it can show it.

    Args:
        model: the model.
        controls: the samples.
        condition: what is heard.
        scribe: writes down spoken answers without text.
        count: called once a sample with ``ok`` or ``error``.
    """
    replies: dict[Place, Reply] = {}
    size = model.batch
    if condition == "again":
        size = 1 if size > 1 else _OTHER_BATCH
        controls = controls[::-1]

    def emit(answered: tuple[Place, Reply]) -> None:
        place, reply = answered
        replies[place] = reply = _written(reply, scribe)
        count("error" if reply.error else "ok")

    def questions() -> Iterator[tuple[Place, Request]]:
        for control in controls:
            request = _request(control, condition, model.intake)
            if isinstance(request, Request):
                yield control.place, request
            else:
                emit((control.place, request))

    def work(group: Sequence[tuple[Place, Request]]) -> list[tuple[Place, Reply]]:
        found = ask(model, [request for _, request in group])
        return [(place, reply) for (place, _), reply in zip(group, found, strict=True)]

    run_stage(questions(), work, emit, batch=size, concurrency=model.concurrency)
    return replies


def _request(control: Control, condition: Condition, intake: Intake) -> Request | Reply:
    """Return the request, or in its place the reply that says why there is none."""
    sample = control.sample
    if condition == "swapped" and control.other is None:
        return Reply(error="no other sample of the task has another target")
    try:
        audios = _audios(control, condition)
        clips = fit(audios, intake, "cut")[0] if audios else []
    except AudioError as error:
        return Reply(error=f"{error.reason}: {error}")
    return Request(tuple(clips), sample.instruction, sample.text)


def _audios(control: Control, condition: Condition) -> list[Audio]:
    if condition == "none":
        return []
    heard = control.other if condition == "swapped" and control.other else control.sample
    audios = [read_audio(clip.source, clip.name) for clip in heard.clips]
    if condition == "silence":
        return [read_audio((audio.samples * 0, audio.rate), "silence") for audio in audios]
    if condition == "again":  # under another name, so that a model which remembers clips has to hear them anew
        return [replace(audio, digest=digest("again", audio.digest)) for audio in audios]
    return audios


def _written(reply: Reply, scribe: Scribe) -> Reply:
    """Return a reply in writing, with nothing in it that JSON cannot spell."""
    try:
        return Reply(clean_text(spell(reply, scribe)), clean_text(reply.error))
    except AudioError as error:
        return Reply(error=f"{UNUSABLE}: {error}")
