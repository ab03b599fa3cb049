"""What an answer to a yes/no question says."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise

from otoscope.judges.reading import JOINTS, Reading, sentences
from otoscope.judges.wording import (
    CLAUSE_END,
    FILLER,
    HEDGES,
    NEGATORS,
    SENTENCE_END,
    TOPICS,
    is_number,
    is_word,
    quotations,
    singular,
    stem,
    straight,
    tokens,
    word_set,
)

_YES_NO = {
    word: verdict
    for verdict, words in (
        ("yes", "yes yeah yep sí sì oui ja да 是 是的 はい 네"),
        ("no", "no nope nein nee нет 不是 いいえ 아니요"),
    )
    for word in words.split()
}
_PERSONS = word_set("persons")
_PRESENCE = word_set("presence")
_NOBODY = frozenset({"nobody", "none"})
_AUXILIARIES = word_set("auxiliaries")
_AFTER_NO = word_set("after_no")
_OPPOSITES = {"same": "different", "different": "same"}
_SEPARATE = {"separate": "different", "distinct": "different", "identical": "same"}
#: After "not", deny no more than that it is all.
_NOT_ALL = frozenset({"only", "just", "merely"})
#: In a question, deny something themselves, or compare, so that a denial may be a yes.
_NEGATIVE = frozenset(map(stem, word_set("negative_verbs")))
#: Limit a denial to a part of what was heard.
_PARTS_OF_TIME = word_set("parts_of_time")
#: Lists the answers, or breaks a question off with its full stops.
_ANSWERS = re.compile(r"[(\[]\W*yes\W*(?:or|/|,)\W*no\W*[)\]]", re.IGNORECASE)
_ABBREVIATION = re.compile(r"\([^()]*\be\.\s?g\.[^()]*\)", re.IGNORECASE)
_WHETHER = re.compile(r"\b(?:whether|if) ([^.?!,;:\n]*)", re.IGNORECASE)
_EMPTY = (FILLER - TOPICS) | NEGATORS | _AUXILIARIES | SENTENCE_END | _PRESENCE | {"any"}
_PREPOSITIONS = frozenset({"in", "on", "at", "during", "throughout", "because", "since"})
_LIMITS = NEGATORS | _NOBODY | {"but", "however", "then", "0", "less", "fewer"}
_CUE_REACH = 4
_MOST_HEADS = 3
_SHORT_SENTENCE = 5


def said(reading: Reading) -> set[str]:
    """Return the yes and no that the answer opens with, ends with or calls its answer."""
    words = reading.words
    found = {_YES_NO[word] for word in _lonely_words(words) if word in _YES_NO}
    for at, word in enumerate(words):
        after = words[at + 1] if at + 1 < len(words) else "."
        determiner = word == "no" and is_word(after) and after not in _AFTER_NO
        cued = at == 0 or at in reading.quoted or "answer" in words[max(0, at - _CUE_REACH) : at]
        cued = cued or (words[at - 1] == "so" and not is_word(after))
        first, last = reading.sentence(at)
        closes = at == last - 1 and last - first <= _SHORT_SENTENCE
        if word in _YES_NO and (cued or closes) and not determiner:
            found.add(_YES_NO[word])
    return found


def says_both(reading: Reading) -> bool:
    """Return whether the answer is "yes or no" and nothing else."""
    words = set(filter(is_word, reading.words))
    return words >= {"yes", "no"} and words <= JOINTS | _YES_NO.keys()


def contradicts_yes(reading: Reading) -> bool:
    """Return whether the first sentence says yes and then denies something."""
    first = reading.words[1 : reading.sentence(0)[1]]
    denials = NEGATORS | {"different"} if "same" in reading.asked else NEGATORS
    return bool(denials & set(first))


def hedges(reading: Reading) -> bool:
    """Return whether the answer is not sure."""
    return reading.doubtful or bool(HEDGES & set(reading.words[: reading.sentence(0)[1]]))


def is_polar_word(word: str) -> bool:
    """Return whether a word is yes, no or a wording of them."""
    return word in _YES_NO


def echoed(reading: Reading) -> set[str]:
    """Return yes or no for an answer that is the question as a statement, or its denial."""
    asked = _polar_question(reading.question.instruction)
    statements = list(sentences([word for word in tokens(reading.question.answer) if word != '"']))
    if asked is None or len(statements) != 1 or reading.doubtful or "?" in reading.words:
        return set()
    (words,) = statements
    negations = sum(word in NEGATORS | _NOBODY for word in tokens(_without_repeated_quotes(reading)))
    persons = len({*map(singular, asked)} & _PERSONS)
    if negations and (persons > 1 or {*map(stem, asked)} & _NEGATIVE or _limits_denial(words)):
        return set()
    if negations > 1 or (HEDGES | {"would", "should"}) & set(words):
        return set()
    if any(_states(head, asked) for head in _heads(words)):
        return {"no"} if negations else {"yes"}
    swapped = [_OPPOSITES.get(word, word) for word in words]
    return {"no"} if negations == 0 and swapped != words and _states(swapped, asked) else set()


def compared(reading: Reading) -> set[str]:
    """Return yes or no for an answer that speaks of the same speaker, or of different ones, if that is asked."""
    asked = tokens(reading.question.instruction)
    things = _PERSONS | {singular(after) for word, after in pairwise(asked) if word == "same" and after not in FILLER}
    if not _of_things(asked, "same", things) or reading.doubtful:
        return set()
    found: set[str] = set()
    for words in sentences([_SEPARATE.get(word, word) for word in reading.words]):
        ways = {way for way in _OPPOSITES if _of_things(words, way, things)}
        denied = "not the same" in " ".join(words) and ways == {"same"}
        others = [word for word in words if word in NEGATORS | HEDGES]
        if ways and others != (["not"] if denied else []):
            return set()
        found |= {"yes" if (way == "same") != denied else "no" for way in ways}
    return found


def denied(reading: Reading) -> set[str]:
    """Return no for an answer that denies, once and without a limit, nothing but what is asked for."""
    asked = _polar_question(reading.question.instruction)
    words = reading.words
    places = [at for at, word in enumerate(words) if word in {"not", "no"}]
    limited = (HEDGES | NEGATORS | _LIMITS | _PARTS_OF_TIME) & set(words) - {"not", "no"}
    if asked is None or len(places) != 1 or limited or reading.doubtful or "?" in words:
        return set()
    start = places[0] + 1
    if _limits_denial(words) or {*map(stem, asked)} & _NEGATIVE:
        return set()
    end = next((at for at in range(start, len(words)) if words[at] in CLAUSE_END), len(words))
    content = _content(words[start:end]) - {"all"}
    several = len({*map(singular, asked)} & _PERSONS) > 1 or "more" in asked or any(map(is_number, words[start:end]))
    return {"no"} if not several and content <= _content(asked) and content - TOPICS else set()


def _limits_denial(words: Sequence[str]) -> bool:
    """Return whether "not" stands before "only" or "just"."""
    return any(word == "not" and after in _NOT_ALL for word, after in pairwise(words))


def _of_things(words: Sequence[str], way: str, things: Collection[str]) -> bool:
    """Return whether a word such as "same" stands just before a person, a voice or another thing."""
    places = (at for at, word in enumerate(words) if word == way)
    return any(not set(map(singular, words[at + 1 : at + 3])).isdisjoint(things) for at in places)


def _lonely_words(words: Sequence[str]) -> list[str]:
    """Return the words that are alone on the first or the last line."""
    text = " ".join(words).split("\n")
    lines = [list(filter(is_word, line.split())) for line in (text[0], text[-1])]
    return [line[0] for line in lines if len(line) == 1]


def _polar_question(instruction: str) -> list[str] | None:
    """Return the only question of an instruction from its auxiliary on, if it asks for yes or no."""
    instruction = _ANSWERS.sub("", _ABBREVIATION.sub("", instruction))
    questions = [tokens(part) for part in re.findall(r"(?<![^.?!\n])[^.?!\n]*\?", instruction)]
    if not questions:
        clauses = _WHETHER.findall(instruction)
        return tokens(clauses[0]) if len(clauses) == 1 and " or " not in clauses[0] else None
    questions = [words for words in questions if not set(words) <= {"yes", "or", "no", "?"}]
    if len(questions) != 1 or {"or", "not", "no"} & set(questions[0]):
        return None
    (words,) = questions
    opening = next((at for at, word in enumerate(words) if word in _AUXILIARIES), None)
    opens = opening == 0 or (opening is not None and words[opening - 1] == ",")
    return words[opening:] if opens else None


def _heads(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield a statement, and what stands of it before its first prepositions, if nothing is denied or limited."""
    yield words
    if not set(words) & _LIMITS:
        places = (at for at, word in enumerate(words) if word in _PREPOSITIONS or _explains(words, at))
        yield from (words[:at] for at in islice(places, _MOST_HEADS))


def _explains(words: Sequence[str], at: int) -> bool:
    """Return whether a colon there stands after a whole statement, and not after a name as in "bird: absent"."""
    return words[at] == ":" and not _AUXILIARIES.isdisjoint(words[:at])


def _without_repeated_quotes(reading: Reading) -> str:
    """Return the answer without the quotations that the instruction has too: what they deny is not the answer's."""
    answer = straight(reading.question.answer)
    for quotation in quotations(reading.question.instruction):
        answer = re.sub(re.escape(quotation), " ", answer, flags=re.IGNORECASE)
    return answer


def _states(words: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether a statement has the content words of a question, however they are put."""
    wanted, stated = _content(asked), _content(words)
    core = {word for word in wanted if word not in TOPICS and not is_number(word)} or wanted
    return bool(core) and core <= stated <= wanted | TOPICS


def _content(words: Sequence[str]) -> set[str]:
    return set(_content_words(words))


def _content_words(words: Sequence[str]) -> list[str]:
    return [stem(word) for word in words if is_word(word) and not {word, singular(word)} & _EMPTY]
