"""The options that a question declares or that its instruction lists."""

import re
from collections.abc import Mapping, Sequence

from otoscope.judges.question import Question
from otoscope.judges.wording import is_word, normal, straight, tokens

_LETTERS = ("ABCDEFGH", "12345678")
_LETTERED = re.compile(r"\(?(?:([A-H])[).:]|([a-h1-8])\))\s*(.+)", re.DOTALL)
_MARK = re.compile(
    r"(?<![\w'])\(?(?:([A-H])[).:]|([a-h1-8])\)|([1-8])\.(?=\s+[^\W\d]))\s+|(?<![\w'])\(([A-Ha-h1-8])\)\s*"
)
_SEPARATOR = re.compile(r"\s*(?:[,;|]|(?<!\d)/|/(?!\d))\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+|\n\s*[-*•]?\s*")
_QUOTED = re.compile(r"\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")
_LEAD = re.compile(
    r".*(?::|\b(?:from|be|is|are|either|of|as|with|options?|choices|between|among|following|choose|select|pick|whether|by|"
    r"answer|say|respond|reply|in|a|an|the)\b)\s*",
    re.IGNORECASE | re.DOTALL,
)
_TAIL = re.compile(
    r"\s*(?:[)?!]|\.\s|\.$|\b(?:based|in|for|according|after|given|to|that|from|which|when|as|by|if|only|here|does|is|are|"
    r"will|was|were|without|please)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_OPENS_LIST = re.compile(r":|\b(?:from|following|between|options?|either)\b", re.IGNORECASE)
_ASKS = re.compile(r"\b(?:which|what|who|how)\b", re.IGNORECASE)
#: Labels that stand in brackets after what they mean.
_LABELLED = re.compile(r"\((\w+(?: \w+)?)\)")
#: Pairs that are options wherever they stand, even after a list of other things.
_PAIR = re.compile(
    r"\b(yes|true|first|A|1)\b[\"']?(?:\s+or\s+|\s*/\s*|\s*,\s*)[\"']?(no|false|second|B|2)\b(?!\s*[,/]|\s+or\b)",
)
_BRACKETED_LIST = re.compile(r"[(\[]([^()\[\]]*[^()\[\]\d][,/|;][^()\[\]]*)[)\]]")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?!m(?:ajor|inor)\b)", re.IGNORECASE)
#: Opens a list that is one of examples.
_EXAMPLES = re.compile(r"\b(?:such as|for example|for instance|like)\b", re.IGNORECASE)
_SHORT_FOR_EXAMPLE = re.compile(r"\be\.\s?g\.", re.IGNORECASE)


def lettered(question: Question) -> dict[str, str]:
    """Return the options by letter, if the options or the instruction are lettered A, B and so on."""
    declared = [_LETTERED.fullmatch(option.strip()) for option in question.options]
    if declared and all(declared):
        return {(match[1] or match[2]).upper(): match[3] for match in declared if match}
    marks = list(_MARK.finditer(question.instruction))
    letters = ["".join(filter(None, mark.groups())).upper() for mark in marks]
    if not letters[1:] or "".join(letters) not in {known[: len(letters)] for known in _LETTERS}:
        return {}
    ends = [mark.start() for mark in marks[1:]] + [len(question.instruction)]
    texts = [
        _first_sentence(question.instruction[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)
    ]
    # Marks that follow their options leave nothing after the last.
    return dict(zip(letters, texts, strict=True)) if all(map(_has_word, texts)) else {}


def unlettered(label: str, letters: Mapping[str, str]) -> str:
    """Return what a label such as "B", "(b)" or "B. violin" stands for among lettered options, else the label."""
    match = _LETTERED.fullmatch(label.strip())
    letter = (match[1] or match[2]).upper() if match else label.strip("(). ").upper()
    if letter not in letters or (match and normal(match[3]).strip(" .") != normal(letters[letter]).strip(" .")):
        return label
    return letters[letter]


def listed(instruction: str) -> list[tuple[str, ...]]:
    """Return every list in an instruction that may be its options, the likeliest reading of each sentence first."""
    instruction = _SHORT_FOR_EXAMPLE.sub("for example", straight(instruction))
    lists = [tuple(one or two for one, two in _QUOTED.findall(instruction)), tuple(_LABELLED.findall(instruction))]
    lists += [pair.groups() for pair in _PAIR.finditer(instruction)]
    lists += [
        tuple(_SEPARATOR.split(inside))
        for inside in _BRACKETED_LIST.findall(instruction)
        if not _EXAMPLES.search(inside)
    ]
    for sentence in re.split(r"(?<=[.?!])\s+|\n\s*\n", instruction):
        if _EXAMPLES.search(sentence):
            continue
        for text in dict.fromkeys((_ASIDE.sub("", sentence), sentence)):
            pieces = _SEPARATOR.split(text)
            if pieces[1:]:
                lists += _readings(pieces)
    stripped = (tuple(option.strip(" \t\n\"'.,;:?!()[]-") for option in options) for options in lists)
    kept = (tuple(filter(None, options)) for options in stripped)
    return [options for options in kept if options[1:]]


def _readings(pieces: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the items between separators, with the words before the first and after the last left out.

    How many words belong to the first and the last is not certain: as many as the longest of the others has, or as many
    as are left once the usual leads and tails are cut.
    """
    question = _is_question(pieces)
    pieces = [pieces[0], *(_ARTICLE.sub("", piece, count=1) for piece in pieces[1:])]
    lead, tail = _LEAD.sub("", pieces[0]), _TAIL.sub("", pieces[-1])
    trimmed = tuple(_TAIL.sub("", _LEAD.sub("", piece)) for piece in pieces)
    sizes = [len(piece.split()) for piece in pieces[1:-1]] or [min(len(each.split()) for each in trimmed)]
    size = max(1, *sizes, 1)
    even = (" ".join(lead.split()[-size:]), *pieces[1:-1], " ".join(tail.split()[:size]))
    readings = [even, trimmed] if size == 1 else [trimmed, even]
    return [reading[1:] for reading in readings] if question else readings


def _is_question(pieces: Sequence[str]) -> bool:
    """Return whether what stands before the first separator is a question, not the first of the options."""
    if not pieces[2:] or _OPENS_LIST.search(pieces[0]):
        return False
    articles = all(map(_ARTICLE.match, pieces[1:])) and not re.search(r"\b(?:the|an?)\s+\w+$", pieces[0])
    return articles or _ASKS.search(pieces[0]) is not None


def _has_word(text: str) -> bool:
    return any(map(is_word, tokens(text)))


def _first_sentence(text: str) -> str:
    return re.sub(r"[\s,;]*(?:\b(?:or|and))?[\s,;]*$", "", re.split(r"\n|[.?!](?:\s|$)", text)[0])
