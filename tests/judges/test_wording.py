import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope.judges.wording import is_refusal, phrase_list, tokens, without_quotes

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spell(number: int) -> str:
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f"-{ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return f"{ONES[number // 100]} hundred" + (f" and {spell(number % 100)}" if number % 100 else "")
    rest = number % 1000
    joint = " and " if 0 < rest < 100 else " " if rest else ""
    return f"{spell(number // 1000)} thousand{joint}{spell(rest) if rest else ''}"


@given(st.integers(0, 999_999))
def test_spelled_numbers_are_read(number: int) -> None:
    assert tokens(spell(number)) == [str(number)]


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4))
def test_numbers_in_a_row_stay_apart(numbers: list[int]) -> None:
    assert tokens(", ".join(map(spell, numbers))) == ", ".join(map(str, numbers)).replace(",", " ,").split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("this one is it", ["this", "one", "is", "it"]),
        ("0.5m-4.5m", ["0.5", "m", "~", "4.5", "m"]),
        ("-3 to 5", ["-3", "~", "5"]),
        ("It isn\u2019t C# — it\u2019s hip-hop", ["it", "is", "not", "c#", ";", "it", "is", "hip", "hop"]),
        ("7.0 = 007", ["7", "=", "7"]),
        ("the 1st of mp3", ["the", "1st", "of", "mp3"]),
        ("😀!", ["😀", "!"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help.",
        "As an AI language model, I have no ears.",
        "I cannot determine the emotion.",
        "It is impossible to say.",
        "No audio was provided.",
        "Please provide the audio file.",
    ],
)
def test_refusals(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["He is not happy.", "I can't hear any noise.", "The speaker cannot sing."])
def test_denials_are_no_refusals(text: str) -> None:
    assert not is_refusal(text)


def test_what_was_spoken_is_left_out() -> None:
    text = 'He says "stop it now please" and sounds "angry".'
    assert without_quotes(text, lambda quoted: quoted == "angry").split() == ["He", "says", "and", "sounds", '"angry".']


def test_no_wording_stands_in_two_families() -> None:
    wordings = [wording for family in phrase_list("families") for wording in family]
    assert len(wordings) == len(set(wordings))
