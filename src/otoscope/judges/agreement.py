"""How far a judge agrees with people: over rows that a person has labelled."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from otoscope.errors import TaskError
from otoscope.judges.extract import canonical
from otoscope.judges.form import is_real, literal
from otoscope.judges.judge import Judge
from otoscope.judges.llm import JudgedKind
from otoscope.judges.rows import AnswerRow, judge_answers
from otoscope.records import Judgement
from otoscope.stats import exact_interval

NOT_APPLICABLE: Final = "N/A"
#: What a judge may say instead of a ruling.
UNRULED: Final = ("undecided", "unparsed", "error")
#: The key of a row that holds the label of a person.
LABEL_KEYS: Final[Mapping[JudgedKind, str]] = {"classification": "verdict", "regression": "value"}
#: Numbers that differ by less than this share are one value: a person writes fewer digits than a conversion of units.
_TOLERANCE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Share:
    """A number of rows among others, with the exact 95 % interval of their share."""

    count: int
    n: int

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; a share of no rows is the word ``undefined``."""
        interval = exact_interval(self.count, self.n)
        low, high = (interval.low, interval.high) if interval else ("undefined", "undefined")
        share = self.count / self.n if self.n else "undefined"
        return {"count": self.count, "n": self.n, "share": share, "low": low, "high": high}

    def __str__(self) -> str:
        interval = exact_interval(self.count, self.n)
        if interval is None:
            return "none of 0"
        return f"{self.count / self.n:.1%} ({self.count}/{self.n}; 95 % {interval.low:.1%} to {interval.high:.1%})"


@dataclass(frozen=True, slots=True)
class Repeats:
    """What came of judging all rows again, each time in another order.

    Attributes:
        times: how often.
        flipped: the ids of the rows on which the judge did not always say the same.
        flips: their share.
        agreed: in each repeat, how many rows got the person's label.
    """

    times: int
    flipped: Sequence[str]
    flips: Share
    agreed: Sequence[int]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What one judge said of labelled rows.

    Attributes:
        judge: the id of the judge.
        kind: the kind of the rows.
        decided: rows on which the judge gave a verdict, a value or N/A.
        agreement: of these, the rows on which it gave the person's label.
        agreement_of_all: the same of all rows; a row without a ruling does not agree.
        confusion: rows by the person's label and by what the judge said. Where labels are values, a label is ``value``
            or ``N/A``, and the judge said ``the value``, ``another value`` or ``N/A``.
        disagreed: the ids of the decided rows on which judge and person differ.
        repeats: what came of judging again, if that was asked for.
    """

    judge: str
    kind: JudgedKind
    decided: Share
    agreement: Share
    agreement_of_all: Share
    confusion: Mapping[str, Mapping[str, int]]
    disagreed: Sequence[str]
    repeats: Repeats | None

    def unruled(self) -> dict[str, int]:
        """Return how many rows have no ruling, by ``undecided``, ``unparsed`` and ``error``."""
        return {status: sum(row.get(status, 0) for row in self.confusion.values()) for status in UNRULED}

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values."""
        content: dict[str, Any] = {
            "judge": self.judge,
            "kind": self.kind,
            "n": self.decided.n,
            "decided": self.decided.to_json(),
            "agreement": self.agreement.to_json(),
            "agreement_of_all": self.agreement_of_all.to_json(),
            **self.unruled(),
            "confusion": {label: dict(row) for label, row in self.confusion.items()},
            "disagreed": list(self.disagreed),
        }
        if self.repeats:
            content["repeats"] = {
                "times": self.repeats.times,
                "flips": self.repeats.flips.to_json(),
                "flipped": list(self.repeats.flipped),
                "agreed": list(self.repeats.agreed),
            }
        return content


