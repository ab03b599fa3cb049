"""Slot filling after SUPERB: F1 of the slot types of an utterance, and error rate of the characters of slot values."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from otoscope.errors import MetricError
from otoscope.metrics.edit import edits
from otoscope.metrics.protocol import Pooling, Rows, ratio
from otoscope.metrics.reading import answered, literal
from otoscope.records import Better
from otoscope.text import characters, standard

#: The values of each slot type, in order.
Slots: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class SlotTypeF1:
    """Mean over utterances of F1 of the sets of slot types; 1 where neither side has a slot."""

    name: str
    better: ClassVar[Better] = "higher"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """What is compared, corpus rule and version."""
        return f"{self.name}|of:type-sets|rule:mean|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (F1, 1).

        Raises:
            UnreadableValueError: the answer does not list slots.
            MetricError: the target does not.
        """
        reference, found = slots(target).keys(), answered(slots, answer).keys()
        size = len(reference) + len(found)
        return (2 * len(reference & found) / size if size else 1.0), 1.0

    def value(self, rows: Rows) -> float | None:
        """Return the mean F1, between 0 and 1, or None without utterances."""
        return ratio(rows)


@dataclass(frozen=True, slots=True)
class SlotValueCer:
    """Character errors in the values of the reference's slots, over the characters of those values.

    Each value is compared with the nearest answered value of its type, or with nothing. Invented slots cost nothing
    here: the F1 of the types counts them.
    """

    name: str
    better: ClassVar[Better] = "lower"
    pooling: ClassVar[Pooling] = "sums"

    @property
    def signature(self) -> str:
        """Unit, normaliser, corpus rule and version."""
        return f"{self.name}|unit:character|norm:standard-1|rule:sum(errors)/sum(reference)|v:1"

    def row(self, target: str, answer: str) -> tuple[float, float]:
        """Return (character errors, characters of the reference's values).

        Raises:
            UnreadableValueError: the answer does not list slots.
            MetricError: the target does not.
        """
        found = answered(slots, answer)
        errors = reference = 0.0
        for slot, values in slots(target).items():
            for value in values:
                errors += min(edits(value, other)[0] for other in found.get(slot, [""]))
                reference += len(value)
        return errors, reference

    def value(self, rows: Rows) -> float | None:
        """Return all errors over all characters, or None where the references hold no value."""
        return ratio(rows)


def slots(text: str) -> Slots:
    """Return the slots of an object ``{type: value}`` or a list of pairs, which may name a type more than once.

    Types are case-folded; values are normalised as for the character error rate.

    Raises:
        MetricError: the text is neither, or a type or value is no string.
    """
    found = literal(text)
    pairs = list(found.items()) if isinstance(found, dict) else found
    if not isinstance(pairs, list | tuple):
        raise MetricError(f'{text[:80]!r} lists no slots; write {{"type": "value"}} or [["type", "value"]]')
    collected: Slots = {}
    for pair in pairs:
        match pair:
            case [str(slot), str(value)]:
                collected.setdefault(slot.strip().casefold(), []).append(characters(standard(value)))
            case _:
                raise MetricError(f"in {text[:80]!r}, {str(pair)[:40]!r} is no slot with one value, both strings")
    return collected
