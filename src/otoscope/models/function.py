"""A plain Python function as a model."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from otoscope.audio import Intake
from otoscope.errors import ModelCallError, UsageError
from otoscope.models.protocol import Reply, Request
from otoscope.records import digest


class FunctionModel:
    """Calls ``function(request)`` for each request and takes the string it returns as the answer, or its ``Reply``.

    The function gets mono audio at 16 kHz, all clips of the sample. An exception it raises fails that request. A digest
    of its code, defaults and simple closure values is part of every key, so an edited function is asked anew; other
    state (a checkpoint, a global) is not seen: for that, give an object with the methods of ``Model``, whose
    ``settings`` name it.

    Args:
        function: takes a Request, returns the answer as text or as a Reply.

    Raises:
        UsageError: it cannot be called.
    """

    batch = 1
    concurrency = 1

    def __init__(self, function: Callable[[Request], str | Reply]) -> None:
        if not callable(function):
            raise UsageError(
                f"model: {function!r} is neither a spec, a function nor an object with the methods of Model"
            )
        named = function if hasattr(function, "__qualname__") else type(function)
        self.id = f"python/{named.__module__}.{named.__qualname__}"
        self.settings: Mapping[str, Any] = {"code": digest(*_code(function))}
        self.intake = Intake(clips=9)
        self._function = function

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the function's answer to each request."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        try:
            answer: object = self._function(request)
        except ModelCallError as error:
            return Reply(error=str(error) or "the call failed")
        except Exception as error:  # noqa: BLE001 - it is the thing under test; what it raises is its result
            return Reply(error=f"{type(error).__name__}: {error}")
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            return Reply(error=f"it returned {type(answer).__name__}, not a string")
        return Reply(answer)


def _code(function: Any) -> Iterator[str]:
    """Yield what makes two functions differ, the same in every process."""
    if isinstance(function, functools.partial):
        yield repr(sorted(function.keywords.items()))
        yield from map(_value, function.args)
        yield from _code(function.func)
        return
    plain = getattr(function, "__func__", function)
    if not hasattr(plain, "__code__"):
        plain = getattr(type(function).__call__, "__func__", type(function).__call__)
    if hasattr(plain, "__code__"):
        yield from _instructions(plain.__code__)
        yield from map(_value, plain.__defaults__ or ())
        yield from (_value(cell.cell_contents) for cell in plain.__closure__ or ())


def _instructions(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
        else:
            yield _value(constant)


def _value(value: Any) -> str:
    """Return a value as text that is the same in every process; of an object only its type is."""
    if isinstance(value, frozenset):
        return repr(sorted(map(_value, value)))
    if isinstance(value, tuple):
        return repr([_value(item) for item in value])
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return repr(value)
    return type(value).__qualname__
