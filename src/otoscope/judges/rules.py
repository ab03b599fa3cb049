"""Whether an answer matches its target, by rules alone: yes or no only where no doubt is left, else undecided."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from otoscope.judges.elsewhere import gives_no_key, gives_no_number, says_nothing
from otoscope.judges.form import UNITS
from otoscope.judges.labels import REFUSAL_LABELS, name_of
from otoscope.judges.notation import is_expression
from otoscope.judges.polar import compared, contradicts_yes, denied, echoed, hedges, is_polar_word, said, says_both
from otoscope.judges.presence import counted, found
from otoscope.judges.question import Question, Ruling, why_unread
from otoscope.judges.reading import REJECTING, Mention, Reading, sentences
from otoscope.judges.wording import (
    FILLER,
    HEDGES,
    NEGATORS,
    is_number,
    is_refusal,
    is_undetermined,
    is_word,
    phrase_list,
    quotations,
    singular,
    stem,
    tokens,
    word_set,
)

#: Names the rules in the signature of a judge; changed whenever a ruling could change.
RULES_VERSION: Final = "10"

#: Open a sentence that settles what was said before.
_SETTLING = frozenset({"so", "overall", "therefore", "thus", "hence", "actually", "finally", "final", ":"})
#: Stand before what an answer ends on.
_OPENING_LAST = frozenset({":", "~"})
_TRUTH: Final = {"yes": "true", "no": "false"}
_ANSWER_CUES = tuple(tuple(phrase.split()) for (phrase,) in phrase_list("answer_cues"))
_LETTER = re.compile(
    r"""^\W*\(?([A-H])\)?\s*(?:$|[).:,\]-]\s*|\n) | \(([A-Ha-h])\) | ^\W*([a-h])(?:\)|\W*$) |
    \b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)(?:\s+is)?\s*(?::\s*)?\(?([A-H])\)?(?=[\s).:,]*$|[).:,]|\s*\n|\s+because)""",
    re.VERBOSE,
)
_NUMBERED = re.compile(
    r"""^\W*\(?([1-8])\)?\W*$ | ^\W*\(?([1-8])\)[\s,.:] |
    \b(?:option|choice|number|candidate|hypothesis|transcription)\s+\(?([1-8])\)?(?=\W*$|[).:,]\s|\s+because) |
    \b(?:answer|best|one|option|correct)\s+is:?\s+\(?([1-8])\)?\W*$""",
    re.VERBOSE | re.IGNORECASE,
)
#: A letter that an answer ends on and settles on.
_FINAL_LETTER = re.compile(
    r"\b(?:hence|therefore|thus|so|(?:answer|match|option|choice) is|i (?:would )?(?:choose|pick|select))\b[:,\s]*"
    r"(\([A-Ha-h]\))\W*$",
    re.IGNORECASE,
)
_BRACKETED_LETTER = re.compile(r"\([A-Ha-h]\)")
#: What an answer ends on after a reason.
_SO = re.compile(r",\s+so\s+([^.?!]+)[.!]?\s*$", re.IGNORECASE)
_PARTS = re.compile(r"[,;:.?()]|\b(?:and|or)\b")
#: With "or", leave open which it is.
_OPEN = frozenset({"could", "might", "may", "either", "possibly", "perhaps", "maybe"})
_MANY_LABELS = 3
#: Labels that say that nothing was named, and an answer that says so.
_NOTHING = frozenset({"none", "no", "nothing"})
_NONE_GIVEN = re.compile(
    r"(?:there is |i hear )?no (?:specific |particular )?(\w+) (?:(?:is|was|has been) )?"
    r"(?:mentioned|specified|given|stated|named|requested|indicated)(?: in .{1,40})?$"
)
_FEWEST_REPEATED = 4
_MOST_WORDS = 2
#: Of two recordings, the one that is called anything else may be the one that is not meant.
_PRAISE = word_set("praise")
_FLAWS = word_set("flaws")
_DENIALS = NEGATORS | HEDGES
_CHOOSING = frozenset({"choose", "pick", "select", "call", "go", "speaks", "talks", "reads"})
#: Give a reason for what stands before.
_AS_REASON = (["as", "all"], ["as", "its"], ["as", "the"], ["as", "it"])
#: After "so", repeat what was said of something else.
_DOING = frozenset({"do", "does", "did", "is", "are", "was", "were"})
#: Set one label of a list apart.
_RANKING = frozenset("<>=[]%")
#: Stand before the number of an option.
_NUMBERING = frozenset({"number", "candidate", "hypothesis", "transcription"})


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
    if reading.labels.shared:
        return _undecided("Another option has the name of the target.")
    if reading.planted:
        return _undecided("The answer speaks to a judge.")
    if doubt or reading.doubtful:
        return _undecided(f"The answer {how} the target with a doubt.")
    return Ruling("ok", "yes", explanation=f"The answer {how} the target.")


def _written_as_option(reading: Reading) -> Ruling | None:
    """Judge an answer that is written just as one option where two have one name, such as C# and Db."""
    options = {option.strip() for option in reading.question.options}
    target, answer = reading.question.target.strip(), reading.question.answer.strip().removesuffix(".")
    if not reading.labels.shared or not {target, answer} <= options:
        return None
    if answer != target:
        return _no("The answer is another option.")
    return Ruling("ok", "yes", explanation="The answer is the target.")


