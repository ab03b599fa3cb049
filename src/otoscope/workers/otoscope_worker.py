"""Everything a worker needs to speak the worker protocol, in one file that needs nothing but Python 3.8.

Copy it beside your script, and call ``serve`` with a function that loads your model::

    from otoscope_worker import serve

    def load():
        model = MyModel("weights.pt")
        return lambda request: model.ask(request.audio, request.prompt)

    serve(load, id="my-model", revision="2f61c0", rate=16000, clips=1, longest=30)

Whatever follows ``load`` is the hello (docs/worker-protocol.md). A model that answers several requests at once is
served by ``serve_batches`` instead. ``otoscope models check 'cmd/python my_worker.py'`` says whether all is well.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, NamedTuple, Sequence, Union


class Request(NamedTuple):
    """One question.

    Attributes:
        audio: paths of mono 16-bit WAV files at the rate of the hello; never more than its clips, perhaps none.
        instruction: the question.
        text: text that belongs to the question, often empty.
    """

    audio: list[str]
    instruction: str
    text: str

    @property
    def prompt(self) -> str:
        """The instruction, followed by the text where there is one."""
        return f"{self.instruction}\n{self.text}" if self.text else self.instruction


Answer = Union[str, Dict[str, str]]
"""Text; or a dictionary with ``answer``, text, and ``audio``, the absolute path of an audio file, or with ``error``."""


def serve(load: Callable[[], Callable[[Request], Answer]], **hello: Any) -> None:
    """Answer requests one by one until the host ends.

    Args:
        load: loads the model and returns the function that answers a request; called when the first request is there,
            so that a run with nothing left to ask loads nothing. If it fails, the run stops with its reason.
        hello: fields of the hello, such as ``id``, ``revision``, ``rate``, ``clips`` and ``longest``.
    """

    def load_batches() -> Callable[[list[Request]], Sequence[Answer]]:
        answer = load()
        return lambda requests: [answer(request) for request in requests]

    serve_batches(load_batches, **{**hello, "batch": 1})


def serve_batches(load: Callable[[], Callable[[list[Request]], Sequence[Answer]]], **hello: Any) -> None:
    """Answer batches of requests until the host ends; a batch that fails is tried again one by one.

    Args:
        load: as for ``serve``; the function it returns takes requests and returns as many answers, in order.
        hello: fields of the hello; ``batch`` says how many requests the function takes at once.
    """
    host = _Host()
    host.send(type="hello", protocol=1, **hello)
    answer = None
    for rows in host.batches():
        if answer is None:
            try:
                answer = load()
            except Exception as error:
                host.send(type="fatal", error=_describe(error))
                raise
        for row, reply in zip(rows, _answer(answer, [_read(row) for row in rows])):
            host.send(type="reply", id=row["id"], **reply)
            if "CUDA error" in reply.get("error", ""):
                sys.exit("after this error CUDA answers nothing more: let the host start another worker")


class _Host:
    """The two streams to the host, taken away from every library that prints and every program that reads."""

    def __init__(self) -> None:
        self._input = io.TextIOWrapper(os.fdopen(os.dup(0), "rb"), encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "wb")
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)

    def send(self, **message: Any) -> None:
        self._output.write(json.dumps(message).encode() + b"\n")
        self._output.flush()

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        for line in self._input:
            message = json.loads(line)
            if message.get("type") == "batch":
                yield message["requests"]


def _read(row: dict[str, Any]) -> Request:
    return Request(row["audio"], row["instruction"], row.get("text", ""))


def _answer(answer: Callable[[list[Request]], Sequence[Answer]], requests: list[Request]) -> Iterator[dict[str, str]]:
    """Yield the fields of each reply."""
    try:
        answers = answer(requests)
        if len(answers) != len(requests):
            raise ValueError(f"{len(answers)} answers to {len(requests)} requests")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - whatever a model raises is the reason why a request has no answer
        traceback.print_exc()
        if len(requests) == 1:
            yield {"error": _describe(error)}
            return
        for request in requests:
            yield from _answer(answer, [request])
        return
    for found in answers:
        if isinstance(found, (str, dict)):
            yield {"answer": found} if isinstance(found, str) else found
        else:
            yield {"error": f"the model answered {found!r}, which is not text"}


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
