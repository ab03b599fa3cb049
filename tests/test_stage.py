"""The loop of the slow stages: order of work, limits in flight, and what an error leaves behind."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from otoscope.errors import ModelLoadingError, TaskError
from otoscope.runner.stage import prepare_ahead, run_stage


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


def test_what_has_landed_is_emitted_while_there_is_room_for_more() -> None:
    done: list[int] = []
    given = 0

    def items() -> Iterator[int]:
        nonlocal given
        while not done and given < 1000:
            given += 1
            yield given
            time.sleep(0.001)

    run_stage(items(), list, done.append, concurrency=1000)
    assert given < 1000


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


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_prepared_ahead_comes_in_order(threads: int) -> None:
    prepared = prepare_ahead(range(50), lambda item: 10 * item, threads)
    assert [(item, future.result()) for item, future in prepared] == [(item, 10 * item) for item in range(50)]


def test_no_more_is_held_than_twice_the_threads() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(50):
            taken = item + 1
            yield item

    for number, _ in enumerate(prepare_ahead(items(), str, 2)):
        assert taken <= number + 1 + 4


def test_a_wrong_row_lets_what_was_prepared_come_first() -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise TaskError("row 4")

    pairs = prepare_ahead(items(), str, 2)
    assert [next(pairs)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TaskError, match="row 4"):
        next(pairs)


def test_what_preparing_raises_is_raised_where_it_is_asked_for() -> None:
    def prepare(item: int) -> int:
        return 1 // item

    [(_, wrong), (_, right)] = prepare_ahead([0, 1], prepare, 1)
    assert right.result() == 1
    with pytest.raises(ZeroDivisionError):
        wrong.result()
