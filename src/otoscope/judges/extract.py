"""Which value an answer holds, by rules alone: a value or N/A only where no doubt is left, else undecided.

The value of the target is never looked at; its form is, where the task does not declare one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from otoscope.judges.form import UNITS, Form, form_of, literal, spaced_numbers
from otoscope.judges.notation import has_roman, is_expression, is_ratio, may_be_negative
from otoscope.judges.quantities import (
    Quantity,
    alternatives,
    best,
    bounded,
    compounded,
    note,
    number_text,
    quantities,
    rank,
    read_words,
    without_scale,
)
from otoscope.judges.question import Question, Ruling, why_unread
from otoscope.judges.structures import canonical_structure, stated_intervals, stated_list, written_structures
from otoscope.judges.wording import (
    CLAUSE_END,
    FILLER,
    HEDGES,
    SENTENCE_END,
    TOPICS,
    is_doubtful,
    is_number,
    is_refusal,
    is_word,
    singular,
    singulars,
    stem,
    tokens,
    without_quotes,
    word_set,
)

_CUES = word_set("value_cues")
_VAGUE_COUNTS = word_set("vague_counts")
_VAGUE_VALUES = word_set("vague_values")
_INSTANCES = word_set("instances")
#: Dimensions of what repeats: a value of one can be meant as one of another.
_REPEATING = frozenset({"frequency", "tempo", "note"})
_KINDRED = dict.fromkeys(_REPEATING, _REPEATING)
_CONTRASTS = frozenset({"but", "though", "although", "however"})
_HEDGE_REACH = 4
_FRACTIONS = frozenset({"half", "quarter", "quarters"})
_NOTHING = frozenset({"no", "none", "empty", "not", "without"})
_DENIALS = frozenset({"not", "never", "instead", "excluding", "neither", "nor"})
_DENIAL_REACH = 4
_SHORT = 8
_SUMS = frozenset({"total", "sum", "overall", "altogether"})
#: After a number, say what such a number means.
_EXPLAINING = frozenset({"is", "being", "would", "means", "meaning"})
#: After a number, multiply it.
_MULTIPLYING = frozenset({"dozen", "pair", "half", "each"})
#: Around "no", leave something of what is denied.
_RESTRICTING = frozenset({"until", "except", "but", "other", "doubt", "single", "first", "beginning", "end"})
_COUNT_NAMES = frozenset({"count", "number", "quantity", "result", "output", "response"})
_COUNT_CUES = frozenset({("how", "many"), ("number", "of"), ("count", "the"), ("count", "of")})
_ADJECTIVES = frozenset({"the", "all", "different", "distinct", "unique", "separate", "individual", "total"})
_LINKS = frozenset({":", "is", "=", "of", "at", "as", "was"})
_FREQUENCIES = word_set("frequencies")
_PERSONS = word_set("persons")
_SPANS = ({"start", "end"}, {"onset", "offset"}, {"begin", "end"}, {"time", "interval"})
_FOREIGN_NUMBERS = word_set("foreign_numbers")
_DIRECTIONS = word_set("directions")
_SIDES = re.compile(r"([-\u2212]?)\b\d+(?:\.\d+)?\W*\(([a-z ]+)\)", re.IGNORECASE)
_DEFINES = re.compile(
    r"\b(?:is an? (?:\w+ )?(?:phenomenon|term|process|concept|technique|measure)|refers to|is defined as)\b",
    re.IGNORECASE,
)
_NAMED_ITEMS = re.compile(r"\[\s*([a-z]\w*(?:\s*,\s*[a-z]\w*)+)\s*\]", re.IGNORECASE)
_ANCHORS = re.compile(r"\d\s*\(([a-z ]+)\)", re.IGNORECASE)

_DECIMAL_COMMA = re.compile(r"(?<![\d.,])\d+,\d{1,2}(?![\d,])")


@dataclass(frozen=True)
class _Answer:
    """An answer as the rules see it, without what it quotes as spoken."""

    question: Question
    form: Form

    @cached_property
    def text(self) -> str:
        return without_quotes(self.question.answer, _is_number_text)

    @cached_property
    def words(self) -> list[str]:
        return without_scale(read_words(self.text, self.form), self.form)

    @cached_property
    def found(self) -> list[Quantity]:
        return quantities(self.words, self.form)

    @cached_property
    def asked(self) -> frozenset[str]:
        return singulars(tokens(self.question.instruction))

    @property
    def has_digits(self) -> bool:
        return any(map(str.isdigit, self.question.answer)) or any(map(is_number, tokens(self.question.answer)))

    @cached_property
    def stems(self) -> frozenset[str]:
        """What the instruction speaks of, without the words that every instruction has."""
        words = filter(is_word, tokens(self.question.instruction))
        return frozenset(stem(word) for word in words if word not in FILLER)

    @cached_property
    def counted(self) -> frozenset[str]:
        """What the instruction asks to be counted: the noun after "how many", "number of" or "count the"."""
        words = tokens(self.question.instruction)
        starts = (at for at in range(2, len(words)) if tuple(words[at - 2 : at]) in _COUNT_CUES)
        nouns = (next((word for word in words[at : at + 3] if word not in _ADJECTIVES), "") for at in starts)
        return frozenset(map(singular, nouns))

    @property
    def anchors(self) -> frozenset[str]:
        """The words that the instruction puts beside points of its scale, such as "5 (excellent)"."""
        return frozenset(word for text in _ANCHORS.findall(self.question.instruction) for word in tokens(text))

    @property
    def only_other_units(self) -> bool:
        """Whether every number has a unit, and one that cannot be turned into what is wanted."""
        words = read_words(self.question.answer, self.form)
        units = [after for word, after in pairwise([*words, ""]) if is_number(word)]
        same = _KINDRED.get(self.form.dimension, {self.form.dimension})
        if self.form.dimension == "time" and "m" in units:
            return False
        known = all(unit in UNITS and UNITS[unit][0] not in same for unit in units)
        return bool(units) and bool(self.form.unit) and known

    @property
    def is_foreign(self) -> bool:
        return not all(map(str.isascii, self.words)) or not _FOREIGN_NUMBERS.isdisjoint(self.words)

    @cached_property
    def asked_pairs(self) -> frozenset[tuple[str, str]]:
        """Every two words in a row of the instruction, the second without plural s."""
        return frozenset((word, singular(after)) for word, after in pairwise(tokens(self.question.instruction)))

    def repeats(self, number: Quantity) -> bool:
        """Return whether the instruction has the number before the same word, as in "the two sentences"."""
        after = singular("".join(self.words[number.end : number.end + 1]))
        ends = number.value in {self.form.low, self.form.high}
        return after.isalpha() and not ends and (self.words[number.start], after) in self.asked_pairs

    @cached_property
    def sides(self) -> dict[str, bool]:
        """Which sides the instruction puts beside the ends of its scale, and whether that end is negative."""
        signs = _SIDES.findall(self.question.instruction)
        return {word: sign in {"-", "\u2212"} for sign, text in signs for word in tokens(text) if word in _DIRECTIONS}


def extract(question: Question) -> Ruling:
    """Find the value in the answer to a regression question without a model.

    Returns:
        A ruling with status ``ok`` and the value as text (a number in figures, or JSON), ``na`` if the answer certainly
        holds no single value, or ``undecided``. A value outside the declared range is a value all the same.
    """
    answer = _Answer(question.as_read(), form_of(question))
    unread = why_unread(answer.question.answer)
    if unread:
        return _undecided(unread)
    if answer.form.kind is None:
        return _undecided("The form of the target is not known.")
    if not answer.question.answer.strip():
        return _na("The answer is empty.")
    for rule in (*_FIRST_RULES, *_RULES[answer.form.kind]):
        ruling = rule(answer)
        if ruling is not None:
            return ruling
    return _undecided("No rule fits.")


def canonical(text: str, question: Question) -> str | None:
    """Return a text that is nothing but a value of the wanted form in its canonical form, else None."""
    form = form_of(question)
    text = re.sub(r"^```\w*\n|`+", "", text.strip()).strip()
    if form.kind != "number":
        value = spaced_numbers(text) if form.kind == "list" and not form.texts else None
        return canonical_structure(literal(text) if value is None else value, form)
    words = read_words(text, form)
    if _unread_notation(text, form) or compounded(words, form):
        return None
    match quantities(words, form):
        case [number] if number.value is not None and not _DECIMAL_COMMA.search(text):
            rest = {*words[: number.start], *words[number.end :]} - {".", "\n", '"'}
            return None if rest else number_text(number.value)
        case _:
            return None


def _ok(value: str, why: str) -> Ruling:
    return Ruling("ok", value=value, explanation=why)


def _na(why: str) -> Ruling:
    return Ruling("na", explanation=why)


def _undecided(why: str) -> Ruling:
    return Ruling("undecided", explanation=why)


def _is_number_text(text: str) -> bool:
    words = tokens(text)
    return len(words) == 1 and is_number(words[0])


def _empty(answer: _Answer) -> Ruling | None:
    bare = not any(map(is_word, tokens(answer.question.answer))) and not re.search(r"[\[{]", answer.question.answer)
    return _na("The answer is empty.") if bare else None


def _bare(answer: _Answer) -> Ruling | None:
    value = canonical(answer.question.answer, answer.question)
    return None if value is None else _ok(value, "The answer is a value.")


def _refused(answer: _Answer) -> Ruling | None:
    if not is_refusal(answer.text):
        return None
    digits = any(map(str.isdigit, answer.question.answer))
    return _undecided("The answer refuses and yet holds a number.") if digits else _na("The answer refuses.")


def _none(answer: _Answer) -> Ruling | None:
    """Rule on an answer to a count that says there is nothing of what is counted."""
    if not answer.form.count or not _says_none(answer):
        return None
    if all(number.value == 0 for number in answer.found) and not _RESTRICTING & set(answer.words):
        return _ok("0", "The answer says that there are none.")
    return _undecided("The answer denies and counts.")


def _unread_notation(text: str, form: Form) -> bool:
    """Return whether a number of a text is written so that its figures alone would be misread."""
    apart = form.kind == "number" and not form.count and may_be_negative(text)
    return apart or is_expression(text) or (form.dimension != "time" and is_ratio(text))


def _in_notation(answer: _Answer) -> Ruling | None:
    unread = _unread_notation(answer.text, answer.form)
    return _undecided("A number is written in a notation that is not read.") if unread else None


def _no_number(answer: _Answer) -> Ruling | None:
    if answer.found:
        return None
    named = note(answer.question.answer, answer.form)
    if named is not None:
        return _ok(named, "The answer names one note.")
    vague = _VAGUE_VALUES | _VAGUE_COUNTS if answer.form.count else _VAGUE_VALUES
    a_unit = any(one in {"a", "an"} and two in UNITS for one, two in pairwise(answer.words))
    lists_things = answer.form.count and "and" in answer.words and len(answer.words) <= _SHORT
    if answer.only_other_units and not a_unit:
        return _na("The answer holds numbers of another kind only.")
    if (
        answer.has_digits
        or a_unit
        or vague & set(answer.words)
        or answer.is_foreign
        or lists_things
        or has_roman(answer.text)
    ):
        return _undecided("The answer may hold a number in other words.")
    if answer.anchors & set(answer.words):
        return _undecided("The answer names a point of the scale by its word.")
    return _na("The answer holds no number.")


def _unclear(answer: _Answer) -> Ruling | None:
    if _DEFINES.search(answer.text):
        return _undecided("The answer explains a term.")
    if _FRACTIONS & set(answer.words) or _DECIMAL_COMMA.search(answer.text) or is_doubtful(answer.text):
        return _undecided("The answer is not clear about its number.")
    if any(answer.words[one.end : two.start] == [","] for one, two in pairwise(answer.found)):
        return _undecided("The answer lists numbers.")
    multiplied = any({*map(singular, answer.words[one.end : one.end + 1])} & _MULTIPLYING for one in answer.found)
    if multiplied or compounded(answer.words, answer.form):
        return _undecided("Two numbers may be one.")
    shares = any(answer.words[one.end - 1] in {"%", "percent"} for one in answer.found)
    if shares and answer.form.unit != "%" and len({one.value for one in answer.found}) > 1:
        return _undecided("A share stands beside a number.")
    return None


def _is_vague(words: list[str], number: Quantity) -> bool:
    """Return whether a number is the second one of "a second or two"."""
    match words[max(0, number.start - 3) : number.start]:
        case ["a" | "an", unit, "or"]:
            return unit in UNITS
        case _:
            return False


def _retracted(answer: _Answer) -> Ruling | None:
    doubt = _retracts(answer.words, answer.found)
    return _undecided("The answer doubts the number that it gave.") if doubt else None


def _retracts(words: list[str], found: list[Quantity]) -> bool:
    """Return whether an answer says after a number that it could be another one."""
    first = found[0]
    for number in found[1:]:
        if number.value != first.value and HEDGES & set(_before(words, number.start)):
            return True
    contrasts = (at for at in range(first.end, len(words)) if words[at] in _CONTRASTS)
    return any(HEDGES & set(words[at + 1 : at + 1 + _HEDGE_REACH]) for at in contrasts)


def _before(words: list[str], at: int) -> list[str]:
    """Return the few words before a place that are of its sentence."""
    start = at
    while start > max(0, at - _HEDGE_REACH) and words[start - 1] not in SENTENCE_END:
        start -= 1
    return words[start:at]


def _ranged(answer: _Answer) -> Ruling | None:
    if any(_is_vague(answer.words, number) for number in answer.found):
        beside = _undecided("A range stands beside a number.")
        return beside if len(answer.found) > 1 else _na("The answer gives a range or alternatives.")
    joined = alternatives(answer.words, answer.found)
    if not joined and any(answer.words[one.end : two.start] == ["and"] for one, two in pairwise(answer.found)):
        return _undecided("The answer gives two numbers.")
    if not joined:
        return None
    if answer.form.dimension == "time" and joined[0].value == 0:
        return _undecided("A range from 0 may be a length.")
    if len(joined) < len(answer.found):
        return _undecided("A range stands beside a number.")
    return _na("The answer gives a range or alternatives.")


def _stated(answer: _Answer) -> Ruling | None:
    words = answer.words
    numbers = [one for one in answer.found if not _denied(words, one) and not answer.repeats(one)]
    if _revised(answer, numbers):
        return _undecided("A later number may be the count.")
    numbers = _of_counted(answer, numbers) or _announced(answer, numbers) or _likeliest(answer, numbers)
    if len({number.value for number in numbers}) > 1:
        numbers = _concluded(words, numbers)
    values = {number.value for number in numbers}
    value = values.pop() if len(values) == 1 else None
    if any(_counts_other(answer, number) for number in numbers):
        return _undecided("The number may count something else.")
    if value is None or any(bounded(words, number) for number in numbers):
        return _undecided("Which number is the value is not certain.")
    if value == 1 and not answer.form.count and "1" not in answer.text:
        return _undecided("One may be a word for a thing.")
    return _sided(answer, value)


def _revised(answer: _Answer, numbers: list[Quantity]) -> bool:
    """Return whether another number stands alone after the last one of what is counted: "3 claps, or rather 4"."""
    ranks = [rank(answer.words, number, answer.form, answer.asked) for number in numbers]
    counted = [number for number, at in zip(numbers, ranks, strict=True) if at > 1]
    if not answer.form.count or not counted:
        return False
    after = [number for number, at in zip(numbers, ranks, strict=True) if at == 1 and number.start > counted[-1].start]
    return any(number.value != counted[-1].value for number in after)


def _counts_other(answer: _Answer, number: Quantity) -> bool:
    """Return whether what stands before the colon before a count is neither what is asked for nor a word for it."""
    match answer.words[max(0, number.start - 2) : number.start]:
        case [name, ":"] if answer.form.count and is_word(name) and not is_number(name):
            return name not in _CUES | _COUNT_NAMES | FILLER and stem(name) not in answer.stems
        case _:
            return False


def _sided(answer: _Answer, value: Decimal) -> Ruling:
    """Return the value, with the sign of the side that the answer names on a scale of two sides."""
    if value > 0 and {"negative", "minus"} & set(answer.words):
        return _undecided("The sign of the number is not certain.")
    named = _DIRECTIONS & set(answer.words)
    two_sided = answer.form.dimension == "angle" or (answer.form.low is not None and answer.form.low < 0)
    if not value or not two_sided or not named:
        return _ok(number_text(value), "The answer states one number.")
    signs = {answer.sides.get(side) for side in named}
    if signs == {True}:
        return _ok(number_text(-abs(value)), "The answer states one number and its side.")
    if signs == {False} and value > 0:
        return _ok(number_text(value), "The answer states one number and its side.")
    return _undecided("To which side the number is taken is not certain.")


def _denied(words: list[str], number: Quantity) -> bool:
    start = number.start
    while start > max(0, number.start - _DENIAL_REACH) and words[start - 1] not in CLAUSE_END:
        start -= 1
    return bool(_DENIALS & set(words[start : number.start]))


def _of_counted(answer: _Answer, numbers: list[Quantity]) -> list[Quantity]:
    """Return the numbers just before what is counted, if they are one."""
    words = answer.words
    nouns = [set(map(singular, words[one.end : one.end + 1])) for one in numbers]
    found = [one for one, noun in zip(numbers, nouns, strict=True) if answer.form.count and noun & answer.counted]
    others = set(numbers) - set(found)
    return [] if any(_is_sum(words, one) for one in others) else _only(found)


def _announced(answer: _Answer, numbers: list[Quantity]) -> list[Quantity]:
    """Return the numbers that "score:", "a total of" or "its duration is" stand before, if they are one."""
    words = answer.words
    names = _CUES | {word for word in words if stem(word) in answer.stems}
    alone = [one for one in numbers if answer.form.count or rank(words, one, answer.form, answer.asked)]
    alone = [one for one in alone if not _EXPLAINING & set(words[one.end : one.end + 1])]
    pairs = [(words[at - 2], words[at - 1]) if (at := one.start) > 1 else ("", "") for one in alone]
    found = [one for one, (name, link) in zip(alone, pairs, strict=True) if name in names and link in _LINKS]
    return _only(found)


def _likeliest(answer: _Answer, numbers: list[Quantity]) -> list[Quantity]:
    """Return the numbers of the wanted kind, and of a count those that are called a total."""
    likely = set(best(answer.words, numbers, answer.form, answer.asked))
    return [one for one in numbers if one in likely or (answer.form.count and _is_sum(answer.words, one))]


def _is_sum(words: list[str], number: Quantity) -> bool:
    return bool(_SUMS & set(words[max(0, number.start - 2) : number.start]))


def _only(numbers: list[Quantity]) -> list[Quantity]:
    """Return the numbers if they are one value."""
    return numbers if len({number.value for number in numbers}) == 1 else []


def _concluded(words: list[str], numbers: list[Quantity]) -> list[Quantity]:
    """Return the numbers after the last word that announces one, or all of them."""
    last = max((number.start for number in numbers), default=0)
    cue = max((at for at, word in enumerate(words[:last]) if word in _CUES), default=-1)
    return [number for number in numbers if number.start > cue]


def _says_none(answer: _Answer) -> bool:
    """Return whether the answer denies what the instruction counts, or is "none"."""
    instruction = tokens(answer.question.instruction)
    counted = (instruction[at + 1 : at + 3] for at, word in enumerate(instruction) if word in {"many", "of"})
    topics = TOPICS & {singular(word) for near in counted for word in near}
    things = answer.asked - FILLER | _INSTANCES | topics
    things_or_stems = things | answer.stems - topics
    stems = answer.stems - set(map(stem, _INSTANCES))
    words = [singular(word) for word in answer.words if is_word(word)]
    last_frequency = max((at for at, word in enumerate(words) if word in _FREQUENCIES), default=-1)
    for at, word in enumerate(words):
        if word == "no" and things_or_stems & set(map(stem, words[at + 1 : at + 4])):
            return True
        negated = stem(words[at + 1]) if word == "not" and at + 1 < len(words) else ""
        if negated in stems and last_frequency < at:
            return True
        nobody = word == "nobody" or (word == "no" and words[at + 1 : at + 2] == ["one"])
        if nobody and things & _PERSONS and last_frequency < at:
            return True
        if word in {"not", "without"} and "any" in words[at : at + 5] and things & set(words[at : at + 9]):
            return True
    return words == ["none"]


def _written(answer: _Answer) -> Ruling | None:
    """Rule on an answer that writes lists or objects."""
    written = written_structures(answer.question.answer, answer.form)
    values = [canonical_structure(value, answer.form) for value in written]
    match values:
        case [str(value)]:
            return _ok(value, "The answer writes one value.")
        case []:
            return None
        case _ if answer.form.kind == "intervals" and all(value is None for value in values):
            return None
        case _:
            return _undecided("Which list is the value is not certain.")


def _no_numbers(answer: _Answer) -> Ruling | None:
    """Rule on an answer without numbers; that there is nothing may be an empty list, so it stays undecided."""
    if answer.form.texts:
        return _undecided("Prose may hold the list.")
    if quantities(read_words(answer.text, answer.form), answer.form):
        return None
    if answer.only_other_units:
        return _na("The answer holds numbers of another kind only.")
    if answer.has_digits or (_NOTHING | _VAGUE_VALUES) & set(answer.words) or answer.is_foreign:
        return _undecided("The answer may hold a list in other words.")
    return _na("The answer holds no numbers.")


def _is_unsure(answer: _Answer) -> bool:
    return is_doubtful(answer.text) or _unread_notation(answer.text, answer.form)


def _spanning(answer: _Answer) -> Ruling | None:
    """Rule on an answer to a question for one start and one end."""
    if not any(span <= answer.asked for span in _SPANS) or _is_unsure(answer):
        return None
    value = stated_intervals(read_words(answer.text, answer.form), answer.form)
    pairs = literal(value) if value else []
    if len(pairs) == 1:
        return _ok(f"[{', '.join(map(str, pairs[0]))}]", "The answer states a start and an end.")
    return _undecided("Start and end are not certain.")


def _no_items(answer: _Answer) -> Ruling | None:
    return _no_numbers(answer) if answer.form.numeric else None


def _listed(answer: _Answer) -> Ruling | None:
    words = read_words(re.sub(r"(?<=\d),(?=\d)", ", ", answer.text), answer.form)
    value = None if _is_unsure(answer) else stated_list(words, answer.form, answer.asked)
    named = {len(items.split(",")) for items in _NAMED_ITEMS.findall(answer.question.instruction)}
    if value is not None and named and len(literal(value)) not in named:
        return _undecided("The answer has not as many numbers as are asked for.")
    return None if value is None else _ok(value, "The answer lists numbers.")


def _spanned(answer: _Answer) -> Ruling | None:
    words = read_words(answer.text, answer.form)
    value = None if _is_unsure(answer) else stated_intervals(words, answer.form)
    return None if value is None else _ok(value, "The answer states intervals.")


_Rule = Callable[[_Answer], Ruling | None]
_FIRST_RULES: tuple[_Rule, ...] = (_empty, _bare, _refused)
_RULES: dict[str, tuple[_Rule, ...]] = {
    "number": (_in_notation, _none, _no_number, _unclear, _ranged, _retracted, _stated),
    "list": (_written, _no_numbers, _spanning, _listed),
    "intervals": (_written, _no_numbers, _spanned),
    "json": (_written, _no_items),
}
