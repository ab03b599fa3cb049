"""The judges a user can name: ``rules``, ``llm:SPEC``, ``auto`` and ``auto:SPEC``."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from otoscope.errors import ModelCallError, UnknownNameError
from otoscope.judges.extract import extract
from otoscope.judges.llm import JudgedKind, judge_with_llm, prompt_digest
from otoscope.judges.question import Question, Ruling
from otoscope.judges.rules import RULES_VERSION, decide
from otoscope.models.chat import Chat, load_chat
from otoscope.models.protocol import Reply
from otoscope.records import Judgement, digest, dump_json

DEFAULT_JUDGE = "rules"
DEFAULT_LLM = "qwen2.5-coder-1.5b"
RULES = f"rules-{RULES_VERSION}"


class Judge:
    """Rules, a language model, or rules first and a language model for what they leave undecided.

    Args:
        spec: ``rules``, ``llm:SPEC``, ``auto`` or ``auto:SPEC``.
        chat: the language model; None for ``rules``.
        rules: the version of the rules; an earlier one only where its judgements are read from a log.
    """

    def __init__(self, spec: str, chat: Chat | None, rules: str = RULES) -> None:
        kind = _kind(spec)
        self.spec = spec
        self.chat = chat
        self.concurrency = chat.concurrency if chat else 1
        self._rules = kind != "llm"
        name = f"llm:{chat.id}" if chat else ""
        self.rules = rules
        self.id = {"rules": rules, "llm": name, "auto": f"{rules}, then {name}"}[kind]

    def prior(self, question: Question, kind: JudgedKind) -> Ruling | None:
        """Return what the rules say, at once; None if only the language model is asked, or must be."""
        if not self._rules:
            return None
        ruling = decide(question) if kind == "classification" else extract(question)
        return None if ruling.status == "undecided" and self.chat else ruling

    def rules_key(self, question: Question, kind: JudgedKind) -> str:
        """Return the key of the rules' judgement."""
        return digest(self.rules, kind, _question_digest(question))

    def llm_key(self, question: Question, kind: JudgedKind) -> str:
        """Return the key of the language model's judgement; it depends on the model, its settings and the prompt."""
        return digest(*self._llm_identity, prompt_digest(kind), kind, _question_digest(question))

    def keys(self, question: Question, kind: JudgedKind) -> list[str]:
        """Return the keys under which a judgement of ``question`` may be logged."""
        keys = [self.rules_key(question, kind)] if self._rules else []
        return [*keys, self.llm_key(question, kind)] if self.chat else keys

    def ask(self, question: Question, kind: JudgedKind, sample: str) -> Judgement:
        """Return the judgement of the rules, or of the language model where the rules leave it to that."""
        ruling = self.prior(question, kind)
        if ruling is not None:
            return _judgement(ruling, self.rules_key(question, kind), sample, self.rules)
        assert self.chat is not None  # noqa: S101 - prior returns None only then
        try:
            ruling = judge_with_llm(question, kind, self.chat)
        except ModelCallError as error:
            ruling = Ruling("error", explanation=str(error))
        return _judgement(ruling, self.llm_key(question, kind), sample, f"llm:{self.chat.id}")

    @functools.cached_property
    def _llm_identity(self) -> tuple[str, str]:
        return (self.chat.id, dump_json(dict(self.chat.settings))) if self.chat else ("", "")


@dataclass(frozen=True, slots=True)
class StoredChat:
    """The identity of a language model whose judgements are in a log; it answers nothing new."""

    id: str
    settings: Mapping[str, Any]
    concurrency: int = 1

    def chat(self, system: str, user: str) -> Reply:
        """Fail: scoring reads judgements and makes none.

        Raises:
            ModelCallError: always.
        """
        raise ModelCallError(f"{self.id} is not loaded, so {len(system) + len(user)} characters cannot be judged")


def load_judge(spec: str, options: Mapping[str, str] | None = None) -> Judge:
    """Load the judge that ``spec`` names.

    Args:
        spec: ``rules``, ``llm:SPEC``, ``auto`` or ``auto:SPEC``; SPEC is what ``load_chat`` takes.
        options: options of the language model.

    Raises:
        UnknownNameError: there is no such judge.
        ModelLoadingError: the language model cannot be had.
    """
    if _kind(spec) == "rules":
        return Judge(spec, None)
    return Judge(spec, load_chat(spec.partition(":")[2] or DEFAULT_LLM, options or {}))


def _kind(spec: str) -> Literal["rules", "llm", "auto"]:
    kind, _, llm = spec.partition(":")
    if kind == "rules" and not llm:
        return "rules"
    if kind == "llm" and llm:
        return "llm"
    if kind == "auto":
        return "auto"
    raise UnknownNameError("judge", spec, ("rules", "auto", "auto:SPEC", "llm:SPEC"))


def _judgement(ruling: Ruling, key: str, sample: str, judge: str) -> Judgement:
    return Judgement(key, sample, judge, ruling.status, ruling.verdict, ruling.value, ruling.explanation, ruling.usage)


def _question_digest(question: Question) -> str:
    parts = (
        question.instruction,
        question.target,
        question.answer,
        dump_json([question.options, question.multi, {k: list(v) for k, v in question.synonyms.items()}]),
        dump_json(dict(question.target_format)),
    )
    # Text may hold half of a surrogate pair, which JSON can spell and plain UTF-8 cannot.
    return digest(*(part.encode(errors="surrogatepass") for part in parts))
