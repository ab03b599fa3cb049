"""Whether an answer matches its target, by rules alone: yes or no only where no doubt is left, else undecided."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from otoscope.judges.form import UNITS
from otoscope.judges.labels import Labels, labels_of, name_of
from otoscope.judges.question import Question, Ruling
from otoscope.judges.wording import (
    CLAUSE_END,
    FILLER,
    HEDGES,
    NEGATING_PHRASES,
    NEGATORS,
    SENTENCE_END,
    TOPICS,
    is_doubtful,
    is_number,
    is_refusal,
    is_word,
    plants_verdict,
    singular,
    tokens,
    without_quotes,
)

#: Names the rules in the signature of a judge; changed whenever a ruling could change.
RULES_VERSION: Final = "1"

_NEGATION_REACH = 6
_CUE_REACH = 7
_JOINTS = frozenset({"and", "or", "nor", ",", "/", "a", "an", "the", "any", "both", "either", "~", "\n"})
_SELECTORS = frozenset(
    """is are was were be being been as : = sounds sound seems appears feel feels feeling express expresses expressing
    expressed convey conveys conveyed contain contains containing hear heard detect detected detects classified
    identified recognized labeled labelled belongs indicate indicates suggests shows exhibits features feature has have
    plays playing performed played choose select pick answer hearing includes of by speaks speaking uses to with in""".split()
)
_ANSWER_CUES = (
    ("answer",),
    ("choose",),
    ("select",),
    ("pick",),
    ("go", "with"),
    ("conclusion",),
    ("conclude",),
    ("therefore",),
    ("thus",),
    ("classified", "as"),
    ("final", "choice"),
)
_LIGHT = frozenset({"rather", "than", "instead", "but"})
_BOUNDS = frozenset("least most over under above below up than".split())
_REFUSAL_LABELS = frozenset("unknown unclear none silence other neither uncertain undetermined unsure".split())
_YES_NO = {"yes": "yes", "yeah": "yes", "yep": "yes", "no": "no", "nope": "no"}
_AFTER_NO = frozenset("it there this the they i he she that these those we both not".split())
_AUXILIARIES = frozenset("is are was were does do did has have had can could will would should".split())
_OPPOSITES = {"same": "different", "different": "same"}

_LETTER = re.compile(
    r"""^\W*\(?([A-H])\)?\s*(?:$|[).:,\]-]\s*|\n) | \(([A-H])\) |
    \b(?:[Oo]ption|[Cc]hoice|[Aa]nswer(?:\s+is)?\s*:?)\s*\(?([A-H])\)?(?=[\s).:,]*$|[).:,]|\s*\n|\s+because)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Mention:
    """One naming of a label: tokens ``start`` to ``end`` of the answer."""

    label: str
    start: int
    end: int
    negated: bool
    doubtful: bool
    selected: bool


