"""Whether an answer that names no label is of another kind than what is asked for, and so is wrong for certain."""

import re

from otoscope.judges.reading import Reading
from otoscope.judges.wording import (
    FILLER,
    HEDGES,
    NEGATORS,
    is_undetermined,
    is_word,
    word_set,
)

_FEWEST_WORDS = 4
#: How much of an answer must be words of English grammar, to be read as English.
_ENGLISH_WORDS = 2

#: A description may stand for a value with one of these.
_QUANTITIES = (word_set("vague_counts") | word_set("vague_values") | word_set("more_quantities")) - {"a", "an"}
#: What a question with one of these asks for can be described by many words.
_DESCRIBED = word_set("described")
_TONALITIES = word_set("tonalities")
#: Symbols such as Am7 or C.
_CHORD = re.compile(r"\b[A-G][#b♯♭]?(?:m|M|min|maj|dim|aug|sus|add)?\d*(?!\w)(?! [a-z])|\b[A-G](?:[#b♯♭]|m|min|maj)")


def gives_no_number(reading: Reading) -> bool:
    """Return whether an answer has nothing in it that could be one of the numbers that a question lists.

    Where these follow one another they may be counts or places, which a mother and her son or a last syllable are too.
    """
    words = set(reading.words)
    if not reading.labels.spread or not _is_english(reading) or any(map(str.isdigit, "".join(words))):
        return False
    return not reading.asked & _DESCRIBED and not words & (_QUANTITIES | NEGATORS | HEDGES)


def gives_no_key(reading: Reading) -> bool:
    """Return whether an answer to a question for a key, a chord or a note has nothing in it that could be one."""
    musical = reading.labels.musical or reading.labels.names == {"major", "minor"}
    if not musical or reading.mentions or not _is_english(reading) or _CHORD.search(reading.text):
        return False
    return not set(reading.words) & (_TONALITIES | NEGATORS)


def says_nothing(reading: Reading) -> bool:
    """Return whether an answer says that it is hard to tell, and nothing else."""
    return is_undetermined(reading.text) and not reading.mentions


def _is_english(reading: Reading) -> bool:
    words = [word for word in reading.words if is_word(word)]
    grammar = sum(word in FILLER for word in words)
    return len(words) >= _FEWEST_WORDS and grammar >= _ENGLISH_WORDS and reading.question.answer.isascii()