def _equal(reading: Reading) -> Ruling | None:
    question = reading.question
    if reading.labels.numbers and is_expression(question.answer) and not is_expression(question.target):
        return None
    name = name_of(question.answer, musical=reading.labels.musical)
    return _choice(reading, {name}, "is") if {name} == reading.labels.target else None


def _refused(reading: Reading) -> Ruling | None:
    if not is_refusal(reading.text):
        return None
    named = len(reading.chosen) == 1 or (reading.question.multi and reading.chosen)
    if reading.labels.target & REFUSAL_LABELS or named or (reading.labels.polar and said(reading)):
        return _undecided("The answer refuses and yet may name a label.")
    return _no("The answer refuses.")


def _repeated(reading: Reading) -> Ruling | None:
    """Judge an answer that is no more than what the instruction quotes, or several options as it lists them."""
    answer = [word for word in tokens(reading.question.answer) if is_word(word)]
    asked = [word for word in tokens(reading.question.instruction) if is_word(word)]
    quoted = answer in ([*filter(is_word, tokens(text))] for text in quotations(reading.question.instruction))
    starts = range(len(asked) - len(answer) + 1) if len(reading.chosen) > 1 else range(0)
    listed = any(asked[at : at + len(answer)] == answer for at in starts)
    if len(answer) < _FEWEST_REPEATED or len(reading.chosen) == 1 or not (quoted or listed):
        return None
    return _no("The answer repeats the instruction.")


def _by_letter(reading: Reading) -> Ruling | None:
    numbered = "1" in reading.labels.letters
    pattern = _NUMBERED if numbered else _LETTER
    text = _last_letter(reading.text)
    letters = {letter.upper() for match in pattern.findall(text) for letter in match if letter}
    labels = {reading.labels.letters[letter] for letter in letters if letter in reading.labels.letters}
    if len(letters) != 1 or len(labels) != 1:
        return None
    if text != reading.text:
        return _choice(reading, labels, "ends on the letter of")
    if reading.chosen - labels - {letter.lower() for letter in reading.labels.letters}:
        return _undecided("The letter and the words of the answer differ.")
    first = pattern.search(reading.text)
    rejected = not reading.chosen and (REJECTING | {"exclude", "rule"}) & set(reading.words)
    if rejected or (first and _DENIALS & set(tokens(reading.text[: first.start()]))):
        return _undecided("The letter may be denied.")
    # A number may count, or stand before a remark on its option.
    if numbered and not reading.chosen and (_DENIALS & set(reading.words) or _remarks(reading)):
        return _undecided("The number need not be the answer.")
    return _choice(reading, labels, "gives the letter of")


