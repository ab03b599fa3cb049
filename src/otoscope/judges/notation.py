"""Numbers in a notation that the rules do not read: expressions, primes, bounds in signs, dates and ratios."""

import re

_QUOTED = re.compile(r"(?<!\w)(['\"])([^'\"]*)\1(?!\w)")
_SIGNS = re.compile(
    r"""
    \d\s*[\u00d7÷^√±∓\u03c0\u03d6\u2032\u2033\u00b2\u00b3\u00b9\u2070-\u2079\u00bc-\u00be\u2150-\u215f]
    | [\u00d7÷^√∛∜±∓\u03c0\u03d6]\W{0,2}\d | \+\s*/\s*-\s*\d
    | [≤≥]\s*\d | <\s*=?\s*\d | (?<![\w"'/=-])>\s*=?\s*\d
    | \d\s*(?:x\s*|\*(?:\s*\*)?\s*)(?<!\*\*\s)\d
    | \d['"] | (?<!\w)['"]\d
    | \d[^\S\n]*/[^\S\n]*[^\W\d_]+\b(?!/) | [^\W\d_][^\S\n]*/[^\S\n]*\d | \d/\d+/\d | \d-\d+-\d
    | \bplus\s+or\s+minus\b | \bgive\s+or\s+take\b
    | \bpi\b | \b(?:sqrt|root|log|ln|exp|sin|cos|tan)\b(?:\s+of)?\s*\(?\s*\d | \d\s*(?:squared|cubed)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_ROMAN = re.compile(r"\b(?=[CDILMVX]{2})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b")
_RATIO = re.compile(r"(?<![\d:])\d+:\d+(?![\d:])")
#: A minus that stands apart looks like a bullet, if there is no other.
_APART = re.compile(r"^[^\S\n]*(?:[-\u2212\u2013][^\S\n]+|\u2014[^\S\n]*)\.?\d", re.MULTILINE)
_BULLETS = re.compile(r"^[^\S\n]*(?:[-\u2212\u2013*•]\s|\u2014)", re.MULTILINE)


def is_expression(text: str) -> bool:
    """Return whether a number of a text is part of more than a number in figures or words."""
    return _SIGNS.search(_QUOTED.sub(r"\2", text)) is not None


def has_roman(text: str) -> bool:
    """Return whether a text has what may be a Roman numeral of two letters or more."""
    return _ROMAN.search(text) is not None


def is_ratio(text: str) -> bool:
    """Return whether a text has figures on both sides of a colon."""
    return _RATIO.search(text) is not None


def may_be_negative(text: str) -> bool:
    """Return whether what stands before a number may be a minus or the only bullet of the text."""
    return _APART.search(text) is not None and len(_BULLETS.findall(text)) == 1
