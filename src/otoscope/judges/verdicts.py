"""What the rules rule on an answer that chooses labels."""

from otoscope.judges.question import Ruling
from otoscope.judges.reading import Reading


def no(why: str) -> Ruling:
    """Return that an answer does not match, with the reason."""
    return Ruling("ok", "no", explanation=why)


def undecided(why: str) -> Ruling:
    """Return that the rules cannot tell, with the reason."""
    return Ruling("undecided", explanation=why)


def choice(reading: Reading, labels: frozenset[str] | set[str], how: str, *, doubt: bool = False) -> Ruling:
    """Rule on an answer that chooses certain labels; a doubt, or a word to the judge, spoils a match only."""
    if labels != reading.labels.target:
        return no(f"The answer {how} another label.")
    if reading.labels.shared:
        return undecided("Another option has the name of the target.")
    if reading.planted:
        return undecided("The answer speaks to a judge.")
    if doubt or reading.doubtful:
        return undecided(f"The answer {how} the target with a doubt.")
    return Ruling("ok", "yes", explanation=f"The answer {how} the target.")
