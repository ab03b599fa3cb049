"""Where a local model's files come from: named weights, a folder or file, or a repository on the hub."""

import functools
import hashlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from otoscope.datasets.hub import hub_failures
from otoscope.errors import ModelLoadingError, UnknownNameError
from otoscope.progress import download_bar
from otoscope.records import digest
from otoscope.weights import WEIGHTS, fetch


def local_threads() -> int:
    """Return how many CPU threads a local model may use: OMP_NUM_THREADS, else the cores this process may run on."""
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    if chosen.isdecimal() and int(chosen):
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def wait_without_spinning() -> None:
    """Make OpenMP threads sleep where they wait; call it before the library that brings OpenMP is imported.

    By default they spin, and where another program wants the cores too a small model then takes minutes for an answer.
    A choice the user made in the environment stays.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def require(module: str, what: str, package: str) -> None:
    """Refuse to start without a library.

    Args:
        module: its name.
        what: who needs it, as the message begins.
        package: what pip is to install.

    Raises:
        ModelLoadingError: it is not installed; the message has the command that installs it.
    """
    if importlib.util.find_spec(module) is None:
        raise ModelLoadingError(f"{what} needs {module}: pip install {package}")


def find_folder(spec: str, files: Sequence[str]) -> tuple[Path, str]:
    """Return the folder with a model's files, and what identifies their content.

    Args:
        spec: named weights, a folder, or a repository id ``ORG/REPO`` on the hub.
        files: the names that must be there.

    Raises:
        ModelLoadingError: a file is not there.
        UnknownNameError: the name stands for nothing.
    """
    check_folder(spec, files)
    if spec in named_with(files):
        return _fetch_named(spec)
    folder = Path(spec) if Path(spec).is_dir() else fetch_snapshot(spec, files)
    _check_files(folder, files)
    return folder, digest_files(tuple(folder / name for name in files))


def check_folder(spec: str, files: Sequence[str]) -> None:
    """Raise what ``find_folder`` would, as far as that can be told without a network.

    Raises:
        ModelLoadingError: a file is not in the folder.
        UnknownNameError: the name stands for nothing, or for weights of another kind.
    """
    if spec in named_with(files):
        return
    if Path(spec).is_dir():
        _check_files(Path(spec), files)
    elif spec.count("/") != 1:
        raise UnknownNameError("weights of this kind, folder or hub repository", spec, named_with(files))


def named_with(files: Sequence[str], suffix: str = "") -> list[str]:
    """Return the named weights that hold all ``files``, and one whose name ends with ``suffix``."""
    found = {name: [file.name for file in weights.files] for name, weights in WEIGHTS.items()}
    return [name for name, held in found.items() if {*files} <= {*held} and any(file.endswith(suffix) for file in held)]


def _check_files(folder: Path, files: Sequence[str]) -> None:
    absent = [name for name in files if not (folder / name).is_file()]
    if absent:
        raise ModelLoadingError(f"{folder}: {', '.join(absent)} is not in the folder")


def find_file(spec: str, suffix: str) -> tuple[Path, str]:
    """Return a model that is one file, and what identifies its content.

    Args:
        spec: named weights, a path, or ``ORG/REPO/FILE`` on the hub.
        suffix: how the file's name ends, such as ``.gguf``.

    Raises:
        UnknownNameError: the name stands for nothing.
    """
    named = named_with((), suffix)
    if spec in named:
        folder, identity = _fetch_named(spec)
        return next(folder.glob(f"*{suffix}")), identity
    file = Path(spec)
    if not file.is_file():
        if spec.count("/") < 2 or not spec.endswith(suffix):  # noqa: PLR2004 - ORG/REPO/FILE
            raise UnknownNameError(f"weights of this kind, {suffix} file or ORG/REPO/FILE on the hub", spec, named)
        organisation, repository, name = spec.split("/", 2)
        file = fetch_snapshot(f"{organisation}/{repository}", [name]) / name
    return file, digest_files((file,))


def _fetch_named(name: str) -> tuple[Path, str]:
    with download_bar() as bar:
        folder = fetch(name, progress=bar)
    return folder, digest(*(file.sha256 for file in WEIGHTS[name].files))


def fetch_snapshot(
    repository: str, files: Sequence[str], package: str = "'otoscope[local]'", revision: str = ""
) -> Path:
    """Return a folder with files of a repository on the hub, from the hub's cache where they are in it.

    Args:
        repository: ``ORG/REPO``.
        files: names, or globs over names.
        package: what brings the hub's client.
        revision: a commit, branch or tag; the main branch if empty.

    Raises:
        ModelLoadingError: the client is not installed, the repository is not there, or the hub cannot be reached.
    """
    try:
        import huggingface_hub
    except ImportError:
        raise ModelLoadingError(f"{repository}: the hub needs huggingface-hub: pip install {package}") from None
    try:
        return Path(
            huggingface_hub.snapshot_download(repository, revision=revision or None, allow_patterns=list(files))
        )
    except hub_failures() as error:
        raise ModelLoadingError(f"{repository}: not on the hub, or the hub cannot be reached: {error}") from error


@functools.cache
def digest_files(files: tuple[Path, ...]) -> str:
    """Return what identifies the content of ``files``, in their order; it is read once a process."""
    digests = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digest(*digests)
