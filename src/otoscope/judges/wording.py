"""How a judge reads text: tokens, numbers in words, refusals, doubts and planted verdicts."""

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal

#: Tokens that end a sentence, and those that end a clause within one.
SENTENCE_END = frozenset(".?!;\n")
CLAUSE_END = SENTENCE_END | frozenset({",", "~", "(", ")", "but", "however", "whereas", "while", "although", "though"})

NEGATORS = frozenset("not no never without neither nor non lacks lack lacking absence unlike excluding except".split())
#: Phrases that reject what follows them, as token sequences.
NEGATING_PHRASES = (
    ("rather", "than"),
    ("instead", "of"),
    ("as", "opposed", "to"),
    ("other", "than"),
    ("than",),
    ("free", "of"),
    ("rule", "out"),
    ("ruled", "out"),
)
#: Words that make a choice a mere possibility.
HEDGES = frozenset("might could may maybe perhaps possibly possible unsure uncertain unclear either if guess".split())

#: Words that choose nothing by themselves.
FILLER = frozenset(
    """a an the this that these those it its it's there here i we you he she they my your his her their our me is are
    was were be been being am do does did has have had having can will would should of in on at to from by for with as
    and so then thus therefore hence overall answer answers option options choice correct right final best label class
    category result response following given provided based which who whom what whose when where how heard hear hears
    hearing listen listening sound sounds sounding sounded audio clip clips recording recordings file wav wave sample
    speech voice speaker person track piece segment excerpt seems seem appears appear appearing likely most probably
    clearly definitely very quite really just only also think believe say conclude determine during throughout identify identified
    classified classify described describe labeled labelled categorized recognized predicted predict detected detect
    contain contains containing include includes feature features featuring present being expressed expressing
    expresses express conveys convey conveyed shows show showing indicates indicate indicating suggests suggest made
    make produced produce played playing play used type kind one sure ok okay certainly course yes speaking talking""".split()
)
#: Filler that a question may be about all the same.
TOPICS = frozenset("speech voice speaker person sound music".split())

