"""Whether an answer matches its target, by rules alone: yes or no only where no doubt is left, else undecided."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from otoscope.judges.form import UNITS
from otoscope.judges.labels import REFUSAL_LABELS, name_of
from otoscope.judges.polar import compared, contradicts_yes, echoed, hedges, is_polar_word, said, says_both
from otoscope.judges.question import Question, Ruling, why_unread
from otoscope.judges.reading import Reading
from otoscope.judges.wording import FILLER, is_number, is_refusal, is_word, phrase_list, singular, tokens, word_set

#: Names the rules in the signature of a judge; changed whenever a ruling could change.
RULES_VERSION: Final = "3"

_TRUTH: Final = {"yes": "true", "no": "false"}
_ORDINALS: Final = word_set("ordinals")
_ANSWER_CUES = tuple(tuple(phrase.split()) for (phrase,) in phrase_list("answer_cues"))
_LETTER = re.compile(
    r"""^\W*\(?([A-H])\)?\s*(?:$|[).:,\]-]\s*|\n) | \(([A-Ha-h])\) | ^\W*([a-h])(?:\)|\W*$) |
    \b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)(?:\s+is)?\s*(?::\s*)?\(?([A-H])\)?(?=[\s).:,]*$|[).:,]|\s*\n|\s+because)""",
    re.VERBOSE,
)


def decide(question: Question) -> Ruling:
    """Judge the answer to a classification question without a model.

    Returns:
        A ruling with status ``ok`` and a verdict, or with status ``undecided``. An empty answer does not match.
    """
    question = question.as_read()
    if not question.target.strip():
        return _undecided("The target is empty.")
    if not question.answer.strip():
        return _no("The answer is empty.")
    unread = why_unread(question.answer)
    if unread:
        return _undecided(unread)
    if not any(map(is_word, tokens(question.answer))) and question.answer.strip() != question.target.strip():
        return _no("The answer is empty.")
    reading = Reading(question)
    for rule in _RULES:
        ruling = rule(reading)
        if ruling is not None:
            return ruling
    return _undecided("No rule fits.")


def _no(why: str) -> Ruling:
    return Ruling("ok", "no", explanation=why)


def _undecided(why: str) -> Ruling:
    return Ruling("undecided", explanation=why)


def _choice(reading: Reading, labels: frozenset[str] | set[str], how: str, *, doubt: bool = False) -> Ruling:
    """Rule on an answer that chooses certain labels; a doubt, or a word to the judge, spoils a match only."""
    if labels != reading.labels.target:
        return _no(f"The answer {how} another label.")
    if reading.planted:
        return _undecided("The answer speaks to a judge.")
    if doubt or reading.doubtful:
        return _undecided(f"The answer {how} the target with a doubt.")
    return Ruling("ok", "yes", explanation=f"The answer {how} the target.")


def _equal(reading: Reading) -> Ruling | None:
    name = name_of(reading.question.answer, musical=reading.labels.musical)
    return _choice(reading, {name}, "is") if {name} == reading.labels.target else None


def _refused(reading: Reading) -> Ruling | None:
    if not is_refusal(reading.text):
        return None
    named = len(reading.chosen) == 1 or (reading.question.multi and reading.chosen)
    if reading.labels.target & REFUSAL_LABELS or named or (reading.labels.polar and said(reading)):
        return _undecided("The answer refuses and yet may name a label.")
    return _no("The answer refuses.")


def _by_letter(reading: Reading) -> Ruling | None:
    letters = {letter.upper() for match in _LETTER.findall(reading.text) for letter in match if letter}
    labels = {reading.labels.letters[letter] for letter in letters if letter in reading.labels.letters}
    if len(letters) != 1 or len(labels) != 1:
        return None
    if reading.chosen - labels - {letter.lower() for letter in reading.labels.letters}:
        return _undecided("The letter and the words of the answer differ.")
    return _choice(reading, labels, "gives the letter of")


def _polar(reading: Reading) -> Ruling | None:
    if not reading.labels.polar:
        return None
    if says_both(reading):
        return _no("The answer says both yes and no.")
    words = said(reading) or echoed(reading) or compared(reading) or _worded(reading)
    if len(words) != 1:
        return _undecided("The answer says both yes and no." if words else "The answer says neither yes nor no.")
    if words == {"yes"} and contradicts_yes(reading):
        return _undecided("The answer says yes and then denies.")
    return _choice(reading, words, "says", doubt=hedges(reading))


def _true_or_false(reading: Reading) -> Ruling | None:
    """Judge an answer to a question of true or false that says so in other words."""
    if reading.labels.names != set(_TRUTH.values()) or reading.mentions:
        return None
    words = said(reading) or echoed(reading)
    if len(words) != 1:
        return None
    return _choice(reading, {_TRUTH[word] for word in words}, "says", doubt=hedges(reading))


def _both(reading: Reading) -> Ruling | None:
    """Judge an answer that does not choose between the first and the second."""
    between = reading.labels.names <= _ORDINALS and reading.labels.closed and not reading.question.multi
    both = {"both", "neither"} & set(reading.words[: reading.sentence(0)[1]])
    return _no("The answer does not choose.") if between and both and len(reading.chosen) != 1 else None


def _worded(reading: Reading) -> set[str]:
    """Return the label that an answer to a yes/no question names by another wording that the task declares."""
    named = [mention for mention in reading.mentions if not is_polar_word(reading.words[mention.start])]
    if any(mention.negated or mention.doubtful for mention in named):
        return set()
    return {mention.label for mention in named}


def _several(reading: Reading) -> Ruling | None:
    """Judge an answer whose target may name several labels."""
    if not reading.question.multi:
        return None
    unknown = reading.other_words and (reading.chosen == reading.labels.target or not reading.labels.closed)
    if not reading.chosen or unknown or any(mention.doubtful for mention in reading.mentions):
        return _undecided("Which labels the answer chooses is not certain.")
    return _choice(reading, reading.chosen, "names exactly")


def _numbered(reading: Reading) -> Ruling | None:
    """Judge an answer to a question whose labels are numbers."""
    numbers = [at for at, word in enumerate(reading.words) if is_number(word)]
    values = {reading.words[at] for at in numbers}
    if not reading.labels.numbers or not values:
        return None
    if len(values) > 1:
        return _counted(reading, numbers)
    if not reading.mentions and not reading.doubtful:
        return _no("The answer gives another number.")
    if reading.chosen != reading.labels.target and any(_counts_other_things(reading, at) for at in numbers):
        return _undecided("The number need not be the answer.")
    return None


def _counted(reading: Reading, numbers: Sequence[int]) -> Ruling | None:
    """Judge by the number of what the instruction asks for, or by the one that the answer ends on."""
    words = reading.words
    counting = {at for at in numbers if singular("".join(words[at + 1 : at + 2])) in reading.asked}
    last = numbers[-1]
    if words[last - 1] in {"is", "=", "equals"} and not any(map(is_word, words[last + 1 :])):
        counting = {last}
    chosen = {named[0] for at in counting if (named := reading.named[at])}
    doubtful = any(mention.doubtful or mention.negated for mention in reading.mentions if mention.start in counting)
    if len(chosen) == 1 and not doubtful and not any("~" in words[at - 1 : at + 2] for at in counting):
        return _choice(reading, chosen, "counts")
    if reading.labels.closed and reading.joined:
        return None
    return _undecided("Which number is the answer is not certain.")


def _counts_other_things(reading: Reading, at: int) -> bool:
    """Return whether a number counts what the instruction does not speak of, or has a unit that does not belong."""
    after = "".join(reading.words[at + 1 : at + 2])
    if after and is_word(after) and after not in UNITS and after not in FILLER:
        return singular(after) not in reading.asked
    return reading.labels.closed and at in reading.doubtful_places


def _concluded(reading: Reading) -> Ruling | None:
    """Judge by what follows the last word that announces the answer, where more than one label is named."""
    if len(reading.chosen) <= 1:
        return None
    words = reading.words
    cues = [at for at in range(len(words)) if any(tuple(words[at : at + len(cue)]) == cue for cue in _ANSWER_CUES)]
    if not cues:
        return None
    after = [mention for mention in reading.mentions if mention.start > cues[-1]]
    labels = {mention.label for mention in after if not mention.negated}
    if len(labels) != 1:
        return _undecided("The answer names several labels.")
    return _choice(reading, labels, "concludes on", doubt=any(mention.doubtful for mention in after))


def _listed(reading: Reading) -> Ruling | None:
    """Judge an answer that names more than one label where one is right."""
    if len(reading.chosen) <= 1:
        return None
    if not reading.chosen & reading.labels.target:
        return _no("The answer names other labels only.")
    chosen = len(reading.positive) == len(reading.mentions) and all(mention.selected for mention in reading.positive)
    if reading.joined and chosen:
        return _no("The answer chooses more than one label.")
    return _undecided("The answer names several labels.")


def _one(reading: Reading) -> Ruling | None:
    labels, chosen = reading.labels, reading.chosen
    mentions = [mention for mention in reading.positive if mention.label in chosen]
    if len(chosen) != 1:
        return None
    if mentions and not any(mention.selected for mention in mentions):
        return _undecided("The answer names a label in passing.")
    if any(mention.disputed for mention in mentions):
        return _undecided("The answer may deny the label that it names.")
    known = labels.closed or labels.any_number or labels.musical
    if chosen == labels.target and not known and reading.other_words:
        return _undecided("The answer names the target among other things.")
    return _choice(reading, chosen, "names", doubt=any(mention.doubtful for mention in mentions))


def _denied(reading: Reading) -> Ruling | None:
    doubtful = any(mention.doubtful for mention in reading.mentions)
    if not reading.chosen and reading.labels.target <= reading.denied and not doubtful:
        return _no("The answer denies the target.")
    return None


_RULES: tuple[Callable[[Reading], Ruling | None], ...] = (
    _equal,
    _refused,
    _by_letter,
    _polar,
    _true_or_false,
    _both,
    _several,
    _numbered,
    _concluded,
    _listed,
    _one,
    _denied,
)
