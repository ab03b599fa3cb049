"""Which labels an answer names, and whether it chooses, denies or doubts them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise

from otoscope.judges.form import UNITS
from otoscope.judges.labels import labels_of
from otoscope.judges.naming import LANGUAGES
from otoscope.judges.question import Question
from otoscope.judges.spans import Bounds, Tally
from otoscope.judges.wording import (
    BOUNDS,
    CLAUSE_END,
    FILLER,
    HEDGES,
    NEGATORS,
    SENTENCE_END,
    is_doubtful,
    is_number,
    is_word,
    phrase_list,
    plants_verdict,
    singular,
    singulars,
    straight,
    tokens,
    without_enumeration,
    without_quotes,
    word_set,
)

#: What may stand between the labels of a list.
JOINTS = frozenset({"and", "or", "nor", ",", "/", "a", "an", "the", "any", "both", "either", "~", "\n"})

#: How many words a negation or a verb reaches over, and how long a sentence or its rest may be to be all answer.
_NEGATION_REACH = 6
_SELECTOR_REACH = 7
_SHORT_REST = 5
_SHORT_SENTENCE = 12

_ODDS = frozenset({"probability", "confidence", "likelihood", "chance"})
_ODDS_REACH = 6
_EVEN = Decimal("0.5")
_COORDINATORS = frozenset({"and", "or", "/"})
_SELECTORS = word_set("selectors")
_NEGATIONS = (
    *((word,) for word in NEGATORS),
    *(tuple(phrase.split()) for (phrase,) in phrase_list("negating_phrases")),
)
_FIRST_OF_NEGATION = frozenset(words[0] for words in _NEGATIONS)
_AUXILIARIES = word_set("auxiliaries")
_REVERSING = word_set("reversing")
_COMPARING = frozenset({"rather", "than", "instead", "but"})
REJECTING = frozenset({"incorrect", "wrong", "absent", "unlikely", "excluded", "ruled", "mistake"})
_BEING = frozenset({"is", "are", "was", "were"})
_DEGREES = word_set("degrees")
_DIMINISHING = word_set("diminishing")
#: Say that what follows is there.
ANNOUNCING = word_set("announcing")
#: In what is said of a thing, do not say that it is there.
ABSENT = word_set("imitating") | {"missing", "lacking", "being", "nobody", "none"} | NEGATORS | HEDGES
_PREPOSITIONS = frozenset({"in", "on", "at", "from", "with", "during", "throughout"})
_EMPTY_NEGATION = frozenset({"only", "just", "merely"})
_QUOTES = frozenset({'"', "[", "]", "{", "}"})
_ARROW = re.compile(r"[-=]+>|[→⇒➔]")
#: Call for what follows, right before it.
_CALLING = frozenset({"so", "therefore", "thus", "hence", ":"})
_ASKING = frozenset({"which", "what", "whether", "how", "who", "why"})
_TRUTH = frozenset({"true", "false"})
#: Open a clause that holds only under a condition.
_CONDITIONS = frozenset({"when", "once", "if", "unless"})
_HEADINGS = word_set("headings")
_LONGEST_HEADING = 3
_NEGATING_PREFIXES = ("un", "non")
_SHORTEST_NEGATED = 4
_FEWEST_FOR_REST = 3
_MARKDOWN = str.maketrans({"*": "", "`": ""})


@dataclass(frozen=True, slots=True)
class Mention:
    """One naming of a label, at tokens ``start`` to ``end`` of the answer."""

    label: str
    start: int
    end: int
    negated: bool
    doubtful: bool
    disputed: bool
    """Whether it may as well be denied; a doubtful mention may not be meant, but nothing else is."""
    selected: bool
    """Whether it stands where an answer stands, and not in passing."""


class Reading:
    """An answer as the rules see it, without what it quotes as spoken."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.labels = labels_of(question)
        answer = _ARROW.sub(" : ", question.answer.translate(_MARKDOWN))
        if not self.labels.letters and not self.labels.numbers:
            answer = without_enumeration(answer)
        self.text = without_quotes(answer, self._is_label)
        self.quotes_speech = self.text != straight(answer)
        self.words, self.quoted = _unquoted(self.labels.read(_double_quotes(self.text)))
        self.planted = plants_verdict(question.answer)
        self.doubtful = is_doubtful(question.answer)

    @cached_property
    def asked(self) -> frozenset[str]:
        """The words of the instruction."""
        return singulars(tokens(self.question.instruction))

    @cached_property
    def named(self) -> list[tuple[str, int] | None]:
        """For each token the label that is named from there on, and where that ends."""
        return [self.labels.at(self.words, at) for at in range(len(self.words))]

    @cached_property
    def mentions(self) -> list[Mention]:
        """Every naming of a label, in order."""
        found: list[Mention] = []
        at = 0
        while at < len(self.words):
            named = self.named[at]
            unusual = self._negated_word(at)
            if unusual and not any(self._negated_before(found, at)):
                found.append(Mention(unusual, at, at + 1, negated=True, doubtful=False, disputed=False, selected=True))
            if named is None or (at not in self.quoted and self._is_fragile(named[0], at, named[1])):
                at += 1
                continue
            label, end = named
            if not (found and self._is_doing(label, found[-1].end, at)):
                found.append(self._mention(found, label, at, end))
            at = end
        return found

    @property
    def passed_over(self) -> frozenset[str]:
        """The labels such as "speech" that words stand for which need not name them where they stand."""
        places = range(len(self.words))
        used = {at for mention in self.mentions for at in range(mention.start, mention.end)}
        named = (self.named[at] for at in places if at not in used and self.words[at][1:])
        return frozenset(label for label, _ in filter(None, named) if label in FILLER)

    @property
    def positive(self) -> list[Mention]:
        """The mentions that are not denied."""
        return [mention for mention in self.mentions if not mention.negated]

    @property
    def chosen(self) -> frozenset[str]:
        """The labels that are named and not denied, or implied by denying their opposite or all of the others."""
        named = {mention.label for mention in self.positive}
        implied = {self.labels.complement(label) for label in self.denied - named}
        chosen = frozenset(named | {label for label in implied if label})
        return chosen or self._rest()

    def _rest(self) -> frozenset[str]:
        """Return the only label that is not denied, if all are known and one is right."""
        labels = self.labels
        rest = labels.names - self.denied
        one_is_right = labels.closed and not self.question.multi and not labels.compared
        one_is_right = one_is_right and set(self.other_words) <= NEGATORS
        return rest if one_is_right and len(rest) == 1 and len(labels.names) >= _FEWEST_FOR_REST else frozenset()

    @property
    def denied(self) -> frozenset[str]:
        """The labels that are named to be denied."""
        return frozenset(mention.label for mention in self.mentions if mention.negated)

    @cached_property
    def doubtful_places(self) -> frozenset[int]:
        """Where the doubtful mentions start."""
        return frozenset(mention.start for mention in self.mentions if mention.doubtful)

    @property
    def joined(self) -> bool:
        """Whether all labels that are not denied stand in one list."""
        gaps = [(one.label == two.label, self.words[one.end : two.start]) for one, two in pairwise(self.positive)]
        # Labels side by side are a compound, such as "Irish English".
        return all((gap or same) and set(gap) <= JOINTS for same, gap in gaps)

    @property
    def other_words(self) -> list[str]:
        """The words that name no label and are neither filler nor the instruction's own."""
        used = {at for mention in self.mentions for at in range(mention.start, mention.end)}
        words = (word for at, word in enumerate(self.words) if at not in used and is_word(word))
        return [word for word in words if word not in FILLER and singular(word) not in self.asked]

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the span of the sentence around a token."""
        return self._sentences.start(at), self._sentences.end(at)

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the clause around a mention."""
        return self._clauses.start(start), self._clauses.end(end)

    def is_question(self, at: int) -> bool:
        """Return whether the sentence around a token asks."""
        end = self._sentences.end(at)
        return self.words[end : end + 1] == ["?"]

    @cached_property
    def _sentences(self) -> Bounds:
        return Bounds(self.words, SENTENCE_END)

    @cached_property
    def _clauses(self) -> Bounds:
        return Bounds(self.words, CLAUSE_END)

    @cached_property
    def _content(self) -> Tally:
        return Tally(self.words, is_word)

    @cached_property
    def _weighty(self) -> Tally:
        light = FILLER | NEGATORS | _COMPARING
        return Tally(self.words, lambda word: is_word(word) and word not in light and singular(word) not in self.asked)

    @cached_property
    def _no_filler(self) -> Tally:
        return Tally(self.words, lambda word: word not in FILLER)

    @cached_property
    def _hedges(self) -> Tally:
        return Tally(self.words, HEDGES.__contains__)

    @cached_property
    def _diminishing(self) -> Tally:
        words = zip(["", *self.words], self.words, strict=False)
        return Tally(["" if pair == ("a", "little") else pair[1] for pair in words], self._diminishes)

    @cached_property
    def _unannounced(self) -> Tally:
        return Tally(self.words, lambda word: word not in ANNOUNCING)

    @cached_property
    def _absent(self) -> Tally:
        return Tally(self.words, ABSENT.__contains__)

    @cached_property
    def _reversals(self) -> Tally:
        return Tally(self.words, _REVERSING.__contains__)

    @cached_property
    def _negations(self) -> list[int]:
        """For each token the number of words of the shortest negation that starts there, or 0."""
        return [_negation_at(self.words, at) for at in range(len(self.words))]

    @cached_property
    def _lists_with_or(self) -> list[bool]:
        """For each token whether the list that goes on there is one of "or" or "nor"."""
        found = [False]
        for at in range(len(self.words) - 1, -1, -1):
            named, word = self.named[at], self.words[at]
            after = named[1] if named else at + 1
            goes_on = word in JOINTS or named is not None
            found.append(word in {"or", "nor"} or (goes_on and found[len(self.words) - after]))
        return found[::-1]

    @cached_property
    def _known_units(self) -> list[str]:
        """The units that labels or instruction speak of."""
        return [*self.asked.union(*map(str.split, self.labels.names)) & UNITS.keys()]

    def _diminishes(self, word: str) -> bool:
        return word in _DIMINISHING and singular(word) not in self.asked

    def _is_label(self, text: str) -> bool:
        words = self.labels.read(text)
        named = self.labels.at(words, 0) if words else None
        return named is not None and not any(map(is_word, words[named[1] :]))

    def _is_fragile(self, label: str, start: int, end: int) -> bool:
        """Return whether a label is a letter, or a word like "on", that need not name it where it stands."""
        word = self.words[start]
        if self._is_aside(start, end):
            return True
        if set(self.words[end : end + 1]) & _BEING and set(self.words[end + 1 : end + 2]) & _ASKING:
            return True  # "the question is which act it is"
        if self.labels.codes and word in LANGUAGES and sum(map(is_word, self.words)) > 1:
            return self.words[start - 1 : start] != ["code"]
        letter = len(word) == 1 and (word.isalpha() or label != word)  # a figure may stand for another label, "second"
        if end > start + 1 or not (letter or label in _FUNCTION):
            return False
        match self.words[end : end + 2]:
            case ["and" | "or" | ",", other] if letter and len(other) == 1:  # "A and B"
                return False
        first, last = self.sentence(start)
        return end != last or last - first > _SHORT_SENTENCE

    def _is_aside(self, start: int, end: int) -> bool:
        """Return whether an adverb of a label does not end its clause or opens a sentence: "naturally, it is fake"."""
        word, label = self.words[start], self.labels.at(self.words, start)
        adverb = word.endswith("ly") and label is not None and not label[0].endswith("ly") and end == start + 1
        return adverb and (start == self.sentence(start)[0] or end != self._clauses.end(end))

    def _negated_word(self, at: int) -> str:
        """Return the label that a word such as "unhappy" denies, or ""."""
        for prefix in _NEGATING_PREFIXES:
            rest = self.words[at].removeprefix(prefix)
            if rest != self.words[at] and len(rest) >= _SHORTEST_NEGATED and not self.named[at]:
                return self.labels.wordings.get((rest,), "")
        return ""

    def _is_doing(self, label: str, subject: int, at: int) -> bool:
        """Return whether a word like "crowing" says what the label before it does, and does not name "crow"."""
        is_verb = self.words[at].endswith("ing") and not label.split(maxsplit=1)[0].endswith("ing")
        return is_verb and set(self.words[subject:at]) <= _BEING

    def _mention(self, before: Sequence[Mention], label: str, start: int, end: int) -> Mention:
        negated, disputed = self._negated_before(before, start)
        previous = before[-1] if before and set(self.words[before[-1].end : start]) <= JOINTS else None
        if previous and previous.negated and not negated:
            negated = self._lists_with_or[previous.end]
            disputed = disputed or not negated
        first, last = self._clauses.start(start), self._clauses.end(end)
        disputed = disputed or self.is_question(start) or self._is_denied_after(end)
        disputed = disputed or (self.labels.codes and "accent" in self.words[end : end + 1])
        disputed = disputed or self._is_under_heading(start) or self.words[start - 1 : start] == ["0"]
        disputed = disputed or bool({*self.words[self._clauses.start(start) :][:1]} & _CONDITIONS)
        disputed = disputed or self._is_diminished(start, end)
        disputed = disputed or (label in _TRUTH and self.words[end : end + 1] == ["that"])
        disputed = disputed or self._reversals.between(first, last) > 0 or "would" in self.words[end : end + 2]
        doubtful = (
            disputed
            or self._hedges.between(first, last) > 0
            or self._is_joined_to_unknown(start, end)
            or self._has_low_odds(end)
            or (is_number(self.words[start]) and self._is_no_plain_number(start, end))
        )
        return Mention(label, start, end, negated, doubtful, disputed, self._is_selected(start, end))

    def _is_under_heading(self, start: int) -> bool:
        """Return whether a short heading such as "other candidate:" stands before, which is none of an answer."""
        first = self.sentence(start)[0]
        if self.words[start - 1 : start] != [":"] or start - 1 - first > _LONGEST_HEADING:
            return False
        heading = self.words[first : start - 1]
        own = (word for word in heading if word not in FILLER | _HEADINGS and singular(word) not in self.asked)
        return any(map(is_word, own))

    def _is_diminished(self, start: int, end: int) -> bool:
        """Return whether a word in the clause takes from the label, such as "hardly" or "negligible"."""
        first, last = self.clause(start, end)
        return self._diminishing.between(first, start) + self._diminishing.between(end, last) > 0

    def _negated_before(self, before: Sequence[Mention], start: int) -> tuple[bool, bool]:
        """Return whether a negation reaches the mention, and whether that is in doubt."""
        floor = max(self._clauses.start(start), start - _NEGATION_REACH)
        for at in range(start - 1, floor - 1, -1):
            if not 0 < self._negations[at] <= start - at:
                continue
            rest = self.words[at:start]
            if rest[1:2] == ["doubt"] or _EMPTY_NEGATION & set(rest[1:2]):
                return False, rest[1:2] != ["doubt"]
            near = before[-_NEGATION_REACH:]
            crossed = [mention for mention in near if mention.start >= at]
            if not crossed:
                return True, (at > floor and self.words[at - 1] in NEGATORS) or bool(_DEGREES & set(rest))
            if all(set(self.words[mention.end : start]) - JOINTS for mention in crossed):
                return False, True
        return False, False

    def _is_denied_after(self, end: int) -> bool:
        """Return whether a negation follows in the clause that belongs to no later label."""
        close = next((at for at in range(end, min(end + 2, len(self.words))) if is_word(self.words[at])), end)
        if self.words[close : close + 1] == ["no"] and not is_word("".join(self.words[close + 1 : close + 2]) or "."):
            return True
        for at in range(end, self._clauses.end(end)):
            if self.named[at]:
                return False
            denied = self.words[at] in {"not", "never"} and self.words[at - 1] in _AUXILIARIES
            if denied or self.words[at] in REJECTING | {"than"}:
                later = range(at + 1, min(at + 1 + _NEGATION_REACH, len(self.words)))
                return not any(self.named[place] for place in later)
        return False

    def _is_joined_to_unknown(self, start: int, end: int) -> bool:
        """Return whether "and", "or" or a slash joins the mention to a word that is no label."""
        around = [end + 1] if self.words[end : end + 1] and self.words[end] in _COORDINATORS else []
        around += [start - 2] if start > 1 and self.words[start - 1] in _COORDINATORS else []
        words = [(at, self.words[at]) for at in around if at < len(self.words)]
        return any(is_word(word) and word not in FILLER and not self._is_inside_label(at) for at, word in words)

    def _has_low_odds(self, end: int) -> bool:
        """Return whether a probability or confidence below a half follows."""
        after = self.words[end : end + _ODDS_REACH]
        numbers = [Decimal(word) for word in after if is_number(word)]
        return bool(_ODDS & set(after)) and any(not _EVEN <= value <= 1 and value < 100 * _EVEN for value in numbers)

    def _is_inside_label(self, at: int) -> bool:
        starts = range(max(0, at - self.labels.longest), at + 1)
        return any((named := self.named[start]) and named[1] > at for start in starts)

    def _is_no_plain_number(self, start: int, end: int) -> bool:
        """Return whether a number is a bound, or has a unit that neither labels nor instruction speak of."""
        if BOUNDS & set(self.words[max(0, start - 2) : start]):
            return True
        unit = self.words[end] if end < len(self.words) else ""
        if unit not in UNITS or UNITS[unit][0] in {"level", "note"}:
            return False
        return all(UNITS[word][0] != UNITS[unit][0] for word in self._known_units)

    def _is_selected(self, start: int, end: int) -> bool:
        first, last = self.sentence(start)
        clause_start, clause = self.clause(start, end)
        calling = set(self.words[start - 1 : start]) & _CALLING or (
            self.words[start - 1 : start] == ["~"] and clause == end
        )
        if calling and not self._weighty.between(end, clause):
            return True
        if self.words[start - 1 : start] == ["("] and self.words[end : end + 1] == [")"]:
            return True
        if self._is_subject(start, end) or not self._weighty.between(clause_start, start) + self._weighty.between(
            end, clause
        ):
            return True
        short = self._content.between(first, start) + self._content.between(end, last) <= _SHORT_REST
        if short or not self._weighty.between(first, start) + self._weighty.between(end, last):
            return True
        if not self._no_filler.between(first, start) and (end == last or self.words[end] in CLAUSE_END):
            return True
        return bool(_SELECTORS & set(self.words[max(first, start - _SELECTOR_REACH) : start]))

    def _is_subject(self, start: int, end: int) -> bool:
        """Return whether the answer begins with the label, or with its being heard, and goes on with what it does."""
        opening = not self._unannounced.between(0, start)
        doing = self.words[end + 1 : end + 2] if set(self.words[end : end + 1]) & _BEING else self.words[end : end + 1]
        placed = bool(set(self.words[end : end + 1]) & _PREPOSITIONS)
        absent = self._absent.between(end, len(self.words)) > 0
        return opening and not absent and (placed or "".join(doing).endswith("ing"))


_FUNCTION = FILLER | NEGATORS


def sentences(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield the sentences that hold a word."""
    sentence: list[str] = []
    for word in (*words, "."):
        if word not in SENTENCE_END:
            sentence.append(word)
            continue
        if any(map(is_word, sentence)):
            yield sentence
        sentence = []


def _negation_at(words: Sequence[str], at: int) -> int:
    if words[at] not in _FIRST_OF_NEGATION:
        return 0
    return min((len(each) for each in _NEGATIONS if tuple(words[at : at + len(each)]) == each), default=0)


def _double_quotes(text: str) -> str:
    return re.sub(r"(?<!\w)'([^']+)'(?!\w)", r'"\1"', straight(text))


def _unquoted(words: Sequence[str]) -> tuple[list[str], frozenset[int]]:
    """Return the words without quotation marks, and the places of those that were quoted alone."""
    bare: list[str] = []
    alone: set[int] = set()
    marks = _QUOTES | {"/"}
    for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
        if word in _QUOTES:
            continue
        if before in marks and after in marks:
            alone.add(len(bare))
        bare.append(word)
    return bare, frozenset(alone)
