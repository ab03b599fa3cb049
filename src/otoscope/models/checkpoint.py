"""A model of the transformers library: a folder or a repository on the hub, known before its weights are loaded."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otoscope.errors import ModelLoadingError, UnknownNameError
from otoscope.models.local import digest_files, fetch_snapshot

EXTRA = "'otoscope[transformers]'"

SMALL = ("*.json", "*.jinja", "*.model", "*.txt")
"""What is fetched to know a model: its configuration, tokeniser and template."""
CONTENT = (".bin", ".jinja", ".json", ".model", ".safetensors", ".txt")
"""The files of a folder that can change an answer."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a model is.

    Attributes:
        spec: how the user named it.
        folder: holds its configuration, and its weights unless ``repository`` is set.
        repository: its name on the hub, or an empty string for a folder of the user's own.
        revision: the commit on the hub, or a digest of the folder's files.
    """

    spec: str
    folder: Path
    repository: str
    revision: str

    @property
    def source(self) -> dict[str, str]:
        """What ``from_pretrained`` is given; on the hub it takes the weights at the commit that is recorded."""
        if self.repository:
            return {"pretrained_model_name_or_path": self.repository, "revision": self.revision}
        return {"pretrained_model_name_or_path": str(self.folder)}

    @property
    def architecture(self) -> str:
        """The ``model_type`` of its configuration.

        Raises:
            ModelLoadingError: there is no configuration, or it does not say.
        """
        kind = self.settings("config.json").get("model_type")
        if not isinstance(kind, str):
            raise ModelLoadingError(f"{self.spec}: its config.json names no model_type; name a model of transformers")
        return kind

    def settings(self, *names: str) -> Mapping[str, Any]:
        """Return the content of the first of these JSON files that is there; an empty mapping if none is.

        Raises:
            ModelLoadingError: a file is not a JSON object.
        """
        for name in names:
            path = self.folder / name
            if path.is_file():
                try:
                    content = json.loads(path.read_text("utf-8"))
                except ValueError as error:
                    raise ModelLoadingError(f"{path}: not JSON ({error}); fetch it again") from error
                if not isinstance(content, dict):
                    raise ModelLoadingError(f"{path}: not a JSON object; fetch it again")
                return content
        return {}


def find_checkpoint(spec: str, revision: str = "") -> Checkpoint:
    """Return a model of the transformers library without fetching or reading its weights into memory.

    Args:
        spec: a folder, or a repository id ``ORG/REPO`` on the hub.
        revision: a commit, branch or tag on the hub; its main branch if empty.

    Raises:
        ModelLoadingError: the hub cannot be reached, or has no such repository.
        UnknownNameError: the name stands for nothing.
    """
    folder = Path(spec)
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.suffix in CONTENT and path.is_file())
        return Checkpoint(spec, folder, "", digest_files(tuple(files)))
    if spec.count("/") != 1:
        raise UnknownNameError("folder or hub repository", spec, ["ORG/REPO", "path/to/folder"])
    snapshot = _fetch_small(spec, revision)
    return Checkpoint(spec, snapshot, spec, snapshot.name)


@functools.cache
def _fetch_small(repository: str, revision: str) -> Path:
    return fetch_snapshot(repository, SMALL, EXTRA, revision)
