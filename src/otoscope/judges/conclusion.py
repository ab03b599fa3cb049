"""Answers that settle on a label: after a word that announces it, before a reason, or in the last sentence."""

from collections.abc import Sequence

from otoscope.judges.question import Ruling
from otoscope.judges.reading import Mention, Reading
from otoscope.judges.verdicts import choice, undecided
from otoscope.judges.wording import (
    FILLER,
    NEGATORS,
    is_word,
    phrase_list,
    singular,
    word_set,
)

#: Open a sentence that settles what was said before.
_SETTLING = frozenset({"so", "overall", "therefore", "thus", "hence", "actually", "finally", "final", ":"})
#: Stand before what an answer ends on.
_OPENING_LAST = frozenset({":", "~"})
_ANSWER_CUES = tuple(tuple(phrase.split()) for (phrase,) in phrase_list("answer_cues"))
#: Of two recordings, the one that is called anything else may be the one that is not meant.
_PRAISE = word_set("praise")
_FLAWS = word_set("flaws")
_AUXILIARIES = word_set("auxiliaries")
_CHOOSING = frozenset({"choose", "pick", "select", "call", "go", "speaks", "talks", "reads"})
#: Give a reason for what stands before.
_AS_REASON = (["as", "all"], ["as", "its"])
#: Say that something is more of what is asked for than the other; speak of the other.
_BETTER = frozenset({"better", "best", "more", "most", "clearer", "superior"})
_OTHER = frozenset({"other", "but", "however", "though", "although"})
#: After "so", repeat what was said of something else.
_DOING = frozenset({"do", "does", "did", "is", "are", "was", "were"})


def concluded(reading: Reading) -> Ruling | None:
    """Judge by what follows the last word that announces the answer, where more than one label is named."""
    last = _last_alone(reading)
    if last is not None:
        return choice(reading, {last.label}, "ends on")
    if len(reading.chosen) <= 1 and not reading.labels.compared:
        return None
    words = reading.words
    cues = [at for at in range(len(words)) if any(tuple(words[at : at + len(cue)]) == cue for cue in _ANSWER_CUES)]
    so = max((at for at in range(1, len(words)) if words[at - 1 : at + 1] == [",", "so"]), default=0)
    cues += [so] if so and only_names(reading, so + 1) else []
    if not cues or (reading.labels.compared and not only_names(reading, max(cues) + 1)):
        return _before_reason(reading)
    after = [mention for mention in reading.mentions if mention.start > max(cues)]
    labels = {mention.label for mention in after if not mention.negated}
    if len(labels) != 1:
        return undecided("The answer names several labels.")
    return choice(reading, labels, "concludes on", doubt=any(mention.doubtful for mention in after))


def _last_alone(reading: Reading) -> Mention | None:
    """Return the naming of the label that the last sentence consists of, if it settles what was said before it."""
    words = reading.words
    end = max((at + 1 for at, word in enumerate(words) if is_word(word)), default=0)
    start = reading.sentence(end - 1)[0] if end else 0
    marks = [at for at in range(start, end) if words[at] in _OPENING_LAST]
    if marks and not reading.labels.compared and _leads_to(words, start, marks[-1], reading):
        start = marks[-1]
    last = [mention for mention in reading.mentions if mention.start >= start]
    before = [mention for mention in reading.mentions if mention.start < start]
    if len(last) != 1 or not before or last[0].negated or last[0].doubtful or reading.is_question(end - 1):
        return None
    settles = words[start] in _SETTLING or words[start : start + 3] == ["i", "would", "say"]
    settles = settles or any(mention.label == last[0].label for mention in before)
    return last[0] if settles and only_names(reading, start, end) else None


def _leads_to(words: Sequence[str], start: int, mark: int, reading: Reading) -> bool:
    """Return whether a colon or dash, the only one, stands after a clause, and not after a heading or another label."""
    clause = words[start:mark]
    acts = not _AUXILIARIES.isdisjoint(clause) or any(word.endswith("ing") for word in clause)
    ends_on_label = any(mention.end == mark for mention in reading.mentions)
    return acts and not ends_on_label and words.count(words[mark]) == 1 and NEGATORS.isdisjoint(clause)


def _before_reason(reading: Reading) -> Ruling | None:
    """Judge by the only label before the word that gives a reason, which may name the others."""
    words = reading.words
    end = next((at for at in range(1, len(words)) if _gives_reason(words, at)), 0)
    if not end and reading.labels.compared and len(reading.chosen) == 1:
        end = reading.sentence(0)[1]
        if not _prefers(reading, end):
            return None
    before = [mention for mention in reading.mentions if mention.start < end]
    if len(before) != 1 or before[0].negated or before[0].doubtful or not only_names(reading, 0, end):
        return None
    return choice(reading, {before[0].label}, "gives a reason for")


def _prefers(reading: Reading, end: int) -> bool:
    """Return whether the first sentence, up to ``end``, says which one is better or meant, or only names it."""
    words, mentions = reading.words, [mention for mention in reading.mentions if mention.start < end]
    last = max((at + 1 for at in range(end) if is_word(words[at])), default=0)
    if _BETTER & set(words[:end]):
        return not _BETTER & set(words[end:])
    ends = [mention for mention in mentions if mention.end == last]
    identified = any({"is", "was"} & {*words[max(0, mention.start - 2) : mention.start]} for mention in ends)
    alone = any(mention.start == 0 for mention in ends)
    return (identified or alone) and not _OTHER & set(words[end:])


def _gives_reason(words: Sequence[str], at: int) -> bool:
    """Return whether "because" stands there, or a "since" that is not one of time."""
    since = words[at - 1 : at + 1] == [",", "since"] and words[at + 1 : at + 2] != ["then"]
    return words[at] == "because" or since or words[at : at + 2] in _AS_REASON


def only_names(reading: Reading, start: int, end: int | None = None) -> bool:
    """Return whether a part of an answer has nothing beside labels but filler and words of the question.

    Praise counts as filler if the question asks which one is good. Where it asks for a flaw, or for less of something,
    its own words do not say which one it is.
    """
    words = reading.words[start:end]
    kept = {place - start for mention in reading.mentions for place in range(mention.start, mention.end)}
    kept |= {place - start for place in reading.quoted}
    flawed, praising = reading.asked & _FLAWS, reading.asked & _PRAISE
    filler = FILLER | _PRAISE if praising and not flawed else FILLER - _PRAISE
    filler = filler | _CHOOSING | {"than", "more"}
    others = (word for at, word in enumerate(words) if at not in kept and is_word(word) and word not in filler)
    stated = not words or words[0] not in _DOING
    return stated and all(singular(word) in reading.asked and not flawed for word in others)