class _Reading:
    """An answer as the rules see it."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.labels: Labels = labels_of(question)
        self.text = self._without_speech(question.answer.translate(_MARKDOWN))
        self.words, self.quoted = _unquote(self.labels.read(_double_quotes(self.text)))
        self.planted = plants_verdict(question.answer)
        self.doubtful = is_doubtful(question.answer)

    def _without_speech(self, text: str) -> str:
        """Drop what the answer quotes as spoken, unless the quotation is a label."""
        return without_quotes(text, self._is_label)

    def _is_label(self, text: str) -> bool:
        words = self.labels.read(text)
        named = self.labels.at(words, 0) if words else None
        return named is not None and not any(is_word(word) for word in words[named[1] :])

    @cached_property
    def instruction_words(self) -> frozenset[str]:
        return frozenset(map(singular, tokens(self.question.instruction)))

    @cached_property
    def mentions(self) -> list[_Mention]:
        found: list[_Mention] = []
        at = 0
        while at < len(self.words):
            named = self.labels.at(self.words, at)
            if named is None or (self._is_fragile(named[0], at, named[1]) and at not in self.quoted):
                at += 1
                continue
            label, end = named
            negated, doubtful = self._polarity(found, at, end)
            found.append(_Mention(label, at, end, negated, doubtful, self._is_selected(at, end)))
            at = end
        return found

    @property
    def chosen(self) -> frozenset[str]:
        """The labels that are named and not denied."""
        named = {mention.label for mention in self.mentions if not mention.negated}
        implied = {self.labels.complement(label) for label in self.denied - named}
        return frozenset(named | {label for label in implied if label})

    @property
    def denied(self) -> frozenset[str]:
        """The labels that are named to be denied."""
        return frozenset(mention.label for mention in self.mentions if mention.negated)

    @property
    def other_words(self) -> list[str]:
        """The words that name no label and are neither filler nor the instruction's own."""
        used = {at for mention in self.mentions for at in range(mention.start, mention.end)}
        return [
            word
            for at, word in enumerate(self.words)
            if at not in used and is_word(word) and word not in FILLER and singular(word) not in self.instruction_words
        ]

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the span of the sentence around a token."""
        start = at
        while start > 0 and self.words[start - 1] not in SENTENCE_END:
            start -= 1
        end = at
        while end < len(self.words) and self.words[end] not in SENTENCE_END:
            end += 1
        return start, end

    def _clause_start(self, at: int) -> int:
        while at > 0 and self.words[at - 1] not in CLAUSE_END:
            at -= 1
        return at

    def _is_fragile(self, label: str, start: int, end: int) -> bool:
        """Return whether a label is a letter or a word like "on" that here need not name it."""
        words = self.words[start:end]
        if len(words) > 1 or not (len(words[0]) == 1 and words[0].isalpha() or label in FILLER | NEGATORS):
            return False
        first, last = self.sentence(start)
        return not (end == last or start == first == 0 and last == end) or last - first > 12

    def _polarity(self, before: Sequence[_Mention], start: int, end: int) -> tuple[bool, bool]:
        """Return whether the mention is denied, and whether it is in doubt."""
        joined = before[-1] if before and set(self.words[before[-1].end : start]) <= _JOINTS else None
        between = set(self.words[joined.end : start]) if joined else set()
        negated, doubtful = self._negated_before(before, start)
        if joined and joined.negated and not negated:
            negated = bool(between & {"or", "nor", "and"})
            doubtful = doubtful or not negated
        first, last = self.sentence(start)
        doubtful = doubtful or self.words[last : last + 1] == ["?"]
        doubtful = doubtful or bool(HEDGES & set(self.words[self._clause_start(start) : self._clause_end(end)]))
        doubtful = doubtful or self._denied_after(end) or self._joined_to_unknown(start, end)
        if is_number(self.words[start]):
            doubtful = doubtful or bool(_BOUNDS & set(self.words[max(0, start - 2) : start])) or self._is_foreign(end)
        return negated, doubtful

    def _is_foreign(self, at: int) -> bool:
        """Return whether a unit follows a number that the labels and the instruction do not speak of."""
        unit = self.words[at] if at < len(self.words) else ""
        if unit not in UNITS or UNITS[unit][0] in {"level", "note"}:
            return False
        known = self.instruction_words.union(*map(str.split, self.labels.names))
        return not any(word in UNITS and UNITS[word][0] == UNITS[unit][0] for word in known)

    def _clause_end(self, at: int) -> int:
        while at < len(self.words) and self.words[at] not in CLAUSE_END:
            at += 1
        return at

    def _negated_before(self, before: Sequence[_Mention], start: int) -> tuple[bool, bool]:
        floor = max(self._clause_start(start), start - _NEGATION_REACH)
        window = self.words[floor:start]
        for back in range(len(window) - 1, -1, -1):
            rest = window[back:]
            phrase = any(tuple(rest[: len(phrase)]) == phrase for phrase in NEGATING_PHRASES)
            if not phrase and rest[0] not in NEGATORS:
                continue
            if rest[1:2] in (["only"], ["doubt"], ["just"], ["merely"]):
                return False, rest[1:2] != ["doubt"]
            crossed = [mention for mention in before if mention.start >= floor + back]
            if not crossed:
                return True, back > 0 and window[back - 1] in NEGATORS
            if all(set(self.words[mention.end : start]) - _JOINTS for mention in crossed):
                return False, True
        return False, False

    def _denied_after(self, end: int) -> bool:
        """Return whether a negation follows in the clause that belongs to no later label."""
        clause = self.words[end : self._clause_end(end)]
        for at, word in enumerate(clause):
            if self.labels.at(self.words, end + at):
                return False
            if word in NEGATORS or word in {"incorrect", "wrong", "absent", "unlikely", "excluded", "ruled", "than"}:
                later = range(end + at + 1, min(end + at + 1 + _NEGATION_REACH, len(self.words)))
                return not any(self.labels.at(self.words, place) for place in later)
        return False

    def _joined_to_unknown(self, start: int, end: int) -> bool:
        """Return whether "and", "or" or a slash joins the mention to a word that is no label."""
        joints = {"and", "or", "/"}
        following = self.words[end + 1 : end + 2] if self.words[end : end + 1] and self.words[end] in joints else []
        preceding = self.words[start - 2 : start - 1] if start > 1 and self.words[start - 1] in joints else []
        around = [(word, end + 1) for word in following] + [(word, start - 2) for word in preceding]
        return any(
            is_word(word) and word not in FILLER and not self._inside_label(at) for word, at in around
        )

    def _inside_label(self, at: int) -> bool:
        reach = range(max(0, at - self.labels.longest), at + 1)
        return any((named := self.labels.at(self.words, start)) and named[1] > at for start in reach)

    def _is_selected(self, start: int, end: int) -> bool:
        """Return whether the label is named where an answer stands, not in passing."""
        first, last = self.sentence(start)
        rest = [word for word in self.words[first:start] + self.words[end:last] if is_word(word)]
        light = FILLER | NEGATORS | _LIGHT
        if len(rest) <= 5 or all(word in light or singular(word) in self.instruction_words for word in rest):
            return True
        if start == first and (end == last or self.words[end] in CLAUSE_END):
            return True
        return bool(_SELECTORS & set(self.words[max(first, start - _CUE_REACH) : start]))


_MARKDOWN = str.maketrans({"*": "", "`": "", "#": "#"})


def decide(question: Question) -> Ruling:
    """Judge the answer to a classification question without a model.

    Returns:
        A ruling with status ``ok`` and a verdict, or with status ``undecided``. An empty answer does not match.
    """
    if not question.target.strip():
        return Ruling("undecided", explanation="The target is empty.")
    if not any(map(is_word, tokens(question.answer))) and question.answer.strip() != question.target.strip():
        return _no("The answer is empty.")
    reading = _Reading(question)
    for rule in _RULES:
        ruling = rule(reading)
        if ruling is not None:
            return ruling
    return _undecided("No rule fits.")


def _yes(reading: _Reading, why: str) -> Ruling:
    if reading.planted:
        return _undecided("The answer speaks to a judge.")
    return Ruling("ok", "yes", explanation=why)


def _no(why: str) -> Ruling:
    return Ruling("ok", "no", explanation=why)


def _undecided(why: str) -> Ruling:
    return Ruling("undecided", explanation=why)


def _equal(reading: _Reading) -> Ruling | None:
    name = name_of(reading.question.answer, musical=reading.labels.musical)
    if len(reading.labels.target) == 1 and name in reading.labels.target:
        return _yes(reading, "The answer is the target.")
    return None


def _refused(reading: _Reading) -> Ruling | None:
    if not is_refusal(reading.question.answer):
        return None
    named = reading.chosen if len(reading.chosen) < 2 or reading.question.multi else frozenset()
    if reading.labels.target & _REFUSAL_LABELS or named or _polar_said(reading):
        return _undecided("The answer refuses and yet may name a label.")
    return _no("The answer refuses.")


def _by_letter(reading: _Reading) -> Ruling | None:
    if not reading.labels.letters:
        return None
    said = {letter for match in _LETTER.findall(reading.text) for letter in match if letter}
    labels = {reading.labels.letters[letter] for letter in said if letter in reading.labels.letters}
    if len(said) != 1 or len(labels) != 1:
        return None
    if reading.chosen - labels - {letter.lower() for letter in reading.labels.letters}:
        return _undecided("The letter and the words of the answer differ.")
    if reading.doubtful:
        return None
    if labels == reading.labels.target:
        return _yes(reading, "The answer gives the target's letter.")
    return _no("The answer gives another letter.")


def _polar_said(reading: _Reading) -> set[str]:
    """Return the yes and no that the answer opens with, ends with or calls its answer."""
    words = reading.words
    said: set[str] = set()
    lines = " ".join(words).split("\n")
    for line in (lines[0], lines[-1]):
        bare = [word for word in line.split() if is_word(word)]
        if len(bare) == 1 and bare[0] in _YES_NO:
            said.add(_YES_NO[bare[0]])
    for at, word in enumerate(words):
        if word not in _YES_NO:
            continue
        after = words[at + 1] if at + 1 < len(words) else "."
        stands_alone = not is_word(after) or after in _AFTER_NO or word not in {"no"}
        cued = any("answer" in words[max(0, at - back) : at] for back in (4,)) or at in reading.quoted
        if stands_alone and (at == 0 or cued):
            said.add(_YES_NO[word])
    return said


def _polar(reading: _Reading) -> Ruling | None:
    if not reading.labels.polar:
        return None
    if {word for word in reading.words if is_word(word)} >= {"yes", "no"} and not _beyond_yes_no(reading):
        return _no("The answer says both yes and no.")
    said = _polar_said(reading) or _echoed(reading)
    if not said:
        return _by_declared_wording(reading)
    if len(said) > 1:
        return _undecided("The answer says both yes and no.")
    first = reading.words[: reading.sentence(0)[1]]
    if said == {"yes"} and (NEGATORS | {"different"} if "same" in reading.instruction_words else NEGATORS) & set(first[1:]):
        return _undecided("The answer says yes and then denies.")
    if said != reading.labels.target:
        return _no("The answer says the opposite.")
    if reading.doubtful or HEDGES & set(first):
        return _undecided("The answer is not sure.")
    return _yes(reading, "The answer says the target.")


def _beyond_yes_no(reading: _Reading) -> bool:
    return bool({word for word in reading.words if is_word(word)} - _JOINTS - set(_YES_NO))


def _by_declared_wording(reading: _Reading) -> Ruling | None:
    """Judge an answer to a yes/no question by the other wordings that the task declares."""
    named = [mention for mention in reading.mentions if reading.words[mention.start] not in _YES_NO]
    chosen = {mention.label for mention in named if not mention.negated and not mention.doubtful}
    if len(chosen) != 1 or any(mention.negated or mention.doubtful for mention in named) or reading.doubtful:
        return _undecided("The answer says neither yes nor no.")
    if chosen == reading.labels.target:
        return _yes(reading, "The answer uses a declared wording of the target.")
    return _no("The answer uses a declared wording of another label.")


def _echoed(reading: _Reading) -> set[str]:
    """Return yes or no for an answer that is the question as a statement, or its denial."""
    questions = [tokens(part) for part in re.findall(r"[^.?!\n]*\?", reading.question.instruction)]
    questions = [words for words in questions if not set(words) <= {"yes", "or", "no", "?"}]
    said = [word for word in tokens(reading.question.answer) if word not in {"\n", '"'}]
    said = said[:-1] if said[-1:] == ["."] else said
    if len(questions) != 1 or SENTENCE_END & set(said) or HEDGES & set(said) or reading.doubtful:
        return set()
    (asked,) = questions
    opening = next((at for at, word in enumerate(asked) if word in _AUXILIARIES), None)
    if opening is None or (opening > 0 and asked[opening - 1] != ",") or {"or", "not", "no"} & set(asked):
        return set()
    negations = sum(word in NEGATORS for word in said)
    swapped = [_OPPOSITES.get(word, word) for word in said]
    if negations < 2 and _states(said, asked[opening:]):
        return {"no"} if negations else {"yes"}
    if negations == 0 and swapped != said and _states(swapped, asked[opening:]):
        return {"no"}
    return set()


def _states(said: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether two sentences have the same content words, however they are put."""
    wanted, stated = _content(asked), _content(said)
    core = {word for word in wanted if word not in TOPICS and not is_number(word)} or wanted
    return bool(core) and core <= stated <= wanted | TOPICS


