"""The file of a frozen gate: what it holds, and whether that is what was written. No weights are needed to tell."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otoscope.errors import UsageError
from otoscope.records import digest, dump_document, dump_json

FORMAT = "otoscope-gate/2"
"""The number rises when the same settings come to another decision, so that none that is stored is taken for it."""
SETTINGS = ("format", "signals", "conditions", "disabled")
"""What can change a decision; the signature is of these, the digest of all that the file holds."""
SCHEMA = Path(__file__).parent / "gate.schema.json"
LONGEST_MESSAGE = 160


def sign(settings: Mapping[str, Any]) -> str:
    """Return the signature of settings: two gates with one come to the same decisions."""
    return digest(dump_json(settings))


def freeze(settings: Mapping[str, Any], name: str, calibration: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the file holds.

    Args:
        settings: the values of ``SETTINGS``.
        name: how the gate was asked for.
        calibration: how its limits were found.
    """
    content = {**settings, "name": name, "calibration": dict(calibration), "signature": sign(settings)}
    return {**content, "digest": _digest(content)}


def row_digest(audio: str, cluster: str) -> str:
    """Return what tells whether a row is one that a gate was calibrated on: its sound and its source, not its name.

    Sixteen digits, since a gate holds one of each row and nothing but chance could make two alike.

    Args:
        audio: digest of its decoded clip.
        cluster: the source it was made from.
    """
    return digest("row", audio, cluster)[:16]


def write_content(content: Mapping[str, Any], path: Path) -> None:
    """Write the file at once, so that no reader ever sees half of it, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.new")
    part.write_text(dump_document(content), "utf-8")
    part.replace(path)


def read_content(path: Path) -> dict[str, Any]:
    """Return what the file holds, if that is what was written; an edited record of calibration is refused too.

    Raises:
        UsageError: there is no such file, it is no gate of this version, or it was edited.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file; otoscope gate calibrate writes one") from None
    except (OSError, ValueError, RecursionError) as error:  # the last where brackets are nested without end
        raise UsageError(f"{path}: not a frozen gate ({error}); otoscope gate calibrate writes one") from error
    if not isinstance(content, dict) or "format" not in content:
        raise UsageError(f"{path}: not a frozen gate; otoscope gate calibrate writes one")
    if content["format"] != FORMAT:
        raise UsageError(f"{path}: format {content['format']!r}; this version reads {FORMAT}; calibrate again")
    for wrong in _validator().iter_errors(content):
        where = ".".join(map(str, wrong.path)) or "the file"
        raise UsageError(f"{path}: {where}: {wrong.message[:LONGEST_MESSAGE]}; it was edited; calibrate again")
    if not _is_whole(content):
        raise UsageError(f"{path}: its content is not what its digest says; it was edited; calibrate again")
    return content


def _is_whole(content: Mapping[str, Any]) -> bool:
    told = {name: value for name, value in content.items() if name != "digest"}
    try:
        digests = _digest(told), sign({key: told[key] for key in SETTINGS})
    except (ValueError, RecursionError):  # NaN or endless nesting, which no digest was made of
        return False
    return digests == (content["digest"], content["signature"])


def _digest(content: Mapping[str, Any]) -> str:
    return digest("gate", dump_json(content))


@functools.cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
