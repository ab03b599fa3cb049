"""Build a set: plan the rows, screen them, make the audio, and write a folder that ``otoscope run`` takes."""

import functools
import hashlib
import io
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import soundfile
from numpy.typing import NDArray

from otoscope.errors import UsageError
from otoscope.progress import CountProgress
from otoscope.records import dump_document, dump_json
from otoscope.sure import noise
from otoscope.sure.datasheet import Datasheet, count_rows, describe, to_markdown
from otoscope.sure.families import RECIPES, SPEEDS, Family, Scene
from otoscope.sure.plan import SETS, PlannedRow, Settings, Split, place, plan_rows, row_rng
from otoscope.sure.screen import screen
from otoscope.sure.sources import Speech, Utterance, load
from otoscope.text import standard

FULL_SCALE = 32768


class _Written(NamedTuple):
    """A row of ``samples.jsonl``, and the split it goes to."""

    split: Split
    row: dict[str, Any]


@functools.cache
def prompts() -> Mapping[str, str]:
    """Return the instructions by name; ``version`` changes with any of them."""
    return dict(json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8")))


def check_free(output: Path) -> None:
    """Make sure that a folder can be made, or is empty.

    Raises:
        UsageError: it is taken.
    """
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"-o {output}: there is something already; give a new folder")


def build_set(
    utterances: Iterable[Utterance],
    settings: Settings,
    output: Path,
    extra: Sequence[Family] = (),
    watch: CountProgress = lambda _done, _total: None,
) -> Datasheet:
    """Build a set into a new folder; the same arguments give the same bytes.

    Args:
        utterances: the speech, in the order of its source; no more is read than the set takes.
        settings: what is built.
        output: the folder; it must not exist, or be empty.
        extra: families beyond the recipe's.
        watch: called after each row.

    Returns:
        The content of ``datasheet.json``.

    Raises:
        UsageError: the folder is taken, or the utterances do not allow the settings.
        TaskError: a source is silent or too short.
        AudioError: a source cannot be decoded.
    """
    check_free(output)
    sources = place(utterances, settings)
    families = (*RECIPES[settings.recipe], *extra)
    rows = plan_rows(sources, families, settings)
    kept, leaking = screen(rows, sources)
    chosen = kept if settings.screened else rows
    output.parent.mkdir(parents=True, exist_ok=True)
    # A build that is stopped leaves nothing behind: the folder appears with one rename.
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as staging:
        folder = Path(staging) / "set"
        speech = {source.utterance.id: load(source.utterance) for source in sources}
        written: list[_Written] = []
        for row in chosen:
            written.append(_Written(row.source.split, _write_row(row, speech, settings, folder)))
            watch(len(written), len(chosen))
        datasheet = describe(settings, sources, speech, count_rows(rows, leaking, families), leaking)
        datasheet |= {"prompts": dict(prompts()), "content": _content(written)}
        _write_folder(folder, settings, datasheet, written)
        folder.rename(output)
    return datasheet


def _write_row(row: PlannedRow, speech: Mapping[str, Speech], settings: Settings, folder: Path) -> dict[str, Any]:
    """Make the audio of a row and write it; return the row's columns."""
    utterance, family = row.source.utterance, row.family
    speeds = _speeds(row, settings)
    made = family.make(
        Scene(
            speech=speech[utterance.id].samples,
            rng=row_rng(settings, utterance.id, family.name),
            voices=tuple(
                noise.change_speed(speech[voice].samples, factor)
                for voice, factor in zip(row.constituents, speeds, strict=True)
            )
            if family.talkers
            else (),
            fit=settings.fit,
        )
    )
    samples, gain = noise.limit(made.samples)
    pcm = np.round(samples * FULL_SCALE).astype(np.int16)
    name = f"audio/{utterance.id}/{family.name}.flac"
    file = folder / row.source.split / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_flac(pcm))
    return {
        "id": row.id,
        "audio": name,
        "instruction": _instruction(family, settings),
        "label": _label(row),
        "expect": family.expect,
        "cluster": utterance.id,
        "split": row.source.split,
        "family": family.name,
        "kind": family.kind,
        "asked": family.asked,
        "speaker": utterance.speaker,
        "constituents": list(row.constituents),
        "seconds": round(len(pcm) / noise.RATE, 4),
        "gain": round(gain, 6),
        "pcm_sha256": hashlib.sha256(pcm.astype("<i2").tobytes()).hexdigest(),
        **({"group": row.source.group} if row.source.group else {}),
        **({"speeds": list(speeds)} if family.talkers else {}),
        **made.facts,
    }


def _flac(pcm: NDArray[np.int16]) -> bytes:
    """Encode in memory: libsndfile syncs each file that it closes to the disk, which takes most of a build."""
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm, noise.RATE, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def _speeds(row: PlannedRow, settings: Settings) -> tuple[float, ...]:
    if not (settings.speed and row.family.talkers):
        return (1.0,) * len(row.constituents)
    rng = row_rng(settings, row.source.utterance.id, row.family.name, "speeds")
    return tuple(map(float, rng.choice(SPEEDS, len(row.constituents))))


def _instruction(family: Family, settings: Settings) -> str:
    asked = prompts()[family.asked]
    return f"{asked} {prompts()['self-abstain']}" if settings.self_abstain else asked


def _label(row: PlannedRow) -> str:
    if row.family.kind != "supported":
        return ""
    text = row.source.utterance.text
    return standard(text).split()[0] if row.family.asked == "first-word" else text


def _content(written: Sequence[_Written]) -> str:
    """Return one digest of every row's id and samples, to tell two builds apart or the same."""
    lines = "".join(f"{row['id']} {row['pcm_sha256']}\n" for _, row in written)
    return hashlib.sha256(lines.encode()).hexdigest()


def _write_folder(folder: Path, settings: Settings, datasheet: Datasheet, written: Sequence[_Written]) -> None:
    for split in get_args(Split):
        task = _task(split, settings, datasheet)
        (folder / split / "task.json").write_text(dump_document(task), "utf-8")
        lines = [dump_json(row) for where, row in written if where == split]
        (folder / split / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    suite = {
        "name": f"sure-{settings.name}",
        "description": "The test split. Train and dev lie beside it, to fit and to calibrate with; see datasheet.md.",
        "tasks": ["test/task.json"],
    }
    (folder / "suite.json").write_text(dump_document(suite), "utf-8")
    (folder / "datasheet.json").write_text(dump_document(datasheet), "utf-8")
    (folder / "datasheet.md").write_text(to_markdown(datasheet), "utf-8")


def _task(split: Split, settings: Settings, datasheet: Datasheet) -> dict[str, Any]:
    return {
        "name": f"SURE {settings.name}, {split}",
        "description": (
            "Speech to transcribe, and silence, noise, tones and babble to abstain from. Built after SURE-Challenge, "
            f"recipe {settings.recipe}, seed {settings.seed}: a reconstruction, not the paper's audio."
        ),
        "keywords": ["sequence", "speech", "abstention"],
        "metrics": ["wer"],
        "path": "samples.jsonl",
        "version": datasheet["content"][:16],
        "id": f"sure/{settings.name}/{split}",
        "kind": "sequence",
        "split": split,
        "license": " AND ".join(sorted(datasheet["licenses"])),
        "source": f"{SETS[settings.name].sources} utterances; see datasheet.md",
    }
