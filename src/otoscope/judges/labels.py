"""The labels of a classification: which there are, and how an answer may word them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import product

from otoscope.judges.form import literal
from otoscope.judges.music import is_merged, is_musical, merge_music
from otoscope.judges.options import lettered, listed, unlettered
from otoscope.judges.question import Question
from otoscope.judges.wording import (
    FILLER,
    NEGATORS,
    TIMES,
    is_number,
    is_word,
    normal,
    phrase_list,
    singular,
    tokens,
    word_set,
)

Words = tuple[str, ...]

#: A label of this name may be what a refusal means.
REFUSAL_LABELS = word_set("refusal_labels")
#: Wordings of one meaning, whatever the task.
_FAMILIES = tuple(map(frozenset, phrase_list("families")))
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
_NAMED_THINGS = word_set("named_things")
_ORDINAL_LABELS = word_set("ordinals")
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_PLACES = ("1", "2", "3", "4", "5")
_THINGS = [[thing] for thing in (*_NAMED_THINGS, "number")]
_MOST_FORMS = 3
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
        return all(set(name.split()) <= _ORDINAL_LABELS | _NAMED_THINGS for name in self.names)

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
        if (self.musical and is_merged(word)) or (self.any_number and is_number(word)):
            return word, start + 1
        for end in range(start + 2, min(start + _MOST_FORMS, len(words)) + 1):
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
    declared = {name_of(option, musical=musical): _split_camel(option) for option in options}
    for label, others in synonyms:
        name = name_of(label, musical=musical)
        declared[name] = (*declared.get(name, ()), *others)
    named = list(dict.fromkeys(name_of(option, musical=musical) for option in options))
    verbatim = _VERBATIM.search(instruction) is not None
    wordings = _wordings(named, declared, verbatim=verbatim)
    targets = [name_of(unlettered(part, letters), musical=musical) for part in right]
    targets = [wordings.get(tuple(name.split()), name) for name in targets]
    closed = bool(named) and set(targets) <= set(named)
    known = next((known for known in _KNOWN_SETS if set(targets) <= known), frozenset[str]())
    names = [*named, *targets, *sorted(known - set(named) if not closed or known == word_set("languages") else ())]
    wordings = _wordings(names, declared, verbatim=verbatim)
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


def _split_camel(label: str) -> Words:
    """Return a label such as "MotherCall" with its words apart, if it is of that kind."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    return () if split == label else (split,)


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


def _wordings(names: Sequence[str], declared: Mapping[str, Words], *, verbatim: bool) -> dict[Words, str]:
    """Return what names a label: its name, then declared synonyms, then families, then other forms of its words.

    What two labels share at one of these steps names neither. Families and other forms are left out if ``verbatim``.
    """
    names = list(dict.fromkeys(names))
    forms = [] if verbatim else [(form, name) for name in names for form in _forms(tuple(name.split()))]
    steps: tuple[list[tuple[Words, str]], ...] = (
        [(tuple(name.split()), name) for name in names],
        [(tuple(name_of(other).split()), name) for name in names for other in declared.get(name, ())],
        [] if verbatim else _familiar(names),
        forms,
        _bare_numbers(names),
        [(short, name) for name in names if (short := _without_lead(tuple(name.split())))],
        _counted_things(names),
        _lettered_things(names),
    )
    wordings: dict[Words, str] = {}
    for step in steps:
        new: dict[Words, set[str]] = {}
        for words, name in step:
            if words and words not in wordings:
                new.setdefault(words, set()).add(name)
        wordings.update({words: of.pop() for words, of in new.items() if len(of) == 1})
    return wordings


def _familiar(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return the wordings of each label's family."""
    return [
        (tuple(other.split()), name) for name in names for family in _FAMILIES if name in family for other in family
    ]


def _forms(words: Words) -> set[Words]:
    """Return the words joined, without plurals, with and without -ing, and two of them in the other order."""
    if not all(map(is_word, words)):
        return set()
    short = len(words) <= _MOST_FORMS
    forms = set(product(*map(_word_forms, words))) if short else {tuple(map(singular, words))}
    match words:
        case (one, two) if not {one, two} & NEGATORS:
            forms |= {(second, first) for first, second in forms}
    if words[1:] and all(word.isalpha() and word[1:] for word in words):
        forms.add(("".join(words),))
    return forms - {words}


def _word_forms(word: str) -> set[str]:
    forms = {word, singular(word)}
    if not word.isascii() or not word.isalpha() or word in FILLER or not word[2:]:
        return forms
    stem = word.removesuffix("ing")
    if stem == word:
        return forms | {f"{word.removesuffix('e')}ing"}
    return forms | {stem, f"{stem}e", re.sub(r"(\w)\1$", r"\1", stem)} if stem[2:] else forms


def _without_lead(words: Words) -> Words:
    """Return a label such as "in the second half" without the words that lead to it; nothing if there are none."""
    lead = next((at for at, word in enumerate(words) if word not in FILLER), 0)
    return words[lead:]


def _counted_things(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return "first", "first recording", "recording one" and the like for labels such as "recording 1" or "first"."""
    if names and set(names) <= set(_ORDINALS):
        places = [(_ORDINALS.index(name), "one", name) for name in names]
    else:
        parts = [name.split() for name in names]
        if not all(part[:-1] in _THINGS and part[-1] in _PLACES for part in parts):
            return []
        places = [(_PLACES.index(part[-1]), part[0], name) for part, name in zip(parts, names, strict=True)]
    return [
        (words, name)
        for place, noun, name in places
        for words in ((_ORDINALS[place],), (_ORDINALS[place], noun), (_ORDINALS[place], "one"), (_PLACES[place],))
    ]


def _lettered_things(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return "recording b" and the like for labels that are bare letters."""
    if not all(len(name) == 1 and name in "abcdefgh" for name in names):
        return []
    return [((noun, name), name) for name in names for noun in sorted(_NAMED_THINGS)]


def _bare_numbers(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return the number of each label alone, where labels are numbers of one unit, and not fractions."""
    parts = [name.split(maxsplit=1) for name in names]
    units = {tuple(part[1:]) for part in parts}
    if (
        len(units) != 1
        or units == {()}
        or "/" in names[0]
        or not parts[1:]
        or not all(is_number(part[0]) for part in parts)
    ):
        return []
    return [((part[0],), name) for name, part in zip(names, parts, strict=True)]
