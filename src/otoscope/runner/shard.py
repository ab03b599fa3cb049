"""A share of every task's samples, so that the jobs of an array cover each sample once."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Self, TypeVar

from otoscope.errors import UsageError
from otoscope.records import Sample, digest, dump_json

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal shares.

    The samples of a task are dealt out in turn. Which shard gets the first one differs from task to task, so that tasks
    of few samples do not all fall to the first shards.

    Attributes:
        number: which one, from 1 on.
        of: how many there are.
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise UsageError(f"--shard {self}: the shards of {self.of} are 1/{self.of} to {self.of}/{self.of}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the shard that ``text`` names, such as ``2/8``.

        Raises:
            UsageError: it names none.
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if found is None:
            raise UsageError(f"--shard {text}: write which one of how many, such as 2/8")
        return cls(int(found[1]), int(found[2]))

    def first(self, task: str) -> int:
        """Return the position of the first sample of ``task`` in this shard, if the task has so many."""
        return (self.number - 1 + int(digest("shard", task), 16)) % self.of

    def count(self, task: str, samples: int) -> int:
        """Return how many of the samples of ``task`` fall to this shard."""
        return len(range(self.first(task), samples, self.of))

    def part(self, task: str, samples: Iterable[Item]) -> Iterator[Item]:
        """Yield the samples of ``task`` that fall to this shard; all are read, so a wrong row stops every shard."""
        return islice(samples, self.first(task), None, self.of)


class RowsDigest:
    """Digest of all samples of a task, in order, so that shards of other rows are not taken for shards of these.

    What is asked, what is right and where each sample comes from are part of it. Audio is not: it is not decoded where
    another shard asks, and its path may differ from machine to machine.

    Attributes:
        value: the digest of what has passed so far; empty before anything has.
    """

    def __init__(self) -> None:
        self.value = ""

    def over(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples as they are, and take each into the digest."""
        for sample in samples:
            asked = (sample.id, sample.instruction, sample.text, list(sample.options))
            self.value = digest(self.value, dump_json([*asked, sample.target, sample.expect, sample.cluster]))
            yield sample
