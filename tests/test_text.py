"""Normalisers keep what writing needs and drop what it does not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otoscope import text

texts = st.text(max_size=30)


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("Hello,\n\tWorld!", "hello world"),
        ("well-known e-mail", "well known e mail"),
        ("Don\u2019t \u2018quote\u2019 the dogs' rock 'n' roll", "don't quote the dogs rock n roll"),
        ("cafe\u0301 CAFÉ", "café café"),
        ("e\u200b\u0301t\u00ade", "éte"),
        ("L\u2019e\u0301'e\u0301te\u0301", "l'é'été"),
        ("STRAẞE straße", "strasse strasse"),
        ("ŉ", "n"),
        ("नमस्ते, दुनिया!", "नमस्ते दुनिया"),
        ("كَتَبَ؟", "كَتَبَ"),
        ("می\u200cخواهم", "میخواهم"),  # noqa: RUF001
        ("ぎょうざ。", "ぎょうざ"),
        ("5 o'clock, $3.50 & 20%", "5 o'clock $3 50 20"),
        ("... !", ""),
    ],
)
def test_standard(given_text: str, expected: str) -> None:
    assert text.standard(given_text) == expected


@given(texts)
def test_standard_is_idempotent_and_clean(given_text: str) -> None:
    once = text.standard(given_text)
    assert text.standard(once) == once
    assert once == " ".join(once.split())
    assert unicodedata.is_normalized("NFC", once)
    assert not [c for c in once if c != "'" and unicodedata.category(c)[0] == "P"]


@pytest.mark.parametrize("normalise", [text.standard, text.folded, text.composed])
@given(texts)
def test_canonically_equal_texts_become_one(normalise: object, given_text: str) -> None:
    assert callable(normalise)
    forms = {normalise(unicodedata.normalize(form, given_text)) for form in ("NFC", "NFD")}
    assert len(forms) == 1


def test_composed_keeps_case_and_punctuation() -> None:
    assert text.composed("Te\u0301l.\u200b") == "Tél."
    assert text.folded("Te\u0301l.\u200b") == "tél."
    assert text.raw("Te\u0301l.\u200b") == "Te\u0301l.\u200b"


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("请把客厅的灯打开。", True),
        ("今天天气很好, 我们去公园吧", True),  # punctuation parts clauses, not words
        ("音楽を止めてください", True),
        ("สวัสดีครับผมชื่อสมชาย", True),
        ("播放 Bohemian Rhapsody 这首歌曲给我听", True),
        ("请 把 客厅 的 灯 打开", False),
        ("音楽 を 止めて ください", False),
        ("你好", False),
        ("음악을 멈춰 주세요", False),
        ("Straße nach Köln", False),
        ("", False),
    ],
)
def test_words_of_a_script_without_spaces_run_on_unless_someone_parts_them(given_text: str, expected: bool) -> None:
    assert text.runs_on(given_text) is expected


def test_words_split_at_any_white_space() -> None:
    assert text.words("a\nb\tc\u00a0d\u3000e\u2028f\n") == list("abcdef")


def test_characters_keep_a_space_between_spaced_words_alone() -> None:
    assert text.characters(" a  lot 今 天 x ") == "a lot今天x"
    assert text.characters("안녕 하세요") == "안녕 하세요"


def test_all_characters_drops_the_margins_alone() -> None:
    assert text.all_characters("\n 今 天 \n") == "今 天"


@pytest.mark.parametrize(
    ("given_text", "tokens"),
    [
        ("我今天 meeting 遲到了", ["我", "今", "天", "meeting", "遲", "到", "了"]),
        ("カラオケ go", ["カ", "ラ", "オ", "ケ", "go"]),
        ("안녕 하세요", ["안녕", "하세요"]),
        ("", []),
    ],
)
def test_mixed(given_text: str, tokens: list[str]) -> None:
    assert text.mixed(given_text) == tokens


@given(texts)
def test_mixed_tokens_hold_everything_but_space(given_text: str) -> None:
    assert "".join(text.mixed(given_text)) == "".join(given_text.split())


def test_listed_reads_printed_lists() -> None:
    assert text.listed("['C4', \"D#4\"]; (60,62)\n64") == ["C4", "D#4", "60", "62", "64"]
    assert text.listed("[]") == []
