"""Files that are written after long work: whether they can be, before it."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from otoscope.errors import UsageError


def check_outputs(option: Path, files: Iterable[Path]) -> None:
    """Make sure that files can be written into one folder, or into one that can be made.

    Args:
        option: what was given with ``-o``.
        files: what is to be written, beside each other.

    Raises:
        UsageError: something is in the way, or the folder takes no file.
    """
    for file in files:
        if file.exists() and not file.is_file():
            raise UsageError(f"-o {option}: {file} is in the way, and is no file; give another name")
    parent = next(folder for folder in option.absolute().parents if folder.exists())
    try:  # permissions do not tell of a disk that is full or may only be read
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise UsageError(f"-o {option}: {parent} takes no file ({error.strerror}); give another name") from error
