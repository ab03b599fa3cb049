"""Which rows a set has, before any audio is made: sources, splits, families and whose voices babble holds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from otoscope.errors import UsageError
from otoscope.records import digest
from otoscope.sure.families import Family, RecipeName
from otoscope.sure.noise import Fit
from otoscope.sure.sources import Utterance

SetName = Literal["core", "extended", "mini"]
Split = Literal["train", "dev", "test"]
Babble = Literal["circular", "within-split", "disjoint"]
"""Whose voices a babble row holds: the sources that follow its own, round the whole set; any others of its split; any
others of its group, so that rows of two groups share no voice."""
Disjoint = Literal["source", "speaker"]
"""What no two splits share."""

GROUP = 5
"""Fewest sources of a group: babble of four, and the row's own source, which is not in it."""


class SetShape(NamedTuple):
    """How many sources a set has, and whether its published counts are those after the leakage screen."""

    sources: int
    screened: bool


SETS: Mapping[SetName, SetShape] = {
    "core": SetShape(40, screened=False),
    "extended": SetShape(120, screened=True),
    "mini": SetShape(20, screened=True),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is built.

    Attributes:
        name: the set.
        recipe: which families.
        seed: decides everything that is drawn.
        babble: whose voices babble holds.
        speed: whether each voice of babble is made slower or faster by a tenth.
        fit: what happens to a voice that is shorter than the row.
        disjoint: what no two splits share.
        distinct_speakers: whether the voices of a babble row are of different speakers.
        screen: whether rows with a voice of another split are left out; None does as the paper's counts of this set.
        self_abstain: whether the instructions offer a way to abstain.
    """

    name: SetName
    recipe: RecipeName = "A"
    seed: int = 0
    babble: Babble = "circular"
    speed: bool = True
    fit: Fit = "tile"
    disjoint: Disjoint = "source"
    distinct_speakers: bool = False
    screen: bool | None = None
    self_abstain: bool = False

    @property
    def screened(self) -> bool:
        """Whether the leakage screen is applied."""
        return SETS[self.name].screened if self.screen is None else self.screen


@dataclass(frozen=True, slots=True)
class Source:
    """An utterance and where it was put. ``group`` is empty but for ``disjoint`` babble."""

    utterance: Utterance
    split: Split
    group: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One row to make. ``constituents`` are the ids of all sources that are heard in it."""

    id: str
    source: Source
    family: Family
    constituents: tuple[str, ...]


def row_rng(settings: Settings, source: str, family: str, part: str = "") -> np.random.Generator:
    """Return the randomness of one part of one row, which no other row can change."""
    key = digest("sure", settings.recipe, str(settings.seed), source, family, part)
    return np.random.default_rng(int(key, 16))


def split_sizes(sources: int) -> dict[Split, int]:
    """Return how many sources each split has: a quarter for dev, a quarter for test, the rest for train."""
    quarter = sources // 4
    return {"train": sources - 2 * quarter, "dev": quarter, "test": quarter}


def place(utterances: Iterable[Utterance], settings: Settings) -> list[Source]:
    """Take the first utterances that serve, in order, and divide them into contiguous splits; none after is read.

    Raises:
        UsageError: there are too few, or a speaker is not known who has to be.
    """
    need_speakers = settings.disjoint == "speaker" or settings.distinct_speakers
    waiting = iter(utterances)
    read: Counter[str] = Counter()
    used: set[str] = set()
    placed: list[Source] = []
    for split, size in split_sizes(SETS[settings.name].sources).items():
        chosen: list[Utterance] = []
        while len(chosen) < size:
            utterance = next(waiting, None)
            if utterance is None:
                raise _too_few(read, settings, split, len(chosen))
            if need_speakers and not utterance.speaker:
                raise UsageError(
                    f"utterance {utterance.id!r} has no speaker; --disjoint speaker and --distinct-speakers need it"
                )
            read[utterance.speaker] += 1
            if settings.disjoint == "source" or utterance.speaker not in used:
                chosen.append(utterance)
        used.update(utterance.speaker for utterance in chosen)
        placed += [
            Source(utterance, split, _group(split, position, size) if settings.babble == "disjoint" else "")
            for position, utterance in enumerate(chosen)
        ]
    return placed


def _too_few(read: Counter[str], settings: Settings, split: Split, found: int) -> UsageError:
    """Return the error, given how many utterances of each speaker there are."""
    size = SETS[settings.name].sources
    if settings.disjoint == "source":
        return UsageError(f"--set {settings.name} needs {size} utterances, there are {read.total()}")
    return UsageError(
        f"--disjoint speaker: split {split} gets {found} of {split_sizes(size)[split]} sources from {read.total()} "
        f"utterances of {len(read)} speakers; give more speakers"
    )


def _group(split: Split, position: int, size: int) -> str:
    return f"{split}-{position * (size // GROUP) // size + 1}"


def plan_rows(sources: Sequence[Source], families: Sequence[Family], settings: Settings) -> list[PlannedRow]:
    """Return every row of a set, source by source.

    Raises:
        UsageError: babble cannot have enough voices.
    """
    return [
        PlannedRow(
            f"{settings.name}/{source.split}/{source.utterance.id}/{family.name}",
            source,
            family,
            _constituents(position, sources, family, settings),
        )
        for position, source in enumerate(sources)
        for family in families
    ]


def _constituents(position: int, sources: Sequence[Source], family: Family, settings: Settings) -> tuple[str, ...]:
    own = sources[position]
    if family.kind == "supported":
        return (own.utterance.id,)
    voices: list[Utterance] = []
    for candidate in _candidates(position, sources, family, settings) if family.talkers else ():
        if len(voices) == family.talkers:
            break
        if not settings.distinct_speakers or candidate.speaker not in {voice.speaker for voice in voices}:
            voices.append(candidate)
    if len(voices) < family.talkers:
        raise UsageError(
            f"--distinct-speakers: {family.name} of {own.utterance.id} finds {len(voices)} speakers "
            f"under --babble {settings.babble}, it needs {family.talkers}"
        )
    return tuple(voice.id for voice in voices)


def _candidates(position: int, sources: Sequence[Source], family: Family, settings: Settings) -> list[Utterance]:
    """Return who may be heard in a babble row, in order of preference."""
    own = sources[position]
    if settings.babble == "circular":
        others = [*sources[position + 1 :], *sources[:position]]
        return [source.utterance for source in others]
    pool = [
        source.utterance
        for source in sources
        if source is not own and (source.split, source.group) == (own.split, own.group)
    ]
    order = row_rng(settings, own.utterance.id, family.name, "voices").permutation(len(pool))
    return [pool[index] for index in order]
