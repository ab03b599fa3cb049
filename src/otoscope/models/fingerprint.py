"""What a Python callable does and holds as a digest that is the same in every process."""

import copyreg
import functools
import itertools
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from otoscope.errors import UsageError
from otoscope.records import digest

_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...))
_DESCRIPTORS = (staticmethod, classmethod, property, functools.cached_property)
_BUILT_IN = (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
_PICKLE = 4
_UNPICKLABLE = (TypeError, AttributeError, NotImplementedError, RuntimeError, ValueError, pickle.PickleError)
"""What pickling raises of an object that lives in this process only, such as a lock or a connection."""


def fingerprint(function: Any) -> str:
    """Return a digest of a callable's code and of everything it holds: defaults, closure, attributes, what it wraps.

    Values count by their content as pickling sees it, never by their address; modules and classes of the standard
    library by their names. Globals are not looked at.

    Raises:
        UsageError: it holds something that only this process has; the message names its type.
    """
    try:
        return _Reader().read(function)
    except _UNPICKLABLE as error:  # RecursionError is a RuntimeError
        raise UsageError(
            f"model: {_name(function)} holds something of which no other process can tell whether it has changed "
            f"({str(error)[:200]}); give the function an attribute `settings`, a dictionary that names what can change "
            "an answer, which then counts in its place"
        ) from error


def code_fingerprint(function: Any) -> str:
    """Return a digest of a callable's code alone, and of the code it wraps."""
    reader = _Reader()
    return digest(*(reader.read(code) for code in _codes(function)))


def _codes(function: Any) -> Iterator[CodeType]:
    if isinstance(function, functools.partial):
        yield from _codes(function.func)
        return
    if hasattr(function, "__wrapped__"):
        yield from _codes(function.__wrapped__)
    plain = getattr(function, "__func__", function)
    code = getattr(plain, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is not None:
        yield code


class _Reader:
    """Reads each object once; one that holds itself is told by how far up it is."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        """By address, with the object, so that no other takes the address meanwhile."""
        self._open: list[int] = []

    def read(self, value: Any) -> str:
        """Return the digest of one value."""
        if type(value) in _ATOMS:
            return digest(pickle.dumps(value, _PICKLE))
        place = id(value)
        if place in self._open:
            return digest("itself", str(len(self._open) - self._open.index(place)))
        if place not in self._known:
            self._open.append(place)
            try:
                self._known[place] = value, digest(type(value).__qualname__, *self._parts(value))
            finally:
                self._open.pop()
        return self._known[place][1]

    def _parts(self, value: Any) -> Iterator[str]:
        exact: dict[type, Callable[[Any], Iterator[str]]] = {
            tuple: self._items,
            list: self._items,
            dict: self._pairs,
            set: self._set,
            frozenset: self._set,
        }
        kinds: tuple[tuple[Any, Callable[[Any], Iterator[str]]], ...] = (
            (CodeType, self._code),
            (FunctionType, self._function),
            (type, self._class),
            (ModuleType, self._module),
            (_DESCRIPTORS, self._descriptor),
        )
        look = exact.get(type(value)) or next((look for kind, look in kinds if isinstance(value, kind)), self._object)
        return look(value)

    def _items(self, items: Iterable[Any]) -> Iterator[str]:
        return map(self.read, items)

    def _pairs(self, pairs: dict[Any, Any]) -> Iterator[str]:
        return self._items(itertools.chain.from_iterable(pairs.items()))  # in order, as a function may go through them

    def _set(self, items: Iterable[Any]) -> Iterator[str]:
        return iter(sorted(self._items(items)))

    def _module(self, module: ModuleType) -> Iterator[str]:
        yield module.__name__

    def _descriptor(self, member: Any) -> Iterator[str]:
        return self._items(getattr(member, name, None) for name in ("__func__", "fget", "fset", "func"))

    def _code(self, code: CodeType) -> Iterator[str]:
        yield digest(code.co_code, code.co_exceptiontable)
        names = (*code.co_names, *code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        yield from self._items((names, code.co_consts))

    def _function(self, function: FunctionType) -> Iterator[str]:
        # A cell that is not filled yet equals an empty one.
        held = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
        defaults = (function.__defaults__, function.__kwdefaults__)
        yield from self._items((function.__code__, *defaults, held, vars(function)))

    def _class(self, kind: type) -> Iterator[str]:
        yield f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__.partition(".")[0] in sys.stdlib_module_names:
            return
        for name, member in vars(kind).items():
            hidden = name.startswith("__") or name == "_abc_impl"
            if not isinstance(member, _BUILT_IN) and (not hidden or isinstance(member, (FunctionType, *_DESCRIPTORS))):
                yield name
                yield self.read(member)
        yield from self._items(kind.__bases__)

    def _object(self, value: Any) -> Iterator[str]:
        """Yield what pickling would store, but for functions and classes, of which it stores the names alone."""
        if hasattr(value, "data_ptr"):  # torch pickles the address of a tensor with it
            raise TypeError(f"a {type(value).__qualname__}, which is not compared by its content")
        reduce = copyreg.dispatch_table.get(type(value))
        stored = reduce(value) if reduce else value.__reduce_ex__(_PICKLE)
        if isinstance(stored, str):  # a global, such as a built-in function or one with a cache
            yield f"{getattr(value, '__module__', '')}.{stored}"
            yield self.read(getattr(value, "__dict__", {}))
            return
        make, arguments, *rest = stored
        state, items, pairs = (*rest, None, None, None)[:3]
        yield from self._items((make, arguments, state, list(items or ()), list(pairs or ())))


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
