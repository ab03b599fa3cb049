"""Whether an answer matches its target, by rules alone: yes or no only where no doubt is left, else undecided."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from otoscope.judges.conclusion import concluded, only_names
from otoscope.judges.elsewhere import gives_no_key, gives_no_number, says_nothing
from otoscope.judges.labels import REFUSAL_LABELS, name_of
from otoscope.judges.letters import by_letter
from otoscope.judges.notation import is_expression
from otoscope.judges.numbered import numbered, part_of_number
from otoscope.judges.polar import compared, contradicts_yes, denied, echoed, hedges, is_polar_word, said, says_both
from otoscope.judges.presence import counted, found
from otoscope.judges.question import Question, Ruling, why_unread
from otoscope.judges.reading import Mention, Reading
from otoscope.judges.several import several, slots
from otoscope.judges.verdicts import choice, no, undecided
from otoscope.judges.wording import (
    HEDGES,
    is_number,
    is_refusal,
    is_undetermined,
    is_word,
    quotations,
    singular,
    tokens,
    word_set,
)

#: Names the rules in the signature of a judge; changed whenever a ruling could change.
RULES_VERSION: Final = "11"

_TRUTH: Final = {"yes": "true", "no": "false"}
#: What an answer ends on after a reason.
_SO = re.compile(r",\s+so\s+([^.?!]+)[.!]?\s*$", re.IGNORECASE)
_SPEAKING = word_set("reporting")
_MANY_LABELS = 3
#: Labels that say that nothing was named, and an answer that says so.
_NOTHING = frozenset({"none", "no", "nothing"})
_NONE_GIVEN = re.compile(
    r"(?:there is |i hear )?no (?:specific |particular )?(\w+) (?:(?:is|was|has been) )?"
    r"(?:mentioned|specified|given|stated|named|requested|indicated)"
    r"(?: in (?:it|the (?:audio|recording|clip|command|utterance|sentence|speech|instruction|request)))?$"
)
_FEWEST_REPEATED = 4
#: Set one label of a list apart.
_RANKING = frozenset("<>=[]%")


def decide(question: Question) -> Ruling:
    """Judge the answer to a classification question without a model.

    Returns:
        A ruling with status ``ok`` and a verdict, or with status ``undecided``. An empty answer does not match.
    """
    question = question.as_read()
    if not question.target.strip():
        return undecided("The target is empty.")
    if not question.answer.strip():
        return no("The answer is empty.")
    unread = why_unread(question.answer)
    if unread:
        return undecided(unread)
    if not any(map(is_word, tokens(question.answer))) and question.answer.strip() != question.target.strip():
        return no("The answer is empty.")
    reading = Reading(question)
    for rule in _RULES:
        ruling = rule(reading)
        if ruling is not None:
            return ruling
    return undecided("No rule fits.")


def _written_as_option(reading: Reading) -> Ruling | None:
    """Judge an answer that is written just as one option where two have one name, such as C# and Db."""
    options = {option.strip() for option in reading.question.options}
    target, answer = reading.question.target.strip(), reading.question.answer.strip().removesuffix(".")
    if not reading.labels.shared or not {target, answer} <= options:
        return None
    if answer != target:
        return no("The answer is another option.")
    return Ruling("ok", "yes", explanation="The answer is the target.")


def _equal(reading: Reading) -> Ruling | None:
    question = reading.question
    if reading.labels.numbers and is_expression(question.answer) and not is_expression(question.target):
        return None
    name = name_of(question.answer, musical=reading.labels.musical)
    return choice(reading, {name}, "is") if {name} == reading.labels.target else None


def _refused(reading: Reading) -> Ruling | None:
    if not is_refusal(reading.text):
        return None
    named = len(reading.chosen) == 1 or (reading.question.multi and reading.chosen)
    if reading.labels.target & REFUSAL_LABELS or named or (reading.labels.polar and said(reading)):
        return undecided("The answer refuses and yet may name a label.")
    return no("The answer refuses.")


def _repeated(reading: Reading) -> Ruling | None:
    """Judge an answer that is no more than what the instruction quotes, or several options as it lists them."""
    answer = [word for word in tokens(reading.question.answer) if is_word(word)]
    asked = [word for word in tokens(reading.question.instruction) if is_word(word)]
    quoted = answer in ([*filter(is_word, tokens(text))] for text in quotations(reading.question.instruction))
    starts = range(len(asked) - len(answer) + 1) if len(reading.chosen) > 1 else range(0)
    listed = any(asked[at : at + len(answer)] == answer for at in starts)
    chosen = reading.question.multi or len(reading.chosen) == 1
    if len(answer) < _FEWEST_REPEATED or chosen or not (quoted or listed):
        return None
    return no("The answer repeats the instruction.")


def _polar(reading: Reading) -> Ruling | None:
    if not reading.labels.polar:
        return None
    if says_both(reading):
        return no("The answer says both yes and no.")
    words = _said_of(reading)
    conclusion = _SO.search(reading.question.answer)
    if not words and conclusion and not reading.planted and not _SPEAKING & set(tokens(conclusion[1])):
        words = _said_of(Reading(replace(reading.question, answer=conclusion[1])))
    if not words and is_undetermined(reading.text):
        return no("The answer refuses.")
    if len(words) != 1:
        return undecided("The answer says both yes and no." if words else "The answer says neither yes nor no.")
    if words == {"yes"} and contradicts_yes(reading):
        return undecided("The answer says yes and then denies.")
    return choice(reading, words, "says", doubt=hedges(reading))