def _last_letter(text: str) -> str:
    """Return the letter in brackets that an answer ends on after it settled, such as "hence (B)", else the answer."""
    last = _FINAL_LETTER.search(text)
    return text if last is None or not _BRACKETED_LETTER.search(text[: last.start()]) else last[1]


def _remarks(reading: Reading) -> bool:
    """Return whether an answer says more than filler, numbers and words of the question."""
    return any(not is_number(word) and word not in _NUMBERING for word in reading.other_words)


def _polar(reading: Reading) -> Ruling | None:
    if not reading.labels.polar:
        return None
    if says_both(reading):
        return _no("The answer says both yes and no.")
    words = _said_of(reading)
    conclusion = _SO.search(reading.question.answer)
    if not words and conclusion and not reading.planted:
        words = _said_of(Reading(replace(reading.question, answer=conclusion[1])))
    if not words and is_undetermined(reading.text):
        return _no("The answer refuses.")
    if len(words) != 1:
        return _undecided("The answer says both yes and no." if words else "The answer says neither yes nor no.")
    if words == {"yes"} and contradicts_yes(reading):
        return _undecided("The answer says yes and then denies.")
    return _choice(reading, words, "says", doubt=hedges(reading))


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
    return _choice(reading, {_TRUTH[word] for word in words}, "says", doubt=hedges(reading))


def _both(reading: Reading) -> Ruling | None:
    """Judge an answer that does not choose between the first and the second."""
    between = reading.labels.compared and reading.labels.closed and not reading.question.multi
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
    fits = reading.chosen <= reading.labels.target
    unknown = _unknown_words(reading) and (fits or not reading.labels.closed)
    fewer = _plain_items(reading)
    if fewer and fewer != len(reading.labels.target) and not reading.planted:
        return _no("The answer lists more or fewer labels.")
    if fits and reading.passed_over & reading.labels.target - reading.chosen:
        return _undecided("A label may be named as a common word.")
    if not reading.chosen or unknown or any(mention.doubtful for mention in reading.mentions):
        return _undecided("Which labels the answer chooses is not certain.")
    return _choice(reading, reading.chosen, "names exactly")


def _plain_items(reading: Reading) -> int:
    """Return how many items an answer lists that is nothing but a list with commas, or 0."""
    items = [item.split() for item in reading.question.answer.strip(" .\n").split(",")]
    plain = all(0 < len(item) <= _MOST_WORDS and all(word.isalpha() for word in item) for item in items)
    grammar = NEGATORS | HEDGES | {"and", "or", "with", "is", "are", "the"}
    known = {word.casefold() for item in items for word in item}
    parted = any("," in name for name in reading.labels.names)
    return len(items) if plain and len(items) > 1 and not parted and not grammar & known else 0


def _unknown_words(reading: Reading) -> list[str]:
    """Return the words of an answer that may name something more; what announces a list names nothing."""
    start = next((at + 1 for at, word in enumerate(reading.words) if word == ":"), 0)
    announced = start and not any(mention.start < start for mention in reading.mentions)
    announced = announced and not _DENIALS & set(reading.words[:start])
    known = set(reading.words[:start]) if announced else set()
    return [word for word in reading.other_words if word not in known]


def _part_of_number(reading: Reading) -> Ruling | None:
    """Leave an answer whose number, or the one after its last sign of equality, may be part of another number."""
    words = reading.words
    equality = max((at for at, word in enumerate(words) if word == "="), default=-1)
    after = {at for at in range(equality + 1, len(words)) if is_number(words[at])}
    if not reading.labels.numbers or not after:
        return None
    if is_expression(reading.question.answer.rpartition("=")[2]) or any(at + 1 in after for at in after):
        return _undecided("The number may be part of another one.")
    return None


