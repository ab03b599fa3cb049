"""The labels of a classification: which there are, and how an answer may word them."""

import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from otoscope.judges.question import Question
from otoscope.judges.wording import FILLER, NEGATORS, is_number, is_word, normal, singular, tokens

Words = tuple[str, ...]

#: Words of one meaning, whatever the task: the families are disjoint.
FAMILIES: tuple[frozenset[str], ...] = tuple(
    frozenset(family.split(", "))
    for family in (
        "yes, yeah, yep",
        "no, nope",
        "male, man, men, masculine, male speaker, male voice, gentleman",
        "female, woman, women, feminine, female speaker, female voice, lady",
        "happy, happiness, joy, joyful, joyous, happily",
        "sad, sadness, sorrow, sorrowful, sadly",
        "angry, anger, angrily",
        "fear, fearful, afraid, scared, frightened",
        "disgust, disgusted",
        "surprise, surprised",
        "neutral, neutrality",
        "calm, calmness, calmly",
        "bored, boredom",
        "excited, excitement",
        "frustrated, frustration",
        "anxious, anxiety",
        "sarcastic, sarcasm, sarcastically",
        "same, identical, same speaker, same person",
        "different, different speakers, different people, different persons",
        "real, genuine, authentic, bonafide, bona fide",
        "fake, spoof, spoofed, deepfake, deep fake",
        "grammatical, grammatically correct",
        "ungrammatical, grammatically incorrect, not grammatical",
        "chinese, mandarin, mandarin chinese",
        "persian, farsi",
        "r and b, rnb, rhythm and blues",
        "hip hop, hiphop",
        "us, american, united states",
        "british, england",
        "0, none",
    )
)
#: Of a pair, denying one asserts the other.
_COMPLEMENTS = frozenset(
    frozenset(pair.split(", "))
    for pair in (
        "same, different", "true, false", "present, absent", "correct, incorrect", "male, female", "real, fake",
        "real, spoof", "bonafide, spoof", "bonafide, deepfake", "genuine, spoof", "clean, noisy", "major, minor",
    )
)

#: Label sets that everyone knows, for a task that declares no options. An answer outside its set is not read.
_LANGUAGES = """english german french spanish italian portuguese dutch russian polish chinese japanese korean arabic hindi
    turkish swedish danish finnish greek hebrew czech hungarian romanian ukrainian vietnamese thai indonesian persian
    tamil telugu bengali swahili catalan welsh cantonese bulgarian""".split()
_KNOWN_SETS: tuple[frozenset[str], ...] = (
    frozenset({"yes", "no"}),
    frozenset({"male", "female"}),
    frozenset({"same", "different"}),
    frozenset({"true", "false"}),
    frozenset(_LANGUAGES),
)

#: Words that may stand between the words of a label.
_SPACERS = frozenset("a an the is are his her their its my your some being on".split())

_PITCHES = {"c": 0, "d": 2, "e": 4, "f": 5, "g": 7, "a": 9, "b": 11}
_MUSIC = re.compile(
    r"""(?<![\w#♯♭'])(?P<letter>[A-Ga-g])(?:(?P<sharp>[#♯]|[ -]?[Ss]harp\b)|(?P<flat>♭|b(?![a-z])|[ -]?[Ff]lat\b))?
    (?:[ :-]*(?P<mode>[Mm]ajor\b|[Mm]inor\b|[Mm]aj\b|[Mm]in\b|m(?![\w#'])))?(?![\w#♯♭'])""",
    re.VERBOSE,
)
_MUSIC_ASKED = re.compile(r"\b(?:key|tonic|pitch|note|chord|tonality|scale|tune)s?\b")

