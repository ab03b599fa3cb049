"""Judges: does an answer match (a classification), and which value does it hold (a regression)."""

from otoscope.judges.extract import extract
from otoscope.judges.llm import judge_with_llm, parse_value, parse_verdict, prompt_digest
from otoscope.judges.question import Question, Ruling
from otoscope.judges.rules import RULES_VERSION, decide

__all__ = [
    "RULES_VERSION",
    "Question",
    "Ruling",
    "decide",
    "extract",
    "judge_with_llm",
    "parse_value",
    "parse_verdict",
    "prompt_digest",
]
