"""The program that ``fetch`` runs to get files from the hub: repository, revision, folder, file names.

It is a process of its own so that it can be ended when the network hangs, and so that the hub's settings
(``HF_ENDPOINT``, ``HF_TOKEN``, ``HF_HOME``, ``HF_HUB_OFFLINE``) are read afresh. A file that the hub's own cache holds
is linked, not downloaded.
"""

import os
import shutil
import sys
from pathlib import Path
from types import TracebackType

from huggingface_hub import get_hf_file_metadata, get_token, hf_hub_download, hf_hub_url, try_to_load_from_cache

#: Written as soon as the hub has answered: the sign of life that the parent waits for.
ANSWERED = "answered"


def main() -> None:
    """Put the named files into the folder; a failure ends the process, with its reason on stderr."""
    repository, revision, target, *names = sys.argv[1:]
    folder = Path(target)
    for name in names:
        cached = try_to_load_from_cache(repository, name, revision=revision)
        if isinstance(cached, str):
            _link(Path(cached).resolve(), folder / name)
            continue
        get_hf_file_metadata(hf_hub_url(repository, name, revision=revision), token=get_token())
        (folder / ANSWERED).write_text(name)
        hf_hub_download(repository, name, revision=revision, local_dir=folder)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(source, target)


def _say_reason(kind: type[BaseException], error: BaseException, _: TracebackType | None) -> None:
    sys.stderr.write(f"{kind.__name__}: {error}\n")


if __name__ == "__main__":
    sys.excepthook = _say_reason
    main()