_MARKED = re.compile(r"(?<![\w'])\(?([A-H])[).:]\s+|(?<![\w'])\(([A-H])\)\s*")
_LIST_SEPARATOR = re.compile(r"\s*[,;|/]\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+|\n\s*[-*•]?\s*")
_LEAD = re.compile(
    r".*(?::|\b(?:from|be|is|are|either|of|as|with|options?|between|among|following|choose|select|pick|whether|by|"
    r"answer|say|respond|reply|in|a|an|the)\b)\s*",
    re.IGNORECASE | re.DOTALL,
)
_TAIL = re.compile(
    r"\s*(?:[)?!]|\.\s|\.$|\b(?:based|in|for|according|after|given|to|that|from|which|when|as|by|if|only|here|does|is|are|"
    r"will|was|were|without|please)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})


@dataclass(frozen=True, slots=True)
class Labels:
    """What may be named in an answer.

    Attributes:
        target: the names of the right labels.
        wordings: the label that a sequence of words names.
        closed: whether every label that can be chosen is known.
        letters: the label that a letter of the instruction's or the options' own list stands for.
        numeric: whether any number is a label.
        musical: whether labels are keys, chords or notes.
    """

    target: frozenset[str]
    wordings: Mapping[Words, str]
    closed: bool
    letters: Mapping[str, str]
    numeric: bool
    musical: bool

    @property
    def names(self) -> frozenset[str]:
        """The distinct labels."""
        return frozenset(self.wordings.values())

    @property
    def polar(self) -> bool:
        """Whether the question is answered by yes or no."""
        return {"yes", "no"} <= self.names and len(self.names) <= 3

    def read(self, text: str) -> list[str]:
        """Return the tokens of an answer, with every key or note as one token."""
        return tokens(merge_music(text) if self.musical else text)

    def at(self, words: Sequence[str], start: int) -> tuple[str, int] | None:
        """Return the label named at ``start`` by the longest wording, and where that ends."""
        for length in range(min(self.longest, len(words) - start), 0, -1):
            exact = tuple(words[start : start + length])
            label = self.wordings.get(exact) or self.wordings.get(tuple(map(singular, exact)))
            if label is not None:
                return label, start + length
        spaced = self._spaced(words, start)
        if spaced is not None:
            return spaced
        if self.musical and words[start].startswith("music"):
            return words[start], start + 1
        if self.numeric and is_number(words[start]):
            return words[start], start + 1
        return None

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

    @property
    def longest(self) -> int:
        """The number of words of the longest wording."""
        return max(map(len, self.wordings), default=0)

    def complement(self, label: str) -> str | None:
        """Return the label that is asserted when ``label`` is denied, if the set has two that exclude each other."""
        if not self.closed or len(self.names) != 2:
            return None
        (other,) = self.names - {label}
        opposite = {label, other} in _COMPLEMENTS or any(
            one in {f"{prefix}{two}" for prefix in ("non ", "no ", "not ", "un", "non", "in", "ir")}
            for one, two in ((label, other), (other, label))
        )
        return other if opposite else None


def labels_of(question: Question) -> Labels:
    """Return the labels of a question: declared, read from its instruction, or of a set that everyone knows."""
    letters, options = _lettered(question)
    targets = _targets(question)
    if not options:
        options = tuple(question.options) or _listed(question.instruction, targets)
    musical = _is_musical((*options, *targets), question.instruction)
    named = list(dict.fromkeys(name_of(option, musical=musical) for option in options))
    right = [name_of(letters.get(target.strip("(). "), target), musical=musical) for target in targets]
    right = [_member(name, named, question, musical=musical) for name in right]
    closed = bool(named) and set(right) <= set(named)
    known = next((known for known in _KNOWN_SETS if set(right) <= known), frozenset())
    if not closed or len(known) > 2:
        named, closed = [*named, *sorted(known - set(named))], closed or bool(known)
    numeric = not closed and all(is_number(name) for name in right)
    wordings = _wordings([*named, *right], question.synonyms, musical=musical)
    letter_names = {letter: name_of(option, musical=musical) for letter, option in letters.items()}
    single = [target.strip("(). ") for target in targets]
    if not letters and not musical and all(re.fullmatch("[A-H]", letter) for letter in (*single, *options)):
        letter_names = {letter: letter.lower() for letter in "ABCDEFGH"}
    return Labels(frozenset(right), wordings, closed, letter_names, numeric, musical)


def name_of(label: str, *, musical: bool = False) -> str:
    """Return the name by which two labels are compared."""
    words = tokens(merge_music(label, label=True) if musical else label)
    return " ".join(word for word in words if word not in '"()[]{}.\n') or normal(label).strip()


def merge_music(text: str, *, label: bool = False) -> str:
    """Write each key, chord or note of a text as one word in which enharmonic names are equal.

    A bare letter counts only in upper case, and not where it is an article; in a label it always counts.
    """

    def merged(match: re.Match[str]) -> str:
        letter, mode = match["letter"], (match["mode"] or "")
        bare = not (mode or match["sharp"] or match["flat"])
        rest = text[match.end() :]
        if not label and bare and (letter.islower() or (letter == "A" and re.match(r"\s+[a-z]", rest))):
            return match.group()
        if not label and letter == "a" and not match["mode"]:
            return match.group()
        pitch = (_PITCHES[letter.lower()] + bool(match["sharp"]) - bool(match["flat"])) % 12
        minor = mode[:3].lower() == "min" or mode == "m"
        return f"music{pitch}{'minor' if minor else 'major' if mode else ''}"

    return _MUSIC.sub(merged, text)


def _is_musical(labels: Iterable[str], instruction: str) -> bool:
    shaped = [_MUSIC.fullmatch(label.strip()) for label in labels]
    if not shaped or not all(shaped):
        return False
    telling = any(match["sharp"] or match["flat"] or match["mode"] for match in shaped if match)
    return telling or _MUSIC_ASKED.search(instruction.lower()) is not None


def _targets(question: Question) -> tuple[str, ...]:
    """Return the parts of the target: one, unless several labels may be right."""
    target = question.target.strip()
    if not question.multi:
        return (target,)
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(target)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, list | tuple | set):
            return tuple(str(part) for part in value)
    if target in question.options:
        return (target,)
    parts = re.split(r"\s*[;|]\s*", target) if re.search("[;|]", target) else re.split(r"\s*,\s*(?:and\s+)?", target)
    return tuple(part for part in parts if part)


