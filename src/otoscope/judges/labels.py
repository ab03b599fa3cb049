"""The labels of a classification: which there are, and how an answer may word them."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from otoscope.judges.form import literal
from otoscope.judges.music import is_merged, is_musical, merge_music
from otoscope.judges.naming import DECADES, LANGUAGES, NAMED_THINGS, Words, before_brackets, wordings_of
from otoscope.judges.options import lettered, listed, unlettered
from otoscope.judges.question import Question
from otoscope.judges.wording import (
    CLAUSE_END,
    FILLER,
    NEGATORS,
    TIMES,
    is_number,
    is_word,
    normal,
    phrase_list,
    singular,
    straight,
    tokens,
    word_set,
)

#: A label of this name may be what a refusal means.
REFUSAL_LABELS = word_set("refusal_labels")
#: Of a pair, denying one asserts the other.
_COMPLEMENTS = frozenset(map(frozenset, phrase_list("complements")))
_PREFIXES = ("non ", "no ", "not ", "un", "non", "in", "ir")
#: Label sets that everyone knows, for a task that declares no options.
_KNOWN_SETS = (
    frozenset({"yes", "no"}),
    frozenset({"male", "female"}),
    frozenset({"same", "different"}),
    frozenset({"true", "false"}),
    word_set("languages"),
)
_POLAR = frozenset({"yes", "no"})
_SPACERS = word_set("spacers")
_ORDINAL_LABELS = word_set("ordinals")
_MOST_JOINED = 3
#: What may follow a number that is an age, beside the end of a clause.
_AGE_ENDS = frozenset({"year", "years", "or", "to", "~", "and"} | CLAUSE_END)
_NO_AGE = word_set("no_age")
_AGES = range(13, 100)
#: Speak of things that are compared, which the labels then number, and not of a count.
_COMPARED = re.compile(
    r"\b(?:two|three|four|both|pair of) (?:\w+ )?(?:recording|audio|clip|sentence|utterance|sample|version|word)s\b",
    re.IGNORECASE,
)
#: Tells when a label is right.
_DEFINITION = re.compile(r"[\"'](\w+)[\"'] (?:if|when) ([^,;.?!\"']*)", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|often)\b", re.IGNORECASE)
#: Asks for a word as it is spoken, which no other form or wording of it is.
_VERBATIM = re.compile(r"\b(?:which|what|the|spoken)\s+(?:(?!other\b)\w+\s+)?(?:key)?words?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Labels:
    """What may be named in an answer.

    Attributes:
        target: the names of the right labels.
        names: the names of all labels.
        wordings: the label that a sequence of words names.
        longest: the number of words of the longest wording.
        closed: whether every label that can be chosen is known.
        letters: the label that a letter of the instruction's or the options' own list stands for.
        any_number: whether any number is a label.
        musical: whether labels are keys, chords or notes.
        shared: whether two options that are written otherwise have the name of the target, such as C# and Db.
    """

    target: frozenset[str]
    names: frozenset[str]
    wordings: Mapping[Words, str]
    longest: int
    closed: bool
    letters: Mapping[str, str]
    any_number: bool
    musical: bool
    shared: bool

    @property
    def polar(self) -> bool:
        """Whether the question is answered by yes or no."""
        return self.names >= _POLAR and self.names - _POLAR <= REFUSAL_LABELS

    @property
    def compared(self) -> bool:
        """Whether the labels only tell things apart that are compared, such as the first and the second recording."""
        return all(set(name.split()) <= _ORDINAL_LABELS | NAMED_THINGS | {"one"} for name in self.names)

    @property
    def codes(self) -> bool:
        """Whether the labels are codes of languages."""
        return self.names <= LANGUAGES.keys()

    @property
    def numbers(self) -> bool:
        """Whether the labels are numbers."""
        return self.any_number or (self._start_with_numbers and not any("/" in name for name in self.names))

    @property
    def spread(self) -> bool:
        """Whether the labels are all the numbers that can be chosen, and do not just count on."""
        if not self.closed or not self._start_with_numbers:
            return False
        values = [Decimal(name.split()[0]) for name in self.names]
        return max(values) - min(values) >= len(values)

    @property
    def _start_with_numbers(self) -> bool:
        return all(is_number("".join(name.split()[:1])) for name in self.names)

    def read(self, text: str) -> list[str]:
        """Return the tokens of an answer, with every key or note as one token and "twice" as a number of times."""
        words = tokens(merge_music(text) if self.musical else text)
        counts = {**TIMES, "single": ("1",)}
        return _without_whole([part for word in words for part in counts.get(word, (word,))]) if self.numbers else words

    def at(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """Return the label named at ``start`` by the longest wording, and where that ends."""
        for length in range(min(self.longest, len(words) - start), 0, -1):
            exact = tuple(words[start : start + length])
            label = self.wordings.get(exact) or self.wordings.get(tuple(map(singular, exact)))
            if label is not None:
                return label, start + length
        word = words[start]
        if self.names <= DECADES.keys():
            return self._decade(words, start)
        if (self.musical and is_merged(word)) or (self.any_number and is_number(word)):
            return word, start + 1
        for end in range(start + 2, min(start + _MOST_JOINED, len(words)) + 1):
            joined = ("".join(words[start:end]),)
            if joined in self.wordings and joined[0].isalpha():
                return self.wordings[joined], end
        return self._spaced(words, start)

    def complement(self, label: str) -> str | None:
        """Return the label that is asserted when ``label`` is denied, if the set has two that exclude each other."""
        others = self.names - {label}
        if not self.closed or len(others) != 1:
            return None
        (other,) = others
        negated = {f"{prefix}{label}" for prefix in _PREFIXES} | {f"{prefix}{other}" for prefix in _PREFIXES}
        return other if {label, other} in _COMPLEMENTS or {label, other} & negated else None

    def _decade(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """Return the age group of an age in years, such as "25" or "25 years"."""
        if not is_number(words[start]) or "".join(words[start + 1 : start + 2]) not in _AGE_ENDS | {""}:
            return None
        years = words[start + 1 : start + 2] in (["year"], ["years"])
        aged = not years or "".join(words[start + 2 : start + 3]) in {"", "old", "of"} | CLAUSE_END
        if not aged or set(words[max(0, start - 1) : start]) & _NO_AGE:
            return None
        age = Decimal(words[start])
        group = next((name for name in self.names if age in _AGES and DECADES[name] == age // 10), None)
        return None if group is None else (group, start + 1)

    def _spaced(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """Return the label named at ``start`` with articles or forms of "be" between its words."""
        key: Words = (singular(words[start]),)
        for at in range(start + 1, min(start + 2 * self.longest + 1, len(words))):
            if words[at] in _SPACERS:
                continue
            key = (*key, singular(words[at]))
            label = self.wordings.get(key)
            if label is not None:
                return label, at + 1
        return None


def labels_of(question: Question) -> Labels:
    """Return the labels of a question: declared, read from its instruction, or of a set that everyone knows."""
    synonyms = tuple((label, tuple(others)) for label, others in question.synonyms.items())
    return _labels(question.instruction, question.target, tuple(question.options), question.multi, synonyms)


def name_of(label: str, *, musical: bool = False) -> str:
    """Return the name by which two labels are compared."""
    words = tokens(merge_music(label, label=True) if musical else label)
    words = words[1:] if words[1:] and words[0] == "the" else words
    return " ".join(word for word in words if word not in '"()[]{}.\n') or normal(label).strip()


@lru_cache(maxsize=1024)
def _labels(
    instruction: str, target: str, options: tuple[str, ...], multi: bool, synonyms: tuple[tuple[str, Words], ...]
) -> Labels:
    letters = lettered(Question(instruction, target, "", options))
    right = _parts(target, options) if multi else (target.strip(),)
    if letters and set(options) <= letters.keys() | {f"{letter}. {text}" for letter, text in letters.items()}:
        options = tuple(letters.values())
    elif not options:
        options = _listed(instruction, right)
    musical = is_musical((*options, *right), instruction)
    declared = {name_of(option, musical=musical): _other_parts(option) for option in options}
    for label, others in synonyms:
        name = name_of(label, musical=musical)
        declared[name] = (*declared.get(name, ()), *(tuple(name_of(other).split()) for other in others))
    named = list(dict.fromkeys(name_of(option, musical=musical) for option in options))
    verbatim = _VERBATIM.search(instruction) is not None
    for name, words in _defined(instruction, named).items():
        declared[name] = (*declared.get(name, ()), *words)
    compared = _COMPARED.search(instruction) is not None and _HOW_MANY.search(instruction) is None
    wordings = wordings_of(named, declared, verbatim=verbatim, compared=compared)
    targets = [name_of(unlettered(part, letters), musical=musical) for part in right]
    targets = [wordings.get(tuple(name.split()), name) for name in targets]
    closed = bool(named) and set(targets) <= set(named)
    known = next((known for known in _KNOWN_SETS if set(targets) <= known), frozenset[str]())
    names = [*named, *targets, *sorted(known - set(named) if not closed or known == word_set("languages") else ())]
    wordings = wordings_of(names, declared, verbatim=verbatim, compared=compared)
    return Labels(
        target=frozenset(targets),
        names=frozenset(names),
        wordings=wordings,
        longest=max(map(len, wordings), default=0),
        closed=closed or bool(known),
        letters=_letter_names(letters, (*right, *options), musical=musical),
        any_number=not closed and all(map(is_number, targets)),
        musical=musical,
        shared=any(_is_shared(name_of(label, musical=musical), options, musical=musical) for label in right),
    )


def _is_shared(name: str, options: Sequence[str], *, musical: bool) -> bool:
    """Return whether two options that are written otherwise have one name."""
    return len({option.strip() for option in options if name_of(option, musical=musical) == name}) > 1


def _without_whole(words: Sequence[str]) -> list[str]:
    """Drop the scale of a number, such as "out of 5"."""
    kept = list(words)
    for at in range(len(kept) - 3, 0, -1):
        match kept[at - 1 : at + 3]:
            case [number, "out", "of", whole] if is_number(number) and is_number(whole):
                del kept[at : at + 3]
    return kept


def _defined(instruction: str, names: Sequence[str]) -> dict[str, list[Words]]:
    """Return the words by which an instruction says when a label is right: answer "fake" if it was manipulated."""
    found: dict[str, list[str]] = {}
    for label, clause in _DEFINITION.findall(straight(instruction)):
        words = [word for word in tokens(clause) if is_word(word) and word not in FILLER]
        if name_of(label) in set(names) - _POLAR and not NEGATORS & set(words):
            found.setdefault(name_of(label), []).extend(words)
    counts = Counter(tokens(instruction))
    own = {name: [word for word in words if counts[word] == 1 and not is_number(word)] for name, words in found.items()}
    return {name: [(words[0],)] for name, words in own.items() if len(words) == 1} if len(own) == len(names) else {}


def _other_parts(label: str) -> tuple[Words, ...]:
    """Return a label such as "MotherCall" with its words apart, and what stands before brackets at its end."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    return (before_brackets(tokens(label)), *(() if split == label else (tuple(name_of(split).split()),)))


