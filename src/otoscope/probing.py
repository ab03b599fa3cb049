"""Three questions to a model before its scores are believed: does it hear, does it obey, does it repeat itself?

A model hears if its answers are right more often with the true clip than with one that asks for another answer. A
model is deaf if its answers stay as they are whatever is played, which a correct answer now and then does not show.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from otoscope.datasets import read_samples
from otoscope.errors import MetricError, UnreadableValueError, UsageError
from otoscope.judges import Question, decide, extract
from otoscope.judges.reading import Reading
from otoscope.metrics import Metric
from otoscope.models.protocol import Model, Reply
from otoscope.records import worded
from otoscope.runner.controls import Condition, Control, Place, ask_under, pair_up
from otoscope.runner.judging import question_of
from otoscope.runner.local import Begun, Counted, Watch
from otoscope.runner.spoken import DEFAULT_ASR, Scribe
from otoscope.stats import exact_interval, mcnemar
from otoscope.task import Task

if TYPE_CHECKING:
    from otoscope.records import Better

DEFAULT_TASKS: Final = (
    "starter/spoken-number",
    "starter/language-identification",
    "starter/transcription-en",
    "starter/sound-event",
    "starter/instrument",
)
DEFAULT_LIMIT: Final = 8
"""Samples a task: 40 in all, of which 36 with an answer are enough to call a model deaf."""

ALPHA: Final = 0.05
"""A model hears if the two-sided exact p-value is at most this."""
MOST_CHANGED: Final = 0.1
"""A model is deaf if at most this share of its answers changes with the clip, by the upper end of the 95 % interval."""

CONDITIONS: Final[tuple[Condition, ...]] = ("true", "swapped", "silence", "none", "again")
WRONG: Final[tuple[Condition, ...]] = ("swapped", "silence", "none")
SHOWN_AS: Final[Mapping[Condition, str]] = {
    "true": "the true clip",
    "swapped": "a swapped clip",
    "silence": "silence",
    "none": "no audio",
    "again": "the true clip again",
}

HearingVerdict = Literal["hears", "deaf", "cannot tell"]
RepetitionVerdict = Literal["repeats", "does not repeat", "cannot tell"]

_NEVER = float("-inf")


class Share(NamedTuple):
    """A number, with the exact 95 % interval of the share it is.

    Attributes:
        number: how many.
        of: of how many.
        low: lower end of the interval of the share; 0 of none.
        high: upper end; 1 of none.
    """

    number: int
    of: int
    low: float
    high: float


class Contrast(NamedTuple):
    """The true clip against something else in its place.

    Attributes:
        condition: what was in its place.
        samples: samples with an answer both ways.
        better: sources whose samples are answered better with the true clip.
        worse: sources whose samples are answered worse with it; the others are answered equally well.
        p: two-sided exact p-value of the sign test over those sources.
        changed: answers that are another one without the true clip, among those that repeat with it.
        error: why a sample has no answer, or an empty string.
    """

    condition: Condition
    samples: int
    better: int
    worse: int
    p: float
    changed: Share
    error: str


class Obedience(NamedTuple):
    """How the answers to one wording of a classification's instruction keep to its options.

    Attributes:
        task: id of the task.
        instruction: the wording.
        obeyed: answers that name exactly one option.
    """

    task: str
    instruction: str
    obeyed: Share


class Difference(NamedTuple):
    """Two answers to one request."""

    task: str
    sample: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class TaskProbe:
    """What one task showed.

    Attributes:
        task: id of the task.
        metric: name of the metric.
        better: whether higher or lower values are better.
        samples: how many samples were asked about.
        values: the metric by condition, over the answers that can be measured; None where it is not defined.
        outcomes: by condition, how many answers ended in which state.
    """

    task: str
    metric: str
    better: "Better"
    samples: int
    values: Mapping[Condition, float | None]
    outcomes: Mapping[Condition, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Probe:
    """What a model showed of itself.

    Attributes:
        model: id of the model.
        settings: its settings.
        hearing: whether it hears.
        because: what that rests on, in a sentence.
        contrasts: the true clip against a swapped one, silence and no audio.
        obedience: how answers keep to the options, over all instructions.
        instructions: the same by instruction.
        repetition: whether it repeats itself.
        repeated: answers that were the same when the same was asked in another order and in batches of another size.
        differences: the others.
        tasks: the tasks.
    """

    model: str
    settings: Mapping[str, Any]
    hearing: HearingVerdict
    because: str
    contrasts: tuple[Contrast, ...]
    obedience: Share
    instructions: tuple[Obedience, ...]
    repetition: RepetitionVerdict
    repeated: Share
    differences: tuple[Difference, ...]
    tasks: tuple[TaskProbe, ...]

    @property
    def passed(self) -> bool:
        """Whether the model hears and repeats itself."""
        return self.hearing == "hears" and self.repetition == "repeats"

    @property
    def failed(self) -> bool:
        """Whether the model is deaf or does not repeat itself; neither where that cannot be told."""
        return self.hearing == "deaf" or self.repetition == "does not repeat"

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; what is not defined is the word ``undefined``."""
        tasks = [{**asdict(task), "values": worded(task.values)} for task in self.tasks]
        return {
            "model": self.model,
            "settings": dict(self.settings),
            "alpha": ALPHA,
            "most_changed": MOST_CHANGED,
            "hearing": self.hearing,
            "because": self.because,
            "contrasts": [{**row._asdict(), "changed": row.changed._asdict()} for row in self.contrasts],
            "obedience": self.obedience._asdict(),
            "instructions": [{**row._asdict(), "obeyed": row.obeyed._asdict()} for row in self.instructions],
            "repetition": self.repetition,
            "repeated": self.repeated._asdict(),
            "differences": [row._asdict() for row in self.differences],
            "tasks": tasks,
        }


