"""A server on loopback that speaks as much of the hub's API as its client needs for datasets."""

import hashlib
import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import unquote, urlsplit

HEAD_COMMIT = "b" * 40


class DatasetHub(ThreadingHTTPServer):
    """Serves datasets held in memory.

    Attributes:
        datasets: file name and bytes, by dataset.
        gated: datasets that need a token.
        token: the token that opens them.
        gets: how often each file was sent.
        broken: when set, files are sent by half and the connection is closed.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.datasets: dict[str, dict[str, bytes]] = {}
        self.gated: set[str] = set()
        self.token = "hf_secret"
        self.gets: Counter[str] = Counter()
        self.broken = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: DatasetHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's signature
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        resolved = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        tree = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)/?", path)
        info = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(/revision/[^/]+)?", path)
        found = resolved or tree or info
        name = found[1] if found else ""
        if name not in self.server.datasets:
            self._fail(404, "RepoNotFound", "there is no such dataset")
        elif name in self.server.gated and self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self._fail(403, "GatedRepo", "access is restricted")
        elif resolved:
            self._send_file(self.server.datasets[name], resolved[2], resolved[3], body=body)
        elif tree:
            files = self.server.datasets[name]
            self._send_json(
                [{"type": "file", "path": path, "size": len(data), "oid": _sha(data)} for path, data in files.items()]
            )
        else:
            siblings = [{"rfilename": file} for file in self.server.datasets[name]]
            self._send_json({"id": name, "sha": HEAD_COMMIT, "siblings": siblings, "private": False, "tags": []})

    def _send_file(self, files: dict[str, bytes], revision: str, name: str, *, body: bool) -> None:
        data = files.get(name)
        if data is None:
            self._fail(404, "EntryNotFound", "there is no such file")
            return
        self.send_response(200)
        self.send_header("ETag", f'"{_sha(data)}"')
        self.send_header("X-Repo-Commit", revision)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if not body:
            return
        self.server.gets[name] += 1
        if self.server.broken:
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            self.connection.close()
        else:
            self.wfile.write(data)

    def _send_json(self, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, status: int, code: str, message: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
