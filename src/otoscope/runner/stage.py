"""The loop that every slow stage shares: bounded work in flight, records emitted as they come."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from otoscope.errors import TaskError

Item = TypeVar("Item")
Record = TypeVar("Record")


def run_stage(
    items: Iterable[Item],
    work: Callable[[Sequence[Item]], Sequence[Record]],
    emit: Callable[[Record], None],
    *,
    batch: int = 1,
    concurrency: int = 1,
) -> None:
    """Work through ``items`` in batches, some of them at once, and emit each record in this thread as it comes.

    While calls are in flight this thread prepares the next batches, so reading and decoding cost a waiting model
    nothing. If ``items`` raises a TaskError, what is in flight is emitted first; if anything else raises, it is left
    behind. What was emitted stays.

    Args:
        items: what is to be done, made lazily.
        work: returns the records of one batch; called in other threads.
        emit: takes one record; called in this thread only.
        batch: most items a call.
        concurrency: most calls in flight.
    """
    pool = ThreadPoolExecutor(concurrency)
    flying: set[Future[Sequence[Record]]] = set()
    wrong: TaskError | None = None
    try:
        try:
            for group in _batches(items, batch):
                if len(flying) >= 2 * concurrency:
                    flying = _land(flying, emit)
                flying.add(pool.submit(work, group))
        except TaskError as error:
            wrong = error
        while flying:
            flying = _land(flying, emit)
        if wrong is not None:
            raise wrong
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _land(flying: set[Future[Sequence[Record]]], emit: Callable[[Record], None]) -> set[Future[Sequence[Record]]]:
    landed, still = wait(flying, return_when=FIRST_COMPLETED)
    for future in sorted(landed, key=lambda future: future.exception() is not None):  # what came is kept first
        for record in future.result():
            emit(record)
    return still


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