def probe_model(
    model: Model,
    tasks: Sequence[Task],
    watch: Watch,
    *,
    limit: float = DEFAULT_LIMIT,
    seed: int = 0,
    asr: str = DEFAULT_ASR,
) -> Probe:
    """Ask a model about tasks with the true clips and without them, and say what the answers show.

    Args:
        model: the model.
        tasks: tasks with known answers.
        watch: called with what happens.
        limit: most samples a task, or a fraction of them below 1.
        seed: which samples ``limit`` takes.
        asr: names the speech recognition that writes down spoken answers without text.

    Raises:
        TaskError: the rows of a task are wrong.
        UsageError: no metric of a task can compare two answers to one sample.
    """
    metrics = {task.id: _metric(task) for task in tasks}
    controls = [control for task in tasks for control in pair_up(task, list(read_samples(task, limit, seed)))]
    scribe = Scribe(asr)
    replies: dict[Condition, dict[Place, Reply]] = {}
    for condition in CONDITIONS:
        watch(Begun(SHOWN_AS[condition], "ask with", len(controls)))
        replies[condition] = ask_under(model, controls, condition, scribe, lambda status: watch(Counted(status)))
    marked = {
        condition: {
            control.place: _mark(control, metrics[control.task.id], found[control.place]) for control in controls
        }
        for condition, found in replies.items()
    }
    contrasts = tuple(_contrast(condition, controls, marked) for condition in WRONG)
    hearing, because = _hearing(contrasts[0])
    repetition, repeated, differences = _repetition(controls, replies)
    obedience, instructions = _obedience(controls, replies["true"])
    return Probe(
        model.id,
        model.settings,
        hearing,
        because,
        contrasts,
        obedience,
        instructions,
        repetition,
        repeated,
        differences,
        tuple(_task_probe(task, metrics[task.id], controls, marked) for task in tasks),
    )


class _Mark(NamedTuple):
    """What an answer is worth.

    Attributes:
        outcome: the state it ended in.
        worth: greater for a better answer to the same sample; what holds no value is worth less than any that does.
        row: the metric's row; empty where the metric cannot take the answer.
        answer: the answer.
        error: why there is none.
    """

    outcome: str
    worth: float = _NEVER
    row: tuple[float, ...] = ()
    answer: str = ""
    error: str = ""


_Marks = Mapping[Condition, Mapping[Place, _Mark]]


def _metric(task: Task) -> Metric:
    """Return the task's first metric, from the primary one on, that one sample has a value of."""
    for name in (task.primary, *task.metrics):
        found = task.metric(name)
        if found.pooling != "rows":
            return found
    raise UsageError(f"{task.id}: {', '.join(task.metrics)} cannot be told of one sample; probe with other tasks")


def _question(control: Control, answer: str) -> Question:
    sample = control.sample
    row = {"instruction": sample.instruction, "target": sample.target, "options": sample.options}
    return question_of(control.task, row, answer)


def _mark(control: Control, metric: Metric, reply: Reply) -> _Mark:
    import numpy as np

    if reply.error:
        return _Mark("error", error=reply.error)
    outcome, taken = _judged(control, reply.answer)
    unread = _Mark(outcome, answer=reply.answer)
    if taken is None:
        return unread
    try:
        row = metric.row(control.sample.target, taken)
    except UnreadableValueError:
        return unread._replace(outcome="na")
    except MetricError as error:
        return _Mark("error", error=str(error))
    value = metric.value(np.array([row]))
    if value is None:
        return _Mark("error", error=f"{metric.name} is not defined for the target {control.sample.target!r}")
    return _Mark(outcome, value if metric.better == "higher" else -value, row, reply.answer)


def _judged(control: Control, answer: str) -> tuple[str, str | None]:
    """Return what the rules say of an answer, and what the metric takes; where they are in doubt it is not right."""
    if control.task.kind == "sequence":
        return "ok", answer
    question = _question(control, answer)
    if control.task.kind == "classification":
        ruling = decide(question)
        return ruling.status, ruling.verdict or "no"
    ruling = extract(question)
    return ruling.status, ruling.value


