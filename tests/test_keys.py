"""The key index does what a dictionary does."""

from hypothesis import given
from hypothesis import strategies as st

from otoscope.keys import KeyIndex
from otoscope.records import digest

#: Few names, so that some come twice; the largest number that an offset may be.
entries = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2**63)))


@given(entries)
def test_it_agrees_with_a_dictionary(given_entries: list[tuple[int, int]]) -> None:
    index, oracle = KeyIndex(), dict[str, int]()
    for name, number in given_entries:
        key = digest(str(name))
        index[key] = oracle[key] = number
    assert len(index) == len(oracle)
    assert [index.get(digest(str(name))) for name in range(60)] == [oracle.get(digest(str(name))) for name in range(60)]


def test_it_grows() -> None:
    index = KeyIndex()
    keys = [digest(str(number)) for number in range(10_000)]
    for number, key in enumerate(keys):
        index[key] = number
    assert [index.get(key) for key in keys] == list(range(10_000))
    assert len(index) == 10_000
    assert index.get(digest("another")) is None


def test_digests_that_begin_alike_are_told_apart() -> None:
    index = KeyIndex()
    keys = [f"{'ab' * 8}{number:016x}" for number in range(100)]
    for number, key in enumerate(keys):
        index[key] = number
    assert [index.get(key) for key in keys] == list(range(100))