def measure(rows: Sequence[AnswerRow], judge: Judge, kind: JudgedKind, *, repeats: int = 0, seed: int = 0) -> Agreement:
    """Judge labelled rows and compare with the labels.

    Args:
        rows: rows with labels.
        judge: the judge.
        kind: the kind of the rows.
        repeats: how often to judge all rows again, each time in another order.
        seed: seed of these orders.

    Raises:
        TaskError: a row has no label of that kind.
    """
    labels = [label_of(row, kind) for row in rows]
    said = [_said(judgement) for judgement in judge_answers(rows, judge, kind)]
    decided = [one not in UNRULED for one in said]
    agreed = list(map(same, labels, said))
    confusion: dict[str, Counter[str]] = {}
    for label, one in zip(labels, said, strict=True):
        heading, cell = (label, one) if kind == "classification" else _cell(label, one)
        confusion.setdefault(heading, Counter())[cell] += 1
    return Agreement(
        judge=judge.id,
        kind=kind,
        decided=Share(sum(decided), len(rows)),
        agreement=Share(sum(agreed), sum(decided)),
        agreement_of_all=Share(sum(agreed), len(rows)),
        confusion=confusion,
        disagreed=[row.id for row, *is_ in zip(rows, decided, agreed, strict=True) if is_ == [True, False]],
        repeats=_repeat(rows, judge, kind, labels, said, repeats, seed) if repeats else None,
    )


def label_of(row: AnswerRow, kind: JudgedKind) -> str:
    """Return the label that a person gave a row: ``yes`` or ``no``, a value in canonical form, or ``N/A``.

    Raises:
        TaskError: the row has no such label.
    """
    key, label = LABEL_KEYS[kind], row.content.get(LABEL_KEYS[kind])
    if kind == "classification":
        if not isinstance(label, str) or label not in {"yes", "no"}:
            raise TaskError(f"{row.where}: {key}: must be yes or no, as a person judged, not {label!r}")
        return label
    value = canonical(label, row.question) if isinstance(label, str) and label != NOT_APPLICABLE else label
    if not isinstance(value, str):
        raise TaskError(
            f"{row.where}: {key}: must be N/A or the value that the answer holds, as text in the form of the target "
            f"{row.question.target!r}, not {label!r}"
        )
    return value


def same(one: str, two: str) -> bool:
    """Return whether two labels are one: equal text, or equal JSON with numbers compared as numbers."""
    return one == two or _alike(literal(one), literal(two))


def _alike(one: Any, two: Any) -> bool:
    if is_real(one) and is_real(two):
        return bool(abs(one - two) <= _TOLERANCE * max(abs(one), abs(two)))
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(_alike, one, two))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[key], two[key]) for key in one)
    return one is not None and bool(one == two)


def _said(judgement: Judgement) -> str:
    """Return the verdict, the value, N/A, or the status of a judgement that has none of these."""
    if judgement.status == "na":
        return NOT_APPLICABLE
    return judgement.verdict or judgement.value or judgement.status


def _cell(label: str, said: str) -> tuple[str, str]:
    heading = label if label == NOT_APPLICABLE else "value"
    if said in {*UNRULED, NOT_APPLICABLE}:
        return heading, said
    return heading, "the value" if same(label, said) else "another value"


def _repeat(
    rows: Sequence[AnswerRow],
    judge: Judge,
    kind: JudgedKind,
    labels: Sequence[str],
    said: Sequence[str],
    times: int,
    seed: int,
) -> Repeats:
    order = random.Random(seed)  # noqa: S311 - a reproducible order, not a secret
    flipped: set[int] = set()
    agreed: list[int] = []
    for _ in range(times):
        places = order.sample(range(len(rows)), len(rows))
        again = map(_said, judge_answers([rows[place] for place in places], judge, kind))
        ruled = list(zip(places, again, strict=True))
        flipped.update(place for place, one in ruled if not same(said[place], one))
        agreed.append(sum(same(labels[place], one) for place, one in ruled))
    ids = [rows[place].id for place in sorted(flipped)]
    return Repeats(times, ids, Share(len(ids), len(rows)), agreed)