def _numbered(reading: Reading) -> Ruling | None:
    """Judge an answer to a question whose labels are numbers."""
    numbers = [at for at, word in enumerate(reading.words) if is_number(word)]
    values = {reading.words[at] for at in numbers}
    if not reading.labels.numbers or not values:
        return None
    if len(values) > 1:
        between = _between(reading, numbers)
        return _no("The answer does not choose one number.") if between else _counted(reading, numbers)
    if not reading.mentions and _in_other_unit(reading, numbers[0]):
        return _undecided("The number has another unit.")
    if not reading.mentions and not reading.doubtful:
        return _no("The answer gives another number.")
    other = reading.chosen != reading.labels.target and any(_counts_other_things(reading, at) for at in numbers)
    if other or _is_given(reading, numbers[0]):
        return _undecided("The number need not be the answer.")
    return None


def _between(reading: Reading, numbers: Sequence[int]) -> bool:
    """Return whether an answer gives a range of two numbers and no other."""
    match numbers:
        case [low, high]:
            gap = reading.words[low + 1 : high]
            return reading.words[low - 1 : low] == ["between"] and gap == ["and"]
        case _:
            return False


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


def _in_other_unit(reading: Reading, at: int) -> bool:
    """Return whether a number has a unit of the labels' own dimension, but another one."""
    unit = "".join(reading.words[at + 1 : at + 2])
    units = {word for name in reading.labels.names for word in name.split()[1:] if word in UNITS}
    return unit in UNITS and unit not in units and UNITS[unit][0] in {UNITS[word][0] for word in units}


def _is_given(reading: Reading, at: int) -> bool:
    """Return whether a number stands before a word as in the instruction, such as "the two sentences"."""
    asked = tokens(reading.question.instruction)
    pair = reading.words[at : at + 2]
    given = pair[1:] and is_word(pair[1]) and pair[1] not in UNITS and pair in ([*both] for both in pairwise(asked))
    return bool(given) and "many" not in asked


def _counts_other_things(reading: Reading, at: int) -> bool:
    """Return whether a number counts what the instruction does not speak of, or has a unit that does not belong."""
    after = "".join(reading.words[at + 1 : at + 2])
    if after and is_word(after) and after not in UNITS and after not in FILLER:
        return singular(after) not in reading.asked
    return reading.labels.closed and at in reading.doubtful_places


def _concluded(reading: Reading) -> Ruling | None:
    """Judge by what follows the last word that announces the answer, where more than one label is named."""
    last = _last_alone(reading)
    if last is not None:
        return _choice(reading, {last.label}, "ends on")
    if len(reading.chosen) <= 1 and not reading.labels.compared:
        return None
    words = reading.words
    cues = [at for at in range(len(words)) if any(tuple(words[at : at + len(cue)]) == cue for cue in _ANSWER_CUES)]
    so = max((at for at in range(1, len(words)) if words[at - 1 : at + 1] == [",", "so"]), default=0)
    cues += [so] if so and _only_names(reading, so + 1) else []
    if not cues or (reading.labels.compared and not _only_names(reading, max(cues) + 1)):
        return _before_reason(reading)
    after = [mention for mention in reading.mentions if mention.start > max(cues)]
    labels = {mention.label for mention in after if not mention.negated}
    if len(labels) != 1:
        return _undecided("The answer names several labels.")
    return _choice(reading, labels, "concludes on", doubt=any(mention.doubtful for mention in after))


def _last_alone(reading: Reading) -> Mention | None:
    """Return the naming of the label that the last sentence consists of, if it settles what was said before it."""
    words = reading.words
    end = max((at + 1 for at, word in enumerate(words) if is_word(word)), default=0)
    start = reading.sentence(end - 1)[0] if end else 0
    marks = [at for at in range(start, end) if words[at] in _OPENING_LAST]
    start = marks[-1] if marks and words.count(words[marks[-1]]) == 1 and not reading.labels.compared else start
    last = [mention for mention in reading.mentions if mention.start >= start]
    before = [mention for mention in reading.mentions if mention.start < start]
    if len(last) != 1 or not before or last[0].negated or last[0].doubtful or reading.is_question(end - 1):
        return None
    settles = words[start] in _SETTLING or words[start : start + 3] == ["i", "would", "say"]
    settles = settles or any(mention.label == last[0].label for mention in before)
    return last[0] if settles and _only_names(reading, start, end) else None


