"""What a user gives in place of a spec, as a model: a plain Python function, or an object that is one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from otoscope.audio import Intake
from otoscope.errors import ModelCallError, OtoscopeError, UsageError
from otoscope.models.fingerprint import code_fingerprint, fingerprint
from otoscope.models.protocol import Model, Reply, Request


def as_model(given: "Model | Callable[[Request], str | Reply]") -> Model:
    """Return the model that a function or object is; what one of the package raises stays what it is, our mistake.

    Raises:
        UsageError: it is neither, or a function that cannot be told from another.
    """
    if not isinstance(given, Model):
        return FunctionModel(given)
    return given if type(given).__module__.partition(".")[0] == "otoscope" else ObjectModel(given)


@dataclass(frozen=True, slots=True)
class ObjectModel:
    """Asks somebody else's object. An exception that it raises fails its batch; the others go on.

    Errors of the package pass, so that a model that cannot be loaded still stops the run.

    Attributes:
        model: the object.
    """

    model: Model

    @property
    def id(self) -> str:
        """The object's."""
        return self.model.id

    @property
    def settings(self) -> Mapping[str, Any]:
        """The object's."""
        return self.model.settings

    @property
    def intake(self) -> Intake:
        """The object's."""
        return self.model.intake

    @property
    def batch(self) -> int:
        """The object's."""
        return self.model.batch

    @property
    def concurrency(self) -> int:
        """The object's."""
        return self.model.concurrency

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the object's replies.

        Raises:
            ModelCallError: it raised something; the message says what.
        """
        try:
            return self.model.answer(requests)
        except OtoscopeError:
            raise
        except Exception as error:
            raise ModelCallError(_described(error)) from error


class FunctionModel:
    """Calls ``function(request)`` for each request and takes the string it returns as the answer, or its ``Reply``.

    The function gets mono audio at 16 kHz, all clips of the sample. An exception it raises fails that request. A digest
    of its code and of all it holds (defaults, closure, arguments of a partial, what it wraps, the attributes of an
    object that can be called) is part of every key, so an edited function is asked anew. Globals and files are not
    seen. Where it has an attribute ``settings``, a dictionary that names what can change an answer, that and the code
    count and nothing else.

    Args:
        function: takes a Request, returns the answer as text or as a Reply.

    Raises:
        UsageError: it cannot be called, or holds what only this process has and no ``settings`` stand in for it.
    """

    batch = 1
    concurrency = 1

    def __init__(self, function: Callable[[Request], str | Reply]) -> None:
        if not callable(function):
            raise UsageError(
                f"model: {function!r} is neither a spec, a function nor an object with the methods of Model"
            )
        source = function if hasattr(function, "__qualname__") else type(function)
        self.id = f"python/{source.__module__}.{source.__qualname__}"
        named = getattr(function, "settings", None)
        self.settings: Mapping[str, Any] = (
            {"code": code_fingerprint(function), "settings": dict(named)}
            if isinstance(named, Mapping)
            else {"code": fingerprint(function)}
        )
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
            return Reply(error=_described(error))
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            return Reply(error=f"it returned {type(answer).__name__}, not a string")
        return Reply(answer)


def _described(error: Exception) -> str:
    try:
        words = str(error)
    except Exception as failure:  # noqa: BLE001 - as above
        words = f"its message cannot be had: {type(failure).__name__}"
    return f"{type(error).__name__}: {words}"
