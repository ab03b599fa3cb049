"""Whether an answer that names no label is of another kind than what is asked for, and so is wrong for certain."""

from otoscope.judges.reading import Reading
from otoscope.judges.wording import (
    FILLER,
    HEDGES,
    NEGATORS,
    TOPICS,
    is_number,
    is_undetermined,
    is_word,
    tokens,
    word_set,
)

_FEWEST_WORDS = 4
#: How much of an answer must be words of English grammar, to be read as English.
_ENGLISH_WORDS = 2

_QUANTITIES = (word_set("vague_counts") | word_set("vague_values") | word_set("more_quantities")) - {"a", "an"}
_COUNTED = word_set("persons") | {"many", "number", "count"}
_REPORTING = word_set("reporting") | word_set("spoken_things") | FILLER | TOPICS
_CHORD_WORDS = frozenset({"major", "minor", "sharp", "flat", "diminished", "augmented"})


def gives_no_number(reading: Reading) -> bool:
    """Return whether an answer to a question for a number has nothing in it that could be one."""
    labels, words = reading.labels, set(reading.words)
    if not labels.numbers or not _is_english(reading) or any(map(is_number, reading.words)):
        return False
    # "A man and a woman" are two.
    one_each = {"a", "an", "and"} if "1" in labels.target or reading.asked & _COUNTED else set[str]()
    return not words & (_QUANTITIES | NEGATORS | HEDGES | one_each)


def gives_no_key(reading: Reading) -> bool:
    """Return whether an answer to a question for a key, a chord or a note has nothing in it that could be one."""
    musical = reading.labels.musical or reading.labels.names == {"major", "minor"}
    if not musical or reading.mentions or not _is_english(reading):
        return False
    return not set(reading.words) & (_CHORD_WORDS | NEGATORS)


def says_nothing(reading: Reading) -> bool:
    """Return whether an answer says that it is hard to tell, and names no label at all."""
    return is_undetermined(reading.text) and not reading.mentions


def reports_speech(reading: Reading) -> bool:
    """Return whether an answer only quotes what is said in the audio, and no label with it."""
    answer = tokens(reading.question.answer)
    if reading.labels.polar or len(reading.words) >= len(answer) - _FEWEST_WORDS:
        return False
    quoted = '"' in answer or "'" in reading.question.answer
    named = any(reading.labels.at(answer, at) for at in range(len(answer)))
    return quoted and not named and set(filter(is_word, reading.words)) <= _REPORTING


def _is_english(reading: Reading) -> bool:
    words = [word for word in reading.words if is_word(word)]
    grammar = sum(word in FILLER for word in words)
    return len(words) >= _FEWEST_WORDS and grammar >= _ENGLISH_WORDS and reading.question.answer.isascii()
