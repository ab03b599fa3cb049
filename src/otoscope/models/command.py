"""A model in a process of its own: JSON lines over its standard input and output (docs/worker-protocol.md)."""

import collections
import json
import queue
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from otoscope.audio import Intake, to_wav
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models.protocol import Reply, Request

PROTOCOL = 1
TIMEOUT_SECONDS = 600.0
ATTEMPTS = 2
"""How often a batch is given to a worker; a batch that kills two workers is an error."""


class CommandModel:
    """Runs a worker program and asks it batch by batch; a worker that dies is started again.

    Args:
        command: the program and its arguments, as in a shell.
        options: ``timeout`` in seconds for the start and for each batch.

    Raises:
        ModelLoadingError: the worker does not start or does not say hello.
    """

    concurrency = 1

    def __init__(self, command: str, options: Mapping[str, str]) -> None:
        unknown = [key for key in options if key != "timeout"]
        if unknown:
            raise UsageError(f"cmd/{command}: no option {unknown[0]!r}; there is timeout")
        self._arguments = shlex.split(command)
        self._timeout = float(options.get("timeout", TIMEOUT_SECONDS))
        self._worker = _Worker(self._arguments, self._timeout)
        hello = self._worker.hello
        self.id = f"cmd/{hello.get('id', command)}"
        self.settings: Mapping[str, Any] = {"command": command, "revision": str(hello.get("revision", ""))}
        self.intake = Intake(int(hello.get("rate", 16_000)), int(hello.get("clips", 1)), hello.get("longest"))
        self.batch = int(hello.get("batch", 1))

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask the worker; if it dies, ask a new one once more.

        Raises:
            ModelCallError: the worker died, hung or wrote something else than replies, twice.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._worker.ask(requests)
            except ModelCallError:
                self._worker.stop()
                if attempt == ATTEMPTS:
                    self._restart()
                    raise
                self._restart()
        raise AssertionError("unreachable: the loop returns or raises")

    def _restart(self) -> None:
        self._worker = _Worker(self._arguments, self._timeout)


class _Worker:
    """One child process, the lines it writes, and the last lines of its standard error."""

    def __init__(self, arguments: Sequence[str], timeout: float) -> None:
        self._name = shlex.join(arguments)
        self._timeout = timeout
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._complaints: collections.deque[str] = collections.deque(maxlen=5)
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise ModelLoadingError(f"cmd: cannot start {self._name}: {error.strerror}") from error
        self._threads = [
            _start(self._read_lines, self._process.stdout),
            _start(self._read_complaints, self._process.stderr),
        ]
        try:
            self.hello = self._read()
            if self.hello.get("type") != "hello" or self.hello.get("protocol") != PROTOCOL:
                raise ModelCallError(f"its first line must be a hello of protocol {PROTOCOL}, not {self.hello}")
        except ModelCallError as error:
            self.stop()
            raise ModelLoadingError(f"cmd: {self._name}: {error}") from error

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Send one batch and return its replies, in order."""
        with tempfile.TemporaryDirectory(prefix="otoscope-") as folder:
            rows = [_to_row(number, request, Path(folder)) for number, request in enumerate(requests)]
            self._write({"type": "batch", "requests": rows})
            replies: dict[int, Reply] = {}
            while len(replies) < len(rows):
                row = self._read()
                number = row.get("id")
                if row.get("type") != "reply" or number not in range(len(rows)) or number in replies:
                    raise ModelCallError(f"the worker wrote no reply to a request of this batch: {row}")
                replies[number] = _to_reply(row)
            return [replies[number] for number in range(len(rows))]

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # what was not read by the dead worker is lost, as it should be

    def _write(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        if stdin is None:
            raise ModelCallError("the worker has no standard input")
        try:
            stdin.write(json.dumps(message, ensure_ascii=False) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise ModelCallError(self._death()) from None

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=self._timeout)
        except queue.Empty:
            raise ModelCallError(f"the worker wrote nothing for {self._timeout:g} s") from None
        if line is None:
            raise ModelCallError(self._death())
        try:
            message = json.loads(line)
        except json.JSONDecodeError:
            raise ModelCallError(f"the worker wrote a line that is not JSON: {line.strip()[:200]!r}") from None
        if not isinstance(message, dict):
            raise ModelCallError(f"the worker wrote a line that is not an object: {line.strip()[:200]!r}")
        return message

    def _death(self) -> str:
        status = self._process.wait()
        for thread in self._threads:
            thread.join()
        said = " | ".join(self._complaints) or "nothing"
        return f"the worker ended with status {status}; its standard error said: {said}"

    def _read_lines(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def _read_complaints(self, stream: IO[str]) -> None:
        for line in stream:
            self._complaints.append(line.rstrip())


def _start(function: Any, stream: IO[str] | None) -> threading.Thread:
    thread = threading.Thread(target=function, args=(stream,), daemon=True)
    thread.start()
    return thread


def _to_row(number: int, request: Request, folder: Path) -> dict[str, Any]:
    paths = []
    for position, audio in enumerate(request.audios):
        path = folder / f"{number}-{position}.wav"
        path.write_bytes(to_wav(audio))
        paths.append(str(path))
    return {"id": number, "audio": paths, "instruction": request.instruction, "text": request.text}


def _to_reply(row: Mapping[str, Any]) -> Reply:
    if "error" in row:
        return Reply(error=str(row["error"]))
    if not isinstance(row.get("answer"), str):
        raise ModelCallError(f"the worker's reply has neither an answer nor an error: {dict(row)}")
    return Reply(row["answer"])
