"""A language model as judge: the prompt, the reading of its reply, one retry."""

import re
from dataclasses import replace
from importlib.resources import files
from typing import Final, Literal

from otoscope.judges.extract import canonical
from otoscope.judges.form import form_of
from otoscope.judges.question import Question, Ruling
from otoscope.models.chat import Chat
from otoscope.records import Verdict, add_usage, digest

JudgedKind = Literal["classification", "regression"]

#: Between the standing instructions and the question in a prompt file.
_DIVIDER: Final = "\n----\n"
_REMINDERS: Final = {
    "classification": "\nReminder: the last line must be exactly Result: YES or Result: NO.",
    "regression": "\nReminder: reply with one line only, Value: followed by the value in the wanted form or by N/A.",
}

_BRACKETS: Final = r"[\s*_`~<>()\[\]{}\"'\u2018-\u201d]"
_VERDICT = re.compile(
    rf"\bresults?\b(?:{_BRACKETS}{{0,9}}[:=*_<>\-\u2013\u2014]{{1,9}}{_BRACKETS}{{0,9}}|\s+is:?\s+)(?P<word>\w+)(?=(?P<rest>[^\n]*))",
    re.IGNORECASE,
)
_BARE_VERDICT = re.compile(r"\W*(yes|no)\W*", re.IGNORECASE)
_BOTH = re.compile(r"\W*(?:or|/|\|)\W*(?:yes|no)\b", re.IGNORECASE)
_VALUE = re.compile(r"^[\s*_`>-]*value[*_`\s]*[:=][*_`\s]*(?P<value>.*?)\s*$", re.IGNORECASE | re.MULTILINE)
_NOT_APPLICABLE = re.compile(r"n\W{0,2}a|not\s+applicable|none|null|no\s+value", re.IGNORECASE)


def judge_with_llm(question: Question, kind: JudgedKind, chat: Chat) -> Ruling:
    """Judge one answer with a language model.

    A reply that cannot be read is asked for once more with a reminder; after that the ruling is ``unparsed``. An
    answer without any text is ruled on without a call.

    Raises:
        ModelCallError: the model gave no reply.
    """
    if not question.answer.strip():
        empty = "The answer is empty."
        return Ruling("ok", "no", explanation=empty) if kind == "classification" else Ruling("na", explanation=empty)
    system, user = render(question, kind)
    reply, usage = "", dict[str, float]()
    for reminder in ("", _REMINDERS[kind]):
        said = chat.chat(system, user + reminder)
        reply = said.answer
        add_usage(usage, said.usage)
        ruling = _verdict_of(reply) if kind == "classification" else _value_of(reply, question)
        if ruling is not None:
            return replace(ruling, usage=usage)
    return Ruling("unparsed", explanation=reply.strip(), usage=usage)


def render(question: Question, kind: JudgedKind) -> tuple[str, str]:
    """Return the standing instructions and the question; of a regression's target only the form is shown."""
    system, _, user = _template(kind).partition(_DIVIDER)
    shown = question.target if kind == "classification" else form_of(question).describe()
    answer = _VERDICT.sub(_without_mark, _fenced(question.answer))
    return system, user.format(instruction=_fenced(question.instruction), shown=_fenced(shown), answer=answer).rstrip()


def prompt_digest(kind: JudgedKind) -> str:
    """Return the digest of all fixed text that a judge of this kind sends, for its signature."""
    return digest(_template(kind), _REMINDERS[kind])


def parse_verdict(text: str) -> Verdict | None:
    """Return the last verdict of a reply, or None.

    ``Result:`` may be bold or in any case, and the verdict in brackets. The last one decides even if it is neither yes
    nor no, so that a refusal to decide never falls back on an earlier mention. "YES or NO" repeats the question.
    """
    found = [match["word"] for match in _VERDICT.finditer(text) if not _BOTH.match(match["rest"])]
    if not found:
        lines = [line for line in text.splitlines() if line.strip()]
        bare = _BARE_VERDICT.fullmatch(lines[-1]) if lines else None
        found = [bare[1]] if bare else []
    verdicts: dict[str, Verdict] = {"yes": "yes", "no": "no"}
    return verdicts.get(found[-1].strip("_").casefold()) if found else None


def parse_value(text: str, question: Question) -> tuple[Literal["ok", "na"], str | None] | None:
    """Return ``("ok", value)`` or ``("na", None)`` for a reply, or None if it holds neither in the wanted form."""
    found = _VALUE.findall(text)
    said = (found[-1] if found else text).strip().strip("*_`<>\"'").strip()
    if _NOT_APPLICABLE.fullmatch(said.rstrip(".")):
        return "na", None
    value = canonical(said, question)
    return None if value is None else ("ok", value)


def _verdict_of(reply: str) -> Ruling | None:
    verdict = parse_verdict(reply)
    return Ruling("ok", verdict, explanation=reply.strip()) if verdict else None


def _value_of(reply: str, question: Question) -> Ruling | None:
    parsed = parse_value(reply, question)
    return Ruling(parsed[0], value=parsed[1], explanation=reply.strip()) if parsed else None


def _template(kind: JudgedKind) -> str:
    return files("otoscope.judges").joinpath("prompts", f"{kind}.txt").read_text(encoding="utf-8")


def _fenced(text: str) -> str:
    """Return text that cannot close the fence it stands in."""
    return text.strip().replace("<<<", "< < <").replace(">>>", "> > >")


def _without_mark(match: re.Match[str]) -> str:
    """Keep the words of a verdict in an answer but not its mark, so that a reply that repeats it holds no verdict."""
    return f"result {match['word']}"
