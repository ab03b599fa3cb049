"""The loop of the slow stages: order of work, limits in flight, and what an error leaves behind."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from otoscope.errors import ModelLoadingError, TaskError
from otoscope.runner.stage import run_stage


@pytest.mark.parametrize(("batch", "concurrency"), [(1, 1), (3, 1), (2, 4), (100, 2)])
def test_every_item_is_worked_on_once(batch: int, concurrency: int) -> None:
    done: list[int] = []
    run_stage(range(50), lambda items: [10 * item for item in items], done.append, batch=batch, concurrency=concurrency)
    assert sorted(done) == [10 * item for item in range(50)]


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    lock, flying, most = threading.Lock(), 0, 0
    together = threading.Barrier(3)

    def work(items: Sequence[int]) -> Sequence[int]:
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        together.wait()
        with lock:
            flying -= 1
        return items

    done: list[int] = []
    run_stage(range(9), work, done.append, concurrency=3)
    assert (most, len(done)) == (3, 9)


def test_a_wrong_row_lets_what_is_in_flight_land() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise TaskError("row 4")

    done: list[int] = []
    with pytest.raises(TaskError, match="row 4"):
        run_stage(items(), list, done.append)
    assert sorted(done) == [0, 1, 2]


def test_a_model_that_cannot_go_on_ends_the_stage() -> None:
    def work(items: Sequence[int]) -> Sequence[int]:
        if 2 in items:
            raise ModelLoadingError("gone")
        return items

    done: list[int] = []
    with pytest.raises(ModelLoadingError):
        run_stage(range(5), work, done.append)
    assert sorted(done) == [0, 1]
