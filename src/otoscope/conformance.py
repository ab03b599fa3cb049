"""Put a worker to the rules of the worker protocol that can be seen from outside (docs/worker-protocol.md)."""

import contextlib
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from otoscope.audio import Audio, read_audio
from otoscope.errors import ModelCallError, ModelLoadingError
from otoscope.models.command import GRACE_SECONDS, CommandModel, to_row
from otoscope.models.protocol import Reply, Request

SHORTEST_SECONDS = 0.1
LONG_SECONDS = 60.0
"""The long clip for a worker that names no limit."""
LONGEST_SECONDS = 600.0
"""The long clip for a worker that takes more; it is held in memory."""
MOST_CLIPS = 8
"""Most clips of a request here, for a worker that takes more."""
INSTRUCTION = "What do you hear in this recording?"
STRANGE_INSTRUCTION = (
    'Is it "naïve" — 是的, да, نعم, 👂🏽 or \\n?\nAnswer\tin {one} word; <|endoftext|> %s' + " please" * 200
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a worker keeps one rule.

    Attributes:
        rule: what a worker does.
        passed: whether this one does.
        detail: what was seen where it does not.
        advice: what to do about it.
    """

    rule: str
    passed: bool
    detail: str = ""
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values."""
        return asdict(self)


def check_worker(command: str, options: Mapping[str, str]) -> Generator[Finding, None, None]:
    """Start the worker and yield what is found of each rule, as soon as it is known.

    Nothing follows a worker that does not say hello. One that ends or breaks the protocol is started anew.

    Args:
        command: the program and its arguments, as in a shell.
        options: those of ``cmd`` models.

    Raises:
        UsageError: the command is none, or an option is not known or not a number.
    """
    try:
        bench = _Bench(CommandModel(command, options))
    except ModelLoadingError as error:
        advice = "write the hello first on standard output, and whatever else is printed on standard error"
        yield Finding("says hello", passed=False, detail=str(error), advice=advice)
        return
    with contextlib.closing(bench):
        yield Finding("says hello", passed=True)
        for rule, advice, look in _RULES:
            detail = bench.look(look)
            yield Finding(rule, not detail, detail, advice if detail else "")


class _Bench:
    """A worker and what to ask it."""

    def __init__(self, model: CommandModel) -> None:
        self._model = model
        model.close()  # two at once may not fit on a device
        self.hello = model.hello
        self.intake = model.intake
        self.worker = model.start()

    def close(self) -> None:
        """Kill the worker."""
        self.worker.stop(grace=0)

    def look(self, look: "Callable[[_Bench], str]") -> str:
        """Return what is wrong, or an empty text; what breaks the protocol ends the worker."""
        try:
            return look(self)
        except (ModelCallError, ModelLoadingError) as error:
            self.close()
            return str(error)

    def clip(self, seconds: float) -> Audio:
        """Return noise of half scale, the same for the same length, and no longer than the worker takes."""
        seconds = min(seconds, self.intake.longest or LONG_SECONDS, LONGEST_SECONDS)
        noise = np.random.default_rng(0).uniform(-0.5, 0.5, max(1, int(seconds * self.intake.rate)))
        return read_audio((noise, self.intake.rate))

    def request(self, *seconds: float, instruction: str = INSTRUCTION, text: str = "") -> Request:
        """Return a request with a clip for each of the lengths."""
        return Request(tuple(map(self.clip, seconds)), instruction, text)

    def ask(self, requests: Sequence[Request], change: Mapping[str, Any] | None = None, **fields: Any) -> list[Reply]:
        """Return the replies to one batch, in its order.

        Args:
            requests: the batch.
            change: fields of the first request that are set to something else.
            fields: further fields of the batch.
        """
        if self.worker.ended:
            self.worker.stop()
            self.worker = self._model.start()
        with tempfile.TemporaryDirectory(prefix="otoscope-") as folder:
            rows = [to_row(request, Path(folder), str(number)) for number, request in enumerate(requests)]
            rows[0].update(change or {})
            return [
                reply for _, reply in sorted(self.worker.exchange(rows, self._model.timeout, **fields), key=_number)
            ]


def _number(numbered: tuple[int, Reply]) -> int:
    return numbered[0]


def _answers(replies: Sequence[Reply]) -> str:
    """Return the first error among the replies."""
    return next((f"it replied with the error {reply.error}" for reply in replies if reply.error), "")


def _one(bench: _Bench) -> str:
    return _answers(bench.ask([bench.request(1.0)]))


def _full_batch(bench: _Bench) -> str:
    requests = [bench.request(1.0, instruction=f"{INSTRUCTION} ({number})") for number in range(bench.hello.batch)]
    return _answers([*bench.ask(requests), *bench.ask(requests[: max(1, bench.hello.batch - 1)])])


def _no_audio(bench: _Bench) -> str:
    bench.ask([bench.request()])
    return _answers(bench.ask([bench.request(1.0)]))


def _most_clips(bench: _Bench) -> str:
    return _answers(bench.ask([bench.request(*[1.0] * min(bench.intake.clips, MOST_CLIPS))]))


def _short_clip(bench: _Bench) -> str:
    return _answers(bench.ask([bench.request(SHORTEST_SECONDS)]))


def _long_clip(bench: _Bench) -> str:
    return _answers(bench.ask([bench.request(bench.intake.longest or LONG_SECONDS)]))


def _any_text(bench: _Bench) -> str:
    return _answers(bench.ask([bench.request(1.0, instruction=STRANGE_INSTRUCTION, text="Zürich ≠ 東京")]))


def _unknown_fields(bench: _Bench) -> str:
    change = {"x-unknown": {"nested": [1, None]}, "language": "en"}
    return _answers(bench.ask([bench.request(1.0)], change, **{"x-unknown": [True]}))


def _broken_request(bench: _Bench) -> str:
    good = bench.request(1.0)
    missing = str(Path(tempfile.gettempdir()) / "otoscope-no-such-clip.wav")
    first, *others = bench.ask([good] * bench.hello.batch, {"audio": [missing]})
    if not first.error:
        return f"asked about a file that does not exist, it answered {first.answer!r}"
    return _answers([*others, *bench.ask([good])])


def _same_again(bench: _Bench) -> str:
    request = bench.request(1.0)
    [first], [second] = bench.ask([request]), bench.ask([request])
    return _answers([first, second]) or (
        "" if first == second else f"it answered {first.answer!r}, then {second.answer!r}"
    )


def _stays(bench: _Bench) -> str:
    first = bench.worker
    failure = _answers([reply for _ in range(3) for reply in bench.ask([bench.request(1.0)])])
    return failure or ("" if bench.worker is first else "it ended between batches")


def _same_hello(bench: _Bench) -> str:
    hello = bench.worker.hello
    return "" if hello == bench.hello else f"it said {bench.hello}, and then {hello}"


def _ends(bench: _Bench) -> str:
    if bench.worker.ended:
        return "it had ended before its standard input did"
    return "" if bench.worker.end() else f"it was still there {GRACE_SECONDS:g} s after its standard input had ended"


def _says_nothing_else(bench: _Bench) -> str:
    bench.close()
    lines = bench.worker.unread()
    return f"it wrote {lines[0][:200]!r}" if lines else ""


_RULES: tuple[tuple[str, str, Callable[[_Bench], str]], ...] = (
    (
        "says the same hello again",
        "leave out of the hello what changes from start to start, such as times",
        _same_hello,
    ),
    ("answers a request", "reply to each request with its id and an answer that is text", _one),
    ("stays for further batches", "go on reading standard input after a batch", _stays),
    (
        "answers full and smaller batches",
        "reply once to each request of a batch, whatever their number up to batch",
        _full_batch,
    ),
    (
        "replies to a request without audio",
        "reply with an answer, or with an error if the model needs audio",
        _no_audio,
    ),
    ("takes as many clips as it says", "lower clips in the hello, or use every path in audio", _most_clips),
    (f"takes a clip of {SHORTEST_SECONDS:g} s", "pad short clips to what the model needs", _short_clip),
    ("takes a clip as long as it says", "set longest in the hello to what the model takes", _long_clip),
    ("takes any text", "read standard input as UTF-8, and quote nothing by hand", _any_text),
    ("ignores fields it does not know", "read the fields by name and leave the others", _unknown_fields),
    (
        "lets a broken request cost only itself",
        "open every path in audio, and reply with error to a request that raises",
        _broken_request,
    ),
    ("answers the same twice", "decode greedily, or set a seed for each request", _same_again),
    ("ends with its standard input", "leave the loop when standard input ends, and end threads and children", _ends),
    (
        "writes nothing but the protocol",
        "send what libraries print to standard error, as otoscope_worker.py does",
        _says_nothing_else,
    ),
)
"""What a worker does, what to do if it does not, and a look that returns what is wrong, or an empty text."""