def _content(words: Sequence[str]) -> set[str]:
    empty = FILLER - TOPICS | NEGATORS | _AUXILIARIES | {"any"}
    kept = {singular(word) for word in words if is_word(word) and word not in empty and singular(word) not in empty}
    return {re.sub(r"(?<=\w{3})(?:ing|ed)$", "", word) for word in kept}


def _several(reading: _Reading) -> Ruling | None:
    """Judge an answer whose target may name several labels."""
    if not reading.question.multi:
        return None
    doubtful = reading.doubtful or any(mention.doubtful for mention in reading.mentions)
    if not reading.chosen or doubtful or (not reading.labels.closed and reading.other_words):
        return _undecided("Which labels the answer chooses is not certain.")
    if reading.chosen == reading.labels.target:
        return _yes(reading, "The answer names exactly the target's labels.")
    return _no("The answer names other labels than the target's.")


def _numbered(reading: _Reading) -> Ruling | None:
    """Judge an answer to a question whose labels are numbers."""
    labels = reading.labels
    numeric = labels.numeric or all(is_number(name.split()[0]) for name in labels.names)
    if not numeric or reading.question.multi:
        return None
    numbers = [at for at, word in enumerate(reading.words) if is_number(word)]
    values = {reading.words[at] for at in numbers}
    if not reading.mentions and len(values) == 1 and not reading.doubtful:
        return _no("The answer gives another number.")
    if len(values) > 1:
        asked = {at for at in numbers if singular("".join(reading.words[at + 1 : at + 2])) in reading.instruction_words}
        last = numbers[-1]
        if reading.words[last - 1] in {"is", "=", "equals"} and not any(map(is_word, reading.words[last + 1 :])):
            asked = {last}
        chosen = {named[0] for at in asked if (named := labels.at(reading.words, at))}
        doubtful = any(mention.doubtful or mention.negated for mention in reading.mentions if mention.start in asked)
        if len(chosen) != 1 or doubtful or reading.doubtful or any("~" in reading.words[at - 1 : at + 2] for at in asked):
            return None if labels.closed and _joined(reading) else _undecided("Which number is the answer is not certain.")
        return _yes(reading, "The answer counts the target.") if chosen == labels.target else _no("It counts another number.")
    if len(values) == 1 and reading.chosen and reading.chosen != labels.target and _counts_things(reading, numbers):
        return _undecided("The number need not be the answer.")
    return None


