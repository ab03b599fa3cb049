"""The loop that every slow stage shares: bounded work in flight, records emitted as they come."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

from otoscope.errors import TaskError

Item = TypeVar("Item")
Record = TypeVar("Record")
Prepared = TypeVar("Prepared")


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
    landed: SimpleQueue[Future[Sequence[Record]]] = SimpleQueue()
    flying = 0
    wrong: TaskError | None = None
    try:
        try:
            for group in _batches(items, batch):
                if flying >= 2 * concurrency or not landed.empty():
                    flying -= _emit_landed(landed, emit)
                pool.submit(work, group).add_done_callback(landed.put)
                flying += 1
        except TaskError as error:
            wrong = error
        while flying:
            flying -= _emit_landed(landed, emit)
        if wrong is not None:
            raise wrong
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def prepare_ahead(
    items: Iterable[Item], prepare: Callable[[Item], Prepared], threads: int
) -> Iterator[tuple[Item, "Future[Prepared]"]]:
    """Yield each item, in order, with what becomes of it in other threads; some are prepared before they are asked for.

    If ``items`` raises a TaskError, what came before is yielded first.

    Args:
        items: what is to be prepared, made lazily in this thread.
        prepare: called in other threads; what it raises is in the future.
        threads: how many; twice as many items are held.
    """
    pool = ThreadPoolExecutor(threads)
    begun: deque[tuple[Item, Future[Prepared]]] = deque()
    wrong: TaskError | None = None
    try:
        try:
            for item in items:
                begun.append((item, pool.submit(prepare, item)))
                if len(begun) > 2 * threads:
                    yield begun.popleft()
        except TaskError as error:
            wrong = error
        while begun:
            yield begun.popleft()
        if wrong is not None:
            raise wrong
    finally:
        for _, future in begun:
            future.cancel()
        pool.shutdown(wait=False)


def _emit_landed(landed: "SimpleQueue[Future[Sequence[Record]]]", emit: Callable[[Record], None]) -> int:
    """Wait for a call to land, emit what has landed by then, and return how many calls that was."""
    futures = [landed.get()]
    while not landed.empty():
        futures.append(landed.get())
    for future in sorted(futures, key=lambda future: future.exception() is not None):  # what came is kept first
        for record in future.result():
            emit(record)
    return len(futures)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
