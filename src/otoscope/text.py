"""Normalisers and tokenisers, as plain functions that the metrics name in their signatures.

A normaliser is ``str -> str`` and a tokeniser is ``str -> Sequence[str]``. Whoever changes what a normaliser
returns gives it a new version in ``NORMALISERS``, so that two scores with one signature stay comparable.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Final

#: Thai, Lao, Burmese, Khmer, kana and Han: scripts in which a space does not separate words.
_UNSPACED: Final = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_UNSPACED_CHARACTER: Final = re.compile(rf"[{_UNSPACED}]")
_MOST_A_WORD: Final = 4
_MIXED_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_SPACE_BESIDE_UNSPACED: Final = re.compile(rf"(?<=[{_UNSPACED}])\s+|\s+(?=[{_UNSPACED}])")
_LISTED_TOKEN: Final = re.compile(r"[^\s,;()\[\]{}\"']+")
_LOOSE_APOSTROPHE: Final = re.compile(r"(?<!\w)'|'(?!\w)")
_APOSTROPHES: Final = "'\u2018\u2019\u201b\u02bc\uff07"


class _Replacements(dict[int, str]):
    """For ``str.translate``: what each code point becomes, found once and remembered."""

    def __init__(self, replace: Callable[[str], str]) -> None:
        super().__init__()
        self._replace = replace

    def __missing__(self, code: int) -> str:
        self[code] = found = self._replace(chr(code))
        return found


def _without_format(character: str) -> str:
    return "" if unicodedata.category(character) == "Cf" else character


def _without_punctuation(character: str) -> str:
    if character in _APOSTROPHES:
        return "'"
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    return " " if category.startswith("P") else character


_FORMAT_REMOVED: Final = _Replacements(_without_format)
_PUNCTUATION_REMOVED: Final = _Replacements(_without_punctuation)


def clean_text(text: str) -> str:
    """Return ``text`` with each half of a broken surrogate pair, which JSON can spell and UTF-8 cannot, as U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def raw(text: str) -> str:
    """Return the text as it is; published results of raw outputs are scored so."""
    return text


def folded(text: str) -> str:
    """Return the text in NFC and case-folded, without invisible format characters. Punctuation stays."""
    decomposed = unicodedata.normalize("NFD", text.translate(_FORMAT_REMOVED))
    return unicodedata.normalize("NFC", decomposed.casefold())


def composed(text: str) -> str:
    """Return the text in NFC, without invisible format characters. Case and punctuation stay."""
    return unicodedata.normalize("NFC", text.translate(_FORMAT_REMOVED))


def standard(text: str) -> str:
    """Return the words alone: NFC, case-folded, without punctuation, separated by single spaces.

    A punctuation mark becomes a space, so that two words it joined stay two. An apostrophe inside a word stays, in
    its straight form. Marks, accents and symbols stay: removing them would lower the error rates of the languages
    that are written with them.
    """
    if text.isascii():
        plain = text.translate(_PUNCTUATION_REMOVED).casefold()
    else:
        # Folded from one normal form, so that canonically equal texts stay equal. Folding may bring forth an
        # apostrophe, so punctuation goes after it.
        decomposed = unicodedata.normalize("NFD", text).casefold()
        plain = unicodedata.normalize("NFC", decomposed.translate(_PUNCTUATION_REMOVED))
    if "'" in plain:
        plain = _LOOSE_APOSTROPHE.sub(" ", plain)
    return " ".join(plain.split())


def words(text: str) -> list[str]:
    """Return what white space of any kind separates: newline, tab, no-break and ideographic space included."""
    return text.split()


def runs_on(text: str) -> bool:
    """Tell whether words of a script that is written without spaces stand together, so that spaces find none of them.

    They have more than four characters on average then; words of Chinese and Japanese have about two. Thai and its
    like have about four, so that there a text may be taken for one that runs on although someone put spaces into it.
    """
    if text.isascii():
        return False
    lengths = [len(found) for word in words(standard(text)) if (found := _UNSPACED_CHARACTER.findall(word))]
    return sum(lengths) > _MOST_A_WORD * len(lengths)


def characters(text: str) -> str:
    """Return the characters: a run of white space is one space, and none beside a script written without spaces."""
    spaced = " ".join(text.split())
    return spaced if spaced.isascii() else _SPACE_BESIDE_UNSPACED.sub("", spaced)


def all_characters(text: str) -> str:
    """Return every character between the first and the last that is not white space."""
    return text.strip()


def mixed(text: str) -> list[str]:
    """Return one token a character for scripts written without spaces, and one a word elsewhere."""
    return _MIXED_TOKEN.findall(text)


def listed(text: str) -> list[str]:
    """Return the items of a list written with spaces, commas, semicolons, brackets or quotes around them."""
    return _LISTED_TOKEN.findall(text)


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "raw": raw,
    "composed-1": composed,
    "folded-1": folded,
    "standard-1": standard,
}

TOKENISERS: Final[Mapping[str, Callable[[str], Sequence[str]]]] = {
    "word": words,
    "character": characters,
    "any-character": all_characters,
    "mixed": mixed,
    "listed": listed,
}