def _letter_names(letters: Mapping[str, str], labels: Sequence[str], *, musical: bool) -> dict[str, str]:
    """Return the name of each lettered option; where the labels are bare letters, each stands for itself."""
    if not letters and not musical and all(re.fullmatch(r"\(?[A-Ha-h][).]?", label) for label in labels):
        return {letter: letter.lower() for letter in "ABCDEFGH"}
    return {letter: name_of(option, musical=musical) for letter, option in letters.items()}


def _listed(instruction: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the options that the instruction lists; a list without the target is not the list of options."""
    wanted = {name_of(target) for target in targets}
    return next((options for options in listed(instruction) if wanted <= set(map(name_of, options))), ())


def _parts(target: str, options: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a target that may name several."""
    value = literal(target.strip())
    if isinstance(value, list | tuple):
        return tuple(part if isinstance(part, str) else json.dumps(part) for part in value)
    if target in options:
        return (target,)
    if re.search("[;|]", target):
        return tuple(filter(None, re.split(r"\s*[;|]\s*", target.strip())))
    return _between_commas(tuple(filter(None, re.split(r"\s*,\s*(?:and\s+)?", target.strip()))), options)


def _between_commas(pieces: Words, options: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of a list with commas; an option that has commas itself is one label."""
    known = {name_of(option): option for option in options if "," in option}
    parts: list[str] = []
    at = 0
    while at < len(pieces):
        ends = (end for end in range(len(pieces), at + 1, -1) if name_of(", ".join(pieces[at:end])) in known)
        end = next(ends, at + 1)
        parts.append(known[name_of(", ".join(pieces[at:end]))] if end > at + 1 else pieces[at])
        at = end
    return tuple(parts)