def _counts_things(reading: _Reading, numbers: Sequence[int]) -> bool:
    """Return whether a number counts what the instruction does not speak of, or has another unit."""
    for at in numbers:
        after = "".join(reading.words[at + 1 : at + 2])
        if after and is_word(after) and after not in UNITS and after not in FILLER:
            return singular(after) not in reading.instruction_words
        if reading.labels.closed and any(m.start == at and m.doubtful for m in reading.mentions):
            return True
    return False


def _joined(reading: _Reading) -> bool:
    """Return whether all labels named stand in one list."""
    positive = [mention for mention in reading.mentions if not mention.negated]
    pairs = zip(positive, positive[1:], strict=False)
    return all(set(reading.words[one.end : two.start]) <= _JOINTS for one, two in pairs)


def _concluded(reading: _Reading) -> Ruling | None:
    """Judge by a sentence that says which its answer is, where more than one label is named."""
    if len(reading.chosen) < 2:
        return None
    for at in range(len(reading.words) - 1, -1, -1):
        if not any(tuple(reading.words[at : at + len(cue)]) == cue for cue in _ANSWER_CUES):
            continue
        after = [mention for mention in reading.mentions if mention.start > at]
        labels = {mention.label for mention in after if not mention.negated}
        if len(labels) != 1 or any(mention.doubtful for mention in after) or reading.doubtful:
            return _undecided("The answer names several labels.")
        if labels == reading.labels.target:
            return _yes(reading, "The answer concludes on the target.")
        return _no("The answer concludes on another label.")
    return None