def _before_reason(reading: Reading) -> Ruling | None:
    """Judge by the only label before the word that gives a reason, which may name the others."""
    words = reading.words
    end = next((at for at in range(1, len(words)) if _gives_reason(words, at)), 0)
    if reading.labels.compared and len(reading.chosen) == 1:
        end = end or reading.sentence(0)[1]
    before = [mention for mention in reading.mentions if mention.start < end]
    if len(before) != 1 or before[0].negated or before[0].doubtful or not _only_names(reading, 0, end):
        return None
    return _choice(reading, {before[0].label}, "gives a reason for")


def _gives_reason(words: Sequence[str], at: int) -> bool:
    """Return whether "because" stands there, or a "since" that is not one of time."""
    since = words[at - 1 : at + 1] == [",", "since"] and words[at + 1 : at + 2] != ["then"]
    return words[at] == "because" or since or words[at : at + 2] in _AS_REASON


def _only_names(reading: Reading, start: int, end: int | None = None) -> bool:
    """Return whether a part of an answer has nothing beside labels but filler and words of the question.

    Praise counts as filler if the question asks which one is good. Where it asks for a flaw, or for less of something,
    its own words do not say which one it is.
    """
    words = reading.words[start:end]
    kept = {place - start for mention in reading.mentions for place in range(mention.start, mention.end)}
    kept |= {place - start for place in reading.quoted}
    flawed, praising = reading.asked & _FLAWS, reading.asked & _PRAISE
    filler = (FILLER | _PRAISE if praising and not flawed else FILLER - _PRAISE) | {"than", "more"}
    filler = filler | _CHOOSING
    others = (word for at, word in enumerate(words) if at not in kept and is_word(word) and word not in filler)
    stated = not words or words[0] not in _DOING
    return stated and all(singular(word) in reading.asked and not flawed for word in others)


def _slots(reading: Reading) -> Ruling | None:
    """Judge an answer that fills slots, such as "increase, volume, none", from what the question lists."""
    question = reading.question
    target = _slots_of(question.target)
    slots = _slots_of(question.answer.strip().strip("."))
    if question.multi or len(target) == 1 or len(slots) != len(target) or question.target in question.options:
        return None
    if sorted(slots) == sorted(target):
        return _choice(reading, reading.labels.target, "fills all slots as") if slots == target else None
    listed = {name_of(part) for part in _PARTS.split(question.instruction)}
    changed = [{one, two} for one, two in zip(slots, target, strict=True) if one != two]
    return _no("The answer fills a slot otherwise.") if all(pair <= listed for pair in changed) else None


def _slots_of(text: str) -> list[str]:
    """Return what stands between commas, semicolons or lines, or before and after the only "to"."""
    parts = re.split(r"[,;\n]", text)
    match text.split(" to "):
        case [one, two] if len(parts) == 1 and one.isalpha() and two.isalpha():
            parts = [one, two]
    return [name_of(part.rpartition(":")[2]) for part in parts]


def _listed(reading: Reading) -> Ruling | None:
    """Judge an answer that names more than one label where one is right."""
    if len(reading.chosen) <= 1:
        return None
    if _repeats_options(reading):
        return _no("The answer names every label.")
    if not reading.chosen & reading.labels.target:
        return _no("The answer names other labels only.")
    chosen = len(reading.positive) == len(reading.mentions) and all(mention.selected for mention in reading.positive)
    if reading.joined and chosen:
        return _no("The answer chooses more than one label.")
    return _undecided("The answer names several labels.")


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


