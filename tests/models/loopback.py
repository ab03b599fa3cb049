"""A chat completions server on this machine that hears real audio and fails as its script says."""

import base64
import hashlib
import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl

import soundfile

Fault = Literal[
    "",
    "429",
    "500",
    "400",
    "closed",
    "half",
    "slow",
    "not-json",
    "wrong-json",
    "null",
    "length",
    "filter",
    "echo",
    "echo-not-json",
    "echo-wrong-json",
]
Script = Callable[[str, int], Fault]
"""Takes a request's text and how often the same request came before; says what goes wrong."""

BODIES: dict[Fault, bytes] = {
    "not-json": b"<html>Bad gateway</html>",
    "wrong-json": b'{"choices": [{"text": "a completion of another API"}]}',
    "null": b'{"choices": [{"finish_reason": "stop", "message": {"content": null}}]}',
    "length": b'{"choices": [{"finish_reason": "length", "message": {"content": ""}}]}',
    "filter": b'{"choices": [{"finish_reason": "content_filter", "message": {"content": null}}]}',
}


def well(_text: str, _times: int) -> Fault:
    """Let every request succeed."""
    return ""


@dataclass(frozen=True)
class Call:
    """One request as the server understood it."""

    text: str
    seconds: tuple[float, ...]
    fault: Fault
    body: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass
class Loopback:
    """The server. It answers with the text it was asked and the seconds of each clip it heard.

    Attributes:
        script: what goes wrong; it may be replaced while the server runs.
        answer: the message content, if not that.
        together: how many requests must have come before any is answered.
        retry_after: the header that says when to try again, and its value.
        spoken: the ``audio`` of the message, beside which there is no content.
    """

    script: Script = well
    answer: str | None = None
    together: int = 1
    retry_after: tuple[str, str] = ("Retry-After-Ms", "5")  # the client waits half a second or more without it
    spoken: dict[str, Any] | None = None
    calls: list[Call] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._times: Counter[bytes] = Counter()
        self._lock = threading.Lock()
        self.barrier = threading.Barrier(self.together)
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self._server.daemon_threads = False  # closing waits for them, so no socket outlives the test
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def note(self, body: bytes) -> Call:
        """Take one request down and decide its fate."""
        digest = hashlib.sha256(body).digest()
        content = json.loads(body)
        [message] = content["messages"]
        text = " ".join(part["text"] for part in message["content"] if part["type"] == "text")
        seconds = tuple(_seconds(part) for part in message["content"] if part["type"] != "text")
        with self._lock:
            call = Call(text, seconds, self.script(text, self._times[digest]), content)
            self._times[digest] += 1
            self.calls.append(call)
        return call


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.0: each connection carries one request."""

    owner: Loopback

    def do_POST(self) -> None:
        path, _, query = self.path.partition("?")
        self.owner.queries.append(dict(parse_qsl(query)))
        if path != "/v1/chat/completions":
            self._send(404, b'{"error": {"message": "no such path"}}')
            return
        call = self.owner.note(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner.barrier.wait()
        if call.fault in ("429", "500", "400"):
            self._send(int(call.fault), json.dumps({"error": {"message": f"scripted {call.fault}"}}).encode())
        elif call.fault.startswith("echo"):
            self._echo(call.fault)
        elif call.fault in BODIES:
            self._send(200, BODIES[call.fault])
        elif call.fault == "slow":
            self.owner.closing.wait(30)
        elif call.fault != "closed":
            self._answer(call)

    def _echo(self, fault: Fault) -> None:
        """Send back who asks, as debugging pages do."""
        said = f"{self.owner.answer or ''} {self.headers['Authorization']} {self.path}"
        said = {"echo": said + " " + said.replace("/", r"\/"), "echo-not-json": said}.get(
            fault, json.dumps({"a": said})
        )
        self._send(401 if fault == "echo" else 200, said.encode())

    def _answer(self, call: Call) -> None:
        heard = " ".join(f"{seconds:.2f}" for seconds in call.seconds)
        answer = f"{call.text} {heard}" if self.owner.answer is None else self.owner.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer}
        if self.owner.spoken is not None:
            message = {"role": "assistant", "content": None, "audio": self.owner.spoken}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        body = {"id": "1", "object": "chat.completion", "created": int(time.time()), "model": "any", "usage": usage}
        self._send(200, json.dumps({**body, "choices": [choice]}).encode(), half=call.fault == "half")

    def _send(self, status: int, body: bytes, *, half: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header(*self.owner.retry_after)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if half else body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def _seconds(part: dict[str, Any]) -> float:
    if part["type"] == "audio_url":
        head, data = part["audio_url"]["url"].split(",")
        assert head == "data:audio/wav;base64"
    else:
        assert (part["type"], part["input_audio"]["format"]) == ("input_audio", "wav")
        data = part["input_audio"]["data"]
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(data, validate=True)))
    return len(samples) / float(rate)
