"""A model in a process of its own: JSON lines over its standard input and output (docs/worker-protocol.md)."""

import collections
import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from otoscope.audio import Intake, to_wav
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models.protocol import Reply, Request
from otoscope.models.remote import check_options, read_object, read_seconds
from otoscope.records import dump_json
from otoscope.text import clean_text

PROTOCOL = 1
TIMEOUT_SECONDS = 600.0
GRACE_SECONDS = 5.0
"""How long a worker may take to end after its standard input has ended, before it is killed."""
LONGEST_LINE = 1 << 24
"""Characters; a worker that never ends its line must not fill the memory."""
LARGEST_AUDIO = 1 << 28
"""Bytes of a spoken answer."""
OUT_OF_MEMORY = (-signal.SIGKILL, 128 + signal.SIGKILL)


class CommandModel:
    """Runs a worker program and asks it batch by batch; a worker that dies, hangs or breaks the protocol is replaced.

    The requests it left unanswered are then asked one at a time, so that one bad request costs only itself.

    Args:
        command: the program and its arguments, as in a shell.
        options: ``timeout`` in seconds for each reply, ``start_timeout`` in seconds for the hello.

    Raises:
        UsageError: the command is none, or an option is not known or not a number.
        ModelLoadingError: the worker does not start or does not say hello.
    """

    concurrency = 1

    def __init__(self, command: str, options: Mapping[str, str]) -> None:
        model = f"cmd/{command}"
        check_options(model, options, ("timeout", "start_timeout"))
        self._arguments = _split(command)
        self.timeout = read_seconds(model, options, "timeout", TIMEOUT_SECONDS)
        self._start_timeout = read_seconds(model, options, "start_timeout", TIMEOUT_SECONDS)
        self._replace_with(self.start())
        self.hello = self._worker.hello
        self.id = f"cmd/{self.hello.id or command}"
        # The answers of a script that the package brings are known again where the package lies elsewhere.
        named = command.replace(str(Path(__file__).parents[1]), "otoscope")
        self.settings: Mapping[str, Any] = {"command": named, **self.hello.settings}
        self.intake = self.hello.intake
        self.batch = self.hello.batch

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask the worker, never more than its batch at once; what it leaves unanswered is asked again, one by one.

        A request is an error when it fails as the first one of a new worker, so none pays for what came before it.

        Raises:
            ModelLoadingError: a worker had to be replaced and the new one does not start.
        """
        replies: dict[int, Reply] = {}
        for start in range(0, len(requests), self.batch):
            group = dict(enumerate(requests[start : start + self.batch], start))
            self._ask(group, replies)
            for position, request in group.items():
                while position not in replies:
                    failure, new = self._ask({position: request}, replies)
                    if failure and new:
                        replies[position] = Reply(error=failure)
        return [replies[position] for position in range(len(requests))]

    def _ask(self, requests: Mapping[int, Request], replies: dict[int, Reply]) -> tuple[str, bool]:
        """Add each reply as it comes; return why some are missing, if so, and whether the worker was a new one."""
        if self._worker.ended:
            self._replace()
        new = self._worker.asked == 0
        try:
            for position, reply in self._worker.ask(requests, self.timeout):
                replies[position] = reply  # noqa: PERF403 - what came before a failure stays
        except ModelCallError as error:
            self._worker.stop(grace=0)
            return str(error), new
        return "", new

    def start(self) -> "Worker":
        """Start one more worker, which is the caller's to stop.

        Raises:
            ModelLoadingError: it does not start or does not say hello.
        """
        return Worker(self._arguments, self._start_timeout)

    def close(self) -> None:
        """End the worker."""
        self._stop()

    def _replace(self) -> None:
        self._stop()
        self._replace_with(self.start())
        if self._worker.hello != self.hello:
            self._stop()
            raise ModelLoadingError(
                f"cmd: {shlex.join(self._arguments)}: the worker came back as another model; its hello was "
                f"{self.hello} and is {self._worker.hello}; run the same command again to go on with the new one"
            )

    def _replace_with(self, worker: "Worker") -> None:
        self._worker = worker
        self._stop = weakref.finalize(self, worker.stop)  # also called when the interpreter ends


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker says of itself.

    Attributes:
        id: names the model; the command does if it is empty.
        settings: everything but the batch, whatever the fields: it is part of the key of each answer.
        intake: what audio the model takes.
        batch: most requests at once.
    """

    id: str
    settings: Mapping[str, Any]
    intake: Intake
    batch: int


