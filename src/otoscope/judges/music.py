"""Keys, chords and notes, so that enharmonic names are equal."""

import re
from collections.abc import Iterable

PITCHES = {"c": 0, "d": 2, "e": 4, "f": 5, "g": 7, "a": 9, "b": 11}

_NAME = re.compile(
    r"""(?<![\w#♯♭'])(?P<letter>[A-Ga-g])(?:(?P<sharp>[#♯]|[ -]?[Ss]harp\b)|(?P<flat>♭|b(?![a-z])|[ -]?[Ff]lat\b))?
    (?:[ :-]*(?P<mode>[Mm]ajor\b|[Mm]inor\b|[Mm]aj\b|[Mm]in\b|m(?![\w#'])))?(?![\w#♯♭'])""",
    re.VERBOSE,
)
_ASKED = re.compile(r"\b(?:key|tonic|pitch|note|chord|tonality|scale|tune)s?\b")


def is_musical(labels: Iterable[str], instruction: str) -> bool:
    """Return whether all labels are keys, chords or notes; bare letters are only if the instruction asks for such."""
    shaped = [_NAME.fullmatch(label.strip()) for label in labels]
    if not shaped or not all(shaped):
        return False
    telling = any(match["sharp"] or match["flat"] or match["mode"] for match in shaped if match)
    return telling or _ASKED.search(instruction.lower()) is not None


def merge_music(text: str, *, label: bool = False) -> str:
    """Write each key, chord or note of a text as one word in which enharmonic names are equal.

    A bare letter counts only in upper case, and not where it is an article; in a label it always counts.
    """

    def merged(match: re.Match[str]) -> str:
        if not label and _is_article(match, text):
            return match.group()
        mode = match["mode"] or ""
        pitch = (PITCHES[match["letter"].lower()] + bool(match["sharp"]) - bool(match["flat"])) % 12
        minor = mode == "m" or mode.lower().startswith("min")
        return f"music{pitch}{'minor' if minor else 'major' if mode else ''}"

    return _NAME.sub(merged, text)


def is_merged(word: str) -> bool:
    """Return whether a token is one that ``merge_music`` writes."""
    return re.fullmatch(r"music\d+(?:minor|major)?", word) is not None


def _is_article(match: re.Match[str], text: str) -> bool:
    """Return whether the letter is a word of the sentence; "A minor chord" at its start may be either, so it is.

    "A minor, which" is a key.
    """
    letter, rest = match["letter"], text[match.end() :]
    if match["sharp"] or match["flat"]:
        return False
    if not match["mode"]:
        return letter.islower() or (letter == "A" and re.match(r"\s+[a-z]", rest) is not None)
    before = text[: match.start()].rstrip()
    opens = letter == "a" or not before or before[-1] in ".!?"
    return letter in "aA" and opens and rest.strip(" .!") != "" and (letter == "a" or rest[0] not in ",;:(")
