from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.judges import Question, judge_with_llm, parse_value, parse_verdict, prompt_digest
from otoscope.judges.llm import JudgedKind, render
from otoscope.models import Reply

KINDS: tuple[JudgedKind, JudgedKind] = ("classification", "regression")
EMOTION = Question("Which emotion?", "happy", "The speaker sounds glad.")


class FakeChat:
    """Replies with what it was given, in turn, and keeps what it was asked."""

    id = "fake"
    settings: dict[str, Any] = {}  # noqa: RUF012 - the protocol asks for a mapping
    concurrency = 1

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def chat(self, system: str, user: str) -> Reply:
        self.asked.append((system, user))
        return Reply(self.replies[len(self.asked) - 1], usage={"prompt_tokens": 5})


@pytest.mark.parametrize(
    "reply",
    [
        "It matches.\nResult: YES",
        "Result: <YES>",
        "**Result:** yes",
        "**Result: YES**",
        "RESULT - Yes.",
        "result is yes",
        "Result:\nYES",
        'Result: "yes"',
        "Result: NO, at first sight.\nOn reflection:\nResult: YES",
        "Answer with Result: YES or NO. Result: YES",
        "YES",
        "The two agree.\n\n**Yes**",
    ],
)
def test_a_match_is_read_in_every_form(reply: str) -> None:
    assert parse_verdict(reply) == "yes"
    assert parse_verdict(reply.replace("NO, at", "YES, at").replace("YES\n", "yes\n") + "\nResult: no") == "no"


@pytest.mark.parametrize(
    "reply", ["", "It matches.", "Result: YES or NO", "Result: MAYBE", "Result: YES\nResult: unclear"]
)
def test_what_is_no_verdict_is_not_read_as_one(reply: str) -> None:
    assert parse_verdict(reply) is None


@given(st.text(max_size=200), st.sampled_from(["yes", "no"]))
def test_the_last_verdict_wins(before: str, verdict: str) -> None:
    assert parse_verdict(f"{before}\nResult: {verdict.upper()}") == verdict


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Value: 9", ("ok", "9")),
        ("**Value:** 9.50", ("ok", "9.5")),
        ("The answer says nine.\nValue: nine", ("ok", "9")),
        ("7", ("ok", "7")),
        ("Value: N/A", ("na", None)),
        ("Value: n.a.", ("na", None)),
        ("value: Not applicable", ("na", None)),
        ("Value: about nine or ten", None),
        ("I cannot say.", None),
        ("", None),
    ],
)
def test_values_are_read_and_held_to_the_form(reply: str, expected: object) -> None:
    assert parse_value(reply, Question("Rate it from 0 to 10.", "3", "great")) == expected


def test_lists_and_json_are_no_numbers() -> None:
    beats = Question("When are the beats?", "[0.5, 1.0]", "At half a second and at one.")
    assert parse_value("Value: [0.5, 1.0]", beats) == ("ok", "[0.5, 1.0]")
    assert parse_value("Value: 0.5", beats) is None
    entities = Question("Which entities?", '{"PLACE": ["Rome"]}', "Paris is a place.")
    assert parse_value('Value: {"PLACE": ["Paris"]}', entities) == ("ok", '{"PLACE": ["Paris"]}')


def test_a_readable_reply_needs_one_call() -> None:
    chat = FakeChat("Glad means happy.\nResult: YES")
    ruling = judge_with_llm(EMOTION, "classification", chat)
    assert (ruling.status, ruling.verdict) == ("ok", "yes")
    assert ruling.explanation.startswith("Glad means happy.")
    assert len(chat.asked) == 1


@pytest.mark.parametrize(("second", "status"), [("Result: NO", "ok"), ("Hmm.", "unparsed")])
def test_an_unreadable_reply_is_asked_for_once_more(second: str, status: str) -> None:
    chat = FakeChat("They seem alike.", second)
    ruling = judge_with_llm(EMOTION, "classification", chat)
    assert ruling.status == status
    assert ruling.usage == {"prompt_tokens": 10}, "both calls are paid for"
    (system, first), (again, reminded) = chat.asked
    assert again == system
    assert reminded.startswith(first)
    assert reminded != first


@pytest.mark.parametrize(("kind", "status"), [("classification", "ok"), ("regression", "na")])
def test_an_empty_answer_needs_no_call(kind: JudgedKind, status: str) -> None:
    chat = FakeChat()
    assert judge_with_llm(Question("Rate it.", "3", " \n"), kind, chat).status == status
    assert chat.asked == []


def test_a_regression_without_a_value_is_na() -> None:
    assert judge_with_llm(Question("Rate it.", "3", "It is fine."), "regression", FakeChat("Value: N/A")).status == "na"


@given(st.integers(1000, 9999))
def test_the_prompt_of_a_regression_never_shows_the_target(target: int) -> None:
    system, user = render(Question("Rate it.", str(target), "good"), "regression")
    assert str(target) not in system + user


FENCES = st.sampled_from(["<<<", ">>>", "\n", "Result: YES", "**Result:** no", "{answer}", "{shown}"])


@given(st.lists(FENCES | st.text(max_size=20), min_size=1).map("".join), st.sampled_from(KINDS))
def test_no_answer_leaves_its_fence_or_repeats_as_a_verdict(answer: str, kind: JudgedKind) -> None:
    _, user = render(Question("Which?", "dog", answer), kind)
    opened, closed = user.split("<<<"), user.split(">>>")
    assert len(opened) == len(closed) == 2
    assert closed[1] == ""
    inside = opened[1].split(">>>")[0]
    assert parse_verdict(f"The answer was: {inside}\nI stop here.") is None


def test_the_standing_instructions_do_not_depend_on_the_question() -> None:
    for kind in KINDS:
        systems = {render(Question(text, text, text), kind)[0] for text in ("a", "b")}
        assert len(systems) == 1
        assert len(systems.pop().split()) < 200


def test_digests_tell_prompts_apart() -> None:
    assert len({prompt_digest(kind) for kind in KINDS}) == len(KINDS)
