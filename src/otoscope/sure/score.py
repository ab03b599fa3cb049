"""Counts to measures: what a set says of a model, alone and behind a gate. Pure functions, no files.

Supported rows are to be answered, unsupported ones are to be left alone. Turning a supported row away is an error, so
the accuracy counts it as wrong; the word error rate counts answers only, and so is told with the rows that it rests on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from otoscope.metrics.edit import edits
from otoscope.stats import Interval, exact_interval
from otoscope.text import standard

RIGHT_WER = 0.5
"""A transcript is right up to this word error rate. The paper is silent; noisy rows rule out an exact match."""

FIRST_WORD = "first-word"

State = Literal["answered", "failed", "missing"]
"""failed: the model, the audio or the gate failed. missing: there is no record of an answer, so none can be scored."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a set: what a model answered, and what a gate made of it.

    Attributes:
        id: the sample's id.
        family: what was done to the source.
        kind: the larger class of families.
        cluster: the source.
        supported: whether it is to be answered.
        state: whether there is an answer.
        right: whether the answer to a supported row is right.
        refused: whether the model refused, in words of the audited list.
        errors: word errors of a transcript.
        words: words of its target; 0 where no transcript was asked for.
        admitted: whether the gate lets the model be asked; always, without a gate.
    """

    id: str
    family: str
    kind: str
    cluster: str
    supported: bool
    state: State = "answered"
    right: bool = False
    refused: bool = False
    errors: float = 0
    words: float = 0
    admitted: bool = True

    @property
    def answered(self) -> bool:
        """Whether there is an answer that is no refusal, and the gate does not stand before it."""
        return self.admitted and self.state == "answered" and not self.refused

    @property
    def failed(self) -> bool:
        """Whether it is admitted and there is nothing to score."""
        return self.admitted and self.state != "answered"

    @property
    def handled(self) -> bool:
        """Whether the system did what it should: answered rightly, or did not answer."""
        if self.supported:
            return self.answered and self.right
        return not self.admitted or (self.state == "answered" and self.refused)


def behind_gate(rows: Iterable[Row], admitted: Iterable[bool]) -> list[Row]:
    """Return the rows as they are behind a gate that admits these, in the same order."""
    return [replace(row, admitted=admits) for row, admits in zip(rows, admitted, strict=True)]


class Marked(NamedTuple):
    """What a transcript is worth.

    Attributes:
        right: whether it counts as right.
        errors: word errors.
        words: words of the target; 0 where one word was asked for, which has no place in a word error rate.
    """

    right: bool
    errors: float
    words: float


def mark(target: str, answer: str, asked: str) -> Marked:
    """Mark an answer to a supported row, case and punctuation aside.

    Args:
        target: the transcript, or its first word.
        answer: what the model answered.
        asked: ``first-word``, which the answer must equal; of anything else half of the words may be wrong.
    """
    said, expected = standard(answer), standard(target)
    if asked == FIRST_WORD:
        return Marked(said == expected, 0, 0)
    errors, words = edits(expected.split(), said.split())
    return Marked(errors <= RIGHT_WER * words, errors, words)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The quotient; None of none."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Clopper-Pearson interval of 95 %, as if the rows were independent of each other, which they are not."""
        return exact_interval(self.count, self.of)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over rows; every measure is a quotient of two of them.

    Attributes:
        supported: rows that are to be answered.
        retained: those that the gate admits.
        right: those that are answered rightly.
        unsupported: rows that are to be left alone.
        turned_away: those that the gate does not admit.
        refused: those that it admits and the model refuses.
        failed: rows of either sort that are admitted and have no answer; they count as wrong.
        answered: supported transcripts that were answered.
        errors: word errors in them.
        words: words of their targets.
    """

    supported: int = 0
    retained: int = 0
    right: int = 0
    unsupported: int = 0
    turned_away: int = 0
    refused: int = 0
    failed: int = 0
    answered: int = 0
    errors: float = 0
    words: float = 0

    @property
    def supported_accuracy(self) -> Share:
        """Supported rows that are answered rightly; one that is turned away or refused is not."""
        return Share(self.right, self.supported)

    @property
    def retention(self) -> Share:
        """Supported rows that the gate admits."""
        return Share(self.retained, self.supported)

    @property
    def gate_rejection(self) -> Share:
        """Gate R.: unsupported rows that the gate turns away."""
        return Share(self.turned_away, self.unsupported)

    @property
    def system_rejection(self) -> Share:
        """Sys. R.: unsupported rows that the gate turns away or the model refuses."""
        return Share(self.turned_away + self.refused, self.unsupported)

    @property
    def calls(self) -> Share:
        """Rows about which the model is asked."""
        return Share(self.retained + self.unsupported - self.turned_away, self.supported + self.unsupported)

    @property
    def reduction(self) -> Share:
        """Rows about which it is not asked."""
        return Share(self.calls.of - self.calls.count, self.calls.of)

    @property
    def wer(self) -> float | None:
        """Word errors per word, over the supported transcripts that were answered."""
        return self.errors / self.words if self.words else None


def tally(rows: Iterable[Row]) -> Tally:
    """Count the rows."""
    rows = list(rows)
    supported = [row for row in rows if row.supported]
    unsupported = [row for row in rows if not row.supported]
    transcripts = [row for row in supported if row.answered and row.words]
    return Tally(
        supported=len(supported),
        retained=sum(row.admitted for row in supported),
        right=sum(row.handled for row in supported),
        unsupported=len(unsupported),
        turned_away=sum(not row.admitted for row in unsupported),
        refused=sum(row.admitted and row.handled for row in unsupported),
        failed=sum(row.failed for row in rows),
        answered=len(transcripts),
        errors=sum(row.errors for row in transcripts),
        words=sum(row.words for row in transcripts),
    )


@dataclass(frozen=True, slots=True)
class Latency:
    """What a gate costs and saves, in sums over rows: medians of parts that take long now and then add up to nothing.

    Attributes:
        rows: the rows.
        gate: seconds of the gate over all of them; 0 without one.
        asked: seconds of the model over those that it is asked about.
        model: seconds of the model over all of them; None where nobody asked about some.
    """

    rows: int
    gate: float
    asked: float
    model: float | None

    @property
    def without(self) -> float | None:
        """Seconds a row of the model alone."""
        return None if self.model is None else self.model / self.rows

    @property
    def behind(self) -> float:
        """Seconds a row of both: every row passes the gate, the model gets what it admits."""
        return (self.gate + self.asked) / self.rows

    @property
    def break_even(self) -> float | None:
        """Share of the model's time that has to be saved for the gate to save any; None of no time.

        It is the share of rows that has to be turned away if these take the model as long as others. Above 1 the gate
        takes longer than the model, and cannot save time.
        """
        return self.gate / self.model if self.model else None


class Pairing(NamedTuple):
    """Rows on which two systems differ.

    Attributes:
        gained: rows that the second handles and the first does not.
        lost: the reverse.
    """

    gained: int
    lost: int


def pair(first: Sequence[Row], second: Sequence[Row]) -> Pairing:
    """Compare two systems over the same rows in the same order."""
    both = list(zip(first, second, strict=True))
    return Pairing(
        sum(two.handled and not one.handled for one, two in both),
        sum(one.handled and not two.handled for one, two in both),
    )
