import dataclasses
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otoscope.errors import UsageError
from otoscope.records import Clip
from otoscope.sure.datasheet import count_rows
from otoscope.sure.families import EXTRA, RECIPES, RecipeName
from otoscope.sure.plan import (
    Babble,
    PlannedRow,
    SetName,
    Settings,
    Source,
    Split,
    place,
    plan_rows,
    split_sizes,
)
from otoscope.sure.screen import Screened, screen
from otoscope.sure.sources import Utterance

#: sources, supported, non-speech, babble, rows after the screen
PUBLISHED = {
    ("core", "train"): (20, 180, 100, 40, 314),
    ("core", "dev"): (10, 90, 50, 20, 154),
    ("core", "test"): (10, 90, 50, 20, 154),
    ("extended", "train"): (60, 540, 300, 120, 954),
    ("extended", "dev"): (30, 270, 150, 60, 474),
    ("extended", "test"): (30, 270, 150, 60, 474),
}

each_set = pytest.mark.parametrize("name", ["core", "extended"])
each_recipe = pytest.mark.parametrize("recipe", get_args(RecipeName))


def _utterances(count: int, per_speaker: int = 1) -> list[Utterance]:
    return [
        Utterance(f"u{number:04d}", Clip(Path("none.flac"), "none"), "some words", f"s{number // per_speaker}")
        for number in range(count)
    ]


def _plan(chosen: Settings, per_speaker: int = 1) -> tuple[list[Source], list[PlannedRow], Screened]:
    sources = place(_utterances(500, per_speaker), chosen)
    rows = plan_rows(sources, RECIPES[chosen.recipe], chosen)
    return sources, rows, screen(rows, sources)


def _voices(row: PlannedRow) -> set[str]:
    return set(row.constituents)


@each_set
@each_recipe
def test_published_counts(name: SetName, recipe: RecipeName) -> None:
    sources, rows, screened = _plan(Settings(name, recipe))
    counts = count_rows(rows, screened.leaking, RECIPES[recipe])
    kept = Counter(row.source.split for row in screened.kept)
    found = {
        (name, split): (counts[split]["sources"], *counts[split]["kinds"].values(), kept[split])
        for split in get_args(Split)
    }
    assert found == {key: value for key, value in PUBLISHED.items() if key[0] == name}
    assert [source.split for source in sources] == sorted(
        (source.split for source in sources), key=get_args(Split).index
    )


@each_recipe
def test_extended_test_set_has_its_474_rows(recipe: RecipeName) -> None:
    _, _, screened = _plan(Settings("extended", recipe))
    test = Counter(row.family.kind for row in screened.kept if row.source.split == "test")
    assert test == {"supported": 270, "non-speech": 150, "babble": 54}
    talkers = Counter(row.family.talkers for row in screened.kept if row.source.split == "test")
    assert (talkers[2], talkers[4]) == (28, 26)


@each_recipe
def test_a_source_has_16_rows(recipe: RecipeName) -> None:
    assert Counter(family.kind for family in RECIPES[recipe]) == {"supported": 9, "non-speech": 5, "babble": 2}
    assert len({family.name for family in (*RECIPES[recipe], *EXTRA.values())}) == 16 + len(EXTRA)
    assert sorted(family.talkers for family in RECIPES[recipe])[-2:] == [2, 4]


@each_set
@pytest.mark.parametrize(("babble", "leaks"), [("circular", 6), ("within-split", 0), ("disjoint", 0)])
def test_rows_that_leak(name: SetName, babble: Babble, leaks: int) -> None:
    _, _, screened = _plan(Settings(name, babble=babble))
    found = Counter(row.source.split for row in screened.leaking)
    assert [found[split] for split in get_args(Split)] == [leaks] * 3
    assert all(row.family.kind == "babble" for row in screened.leaking)


