"""How a judge reads text: tokens, numbers in words, refusals, doubts and planted verdicts."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from typing import Any

_SOURCE: Mapping[str, Any] = tomllib.loads(files("otoscope.judges").joinpath("words.toml").read_text(encoding="utf-8"))


def word_set(name: str) -> frozenset[str]:
    """Return a set of words of ``words.toml``."""
    return frozenset(_SOURCE[name].split())


def phrase_list(name: str) -> tuple[tuple[str, ...], ...]:
    """Return a list of ``words.toml``: of each entry the wordings between its commas."""
    return tuple(tuple(entry.split(", ")) for entry in _SOURCE[name])


#: Tokens that end a sentence, and those that end a clause within one.
SENTENCE_END = frozenset(".?!;\n")
CLAUSE_END = SENTENCE_END | {",", "~", "(", ")", "but", "however", "whereas", "while", "although", "though"}

NEGATORS = word_set("negators")
HEDGES = word_set("hedges")
DENIALS = NEGATORS | HEDGES
FILLER = word_set("filler")
TOPICS = word_set("topics")
BOUNDS = word_set("bounds")

#: Adverbs that count, and what they stand for.
TIMES = {"once": ("1", "times"), "twice": ("2", "times"), "thrice": ("3", "times")}

_UNITS = {
    word: number
    for number, word in enumerate(
        (
            *(
                "zero",
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "seven",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
            ),
            *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        )
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}
_SCALES = {"thousand": 1000, "million": 1_000_000}
_NUMBER_WORDS = {*_UNITS, *_TENS, *_SCALES, "hundred"}
_NOT_ONE_AFTER = word_set("one_after")
_NOT_ONE_BEFORE = word_set("one_before")

#: Between "the" and "one is", name what is called one.
_NAMES_ONE = word_set("named_things") | {"digit", "number", "word", "command", "answer", "label", "total", "count"}
_BEING = frozenset({"is", "was", "sounds"})
_ARTICLES = frozenset({"the", "a", "an"})

_STRAIGHT = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'})
_DASHES = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2011": "-", "\u2014": ";"})
_MARKS = str.maketrans(
    {"_": " ", "*": "", "`": "", "♯": "#", "♭": "b", "\u200b": "", "\ufe0f": "", "\uff0c": ",", "\u3002": "."}
)
_SHORT_AUXILIARIES = (("d", "would"), ("ll", "will"), ("ve", "have"), ("re", "are"))
_CONTRACTIONS = (
    (re.compile(r"\bcan(?:not|'t|t)\b"), "can not"),
    (re.compile(r"(\w)n't\b"), r"\1 not"),
    (re.compile(r"(\A\W*|\b(?:is|are|was|were|sounds?|seems?)\s+)anything but\b"), r"\1not"),
    (re.compile(r"\b(it|that|there|he|she|here)'s\b"), r"\1 is"),
    *((re.compile(rf"(\w)'{short}\b"), rf"\1 {full}") for short, full in _SHORT_AUXILIARIES),
)
_TOKEN = re.compile(
    r"""
    (?P<ordinal>\d+(?:st|nd|rd|th)\b)
    | (?P<number>(?:(?<![\w)%.])[-+])?
            (?:\d{1,3}(?:(?:,\d{3})+|(?:[\u00a0\u2009\u202f]\d{3})+)(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d{1,2}\b)?
        | (?:(?<![\w)%.])[-+])?(?<!\d)\.\d+)
    | (?P<sharp>(?<!\w)[a-g]\#(?!\w))
    | (?P<word>[^\W\d_][\w\u0300-\u036f]*(?:'[^\W\d_]+)?)
    | (?P<dash>(?<=[\w%])-(?=\d)|(?<=\s)-(?=\s)|\bto\b(?=\s*\d))
    | (?P<mark>[.,;:?!()\[\]{}"/%<>=\n+])
    | (?P<symbol>[^\w\s])
    """,
    re.VERBOSE,
)
_QUOTATION = re.compile(r"\"[^\"]+\"|(?<!\w)'[^']+'(?!\w)")
_ENUMERATED = re.compile(r"\s*\(?([A-Ha-h1-9])[.):]\s+")
_ENUMERATIONS = ("ABCDEFGH", "123456789")
_SEPARATORS = re.compile(r"[,\u00a0\u2009\u202f]")
#: Articles of French and Italian that are joined to a noun.
_ELIDED = re.compile(r"^(?:l|d|un|dell|all|nell|qu)'(?=\w{3})")
_NUMBER = re.compile(r"-?\d.*(?<=\d)", re.DOTALL)

_UNABLE = (
    r"(?:can not|could not|(?:am|'m|is) not able to|unable to|(?:do|did) not) +(?:\w+ly )?(?:determine|tell|identify|"
    r"hear(?= (?:the |this |your |any )?(?:audio|recording|clip|file|anything)\b)|listen|process|"
    r"understand|access|answer|assist|help|provide|know|play|analy[sz]e|perform|"
    r"assess|extract|measure|count|rate|evaluate|judge|predict|transcribe|have (?:access|the ability|enough|"
    r"the capab\w+)|detect any audio|directly|see|say|classify|estimate|give|"
    r"comply|fulfill|compare|verify|confirm|pick|choose|decide|distinguish|make out)"
)
_MISSING = (
    r"no (?:audio|sound|recording|file) (?:file |clip )?(?:was |is |has been )?(?:provided|attached|given|found)|"
    r"(?:please )?(?:provide|upload|share) (?:me )?(?:with )?(?:the|an?|your|more) "
    r"(?:audio|recording|file|clip|context|information|details)|"
    r"(?:insufficient|not enough) (?:information|context|data|evidence)|"
    r"(?:i )?(?:would )?(?:need|require) (?:more|additional|further) (?:information|context|data|details)"
)
_REFUSAL = re.compile(
    rf"\b(?:i am sorry|i'm sorry|sorry,|i apologi[sz]e|as an? (?:ai|language|text)|{_UNABLE}|{_MISSING}|"
    r"(?:not |im)possible to (?:determine|tell|identify|say|know|answer)|there is no way to|"
    r"can not be (?:determined|identified|answered|inferred from))"
)
_DOUBT = re.compile(
    r"\b(?:not (?:entirely |completely |really |quite )?(?:sure|certain|clear)|unsure|uncertain|unclear|ambiguous|"
    r"(?:hard|difficult) to (?:tell|say|determine|identify)|i have no idea|mixed|as well as|several|multiple answers|"
    r"(?:could|might|may|can) (?:also|equally|as well) be|but also|alternatively)\b"
)
_HARD = re.compile(
    r"(?:without [^.,;]*, )?(?:(?:it|this|that) is (?:(?:very|quite|really|too|rather) )?(?:hard|difficult) to "
    r"(?:tell|say|determine|identify)(?: (?:whether|if|which|what|without|from (?:the|this))\b[^.,;:!?\"]*)?|"
    r"i have no idea|i do not know)\W*"
)
_PLANTED = re.compile(
    r"\b(?:result|verdict|judge?ment)\W{1,8}(?:yes|no|correct|match)\b|"
    r"ignore (?:all |the |any )*(?:previous|above|prior)|"
    r"\bground[- ]truth\b|\bthe response (?:aligns|is correct|matches)|"
    r"\b(?:output|answer|reply|respond|say)(?: with)? \W?yes\W? (?:as|for|regardless)|"
    r"\bgrader\b|\bas the judge\b|\bsystem prompt\b"
)
#: A quotation after a verb of speech, or one of four words or more, is what was said and no choice.
_SPEECH_QUOTE = re.compile(
    r"""(?:\b(?:say|says|said|saying|states|stated|stating|asks|asked|asking|reads|utters|uttering|utterance|transcri\w+|
    phrase|sentence|words?|lyrics?)\b[^"'.]{0,20}(?:"[^"]*"|(?<!\w)'[^']*'(?!\w)))|"(?:[^"\s]+\s+){3,}[^"\s]+"|
    (?<!\w)'(?:[^'\s]+\s+){3,}[^'\s]+'(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=64)
def normal(text: str) -> str:
    """Return the text in one case and one spelling of quotes, dashes, negations and accidentals."""
    text = straight(unicodedata.normalize("NFC", text)).translate(_DASHES).translate(_MARKS).casefold()
    for contraction, spelled in _CONTRACTIONS:
        text = contraction.sub(spelled, text)
    return text.replace("&", " and ")


def straight(text: str) -> str:
    """Return the text with straight quotation marks."""
    return text.translate(_STRAIGHT)


def tokens(text: str) -> list[str]:
    """Return the words, numbers and marks of a text in normal form; ``~`` is a dash or "to" between numbers."""
    return list(_tokens(text))


@lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[str, ...]:
    found = [token for match in _TOKEN.finditer(normal(text)) if (token := _token(match))]
    words = _add_halves(_join_number_words(found))
    for at in range(1, len(words) - 1):
        if words[at] == "to" and is_number(words[at - 1]) and is_number(words[at + 1]):
            words[at] = "~"
    return tuple(words)


@lru_cache(maxsize=8192)
def is_number(token: str) -> bool:
    """Return whether a token is a number in figures."""
    return _NUMBER.fullmatch(token) is not None


def is_word(token: str) -> bool:
    """Return whether a token is a word, a number or a pictograph, not a punctuation mark."""
    return token[0].isalnum() or is_number(token) or unicodedata.category(token[0]) == "So"


def plain_number(value: Decimal) -> str:
    """Return a number without exponent, trailing zeros or a negative zero."""
    text = f"{value.normalize():f}"
    return "0" if text == "-0" else text


@lru_cache(maxsize=8192)
def singular(word: str) -> str:
    """Return a word without a plural s; crude, and the same for labels and answers."""
    return re.sub(r"(?<=\w{3})(?:(?<=ch|sh)es|(?<![sui])s)$", "", re.sub(r"(?<=\w{2})ies$", "y", word))


def singulars(words: Sequence[str]) -> frozenset[str]:
    """Return the distinct words without plural s."""
    return frozenset(map(singular, words))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without a plural s, -ing and -ed; crude, and the same for instructions and answers."""
    return re.sub(r"(?<=\w{3})(?:ing|ed)$", "", singular(word))


def is_refusal(text: str) -> bool:
    """Return whether a text says that the question cannot be answered."""
    return _REFUSAL.search(normal(text)) is not None


def is_doubtful(text: str) -> bool:
    """Return whether a text says that its answer is unsure or has several parts."""
    return _DOUBT.search(normal(text)) is not None


def is_undetermined(text: str) -> bool:
    """Return whether a text says that it is hard to tell, and nothing else."""
    return _HARD.fullmatch(normal(text)) is not None


def plants_verdict(text: str) -> bool:
    """Return whether a text speaks to a judge instead of answering."""
    return _PLANTED.search(normal(text)) is not None


def quotations(text: str) -> list[str]:
    """Return what a text quotes, with its quotation marks."""
    return _QUOTATION.findall(straight(text))


def without_enumeration(text: str) -> str:
    """Return a text without the letters or numbers of two lines or more that count on from the first."""
    lines = text.split("\n")
    marked = [(at, match) for at, line in enumerate(lines) if (match := _ENUMERATED.match(line))]
    marks = "".join(match[1].upper() for _, match in marked)
    if not marks[1:] or marks not in {known[: len(marks)] for known in _ENUMERATIONS}:
        return text
    for at, match in marked:
        lines[at] = lines[at][match.end() :]
    return "\n".join(lines)


def without_quotes(text: str, keep: Callable[[str], bool]) -> str:
    """Return the text without what it quotes as spoken; quotations that ``keep`` accepts are left."""

    def dropped(match: re.Match[str]) -> str:
        before, quoted = re.split("[\"']", match.group(), maxsplit=1)
        return match.group() if keep(quoted.rstrip("\"'")) else f"{before} "

    return _SPEECH_QUOTE.sub(dropped, straight(text))


def _token(match: re.Match[str]) -> str:
    text = match.group()
    match match.lastgroup:
        case "number":
            return plain_number(Decimal(_SEPARATORS.sub("", text).lstrip("+")))
        case "dash":
            return "~"
        case "symbol":
            return text if unicodedata.category(text) == "So" else ""
        case _:
            return _ELIDED.sub("", text.removesuffix("'s"))


def _join_number_words(words: Sequence[str]) -> list[str]:
    joined: list[str] = []
    at = 0
    while at < len(words):
        if not _starts_number(words, at):
            value, after = Decimal(words[at]) if is_number(words[at]) else None, at + 1
        else:
            value, after = _spelled(words, at)
        negative = value is not None and value > 0 and joined[-1:] in (["minus"], ["negative"])
        if value is not None and negative and not (joined[1:] and is_number(joined[-2])):
            joined.pop()
            value = -value
        joined.append(words[at] if value is None else plain_number(value))
        at = after
    return joined


def _starts_number(words: Sequence[str], at: int) -> bool:
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    scaled = after in _SCALES or after == "hundred"
    if word == "one" and not scaled:
        if at > 0 and words[at - 1] == "only" and set(words[max(0, at - 2) : at - 1]).isdisjoint({"a", "an", "the"}):
            return is_word(after or ".") and after not in _NOT_ONE_BEFORE
        pronoun = "".join(words[max(0, at - 2) : at - 1]) in _ARTICLES and words[at - 1] not in _NAMES_ONE
        pronoun = pronoun and (after in _BEING or not is_word(after or "."))
        return not (pronoun or after in _NOT_ONE_BEFORE or (at > 0 and words[at - 1] in _NOT_ONE_AFTER))
    return word in _UNITS or word in _TENS or (word == "a" and scaled)


def _spelled(words: Sequence[str], at: int) -> tuple[Decimal, int]:
    """Return the number that the words from ``at`` spell, and where it ends."""
    total, current, last = 0, 0, "hundred"
    if words[at] == "a":
        current, at = 1, at + 1
    while at < len(words):
        word = words[at]
        if word in _TENS and last in {"hundred", "and"}:
            current, last = current + _TENS[word], "tens"
        elif word in _UNITS and (last != "tens" or 0 < _UNITS[word] < _TENS["twenty"] // 2) and last != "unit":
            current, last = current + _UNITS[word], "unit"
        elif word == "hundred" and 0 < current < _SCALES["thousand"] // 10:
            current, last = current * 100, "hundred"
        elif word in _SCALES and current:
            total, current, last = total + current * _SCALES[word], 0, "hundred"
        elif word == "and" and last == "hundred" and current + total and set(words[at + 1 : at + 2]) & _NUMBER_WORDS:
            last = "and"
        else:
            break
        at += 1
    decimals, end = _decimals(words, at)
    return Decimal(f"{total + current}.{decimals or 0}"), end


def _decimals(words: Sequence[str], at: int) -> tuple[str, int]:
    """Return the decimals that "point" and single digits spell, and where they end."""
    decimals, end = "", at + 1
    if words[at : at + 1] != ["point"]:
        return "", at
    while end < len(words) and len(str(_UNITS.get(words[end], "--"))) == 1:
        decimals, end = decimals + str(_UNITS[words[end]]), end + 1
    return decimals, end if decimals else at


def _add_halves(words: Sequence[str]) -> list[str]:
    """Join "2 and a half" into one number."""
    joined: list[str] = []
    for word in words:
        joined.append(word)
        match joined:
            case [*_, number, "and", "a", "half"] if is_number(number):
                joined[-4:] = [plain_number(Decimal(number) + Decimal("0.5"))]
    return joined
