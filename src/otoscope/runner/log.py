"""Append-only JSONL logs of a run folder: one writer, a torn last line repaired, records found by key."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from filelock import FileLock, Timeout

from otoscope.errors import CorruptLogError, RunError, RunLockedError
from otoscope.keys import KeyIndex
from otoscope.records import dump_json

_KEY = re.compile(r"[0-9a-f]{32}")


class RunLock:
    """Holds a run folder for one writer. The system releases it when the process dies, however it dies.

    Raises:
        RunLockedError: another process holds it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = FileLock(folder / "run.lock")

    def __enter__(self) -> Self:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunLockedError(
                f"{self._folder}: another process is writing to this run; wait for it or stop it"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class Log:
    """One JSONL file whose records carry a ``key``; of two records with one key the last counts.

    Only keys and byte offsets are held in memory, so a log may be longer than memory.

    Args:
        path: the file; it is created when the first record is written.

    Raises:
        CorruptLogError: a line other than the last one is not a record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets = KeyIndex()
        self._end = 0
        self._writer: int | None = None
        self._reader: BinaryIO | None = None
        if path.exists():
            self._index()

    def _index(self) -> None:
        size = self.path.stat().st_size
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                record = _parse(line)
                if record is None:
                    if self._end + len(line) < size:
                        raise CorruptLogError(
                            f"{self.path}: line {number} is not a record; remove the line and run again"
                        )
                    break  # the process died while it wrote the last line
                self._offsets[record["key"]] = self._end
                self._end += len(line)

    def __contains__(self, key: str) -> bool:
        return self._offsets.get(key) is not None

    def __len__(self) -> int:
        return len(self._offsets)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the last record with ``key``, or None."""
        offset = self._offsets.get(key)
        if offset is None:
            return None
        if self._reader is None:
            self._reader = self.path.open("rb")
        self._reader.seek(offset)
        return dict(json.loads(self._reader.readline()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        offset = 0
        with self.path.open("rb") as lines:
            while offset < self._end:
                line = lines.readline()
                record = json.loads(line)
                if self._offsets.get(record["key"]) == offset:
                    yield record
                offset += len(line)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record in a single system call. The caller holds the ``RunLock``."""
        if self._writer is None:
            self._close_reader()  # its buffer may hold the torn tail
            self._writer = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o644)
            os.ftruncate(self._writer, self._end)  # drops the torn tail, if there is one
            os.lseek(self._writer, self._end, os.SEEK_SET)
        line = dump_json(record).encode() + b"\n"
        if os.write(self._writer, line) != len(line):
            raise RunError(f"{self.path}: the disk is full; make room and run the same command again")
        self._offsets[record["key"]] = self._end
        self._end += len(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Bring what was written to the disk and close the file."""
        self._close_reader()
        if self._writer is not None:
            os.fsync(self._writer)
            os.close(self._writer)
            self._writer = None

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and _KEY.fullmatch(str(record.get("key"))) else None