def _contrast(condition: Condition, controls: Sequence[Control], marks: _Marks) -> Contrast:
    """Compare the true clip with another condition, one vote a source: samples of one source share their fate."""
    votes: Counter[str] = Counter()
    samples, repeating, changed, error = 0, 0, 0, ""
    for control in controls:
        true, wrong, again = (marks[name][control.place] for name in ("true", condition, "again"))
        if true.error or wrong.error:
            error = error or true.error or wrong.error
            continue
        samples += 1
        votes[control.sample.cluster] += (true.worth > wrong.worth) - (true.worth < wrong.worth)
        if not again.error and again.answer == true.answer:
            repeating += 1
            changed += wrong.answer != true.answer
    better, worse = sum(vote > 0 for vote in votes.values()), sum(vote < 0 for vote in votes.values())
    return Contrast(condition, samples, better, worse, mcnemar(better, worse), _share(changed, repeating), error)


def _hearing(swapped: Contrast) -> tuple[HearingVerdict, str]:
    """Say whether the model hears: from swapped clips, since silence may be noticed by a model that hears no words."""
    right = (
        f"with the true clip the answers are better at {swapped.better} sources and worse at {swapped.worse} "
        f"than with a swapped one (p = {swapped.p:.2g})"
    )
    changed = swapped.changed
    still = f"{changed.number} of {changed.of} answers change with the clip, at most {changed.high:.0%} of all"
    if swapped.better > swapped.worse and swapped.p <= ALPHA:
        return "hears", right
    if changed.of and changed.high <= MOST_CHANGED:
        return "deaf", still
    if not swapped.samples:
        return "cannot tell", f"no sample has an answer with the true and with a swapped clip: {swapped.error}"
    if not changed.of:
        return "cannot tell", "no answer is the same when the same is asked again"
    if not changed.number:
        return "cannot tell", f"too few samples to call it deaf: {still}, which leaves {MOST_CHANGED:.0%} open"
    return "cannot tell", f"{changed.number} of {changed.of} answers change with the clip, but {right}"


def _repetition(
    controls: Sequence[Control], replies: Mapping[Condition, Mapping[Place, Reply]]
) -> tuple[RepetitionVerdict, Share, tuple[Difference, ...]]:
    pairs = [(place, replies["true"][place], replies["again"][place]) for place in (one.place for one in controls)]
    answered = [(place, first, second) for place, first, second in pairs if not (first.error or second.error)]
    differences = tuple(
        Difference(*place, first.answer, second.answer)
        for place, first, second in answered
        if first.answer != second.answer
    )
    same = _share(len(answered) - len(differences), len(answered))
    if differences:
        return "does not repeat", same, differences
    return ("repeats" if answered else "cannot tell"), same, ()


def _obedience(controls: Sequence[Control], replies: Mapping[Place, Reply]) -> tuple[Share, tuple[Obedience, ...]]:
    """Count the answers to classifications that name exactly one option, in all and by instruction."""
    found: dict[tuple[str, str], list[bool]] = {}
    for control in controls:
        reply = replies[control.place]
        if control.task.kind != "classification" or control.task.multi_label or reply.error:
            continue
        obeys = _names_one(_question(control, reply.answer))
        if obeys is not None:
            found.setdefault((control.task.id, control.sample.instruction), []).append(obeys)
    instructions = tuple(Obedience(*key, _share_of(answers)) for key, answers in found.items())
    return _share_of(one for answers in found.values() for one in answers), instructions


def _names_one(question: Question) -> bool | None:
    """Tell whether an answer names exactly one option, by the rules; None where the options are not known."""
    labels = Reading(question).labels
    options = question.options or (tuple(sorted(labels.names)) if labels.closed else ())
    if not options:
        return None
    return sum(decide(replace(question, target=option)).verdict == "yes" for option in options) == 1


def _task_probe(task: Task, metric: Metric, controls: Sequence[Control], marks: _Marks) -> TaskProbe:
    import numpy as np

    places = [control.place for control in controls if control.task is task]
    values: dict[Condition, float | None] = {}
    outcomes: dict[Condition, dict[str, int]] = {}
    for condition in CONDITIONS:
        rows = [marks[condition][place].row for place in places]
        values[condition] = metric.value(np.array(list(filter(None, rows)))) if any(rows) else None
        outcomes[condition] = dict(Counter(marks[condition][place].outcome for place in places))
    return TaskProbe(task.id, metric.name, metric.better, len(places), values, outcomes)


def _share_of(found: Iterable[bool]) -> Share:
    flags = list(found)
    return _share(sum(flags), len(flags))


def _share(count: int, of: int) -> Share:
    interval = exact_interval(count, of)
    return Share(count, of, interval.low, interval.high) if interval else Share(count, of, 0.0, 1.0)