def _listed_several(reading: _Reading) -> Ruling | None:
    if len(reading.chosen) < 2:
        return None
    if not reading.chosen & reading.labels.target:
        return _no("The answer names other labels only.")
    positive = [mention for mention in reading.mentions if not mention.negated]
    if _joined(reading) and len(positive) == len(reading.mentions) and all(mention.selected for mention in positive):
        return _no("The answer chooses more than one label.")
    return _undecided("The answer names several labels.")


def _one_named(reading: _Reading) -> Ruling | None:
    labels, chosen = reading.labels, reading.chosen
    if len(chosen) != 1:
        return None
    mentions = [mention for mention in reading.mentions if mention.label in chosen and not mention.negated]
    if mentions and not any(mention.selected for mention in mentions):
        return _undecided("The answer names a label in passing.")
    if chosen != labels.target:
        asked = any(reading.words[reading.sentence(m.start)[1] : reading.sentence(m.start)[1] + 1] == ["?"] for m in mentions)
        return _undecided("The answer asks back.") if asked else _no("The answer names another label.")
    if reading.doubtful or any(mention.doubtful for mention in mentions):
        return _undecided("The answer names the target with a doubt.")
    if not labels.closed and not labels.numeric and not labels.musical and reading.other_words:
        return _undecided("The answer names the target among other things.")
    return _yes(reading, "The answer names the target alone.")


def _denied(reading: _Reading) -> Ruling | None:
    doubtful = any(mention.doubtful for mention in reading.mentions)
    if not reading.chosen and reading.labels.target <= reading.denied and not doubtful:
        return _no("The answer denies the target.")
    return None


_RULES: tuple[Callable[[_Reading], Ruling | None], ...] = (
    _equal,
    _refused,
    _by_letter,
    _polar,
    _several,
    _numbered,
    _concluded,
    _listed_several,
    _one_named,
    _denied,
)


def _double_quotes(text: str) -> str:
    return re.sub(r"(?<!\w)['‘’]([^'‘’]+)['‘’](?!\w)", r'"\1"', text)


def _unquote(words: Sequence[str]) -> tuple[list[str], frozenset[int]]:
    """Return the words without quotation marks, and the places of those that were quoted alone."""
    bare: list[str] = []
    alone: set[int] = set()
    for at, word in enumerate(words):
        if word in {'"', "[", "]", "{", "}"}:
            continue
        marks = {'"', "[", "]", "/"}
        if at > 0 and words[at - 1] in marks and at + 1 < len(words) and words[at + 1] in marks:
            alone.add(len(bare))
        bare.append(word)
    return bare, frozenset(alone)
