"""Answers that give the letter or the number of a listed option."""

import re

from otoscope.judges.question import Ruling
from otoscope.judges.reading import REJECTING, Reading
from otoscope.judges.verdicts import choice, undecided
from otoscope.judges.wording import (
    DENIALS,
    NEGATORS,
    is_number,
    tokens,
)

_LETTER = re.compile(
    r"""^\W*\(?([A-H])\)?\s*(?:$|[).:,\]-]\s*|\n) | \(([A-Ha-h])\) | ^\W*([a-h])(?:\)|\W*$) |
    \b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)(?:\s+is)?\s*(?::\s*)?\(?([A-H])\)?(?=[\s).:,]*$|[).:,]|\s*\n|\s+because)""",
    re.VERBOSE,
)
_NUMBERED = re.compile(
    r"""^\W*\(?([1-8])\)?\W*$ | ^\W*\(?([1-8])\)[\s,.:] |
    \b(?:option|choice|number|candidate|hypothesis|transcription)\s+\(?([1-8])\)?(?=\W*$|[).:,]\s|\s+because) |
    \b(?:answer|best|one|option|correct)\s+is:?\s+\(?([1-8])\)?\W*$""",
    re.VERBOSE | re.IGNORECASE,
)
#: A letter that an answer ends on and settles on.
_FINAL_LETTER = re.compile(
    r"\b(?:hence|therefore|thus|so|(?:correct |right |best |final )?answer is|best match is|"
    r"i (?:would )?(?:choose|pick|select))\b[:,\s]*"
    r"(\([A-Ha-h]\))\W*$",
    re.IGNORECASE,
)
#: In the sentence of a letter, may say that another one is meant.
_WORSE = frozenset({"wrong", "worst", "least", "second", "close"})
_OPENS_WITH_NUMBER = re.compile(r"\W*\([1-8]\)(?!.*\([1-8]\))", re.DOTALL)
_BRACKETED_LETTER = re.compile(r"\([A-Ha-h]\)")
#: Stand before the number of an option.
_NUMBERING = frozenset({"number", "candidate", "hypothesis", "transcription"})


def by_letter(reading: Reading) -> Ruling | None:
    """Judge an answer that gives the letter or number of one of the options that are listed with them."""
    numbered = "1" in reading.labels.letters
    pattern = _NUMBERED if numbered else _LETTER
    text = _last_letter(reading.text)
    letters = {letter.upper() for match in pattern.findall(text) for letter in match if letter}
    labels = {reading.labels.letters[letter] for letter in letters if letter in reading.labels.letters}
    if len(letters) != 1 or len(labels) != 1:
        return None
    if text != reading.text:
        return choice(reading, labels, "ends on the letter of")
    if reading.chosen - labels - {letter.lower() for letter in reading.labels.letters}:
        return undecided("The letter and the words of the answer differ.")
    first = pattern.search(reading.text)
    rejected = not reading.chosen and (REJECTING | {"exclude", "rule"}) & set(reading.words)
    if rejected or (first and DENIALS & set(tokens(reading.text[: first.start()]))):
        return undecided("The letter may be denied.")
    # A number may count, or stand before a remark on its option.
    bracketed = _OPENS_WITH_NUMBER.match(text) is not None
    denied = DENIALS & set(reading.words)
    if numbered and not reading.chosen and (denied or (_remarks(reading) and not bracketed)):
        return undecided("The number need not be the answer.")
    return choice(reading, labels, "gives the letter of")


def _last_letter(text: str) -> str:
    """Return the letter in brackets that an answer ends on after it settled, such as "hence (B)", else the answer."""
    last = _FINAL_LETTER.search(text)
    if last is None or not _BRACKETED_LETTER.search(text[: last.start()]):
        return text
    sentence = re.split(r"[.?!\n]", text[: last.start()])[-1]
    return text if (NEGATORS | _WORSE) & set(tokens(sentence)) else last[1]


def _remarks(reading: Reading) -> bool:
    """Return whether an answer says more than filler, numbers and words of the question."""
    return any(not is_number(word) and word not in _NUMBERING for word in reading.other_words)