def _member(name: str, named: Sequence[str], question: Question, *, musical: bool) -> str:
    """Return the option that ``name`` is a wording of, or the name itself."""
    if name in named:
        return name
    wordings = _wordings(list(named), question.synonyms, musical=musical)
    return wordings.get(tuple(name.split()), name)


def _lettered(question: Question) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options by letter, from options or an instruction that are lettered A, B and so on."""
    marked = [re.fullmatch(r"\(?([A-H])[).:]\s*(.+)", option.strip()) for option in question.options]
    if marked and all(marked):
        letters = {match[1]: match[2] for match in marked if match}
        return letters, tuple(letters.values())
    marks = list(_MARKED.finditer(question.instruction))
    found = [mark[1] or mark[2] for mark in marks]
    if len(found) < 2 or "".join(found) != "ABCDEFGH"[: len(found)]:
        return {}, ()
    ends = [mark.start() for mark in marks[1:]] + [len(question.instruction)]
    letters = {}
    for letter, mark, end in zip(found, marks, ends, strict=True):
        option = re.split(r"\n|[.?!](?:\s|$)", question.instruction[mark.end() : end].strip())[0]
        letters[letter] = re.sub(r"[\s,;]*(?:\b(?:or|and))?[\s,;]*$", "", option)
    return letters, tuple(question.options) or tuple(letters.values())


def _listed(instruction: str, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the options that the instruction lists; a list without the target is not the list of options."""
    instruction = instruction.translate(_QUOTES)
    wanted = {name_of(target) for target in targets}
    quoted = tuple(one or two for one, two in _QUOTED.findall(instruction))
    lists = [quoted]
    for sentence in re.split(r"(?<=[.?!])\s+|\n\s*\n", instruction):
        pieces = _LIST_SEPARATOR.split(sentence)
        if len(pieces) > 1:
            lists.append(tuple(_item(piece) for piece in pieces))
            size = max(len(piece.split()) for piece in pieces[1:-1] or targets)
            first, last = _LEAD.sub("", pieces[0]).split(), _TAIL.sub("", pieces[-1]).split()
            lists.append((" ".join(first[-size:]), *pieces[1:-1], " ".join(last[:size])))
            if size == 1 or len(pieces) == 2:
                lists[-2:] = reversed(lists[-2:])
    for options in lists:
        stripped = tuple(option.strip(" \t\n\"'.,;:?!()[]-") for option in options)
        kept = tuple(option for option in stripped if option)
        if len(kept) > 1 and wanted <= {name_of(option) for option in kept}:
            return kept
    return ()


def _item(piece: str) -> str:
    return _TAIL.sub("", _LEAD.sub("", piece))


def _wordings(names: list[str], synonyms: Mapping[str, tuple[str, ...]], *, musical: bool) -> dict[Words, str]:
    """Return what names a label: its name, then declared synonyms, then families, then other forms of its words."""
    names = list(dict.fromkeys(names))
    declared = {name_of(label, musical=musical): others for label, others in synonyms.items()}
    tiers: tuple[list[tuple[Words, str]], ...] = (
        [(tuple(name.split()), name) for name in names],
        [(tuple(name_of(other).split()), name) for name in names for other in declared.get(name, ())],
        [(tuple(other.split()), name) for name in names for family in FAMILIES if name in family for other in family],
        [(form, name) for name in names for form in _forms(tuple(name.split()))],
        [(number, name) for name, number in _bare_numbers(names)],
    )
    wordings: dict[Words, str] = {}
    for tier in tiers:
        new: dict[Words, set[str]] = {}
        for words, name in tier:
            if words and words not in wordings:
                new.setdefault(words, set()).add(name)
        wordings.update({words: of.pop() for words, of in new.items() if len(of) == 1})
    return wordings


def _forms(words: Words) -> set[Words]:
    """Return the words joined, without plurals, with and without -ing, and two of them in the other order."""
    if not all(is_word(word) for word in words):
        return set()
    choices = [_word_forms(word) for word in words]
    forms = set(product(*choices)) if len(words) <= 3 else {tuple(map(singular, words))}
    if len(words) == 2 and not NEGATORS & set(words):
        forms |= {(second, first) for first, second in forms}
    if len(words) > 1 and all(word.isalpha() and len(word) > 1 for word in words):
        forms.add(("".join(words),))
    return forms - {words}


def _word_forms(word: str) -> set[str]:
    forms = {word, singular(word)}
    if not word.isascii() or not word.isalpha() or word in FILLER:
        return forms
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        forms |= {stem, f"{stem}e"} | ({stem[:-1]} if stem[-1:] == stem[-2:-1] else set())
    elif len(word) > 2:
        forms.add(f"{word.removesuffix('e')}ing")
    return forms


def _bare_numbers(names: Sequence[str]) -> list[tuple[str, Words]]:
    """Return each label with its number alone, where labels are numbers of one unit."""
    parts = [name.split(maxsplit=1) for name in names]
    if len(parts) > 1 and all(len(part) == 2 and is_number(part[0]) for part in parts) and len({p[1] for p in parts}) == 1:
        return [(name, (part[0],)) for name, part in zip(names, parts, strict=True)]
    return []
