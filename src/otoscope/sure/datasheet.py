"""The datasheet of a set: what is in it, what was left out, from what it was made, and what is not known."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, get_args

import soundfile

from otoscope.sure.families import Family, Kind
from otoscope.sure.plan import PlannedRow, Settings, Source, Split
from otoscope.sure.sources import Speech

Datasheet = dict[str, Any]

LIBRARIES = ("otoscope", "numpy", "scipy", "soundfile", "soxr")

#: What the paper does not say, and what is done here instead.
UNKNOWN: Mapping[str, str] = {
    "which utterances": "the first of the source, in order",
    "how supported rows are perturbed": "one of two recipes with the published counts",
    "signal-to-noise ratios": "20, 10 and 5 dB against the speech without its pauses",
    "noise colours, tones and levels": "those of the recipe, at an RMS of 0.05, tones at an amplitude of 0.1",
    "reverberation": "0.4 s, as much energy in the tail as in the direct path",
    "sizes of train and dev": "half and a quarter; the quarter for test follows from the published counts",
    "how babble picks its voices": "the sources that follow, round the set, since that leaks 6 rows a split",
    "factors of speed": "0.9 and 1.1",
    "voices too short for their row": "looped, so that no row ends with one talker; --short pad lets silence follow",
    "whether core was screened": "its published counts are those before the screen, so it is not",
    "the instructions": "our own wording, below",
}

COLUMNS = ("supported", "non-speech", "babble", "leaking", "after the screen", "written")


def count_rows(
    rows: Iterable[PlannedRow], leaking: Iterable[PlannedRow], families: Sequence[Family]
) -> dict[Split, dict[str, Any]]:
    """Return for each split how many rows were planned, by kind and by family, and how many of them leak."""
    rows = list(rows)
    leaks = Counter((row.source.split, row.family.name) for row in leaking)
    planned = Counter((row.source.split, row.family.name) for row in rows)
    counts: dict[Split, dict[str, Any]] = {}
    for split in get_args(Split):
        names = [family.name for family in families]
        counts[split] = {
            "sources": len({row.source.utterance.id for row in rows if row.source.split == split}),
            "kinds": {
                kind: sum(planned[split, family.name] for family in families if family.kind == kind)
                for kind in get_args(Kind)
            },
            "families": {name: planned[split, name] for name in names},
            "leaking": {name: leaks[split, name] for name in names if leaks[split, name]},
        }
    return counts


def describe(
    settings: Settings,
    sources: Sequence[Source],
    speech: Mapping[str, Speech],
    counts: Mapping[Split, Mapping[str, Any]],
    leaking: Sequence[PlannedRow],
) -> Datasheet:
    """Return the datasheet as JSON values. It holds no date and no path, so that equal sets have equal ones."""
    speakers = {
        split: sorted({source.utterance.speaker for source in sources if source.split == split} - {""})
        for split in get_args(Split)
    }
    named = [speaker for found in speakers.values() for speaker in found]
    return {
        "set": settings.name,
        "reconstruction": "Built after the description of SURE-Challenge; it is not the paper's audio.",
        "settings": {**asdict(settings), "screen": settings.screened},
        "counts": {
            split: {**found, "rows": _rows(found, screened=settings.screened)} for split, found in counts.items()
        },
        "leaking": [row.id for row in leaking],
        "unknown": dict(UNKNOWN),
        "speakers": speakers,
        "speakers_in_two_splits": sorted(name for name, times in Counter(named).items() if times > 1),
        "licenses": dict(Counter(source.utterance.license for source in sources)),
        "attributions": sorted({source.utterance.attribution for source in sources} - {""}),
        "sources": [_source(source, speech[source.utterance.id]) for source in sources],
        "versions": {
            **{name: version(name) for name in LIBRARIES},
            "libsndfile": str(soundfile.__libsndfile_version__),
        },
    }


def _rows(counts: Mapping[str, Any], *, screened: bool) -> dict[str, int]:
    planned = sum(counts["kinds"].values())
    leaking = sum(counts["leaking"].values())
    return {
        "planned": planned,
        "leaking": leaking,
        "after the screen": planned - leaking,
        "written": planned - leaking if screened else planned,
    }


def _source(source: Source, speech: Speech) -> dict[str, Any]:
    utterance = source.utterance
    return {
        "id": utterance.id,
        "split": source.split,
        "speaker": utterance.speaker,
        "text": utterance.text,
        "seconds": round(speech.seconds, 4),
        "rate": speech.rate,
        "license": utterance.license,
    }


def to_markdown(datasheet: Datasheet) -> str:
    """Return the datasheet for people."""
    settings = datasheet["settings"]
    screened = "left out" if settings["screen"] else "kept"
    versions = ", ".join(f"{name} {number}" for name, number in datasheet["versions"].items())
    lines = [
        f"# Datasheet of SURE {datasheet['set']}",
        "",
        f"{datasheet['reconstruction']} Recipe {settings['recipe']}, seed {settings['seed']}, {_choices(settings)}.",
        "",
        *_rows_section(datasheet["counts"], screened),
        f"## Rows that leak, {screened}",
        "",
        *([f"- `{name}`" for name in datasheet["leaking"]] or ["None."]),
        "",
        "## What the paper leaves unknown",
        "",
        "| unknown | here |",
        "|---|---|",
        *(f"| {what} | {here} |" for what, here in datasheet["unknown"].items()),
        "",
        "## Instructions",
        "",
        *(f"- {name}: {text}" for name, text in datasheet["prompts"].items()),
        "",
        *_origin_sections(datasheet),
        "## To tell whether two builds are the same",
        "",
        f"Content: `{datasheet['content']}`. Made with {versions}.",
        "",
    ]
    return "\n".join(lines)


def _rows_section(counts: Mapping[str, Any], screened: str) -> list[str]:
    return [
        "## Rows",
        "",
        "| split | sources | " + " | ".join(COLUMNS) + " |",
        "|---|---|" + "---|" * len(COLUMNS),
        *(_count_line(split, found) for split, found in counts.items()),
        "",
        f"Rows that hold a voice of another split are {screened}.",
        "Rows of one source depend on one another: intervals are over sources, never over rows.",
        "Rows of silence differ in length alone, so a scorer that pads them all sees one input.",
        "",
        "| family | " + " | ".join(counts) + " |",
        "|---|" + "---|" * len(counts),
        *(
            f"| {name} | " + " | ".join(str(found["families"][name]) for found in counts.values()) + " |"
            for name in next(iter(counts.values()))["families"]
        ),
        "",
    ]


def _origin_sections(datasheet: Datasheet) -> list[str]:
    """Return who speaks in the sources, and under which licences."""
    return [
        "## Speakers",
        "",
        *(f"- {split}: {len(found)} known" for split, found in datasheet["speakers"].items()),
        f"- in two splits: {', '.join(datasheet['speakers_in_two_splits']) or 'none'}",
        "",
        "## Licences",
        "",
        *(f"- {name}: {count} sources" for name, count in datasheet["licenses"].items()),
        *(f"- {name}" for name in datasheet["attributions"]),
        "",
        "Every clip but silence, noise and tones is an adaptation of the sources: their licences hold for it.",
        "",
    ]


def _choices(settings: Mapping[str, Any]) -> str:
    speed = "with" if settings["speed"] else "without"
    speakers = " of distinct speakers" if settings["distinct_speakers"] else ""
    return (
        f"{settings['babble']} babble{speakers} {speed} changes of speed, short voices by {settings['fit']}, "
        f"splits disjoint by {settings['disjoint']}"
    )


def _count_line(split: str, counts: Mapping[str, Any]) -> str:
    rows, kinds = counts["rows"], counts["kinds"]
    cells = (counts["sources"], *kinds.values(), rows["leaking"], rows["after the screen"], rows["written"])
    return f"| {split} | " + " | ".join(map(str, cells)) + " |"
