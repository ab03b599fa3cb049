"""Build the starter suite, ``src/otoscope/starter``, from pinned Debian packages.

    python scripts/build_starter.py CACHE [--out src/otoscope/starter]

CACHE is a folder for the packages (300 MB; 700 MB with their content unpacked); what it holds already is not
downloaded again. Everything in the output folder but NOTICE.md is written anew; two runs write the same bytes.

Needs Debian 12 with ``apt-get`` and ``dpkg`` (package lists up to date), the package ``fluidsynth`` 2.3.1-2, and
numpy and soundfile. The committed files were written with numpy 2.4.6, soundfile 0.14.0 and its libsndfile 1.2.2.
Another libsndfile may compress FLAC differently; ``pcm_sha256`` in the manifest is the hash of the samples alone.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starter.clips import Clip, write_clip
from starter.packages import PACKAGES, fetch_packages
from starter.tasks import Spec, build_tasks, read_instructions

SUITE = {
    "name": "starter",
    "description": "Thirteen small tasks over speech, sound and music that come with Otoscope: "
    "real recordings under free licences, and rendered music where the truth must be exact.",
}


def write_suite(specs: Sequence[Spec], out: Path) -> None:
    """Write tasks, rows, clips and the manifest to ``out``."""
    for spec in specs:
        shutil.rmtree(out / spec.folder, ignore_errors=True)
    shutil.rmtree(out / "audio", ignore_errors=True)
    (out / "audio").mkdir(parents=True)
    instructions = read_instructions()
    for spec in specs:
        folder = out / spec.folder
        folder.mkdir()
        rows = sample_rows(spec, instructions[spec.folder])
        (folder / "samples.jsonl").write_text("".join(line(row) for row in rows), encoding="utf-8")
        (folder / "task.json").write_text(pretty(task_json(spec)), encoding="utf-8")
    clips = {clip.name: clip for spec in specs for row in spec.rows for clip in row.clips}
    manifest = [write_clip(clips[name], out / "audio") for name in sorted(clips)]
    (out / "manifest.jsonl").write_text("".join(line(row) for row in manifest), encoding="utf-8")
    suite = {**SUITE, "tasks": [f"{spec.folder}/task.json" for spec in specs]}
    (out / "suite.json").write_text(pretty(suite), encoding="utf-8")


def sample_rows(spec: Spec, instructions: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a task, with the instructions spread evenly over them."""
    options = spec.form.get("options", [])
    named = f"{', '.join(options[:-1])} or {options[-1]}" if options else ""
    rows = []
    for number, row in enumerate(spec.rows, 1):
        audio = {f"audio{i}" if i > 1 else "audio": f"../audio/{clip.name}.flac" for i, clip in enumerate(row.clips, 1)}
        rows.append(
            {
                "id": f"{spec.folder}-{number:03d}",
                **audio,
                "instruction": instructions[(number - 1) % len(instructions)].replace("{options}", named),
                "label": row.label,
                "cluster": row.cluster,
                **row.meta,
            }
        )
    return rows


def task_json(spec: Spec) -> dict[str, Any]:
    """Return the content of a task file."""
    clips = [clip for row in spec.rows for clip in row.clips]
    return {
        "name": spec.name,
        "description": spec.description,
        "keywords": [spec.kind, *spec.domain.lower().split("/")],
        "metrics": list(spec.metrics),
        "path": "samples.jsonl",
        "version": "1",
        "id": f"starter/{spec.folder}",
        "kind": spec.kind,
        "domain": [spec.domain],
        "languages": list(spec.languages),
        "split": "test",
        **spec.form,
        "primary_metric": spec.metrics[0],
        "license": " AND ".join(sorted({part for clip in clips for part in clip.license.split(" AND ")})),
        "source": source(clips),
    }


def source(clips: Sequence[Clip]) -> str:
    """Return where the clips come from, in words."""
    packages = sorted({package for clip in clips for package, _ in clip.sources})
    return "Debian packages " + ", ".join(f"{name} {PACKAGES[name].version}" for name in packages)


def line(row: dict[str, Any]) -> str:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False) + "\n"


def pretty(content: dict[str, Any]) -> str:
    """Return JSON for people to read."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def main(args: Sequence[str]) -> None:
    """Fetch the packages, build the suite and print its size."""
    parser = argparse.ArgumentParser(description="Build the starter suite from pinned Debian packages.")
    parser.add_argument("cache", type=Path, help="folder for the packages")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/otoscope/starter")
    options = parser.parse_args(args)
    fetch_packages(options.cache)
    specs = build_tasks(options.cache)
    write_suite(specs, options.out)
    size = sum(file.stat().st_size for file in (options.out / "audio").iterdir())
    print(f"{len(specs)} tasks, {sum(len(spec.rows) for spec in specs)} samples, {size / 1e6:.1f} MB of audio")


if __name__ == "__main__":
    main(sys.argv[1:])