def test_the_rows_that_leak_are_the_last_of_a_split() -> None:
    _, _, screened = _plan(Settings("extended"))
    assert [row.id for row in screened.leaking if row.source.split == "test"] == [
        "extended/test/u0116/babble-4",
        "extended/test/u0117/babble-4",
        "extended/test/u0118/babble-2",
        "extended/test/u0118/babble-4",
        "extended/test/u0119/babble-2",
        "extended/test/u0119/babble-4",
    ]


@pytest.mark.parametrize("babble", get_args(Babble))
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**40))
def test_babble_holds_distinct_others(babble: Babble, seed: int) -> None:
    _, rows, _ = _plan(Settings("core", babble=babble, seed=seed))
    for row in rows:
        if row.family.talkers:
            assert len(_voices(row)) == row.family.talkers
            assert row.source.utterance.id not in row.constituents


def test_circular_babble_is_of_the_sources_that_follow() -> None:
    _, rows, _ = _plan(Settings("core"))
    last = next(row for row in rows if row.id == "core/test/u0039/babble-4")
    assert last.constituents == ("u0000", "u0001", "u0002", "u0003")


def test_rows_of_two_groups_share_no_voice() -> None:
    sources, rows, _ = _plan(Settings("extended", babble="disjoint"))
    sizes = Counter(source.group for source in sources)
    assert min(sizes.values()) == 5
    assert len(sizes) == 24
    group = {source.utterance.id: source.group for source in sources}
    for row in rows:
        assert {group[voice] for voice in row.constituents} <= {row.source.group}


def test_another_seed_draws_other_voices() -> None:
    drawn = [
        [row.constituents for row in _plan(Settings("core", babble="within-split", seed=seed))[1]] for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_distinct_speakers() -> None:
    chosen = Settings("core", distinct_speakers=True)
    _, rows, _ = _plan(chosen, per_speaker=3)
    speaker = {utterance.id: utterance.speaker for utterance in _utterances(500, 3)}
    for row in rows:
        if row.family.talkers:
            assert len({speaker[voice] for voice in row.constituents}) == row.family.talkers
    with pytest.raises(UsageError, match=r"--distinct-speakers: babble-2 .* finds 1 speakers under --babble circular"):
        _plan(chosen, per_speaker=500)


def test_no_speaker_in_two_splits() -> None:
    shared = {source.utterance.speaker for source in _plan(Settings("core"), per_speaker=7)[0] if source.split != "dev"}
    sources, _, screened = _plan(Settings("core", disjoint="speaker"), per_speaker=7)
    found = {split: {s.utterance.speaker for s in sources if s.split == split} for split in get_args(Split)}
    assert shared
    assert not found["train"] & found["dev"] | found["train"] & found["test"] | found["dev"] & found["test"]
    assert Counter(source.split for source in sources) == {"train": 20, "dev": 10, "test": 10}
    assert Counter(row.source.split for row in screened.leaking) == {"train": 6, "dev": 6, "test": 6}


def test_too_few_utterances() -> None:
    with pytest.raises(UsageError, match="--set core needs 40 utterances, there are 39"):
        place(_utterances(39), Settings("core"))
    with pytest.raises(UsageError, match="split dev gets 0 of 10 sources from 100 utterances of 1 speakers"):
        place(_utterances(100, 100), Settings("core", disjoint="speaker"))


@pytest.mark.parametrize("chosen", [Settings("core", disjoint="speaker"), Settings("core", distinct_speakers=True)])
def test_an_unknown_speaker_where_one_is_needed(chosen: Settings) -> None:
    utterances = _utterances(60)
    utterances[7] = dataclasses.replace(utterances[7], speaker="")
    with pytest.raises(UsageError, match="'u0007' has no speaker"):
        place(utterances, chosen)


@given(st.integers(4, 10_000))
def test_splits_are_half_and_two_quarters(sources: int) -> None:
    sizes = split_sizes(sources)
    assert sum(sizes.values()) == sources
    assert sizes["dev"] == sizes["test"] == sources // 4
    assert 0 <= sizes["train"] - 2 * sizes["dev"] <= 3