def _said_of(reading: Reading) -> set[str]:
    """Return the yes and no of the first way to say them that an answer uses."""
    ways = (said, echoed, compared, found, counted, denied, _worded)
    return next(filter(None, (way(reading) for way in ways)), set())


def _true_or_false(reading: Reading) -> Ruling | None:
    """Judge an answer to a question of true or false that says so in other words."""
    if reading.labels.names != set(_TRUTH.values()) or reading.mentions:
        return None
    words = said(reading) or echoed(reading)
    if len(words) != 1:
        return None
    return choice(reading, {_TRUTH[word] for word in words}, "says", doubt=hedges(reading))


def _both(reading: Reading) -> Ruling | None:
    """Judge an answer that does not choose between the first and the second."""
    between = reading.labels.compared and reading.labels.closed and not reading.question.multi
    both = {"both", "neither"} & set(reading.words[: reading.sentence(0)[1]])
    return no("The answer does not choose.") if between and both and len(reading.chosen) != 1 else None


def _worded(reading: Reading) -> set[str]:
    """Return the label that an answer to a yes/no question names by another wording that the task declares."""
    named = [mention for mention in reading.mentions if not is_polar_word(reading.words[mention.start])]
    if any(mention.negated or mention.doubtful for mention in named):
        return set()
    return {mention.label for mention in named}


def _listed(reading: Reading) -> Ruling | None:
    """Judge an answer that names more than one label where one is right."""
    if len(reading.chosen) <= 1:
        return None
    if _repeats_options(reading):
        return no("The answer names every label.")
    if not reading.chosen & reading.labels.target:
        return no("The answer names other labels only.")
    chosen = len(reading.positive) == len(reading.mentions) and all(mention.selected for mention in reading.positive)
    if reading.joined and chosen:
        return no("The answer chooses more than one label.")
    return undecided("The answer names several labels.")


def _repeats_options(reading: Reading) -> bool:
    """Return whether an answer has all labels and no other word, and none that stands out."""
    if not reading.labels.closed or reading.labels.names != reading.chosen or len(reading.chosen) < _MANY_LABELS:
        return False
    starts = {mention.start for mention in reading.mentions}
    numbers = [word for at, word in enumerate(reading.words) if is_number(word) and at not in starts]
    counts = [str(place + 1) for place in range(len(numbers))]
    others = {word for word in reading.other_words if not is_number(word)}
    plain = "*" not in reading.question.answer and not set(reading.words) & _RANKING
    return plain and len(starts) == len(reading.chosen) and not others - HEDGES and numbers in ([], counts)


def _one(reading: Reading) -> Ruling | None:
    labels, chosen = reading.labels, reading.chosen
    mentions = [mention for mention in reading.positive if mention.label in chosen]
    if len(chosen) != 1:
        return None
    doubt = _why_not_one(reading, mentions)
    if doubt:
        return undecided(doubt)
    known = labels.closed or labels.any_number or labels.musical
    if chosen == labels.target and not known and reading.other_words:
        return undecided("The answer names the target among other things.")
    return choice(reading, chosen, "names", doubt=any(mention.doubtful for mention in mentions))


def _why_not_one(reading: Reading, mentions: Sequence[Mention]) -> str:
    """Return why the only label that an answer names need not be its choice, or ""."""
    labels, chosen = reading.labels, reading.chosen
    if mentions and not any(mention.selected for mention in mentions):
        return "The answer names a label in passing."
    if any(mention.disputed for mention in mentions or reading.mentions):
        return "The answer may deny the label that it names."
    if chosen == labels.target and reading.passed_over - chosen:
        return "The answer may name another label too."
    if labels.compared and labels.closed and (reading.quotes_speech or not only_names(reading, 0)):
        return "The answer may find fault with what it names."
    # A key without its mode is often a major one.
    bare = labels.musical and {f"{label}major" for label in chosen} == labels.target
    return "The answer gives no mode." if bare else ""


def _nothing_named(reading: Reading) -> Ruling | None:
    """Judge an answer that says that nothing of what is asked for was named, where that is a label."""
    nothing = reading.labels.names & _NOTHING
    match = _NONE_GIVEN.match(" ".join(filter(is_word, reading.words)))
    if not nothing or match is None or reading.mentions or singular(match[1]) not in reading.asked:
        return None
    return choice(reading, {*nothing}, "says that nothing is named, which is")


def _denied(reading: Reading) -> Ruling | None:
    doubtful = any(mention.doubtful for mention in reading.mentions)
    if not reading.chosen and reading.labels.target <= reading.denied and not doubtful:
        return no("The answer denies the target.")
    return None


def _elsewhere(reading: Reading) -> Ruling | None:
    if gives_no_number(reading) or gives_no_key(reading):
        return no("The answer gives no value of the kind.")
    return no("The answer refuses.") if says_nothing(reading) else None


_RULES: tuple[Callable[[Reading], Ruling | None], ...] = (
    _written_as_option,
    _equal,
    _refused,
    _repeated,
    by_letter,
    _polar,
    _true_or_false,
    _both,
    slots,
    several,
    part_of_number,
    numbered,
    concluded,
    _listed,
    _one,
    _denied,
    _nothing_named,
    _elsewhere,
)