class Worker:
    """One child process. Three threads own its three streams, so that nothing it does or omits can block the host."""

    def __init__(self, arguments: Sequence[str], timeout: float) -> None:
        name = shlex.join(arguments)
        self._outbox: queue.Queue[str | None] = queue.Queue()
        self._inbox: queue.Queue[str | None] = queue.Queue()
        self._complaints: collections.deque[str] = collections.deque(maxlen=5)
        self.asked = 0
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                # A group of its own: a wrapper such as `conda run` is killed with its child, and Ctrl-C comes to us.
                start_new_session=True,
            )
        except OSError as error:
            raise ModelLoadingError(f"cmd: cannot start {name}: {error.strerror}") from error
        self._threads = [
            _start(self._send, self._process.stdin),
            _start(self._receive, self._process.stdout),
            _start(self._listen, self._process.stderr),
        ]
        try:
            self.hello = _read_hello(self._read(timeout))
        except ModelCallError as error:
            self.stop(grace=0)
            raise ModelLoadingError(f"cmd: {name}: {error}") from error

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def ask(self, requests: Mapping[int, Request], timeout: float) -> Iterator[tuple[int, Reply]]:
        """Send one batch and yield each reply as it comes, with the key of its request.

        Raises:
            ModelCallError: the worker ended, was silent for ``timeout`` seconds, or wrote something else.
        """
        keys = list(requests)
        first = self.asked
        with tempfile.TemporaryDirectory(prefix="otoscope-") as folder:
            rows = [to_row(requests[key], Path(folder), str(number)) for number, key in enumerate(keys, first)]
            for number, reply in self.exchange(rows, timeout):
                yield keys[number - first], reply

    def exchange(self, rows: Sequence[Mapping[str, Any]], timeout: float, **fields: Any) -> Iterator[tuple[int, Reply]]:
        """Send one batch of requests without ids, and yield the id and the reply of each as it comes.

        Ids count the requests of this worker. So no two share one: a reply that comes twice is not taken for another's.

        Args:
            rows: the requests as in the protocol.
            timeout: seconds to wait for each reply.
            fields: further fields of the batch.

        Raises:
            ModelCallError: the worker ended, was silent for ``timeout`` seconds, or wrote something else.
            ModelLoadingError: the worker says that it can answer nothing.
        """
        numbered = {number: {"id": number, **row} for number, row in enumerate(rows, self.asked)}
        self.asked += len(numbered)
        self._outbox.put(json.dumps({"type": "batch", "requests": [*numbered.values()], **fields}) + "\n")
        waiting = set(numbered)
        while waiting:
            row = self._read(timeout)
            number = row.get("id")
            if row.get("type") == "fatal":
                raise ModelLoadingError(self._explain(f"cmd: the worker gave up: {row.get('error')}"))
            if row.get("type") != "reply" or type(number) is not int or number not in waiting:
                raise ModelCallError(self._explain(f"the worker wrote no reply to a waiting request: {row}"))
            waiting.remove(number)
            yield number, _to_reply(row)

    def end(self, grace: float = GRACE_SECONDS) -> bool:
        """End its standard input, and return whether the process ends within ``grace`` seconds."""
        self._outbox.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(grace)
        return self.ended

    def unread(self) -> list[str]:
        """Return what it wrote beyond what was asked of it; call it after ``stop``."""
        lines = []
        with contextlib.suppress(queue.Empty):
            while line := self._inbox.get_nowait():
                lines.append(line)
        return lines

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """End its standard input, wait ``grace`` seconds for the process to end, then kill it and its children."""
        if not self.end(grace):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._join()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join(GRACE_SECONDS)  # not for ever: a process that left the group may still hold a stream

    def _read(self, timeout: float) -> dict[str, Any]:
        try:
            line = self._inbox.get(timeout=timeout)
        except queue.Empty:
            raise ModelCallError(self._explain(f"the worker wrote nothing for {timeout:g} s")) from None
        if line is None:
            raise ModelCallError(self._explain(self._describe_end()))
        try:
            return read_object(line, "a line of the worker's standard output")
        except ModelCallError as error:
            raise ModelCallError(self._explain(str(error))) from None

    def _describe_end(self) -> str:
        try:
            status = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "the worker closed its standard output"
        self._threads[-1].join(GRACE_SECONDS)  # for the last words
        hint = ", as happens when memory runs out" if status in OUT_OF_MEMORY else ""
        return f"the worker ended with status {status}{hint}"

    def _explain(self, failure: str) -> str:
        said = " | ".join(self._complaints)
        return clean_text(f"{failure}; its standard error said: {said}" if said else failure)

    def _send(self, stream: IO[str]) -> None:
        # A worker that has gone breaks the pipe, when it is written to and again when it is closed.
        with contextlib.suppress(BrokenPipeError), stream:
            for line in iter(self._outbox.get, None):
                stream.write(line)
                stream.flush()

    def _receive(self, stream: IO[str]) -> None:
        with stream:
            for line in _lines(stream):
                self._inbox.put(line)
        self._inbox.put(None)

    def _listen(self, stream: IO[str]) -> None:
        with stream:
            for line in _lines(stream):
                if line.strip():
                    self._complaints.append(line.strip()[:500])


