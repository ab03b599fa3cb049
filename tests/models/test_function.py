"""When a plain function counts as changed: every edit is seen, and nothing else changes the key."""

import abc
import collections
import datetime as dt
import decimal
import enum
import functools
import logging
import operator
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import MakeTask

import otoscope
from otoscope.errors import UsageError
from otoscope.models.function import FunctionModel

Function = Callable[..., Any]


def wrapped(function: Function) -> Function:
    @functools.wraps(function)
    def call(request: otoscope.Request) -> str:
        return str(function(request))

    return call


def saying(word: Any) -> Function:
    return lambda _request: str(word)


def keyword_only(word: str) -> Function:
    def call(_request: otoscope.Request, *, word: str = word) -> str:
        return word

    return call


def default(word: str) -> Function:
    def call(_request: otoscope.Request, word: str = word) -> str:
        return word

    return call


def answer(_request: otoscope.Request, word: Any = "", **_more: Any) -> str:
    return str(word)


@dataclass
class Settings:
    word: str
    deeper: dict[str, Any] = field(default_factory=dict)


class Callee:
    def __init__(self, word: Any) -> None:
        self.word = word

    def __call__(self, _request: otoscope.Request) -> str:
        return self.say()

    def say(self) -> str:
        return str(self.word)


def callee(name: str, member: Any) -> Function:
    """Return an object whose class differs from others in one member alone."""
    found: Function = type("Callee", (Callee,), {name: member})("low")
    return found


def attribute(word: str) -> Function:
    call = saying("low")
    call.__dict__["prompt"] = word
    return call


class Abstract(abc.ABC):
    """What a class of the library leaves in its subclasses."""

    @functools.cached_property
    def value(self) -> int:
        return 1

    @abc.abstractmethod
    def other(self) -> int:
        """Be there."""


class Concrete(Abstract):
    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot = 1

    def other(self) -> int:
        return 2


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    first: int = 1


VALUES: tuple[Any, ...] = (
    Concrete(),
    Colour.RED,
    Colour,
    Pair(),
    object(),
    Path("a"),
    dt.date(2026, 1, 1),
    decimal.Decimal("1.5"),
    collections.deque([1]),
    collections.defaultdict(list, {"a": [1]}),
    range(3),
    operator.itemgetter("a"),
    logging.getLogger("a"),
    random.Random(1),
    np.random.default_rng(1),
    np.float64(1.5),
    np.dtype("float32"),
    np.add,
    np,
    len,
    [].append,
    list[int],
    float("nan"),
    "\ud83d",
)

LONG = np.zeros(10_000)
OTHER = LONG.copy()
OTHER[5_000] = 1

PAIRS: dict[str, tuple[Function, Function]] = {
    "wraps": (wrapped(saying("low")), wrapped(saying("high"))),
    "wraps twice": (wrapped(wrapped(default("low"))), wrapped(wrapped(default("high")))),
    "cached": (functools.cache(default("low")), functools.cache(default("high"))),
    "keyword-only default": (keyword_only("low"), keyword_only("high")),
    "default": (default("low"), default("high")),
    "partial over a function": (functools.partial(answer, word=saying("a")), functools.partial(answer, word=saying(1))),
    "partial of another": (functools.partial(saying("low")), functools.partial(saying("high"))),
    "partial over an array": (functools.partial(answer, word=LONG), functools.partial(answer, word=OTHER)),
    "closure over a dictionary": (saying({"a": [1]}), saying({"a": [2]})),
    "order of a dictionary": (saying({"a": 1, "b": 2}), saying({"b": 2, "a": 1})),
    "closure over a function": (saying(default("low")), saying(default("high"))),
    "closure over an array": (saying(LONG), saying(OTHER)),
    "type of an array": (saying(LONG), saying(LONG.astype(np.float32))),
    "closure over an object": (saying(Settings("a", {"b": {1}})), saying(Settings("a", {"b": {2}}))),
    "closure over a method": (saying(Callee("a").say), saying(Callee("b").say)),
    "pattern": (saying(re.compile("a")), saying(re.compile("b"))),
    "state": (Callee("low"), Callee("high")),
    "helper of an object": (callee("say", lambda _self: "a"), callee("say", lambda _self: "b")),
    "property of an object": (
        callee("word2", property(lambda _self: "a")),
        callee("word2", property(lambda _self: "b")),
    ),
    "attribute of a class": (callee("PROMPT", "a"), callee("PROMPT", "b")),
    "attribute of a function": (attribute("a"), attribute("b")),
    "True and 1": (saying(True), saying(1)),
    "tuple and list": (saying((1,)), saying([1])),
}


def key(function: Function) -> Any:
    return FunctionModel(function).settings["code"]


@pytest.mark.parametrize("case", PAIRS)
def test_every_edit_is_seen(case: str) -> None:
    first, second = PAIRS[case]
    assert key(first) != key(second)
    assert key(first) == key(first)


def test_what_is_the_same_has_the_same_key() -> None:
    for make in (saying, default, keyword_only, Callee, lambda word: wrapped(default(word))):
        assert key(make("low")) == key(make("lo" + "w"[:])), make
    assert key(saying(LONG)) == key(saying(LONG.copy()))
    shared = ["a"]
    assert key(saying([shared, shared])) == key(saying([["a"], ["a"]]))


def test_what_holds_itself_has_a_key() -> None:
    def count(request: otoscope.Request, times: int = 3) -> str:
        return count(request, times - 1) if times else "low"

    knot: list[Any] = [count]
    knot.append(knot)
    assert key(saying(knot)) == key(saying(knot))
    assert key(count) != key(saying(knot))


SCRIPT = """
import sys
sys.path[:0] = sys.argv[1:]
from test_function import LONG, PAIRS, VALUES, answer, key, functools, saying
print([key(function) for pair in PAIRS.values() for function in pair], [key(saying(value)) for value in VALUES])
print(key(functools.partial(answer, word=saying("low"), words={"a", "b", "c"})), key(saying(LONG)))
"""


def test_keys_are_the_same_in_every_process() -> None:
    here = Path(__file__).parent
    found = set()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", SCRIPT, str(here), str(here.parent)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    [lines] = found
    assert len(lines.splitlines()) == 2


def test_what_cannot_be_compared_is_refused_unless_settings_stand_in_for_it() -> None:
    lock = threading.Lock()

    def locked(_request: otoscope.Request, word: str = "low") -> str:
        with lock:
            return word

    with pytest.raises(UsageError, match=r"locked holds something .*lock.*an attribute `settings`"):
        FunctionModel(locked)
    locked.__dict__["settings"] = {"checkpoint": "a"}
    first = FunctionModel(locked).settings
    assert first["settings"] == {"checkpoint": "a"}
    locked.__dict__["settings"] = {"checkpoint": "b"}
    assert FunctionModel(locked).settings["code"] == first["code"]
    assert FunctionModel(locked).settings != first


def test_an_edited_function_behind_a_decorator_is_asked_anew(make_task: MakeTask, tmp_path: Path) -> None:
    task = str(make_task(3))
    for word, made in (("low", 6), ("low", 0), ("high", 6)):
        model = wrapped(default(word))
        assert otoscope.run(task, model=model, judge="rules", folder=tmp_path / "run").made == made


def test_a_tensor_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    with pytest.raises(UsageError, match="a Parameter, which is not compared by its content"):
        FunctionModel(saying(torch.nn.Linear(2, 2)))
