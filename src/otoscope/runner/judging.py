"""The judge stage: predictions in, judgements out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from otoscope.judges.judge import Judge
from otoscope.judges.labels import labels_of, name_of
from otoscope.judges.llm import JudgedKind
from otoscope.judges.question import Question
from otoscope.records import Judgement
from otoscope.runner.log import Log
from otoscope.runner.stage import run_stage
from otoscope.task import Task


def question_of(task: Task, row: Mapping[str, Any], answer: str) -> Question:
    """Return what a judge is asked about one row of ``samples.jsonl`` and the answer to it."""
    return Question(
        instruction=row["instruction"],
        target=row["target"],
        answer=answer,
        options=tuple(row["options"]),
        multi=task.multi_label,
        synonyms=task.synonyms,
        target_format=task.target_format,
    )


def is_choosable(question: Question) -> bool:
    """Tell whether every right label is among the options, as judges compare them; so it is where none are declared."""
    if not question.options:
        return True
    labels = labels_of(question)
    options = {name_of(option, musical=labels.musical) for option in question.options}
    return labels.target <= options | set(labels.letters.values())


def judge_task(
    task: Task,
    rows: Iterable[Mapping[str, Any]],
    judge: Judge,
    predictions: Log,
    log: Log,
    count: Callable[[str], None],
) -> None:
    """Make sure that every answer to ``task`` has a judgement in the log.

    Args:
        task: a classification or regression task.
        rows: the rows of ``samples.jsonl``, each with the key of its prediction.
        judge: the judge.
        predictions: the answers.
        log: where judgements go; a judgement that is there is not made again, unless it was an error.
        count: called with the status of each judgement.
    """
    kind: JudgedKind = "classification" if task.kind == "classification" else "regression"
    asked: set[str] = set()

    def todo() -> Iterator[tuple[Question, str]]:
        for row in rows:
            prediction = predictions.get(row["prediction"])
            if prediction is None or prediction["status"] != "ok" or row["expect"] == "abstain":
                continue  # of a row that holds nothing to answer no answer is right
            question = question_of(task, row, prediction["answer"])
            logged = find_judgement(question, kind, judge, log)
            key = judge.keys(question, kind)[-1]
            if logged is not None and logged.status not in ("undecided", "error"):
                count(logged.status)
            elif key in asked or (logged is not None and logged.key == key and logged.status == "undecided"):
                count("ok" if logged is None else logged.status)
            else:
                asked.add(key)
                yield question, row["id"]

    def work(batch: Sequence[tuple[Question, str]]) -> list[tuple[Question, Judgement]]:
        return [(question, judge.ask(question, kind, sample)) for question, sample in batch]

    def emit(judged: tuple[Question, Judgement]) -> None:
        question, judgement = judged
        log.append(judgement.to_json())
        count(judgement.status)
        if judgement.status != "error":  # the log knows it from now on; what failed is not tried again in this run
            asked.remove(judge.keys(question, kind)[-1])

    run_stage(todo(), work, emit, concurrency=judge.concurrency)


def find_judgement(question: Question, kind: JudgedKind, judge: Judge, log: Log) -> Judgement | None:
    """Return the logged judgement of ``question``: the first one that decides, else the last one there is."""
    found = None
    for key in judge.keys(question, kind):
        row = log.get(key)
        if row is not None:
            found = Judgement.from_json(row)
            if found.status != "undecided":
                return found
    return found
