"""A language model as judge: the prompt, the reading of its reply, one retry."""

import re
from importlib.resources import files
from typing import Final, Literal, Protocol

from otoscope.judges.extract import canonical
from otoscope.judges.form import form_of
from otoscope.judges.question import Question, Ruling
from otoscope.records import Verdict, digest

JudgedKind = Literal["classification", "regression"]

_REMINDERS: Final = {
    "classification": "\nReminder: the last line must be exactly Result: YES or Result: NO.\n",
    "regression": "\nReminder: reply with one line only, Value: followed by the value in the wanted form or by N/A.\n",
}
_SEPARATOR: Final = r"[\s*_`~<>()\[\]{}\"'“”:=\-–—]"
_VERDICT = re.compile(rf"\bresults?\b(?:{_SEPARATOR}*[:=*_<>\-–—]{_SEPARATOR}*|\s+is:?\s+)(?P<word>\w+)(?P<rest>[^\n]*)", re.I)
_BARE_VERDICT = re.compile(r"\W*(yes|no)\W*", re.I)
_BOTH = re.compile(r"\W*(?:or|/|\|)\W*(?:yes|no)\b", re.I)
_VALUE = re.compile(r"^[\s*_`>-]*value[*_`\s]*[:=][*_`\s]*(?P<value>.*?)\s*$", re.I | re.M)
_NOT_APPLICABLE = re.compile(r"(?:n\W{0,2}a|not\s+applicable|none|null|no\s+value)", re.I)


class Chat(Protocol):
    """A chat model. It decodes greedily, so that equal prompts get equal replies as far as it can see to it."""

    @property
    def id(self) -> str:
        """The name and revision of the model, for the signature of the judge."""

    def chat(self, prompt: str) -> str:
        """Return the reply to one user message.

        Raises:
            ModelCallError: the model gave no reply.
        """


def judge_with_llm(question: Question, kind: JudgedKind, chat: Chat) -> Ruling:
    """Judge one answer with a language model.

    A reply that cannot be read is asked for once more with a reminder; after that the ruling is ``unparsed``. An
    answer without any text is ruled on without a call.

    Raises:
        ModelCallError: the model gave no reply.
    """
    if not question.answer.strip():
        verdict: Verdict | None = "no" if kind == "classification" else None
        return Ruling("ok" if verdict else "na", verdict, explanation="The answer is empty.")
    prompt = render(question, kind)
    reply = ""
    for reminder in ("", _REMINDERS[kind]):
        reply = chat.chat(prompt + reminder)
        ruling = _ruling(reply, question, kind)
        if ruling is not None:
            return ruling
    return Ruling("unparsed", explanation=reply.strip())


def render(question: Question, kind: JudgedKind) -> str:
    """Return the prompt. The target of a regression is not in it, only the form of the value."""
    fields = {"instruction": _fenced(question.instruction), "answer": _fenced(question.answer)}
    if kind == "classification":
        fields["target"] = _fenced(question.target)
    else:
        fields["form"] = form_of(question).describe()
    return _template(kind).format(**fields)


def prompt_digest(kind: JudgedKind) -> str:
    """Return the digest of all fixed text that a judge of this kind sends, for its signature."""
    return digest(_template(kind), _REMINDERS[kind])


def parse_verdict(text: str) -> Verdict | None:
    """Return the last verdict of a reply, or None.

    ``Result:`` may be bold or in any case, and the verdict in brackets. The last one decides even if it is neither yes
    nor no, so that a refusal to decide never falls back on an earlier mention. "YES or NO" repeats the question.
    """
    found = [match for match in _VERDICT.finditer(text) if not _BOTH.match(match["rest"])]
    if found:
        return _as_verdict(found[-1]["word"])
    lines = [line for line in text.splitlines() if line.strip()]
    bare = _BARE_VERDICT.fullmatch(lines[-1]) if lines else None
    return _as_verdict(bare[1]) if bare else None


def parse_value(text: str, question: Question) -> tuple[Literal["ok", "na"], str | None] | None:
    """Return ``("ok", value)`` or ``("na", None)`` for a reply, or None if it holds neither in the wanted form."""
    found = _VALUE.findall(text)
    said = (found[-1] if found else text).strip().strip("*_`<>\"'").strip()
    if _NOT_APPLICABLE.fullmatch(said.rstrip(".")):
        return "na", None
    value = canonical(said, question)
    return None if value is None else ("ok", value)


def _ruling(reply: str, question: Question, kind: JudgedKind) -> Ruling | None:
    if kind == "classification":
        verdict = parse_verdict(reply)
        return Ruling("ok", verdict, explanation=reply.strip()) if verdict else None
    parsed = parse_value(reply, question)
    return Ruling(parsed[0], value=parsed[1], explanation=reply.strip()) if parsed else None


def _as_verdict(word: str) -> Verdict | None:
    match word.strip("_").casefold():
        case "yes":
            return "yes"
        case "no":
            return "no"
        case _:
            return None


def _template(kind: JudgedKind) -> str:
    return files("otoscope.judges").joinpath("prompts", f"{kind}.txt").read_text("utf-8")


def _fenced(text: str) -> str:
    """Return text that can neither close the fence it stands in nor hold a line that reads as a verdict."""
    text = text.strip().replace("<<<", "< < <").replace(">>>", "> > >")
    return _VERDICT.sub(lambda match: f"result {match['word']}{match['rest']}", text)
