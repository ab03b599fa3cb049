"""How an answer may word a label: its name, synonyms that are declared or known, other forms, numbers and places."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from otoscope.judges.wording import FILLER, NEGATORS, is_number, is_word, phrase_list, singular, word_set

Words = tuple[str, ...]

NAMED_THINGS = word_set("named_things")
#: Names of languages by the codes that stand for them.
LANGUAGES: Mapping[str, tuple[str, ...]] = {code: tuple(names) for code, *names in phrase_list("language_codes")}
#: Names of age groups, and the decade of life that each is.
DECADES: Mapping[str, int] = {name: int(decade) for decade, *names in phrase_list("decades") for name in names}

#: Wordings of one meaning, whatever the task.
_FAMILIES = tuple(map(frozenset, phrase_list("families")))
_SHORTEST_STEM = 4
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_FIGURES = ("1st", "2nd", "3rd", "4th", "5th")
_PLACES = ("1", "2", "3", "4", "5")
_THINGS = (*sorted(NAMED_THINGS), "number")
_MOST_FORMS = 3
#: Look like a word in -ing without its ending, and are other words.
_OTHER_WORDS = frozenset({"even", "noth", "dur"})
_BRACKETS = frozenset("()[]{}")


def wordings_of(
    names: Sequence[str], declared: Mapping[str, Sequence[Words]], *, verbatim: bool, compared: bool
) -> dict[Words, str]:
    """Return what names a label.

    That is its name, then declared synonyms, then families, then other forms of its words, then parts and numbers that
    stand for it. What two labels share at one of these steps names neither.

    Args:
        names: the labels.
        declared: other wordings by label.
        verbatim: whether a word is asked for as it was spoken; no family and no other form is that word.
        compared: whether the instruction numbers things that are compared, so that "the first" is label 1.
    """
    names = list(dict.fromkeys(names))
    forms = [] if verbatim else [(form, name) for name in names for form in _forms(tuple(name.split()))]
    derived = [] if verbatim else [(form, name) for name in names for form in _derived(name)]
    steps: tuple[list[tuple[Words, str]], ...] = (
        [(tuple(name.split()), name) for name in names],
        [(words, name) for name in names for words in declared.get(name, ())],
        [] if verbatim else [*_familiar(names), *_languages(names)],
        forms,
        derived,
        _bare_numbers(names),
        [(short, name) for name in names if (short := _without_lead(tuple(name.split())))],
        [*_counted_things(names, compared=compared)],
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


def before_brackets(words: Sequence[str]) -> Words:
    """Return what stands before the brackets at the end of a label such as "LED (the metal)", if there are any."""
    opening = next((at for at, word in enumerate(words) if word == "("), 0)
    return tuple(words[:opening]) if words[-1:] == [")"] and not _BRACKETS & {*words[:opening]} else ()


def _familiar(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return the wordings of each label's family."""
    return [
        (tuple(other.split()), name) for name in names for family in _FAMILIES if name in family for other in family
    ]


def _languages(names: Sequence[str]) -> Iterator[tuple[Words, str]]:
    """Yield the names of the languages whose codes the labels are."""
    if set(names) <= LANGUAGES.keys():
        yield from ((tuple(other.split()), name) for name in names for other in LANGUAGES[name])


def _forms(words: Words) -> set[Words]:
    """Return the words joined, without plurals, with and without -ing, and two of them in the other order."""
    if "~" in words:
        return {tuple(word for word in words if word != "~")} if not is_number(words[0]) else set()
    if not words or not all(map(is_word, words)):
        return set()
    if words[0] == "no":
        return {(without, *rest, *words[1:]) for without in ("without", "not") for rest in ((), ("any",))}
    short = len(words) <= _MOST_FORMS
    forms = set(product(*map(_word_forms, words))) if short else {tuple(map(singular, words))}
    match words:
        case (one, two) if not {one, two} & NEGATORS:
            forms |= {(second, first) for first, second in forms}
        case (one, "and", two):
            forms |= {(second, "and", first) for first, _, second in forms}
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
    if stem in _OTHER_WORDS:
        return forms
    return forms | {stem, f"{stem}e", re.sub(r"(\w)\1$", r"\1", stem)} if stem[2:] else forms


def _derived(name: str) -> Iterator[Words]:
    """Yield the adjective of a label that is a noun in -ness, and the adverb of a label."""
    stem = name.removesuffix("ness")
    if not name.isalpha() or len(stem) < _SHORTEST_STEM:
        return
    if stem != name:
        yield (stem,)
    yield from ((adverb,) for adverb in (f"{name}ly", f"{name}ally") if adverb not in FILLER)


def _without_lead(words: Words) -> Words:
    """Return a label such as "in the second half" without the words that lead to it; nothing if there are none."""
    lead = next((at for at, word in enumerate(words) if word not in FILLER), 0)
    return words[lead:]


def _counted_things(names: Sequence[str], *, compared: bool) -> Iterator[tuple[Words, str]]:
    """Yield "first", "2nd recording", "recording one" and the like for labels such as "recording 1" or "first"."""
    places = [_place(name.split(), compared=compared) for name in names]
    if None in places:
        return
    for name, found in zip(names, places, strict=True):
        place, noun = found or (0, "")
        nouns = [noun, "one", "number"] if noun else ["one", "number", *_THINGS]
        for word in (_ORDINALS[place], _FIGURES[place]):
            yield (word,), name
            yield from (((word, thing), name) for thing in nouns)
        yield (_PLACES[place],), name
        yield from (((thing, _PLACES[place]), name) for thing in nouns)


def _place(words: Sequence[str], *, compared: bool) -> tuple[int, str] | None:
    """Return the place that a label stands for, and what it calls the thing there."""
    match words:
        case [word] if word in _ORDINALS:
            return _ORDINALS.index(word), ""
        case [word, noun] if word in _ORDINALS and noun in {*_THINGS, "one"}:
            return _ORDINALS.index(word), "" if noun == "one" else noun
        case [noun, word] if noun in _THINGS and word in _PLACES:
            return _PLACES.index(word), noun
        case [word] if compared and word in _PLACES:
            return _PLACES.index(word), ""
        case _:
            return None


def _lettered_things(names: Sequence[str]) -> list[tuple[Words, str]]:
    """Return "recording b" and the like for labels that are bare letters."""
    if not all(len(name) == 1 and name in "abcdefgh" for name in names):
        return []
    return [((noun, name), name) for name in names for noun in sorted(NAMED_THINGS)]


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