def _wavers(reading: Reading) -> Ruling | None:
    """Judge an answer that leaves open whether it is the target or something else."""
    positive = [mention for mention in reading.positive if mention.label in reading.labels.target]
    if reading.question.multi or len(positive) != 1 or len(reading.mentions) != 1 or reading.planted:
        return None
    (mention,) = positive
    start, end = reading.clause(mention.start, mention.end)
    before, after = reading.words[start : mention.start], reading.words[mention.end : end]
    joined = before[-1:] == ["or"] or before[-2:-1] == ["or"] or after[:1] == ["or"]
    return _no("The answer does not choose.") if joined and _OPEN & {*before, *after} else None


def _one(reading: Reading) -> Ruling | None:
    labels, chosen = reading.labels, reading.chosen
    mentions = [mention for mention in reading.positive if mention.label in chosen]
    if len(chosen) != 1:
        return None
    doubt = _why_not_one(reading, mentions)
    if doubt:
        return _undecided(doubt)
    known = labels.closed or labels.any_number or labels.musical
    if chosen == labels.target and not known and reading.other_words:
        return _undecided("The answer names the target among other things.")
    return _choice(reading, chosen, "names", doubt=any(mention.doubtful for mention in mentions))


def _why_not_one(reading: Reading, mentions: Sequence[Mention]) -> str:
    """Return why the only label that an answer names need not be its choice, or ""."""
    labels, chosen = reading.labels, reading.chosen
    if mentions and not any(mention.selected for mention in mentions):
        return "The answer names a label in passing."
    if any(mention.disputed for mention in mentions or reading.mentions):
        return "The answer may deny the label that it names."
    if chosen == labels.target and reading.passed_over - chosen:
        return "The answer may name another label too."
    if labels.compared and labels.closed and (reading.quotes_speech or not _only_names(reading, 0)):
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
    return _choice(reading, {*nothing}, "says that nothing is named, which is")


def _in_parts(reading: Reading) -> Ruling | None:
    """Judge an answer that names no label as a whole, by the words of the labels that are in it.

    All words of one label in a sentence name it. Words of other labels only, and none of the target, are no match.
    """
    labels = reading.labels
    unclear = (NEGATORS | HEDGES | {"?"}) & set(reading.words) or reading.doubtful or reading.quotes_speech
    if reading.mentions or unclear or not labels.closed or labels.compared or labels.numbers or labels.musical:
        return None
    parts = {name: {stem(word) for word in name.split() if is_word(word)} for name in labels.names}
    figures = any(map(is_number, " ".join(labels.names).split()))
    if figures or any(not words or words & (NEGATORS | FILLER) for words in parts.values()):
        return None
    several = {name: words for name, words in parts.items() if len(words) > 1}
    stated = [set(map(stem, filter(is_word, sentence))) for sentence in sentences(reading.words)]
    whole = {name for name, words in several.items() if any(words <= each for each in stated)}
    if len(whole) == 1:
        return _choice(reading, whole, "names in parts")
    shared = Counter(word for words in parts.values() for word in words)
    every = set[str]().union(*stated)
    some = {name for name, words in several.items() if any(shared[word] == 1 for word in words & every)}
    near = any(parts[name] & every for name in labels.target)
    return _no("The answer has words of other labels only.") if some and not whole and not near else None


def _denied(reading: Reading) -> Ruling | None:
    doubtful = any(mention.doubtful for mention in reading.mentions)
    if not reading.chosen and reading.labels.target <= reading.denied and not doubtful:
        return _no("The answer denies the target.")
    return None


def _elsewhere(reading: Reading) -> Ruling | None:
    if gives_no_number(reading) or gives_no_key(reading):
        return _no("The answer gives no value of the kind.")
    return _no("The answer refuses.") if says_nothing(reading) else None


_RULES: tuple[Callable[[Reading], Ruling | None], ...] = (
    _written_as_option,
    _equal,
    _refused,
    _repeated,
    _by_letter,
    _polar,
    _true_or_false,
    _both,
    _slots,
    _several,
    _part_of_number,
    _numbered,
    _concluded,
    _listed,
    _wavers,
    _one,
    _denied,
    _nothing_named,
    _in_parts,
    _elsewhere,
)
