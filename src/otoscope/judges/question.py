"""What a judge is asked and what it rules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from otoscope.records import JudgementStatus, Verdict

#: Rules leave an answer of more characters undecided: a loop that goes on for so long is no certain choice.
MOST_CHARACTERS: Final = 20_000

#: What colours the text of a terminal; its digits are no numbers.
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """One answer to judge, with all that a judge may look at.

    Attributes:
        instruction: what the model was asked.
        target: the right answer as the task gives it.
        answer: what the model said; untrusted text.
        options: the answers to choose from; empty if the task does not declare them.
        multi: whether the target may name several options, all of which must be chosen.
        synonyms: other wordings of a label, by label.
        target_format: the form of the value of a regression: ``type`` (number, list, intervals or json), ``unit``,
            ``low`` and ``high``. What is absent is read from the instruction or from the form of the target.
    """

    instruction: str
    target: str
    answer: str
    options: tuple[str, ...] = ()
    multi: bool = False
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    target_format: Mapping[str, Any] = field(default_factory=dict)

    def as_read(self) -> "Question":
        """Return the question with the answer that a person reads: after ``</think>``, and without escape sequences."""
        ends = [match.end() for match in _THOUGHT_END.finditer(self.answer)]
        return replace(self, answer=_ESCAPE.sub("", self.answer[ends[-1] if ends else 0 :]))


def why_unread(answer: str) -> str:
    """Return why rules do not read an answer without its finished thoughts, or ""; blanks are an empty answer."""
    if "<think" in answer.casefold():
        return "The answer ends within a thought."
    too_long = len(answer) > MOST_CHARACTERS and not answer.isspace()
    return f"The answer has more than {MOST_CHARACTERS} characters." if too_long else ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a judge says of one answer.

    Attributes:
        status: ``ok`` with a verdict or a value, or the word for what is missing.
        verdict: whether the answer matches, for a classification that could be decided.
        value: the value as canonical text, for a regression whose answer holds one.
        explanation: the rule that fired, or the reply of the model that judged.
        usage: what the calls of that model took.
    """

    status: JudgementStatus
    verdict: Verdict | None = None
    value: str | None = None
    explanation: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