def _split(command: str) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"cmd/{command}: not a command: {error}") from None
    if not arguments:
        raise UsageError(f"cmd/{command}: name a program, such as 'cmd/python examples/worker.py'")
    return arguments


def _start(function: Callable[[IO[str]], None], stream: IO[str] | None) -> threading.Thread:
    thread = threading.Thread(target=function, args=(stream,), daemon=True)
    thread.start()
    return thread


def _lines(stream: IO[str]) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        yield line


def _read_hello(row: Mapping[str, Any]) -> Hello:
    if row.get("type") != "hello" or row.get("protocol") != PROTOCOL:
        raise ModelCallError(f"the worker's first line is no hello of protocol {PROTOCOL}: {row}")
    settings = {name: row[name] for name in row if name not in ("type", "protocol", "batch") and row[name] is not None}
    try:
        dump_json(settings).encode()
    except ValueError:
        raise ModelCallError(f"the worker's hello holds NaN, infinity or broken text: {row}") from None
    name, longest = row.get("id", ""), row.get("longest")
    rate, clips, batch = (row.get(field, default) for field, default in (("rate", 16_000), ("clips", 1), ("batch", 1)))
    if not isinstance(name, str):
        raise ModelCallError(f"the id in the worker's hello is not text: {row}")
    if not all(type(number) is int and number > 0 for number in (rate, clips, batch)):
        raise ModelCallError(f"rate, clips or batch in the worker's hello is not a whole number above 0: {row}")
    if longest is not None and not (type(longest) in (int, float) and longest > 0):
        raise ModelCallError(f"longest in the worker's hello is not a number of seconds above 0: {row}")
    return Hello(name, settings, Intake(rate, clips, longest), batch)


def to_row(request: Request, folder: Path, name: str) -> dict[str, Any]:
    """Return a request as in the protocol, without an id; its clips are written into ``folder`` as ``NAME-0.wav`` …."""
    paths = []
    for position, audio in enumerate(request.audios):
        path = folder / f"{name}-{position}.wav"
        path.write_bytes(to_wav(audio))
        paths.append(str(path))
    return {"audio": paths, "instruction": request.instruction, "text": request.text}


def _to_reply(row: Mapping[str, Any]) -> Reply:
    answer, error, audio = row.get("answer"), row.get("error"), row.get("audio")
    if error:
        return Reply(error=clean_text(str(error)))
    if audio is not None and answer is None:
        answer = ""
    if not isinstance(answer, str):
        return Reply(error=clean_text(f"the worker's reply has no answer and no error: {dict(row)}"))
    if audio is None:
        return Reply(clean_text(answer))
    try:
        return Reply(clean_text(answer), audio=_read_spoken(audio))
    except ModelCallError as failure:
        return Reply(error=clean_text(str(failure)))


def _read_spoken(audio: Any) -> bytes:
    path = Path(audio) if isinstance(audio, str) else None
    if path is None or not path.is_absolute():
        raise ModelCallError(f"audio in the worker's reply is no absolute path: {audio!r}")
    try:
        if not path.is_file():  # a pipe would block
            raise ModelCallError(f"audio in the worker's reply is no file: {path}")
        if path.stat().st_size > LARGEST_AUDIO:
            raise ModelCallError(f"audio in the worker's reply is larger than {LARGEST_AUDIO >> 20} MiB: {path}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null byte
        raise ModelCallError(f"audio in the worker's reply cannot be read: {audio!r}: {error}") from None
    if not data:
        raise ModelCallError(f"audio in the worker's reply is empty: {path}")
    return data