_UNITS = {
    word: number
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_NUMBER_WORDS = _UNITS.keys() | _TENS.keys() | _SCALES.keys()
#: Beside these, "one" stands for a thing and is no number.
_PRONOUN_BEFORE = frozenset("this that the which no any every each another some other only".split())
_PRONOUN_AFTER = frozenset({"of", "another", "who", "that"})

_SPELLING = str.maketrans(
    {
        "’": "'", "‘": "'", "“": '"', "”": '"', "«": '"', "»": '"', "−": "-", "–": "-", "—": ";", "‑": "-",
        "_": " ", "*": "", "`": "", "♯": "#", "♭": "b", "\u200b": "", "\ufe0f": "", "，": ",", "。": ".",
    }
)  # fmt: skip
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_TOKEN = re.compile(
    r"""
    (?P<ordinal>\d+(?:st|nd|rd|th)\b)
    | (?P<number>(?:(?<![\w)%.])[-+])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:e[-+]?\d{1,2}\b)?
        | (?:(?<![\w)%.])[-+])?(?<!\d)\.\d+)
    | (?P<sharp>(?<!\w)[a-g]\#(?!\w))
    | (?P<word>[^\W\d_][\w\u0300-\u036f]*(?:'[^\W\d_]+)?)
    | (?P<dash>(?<=[\w%])-(?=\d)|(?<=\s)-(?=\s)|\bto\b(?=\s*\d))
    | (?P<mark>[.,;:?!()\[\]{}"/%<>=\n+])
    | (?P<symbol>[^\w\s])
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?\d")

_REFUSAL = re.compile(
    r"""\b(?:i\ am\ sorry|i'm\ sorry|sorry,|i\ apologi[sz]e|as\ an?\ (?:ai|language|text)|
    (?:i\ )?(?:can\ ?not|can't|could\ not|couldn't|am\ not\ able\ to|'m\ not\ able\ to|unable\ to|do\ not|don't)\ +
      (?:\w+ly\ )?(?:determine|tell|identify|hear|listen|process|access|answer|assist|help|provide|know|play|analy[sz]e|
      have\ (?:access|the\ ability|enough|the\ capab\w+)|perform|assess|detect\ any\ audio|directly|see|say|classify|
      estimate|give|comply|fulfill)|
    (?:not|im)\ ?possible\ to\ (?:determine|tell|identify|say|know|answer)|
    no\ (?:audio|sound|recording|file)\ (?:file\ |clip\ )?(?:was\ |is\ |has\ been\ )?(?:provided|attached|given|found)|
    (?:please\ )?(?:provide|upload|share)\ (?:me\ )?(?:with\ )?(?:the|an?|your|more)\ 
      (?:audio|recording|file|clip|context|information|details)|
    (?:insufficient|not\ enough)\ (?:information|context|data|evidence)|
    there\ is\ no\ way\ to|cannot\ be\ (?:determined|identified|answered))""",
    re.VERBOSE,
)
_DOUBT = re.compile(
    r"\b(?:not (?:entirely |completely |really |quite )?(?:sure|certain|clear)|unsure|uncertain|unclear|ambiguous|"
    r"(?:hard|difficult) to (?:tell|say|determine|identify)|i have no idea|mixed|as well as|several|multiple answers)\b"
)
_PLANTED = re.compile(
    r"\b(?:result|verdict|judg[e]?ment)\W{1,8}(?:yes|no|correct|match)\b|ignore (?:all |the |any )*(?:previous|above|prior)|"
    r"\bground[- ]truth\b|\bthe response (?:aligns|is correct|matches)|\b(?:output|answer|reply|respond|say)(?: with)? \W?yes\W? "
    r"(?:as|for|regardless)|\bgrader\b|\bas the judge\b|\bsystem prompt\b"
)
#: A quotation of four words or more, or one that follows a verb of speech, is what was said and no choice.
_SPEECH_QUOTE = re.compile(
    r"""(?:\b(?:say|says|said|saying|states|stated|stating|asks|asked|asking|reads|utters|uttering|utterance|transcri\w+|
    phrase|sentence|words?|lyrics?)\b[^"'.]{0,20}(?:"[^"]*"|(?<!\w)'[^']*'(?!\w)))|"(?:[^"\s]+\s+){3,}[^"\s]+"|
    (?<!\w)'(?:[^'\s]+\s+){3,}[^'\s]+'(?!\w)""",
    re.VERBOSE,
)


def normal(text: str) -> str:
    """Return the text in one case and one spelling of quotes, dashes, negations and accidentals."""
    text = unicodedata.normalize("NFC", text).translate(_SPELLING).casefold()
    text = re.sub(r"\bcannot\b", "can not", text)
    text = re.sub(r"(\w)n't\b", r"\1 not", text)
    text = re.sub(r"\b(it|that|there|he|she|here)'s\b", r"\1 is", text)
    return text.replace("&", " and ")


def tokens(text: str) -> list[str]:
    """Return the words, numbers and marks of a text in normal form; ``~`` is a dash or "to" between numbers."""
    found = [token for match in _TOKEN.finditer(normal(text)) if (token := _token(match))]
    joined = _add_halves(_join_number_words(found))
    for at in range(1, len(joined) - 1):
        if joined[at] == "to" and is_number(joined[at - 1]) and is_number(joined[at + 1]):
            joined[at] = "~"
    return joined


def is_number(token: str) -> bool:
    """Return whether a token is a number in figures."""
    return _NUMBER.match(token) is not None and token[-1].isdigit()


def is_word(token: str) -> bool:
    """Return whether a token is a word or a number and no punctuation mark."""
    return token[0].isalnum() or token[-1].isdigit() or unicodedata.category(token[0]) == "So"


def plain_number(value: Decimal) -> str:
    """Return a number without exponent, trailing zeros or a negative zero."""
    text = f"{value.normalize():f}"
    return "0" if text == "-0" else text


def singular(word: str) -> str:
    """Return a word without a plural s; crude, and the same for labels and answers."""
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_refusal(text: str) -> bool:
    """Return whether a text says that the question cannot be answered."""
    return _REFUSAL.search(unicodedata.normalize("NFC", text).translate(_SPELLING).casefold()) is not None


def is_doubtful(text: str) -> bool:
    """Return whether a text says that its answer is unsure or has several parts."""
    return _DOUBT.search(normal(text)) is not None


def plants_verdict(text: str) -> bool:
    """Return whether a text speaks to a judge instead of answering."""
    return _PLANTED.search(normal(text)) is not None


def without_quotes(text: str, keep: Callable[[str], bool]) -> str:
    """Return the text without what it quotes as spoken; quotations that ``keep`` accepts are left."""

    def dropped(match: re.Match[str]) -> str:
        quoted = re.split("[\"']", match.group(), maxsplit=1)[1].rstrip("\"'")
        return match.group() if keep(quoted) else " "

    return _SPEECH_QUOTE.sub(dropped, text.translate(_STRAIGHT))


def _token(match: re.Match[str]) -> str:
    text = match.group()
    if match.lastgroup == "number":
        return plain_number(Decimal(text.replace(",", "").lstrip("+")))
    if match.lastgroup == "dash":
        return "~"
    if match.lastgroup == "symbol":
        return text if unicodedata.category(text) == "So" else ""
    return text.removesuffix("'s")


def _join_number_words(words: list[str]) -> list[str]:
    joined: list[str] = []
    at = 0
    while at < len(words):
        word, before = words[at], words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        pronoun = word == "one" and after not in _SCALES and (before in _PRONOUN_BEFORE or after in _PRONOUN_AFTER)
        starts = word in _UNITS or word in _TENS or (word == "a" and after in _SCALES)
        if not starts or pronoun:
            joined.append(word)
            at += 1
            continue
        value, at = _spelled(words, at)
        if joined and joined[-1] in {"minus", "negative"}:
            joined.pop()
            value = -value
        joined.append(plain_number(value))
    return joined


def _add_halves(words: list[str]) -> list[str]:
    """Join "2 and a half" into one number."""
    joined: list[str] = []
    for word in words:
        joined.append(word)
        if joined[-3:] == ["and", "a", "half"] and len(joined) > 3 and is_number(joined[-4]):
            joined[-4:] = [plain_number(Decimal(joined[-4]) + Decimal("0.5"))]
    return joined


def _spelled(words: list[str], at: int) -> tuple[Decimal, int]:
    """Return the number that the words from ``at`` spell, and where it ends."""
    total, current, floor = 0, 0, 100
    if words[at] == "a":
        current, at = 1, at + 1
    while at < len(words):
        word = words[at]
        if word in _TENS and floor > 10:
            current, floor = current + _TENS[word], 10
        elif word in _UNITS and (floor > 10 or (floor == 10 and 0 < _UNITS[word] < 10)):
            current, floor = current + _UNITS[word], 0
        elif word == "hundred" and 0 < current < 100:
            current, floor = current * 100, 100
        elif word in _SCALES and word != "hundred" and current:
            total, current, floor = total + current * _SCALES[word], 0, 100
        elif not (word == "and" and floor == 100 and words[at + 1 : at + 2] and words[at + 1] in _NUMBER_WORDS):
            break
        at += 1
    decimals = ""
    if words[at : at + 1] == ["point"]:
        end = at + 1
        while end < len(words) and _UNITS.get(words[end], 10) < 10:
            decimals, end = decimals + str(_UNITS[words[end]]), end + 1
        at = end if decimals else at
    return Decimal(f"{total + current}.{decimals or 0}"), at
