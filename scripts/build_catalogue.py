"""Write the task files of the catalogue from two tables; from then on the files are kept by hand.

    python scripts/build_catalogue.py tasks.csv paper_results.csv

``tasks.csv`` has one row for each row of the published list of tasks, ``paper_results.csv`` one for each printed value.
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from otoscope.metrics import metric

CATALOGUE = Path(__file__).parents[1] / "src" / "otoscope" / "catalogue"

FULL_COMMIT = re.compile(r"[0-9a-f]{40}")

#: The second row of one task, which stands under two domains, and the id of the first.
SECOND_ROWS = {"sentence-grammar-acceptability-sblimp-2": "sentence-grammar-acceptability-sblimp"}

#: Tasks whose row covers two corpora. Each corpus is a variant and has scores of its own.
TWO_CORPORA = {
    "speech-detection-libri-speech",
    "marble-music-tagging-mtg-top50-magna-tagatune",
    "marble-genre-classification-mtg-genre-gtzan",
}

#: Which INTERSPEECH areas and EDICS categories the paper's Table 3 finds for a domain.
TAXONOMY = {
    "Music/Harmony & Pitch": ["EDICS"],
    "Music/Music Classification": [],
    "Music/Rhythm Analysis": ["EDICS"],
    "Audio/Quality Assessment": ["EDICS"],
    "Audio/Safety": ["EDICS"],
    "Audio/Signal-Characteristics Analysis": [],
    "Audio/Singing Analysis": ["INTERSPEECH"],
    "Audio/Sound Event": ["INTERSPEECH", "EDICS"],
    "Audio/Spatial Audio Analysis": ["INTERSPEECH", "EDICS"],
    "Speech/Paralinguistics": ["INTERSPEECH"],
    "Speech/Phonetics, Phonology, Prosody": ["INTERSPEECH"],
    "Speech/Safety and Security": ["INTERSPEECH"],
    "Speech/Speaker & Language": ["INTERSPEECH"],
    "Speech/Speech Enhancement": ["INTERSPEECH", "EDICS"],
    "Speech/Speech Recognition": ["INTERSPEECH", "EDICS"],
    "Speech/Speech, Voice, Hearing Disorder": ["INTERSPEECH"],
    "Speech/Spoken Language Understanding": ["INTERSPEECH", "EDICS"],
}

#: Columns that differ from ``audio``, ``audio2`` and so on.
AUDIO_COLUMNS = {
    "superb-sv-vox-celeb1-test": ["enrollment", "testing"],
    "superb-qbe-quesst14-eval": ["query", "doc"],
}

MULTI_LABEL = {"dialogue-act-classification-slue-hvb", "hear-sound-event-detection-dcase2016-task2"}

TARGET_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "sound-position-prediction-binaural-sound-perception": {"type": "number", "unit": "radians"},
    "audio-spatial-distance-prediction-spatial-libri-speech": {"type": "number"},
    "singing-automatic-mos-prediction-singmos": {"type": "number", "low": 1, "high": 5},
    "audio-duration-prediction-ntuml2021": {"type": "number", "unit": "seconds", "low": 0},
    "hear-speaker-count-identification-libri-count": {"type": "number", "unit": "count", "low": 0},
    "phone-segment-counting-vox-angeles": {"type": "number", "unit": "count", "low": 0},
    "phoneme-segment-counting-librispeech-words": {"type": "number", "unit": "count", "low": 0},
    "code-switching-speech-recognition-ascend": {"type": "number", "unit": "count", "low": 0},
    "l2-english-accuracy-speechocean762-scoring": {"type": "number"},
    "l2-english-fluency-speechocean762-scoring": {"type": "number"},
    "l2-english-prosodic-speechocean762-scoring": {"type": "number"},
    "music-beat-tracking-asap": {"type": "list", "unit": "seconds"},
    "hear-music-transcription-maestro": {"type": "list"},
}

#: Languages of the speech, by what the id holds; the first that fits counts. Only what the name or the corpus settles.
LANGUAGES: Sequence[tuple[str, list[str]]] = (
    (r"-mls-(?P<tag>[a-z]{2})$", []),
    (r"oodasr-(?P<tag>ar|es|zh)-", []),
    (r"ptbr", ["pt"]),
    (r"cszs-zh-en|ascend$|code-switching-speech-recognition-ntuml2021", ["zh", "en"]),
    (r"third-tone-sandhi|3dspeaker", ["zh"]),
    (
        (
            r"aave|libri-?speech|libritts|libri2mix|libri-count|ljspeech|vctk|speechocean762|iemocap|ravdess|cremad|"
            r"daily-talk|emotion-lines|mustard|fluent-speech|speech-commands|audiomnist|slue|sblimp|swuggy|pros-audit|"
            r"spokensts|heteronym-en|sbcsae|-ami-|audio-snips|mirsd|accentdb|asvspoof|sep-28k|en-short-conversation"
        ),
        ["en"],
    ),
)

#: Defects beyond the ``note`` column.
NOTES = {
    "sentence-grammar-acceptability-sblimp": ["printed under two domains; one task here, with two domain paths"],
    "hear-language-identification-vox-lingua107-top10": [
        "the list gives folds 2 and 3 one revision, though they are two datasets; one of them cannot be right"
    ],
    "hear-speaker-count-identification-libri-count": [
        "the list gives folds 1 and 5 one revision, though they are two datasets; one of them cannot be right",
        "shipped at 48 kHz though made at 16 kHz; label 6 is rare",
    ],
    "hear-music-transcription-maestro": [
        "token error rate printed in three scales; the one of Table 9 is used, which another printing repeats"
    ],
    "pitch-extraction-by-lyrics-childrens-song-dataset-csd": [
        "token error rate printed once as 1.4628% and once as 146.28%; the second is used"
    ],
    "hear-spoken-commands-classification-speech-commands-5hr": [
        "left out of Table 9 as a duplicate of keyword spotting, though Table 8 gives it other results"
    ],
    "hear-beehive-states-classification-beehive-states": ["200 clips in 9.75 GB"],
    "hear-sound-event-detection-dcase2016-task2": ["a label is a printed list of all events"],
    "dialogue-act-classification-slue-hvb": ["further labels stand in label2, label3 and so on, padded with nulls"],
    "phoneme-segment-counting-librispeech-words": ["the label is a whole number, not a text"],
    "n-best-correction-librispeech-test-other": ["no audio; the hypotheses stand in the instruction"],
    "superb-sv-vox-celeb1-test": ["the clips stand in the columns enrollment and testing"],
    "superb-qbe-quesst14-eval": ["the clips stand in the columns query and doc"],
    "speaker-counting-libritts-test-clean": ["loudness rises with the label, which gives it away"],
    "sound-position-prediction-binaural-sound-perception": [
        "unit of the angle inferred from the size of the printed values",
        "printed results equal those of named entity localization",
    ],
    "phonological-feature-classification-vox-angeles-phone": ["no value printed for SALMONN-13B"],
    "how-far-are-you-3dspeaker": ["old versions of the dataset kept a train split"],
    "music-beat-tracking-asap": ["form of the target inferred; the published metric has no definition or unit"],
}

#: Sizes that the printed percentages imply, but wrongly: all N/A, or copied rows.
NO_SIZE = {"marble-beat-tracking-gtzan-rhythm", "named-entity-localization-slue-vox-populi"}


def main() -> None:
    """Write the catalogue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--force", action="store_true", help="replace task files that were changed by hand")
    arguments = parser.parse_args()
    folder = CATALOGUE / "tasks"
    if folder.exists() and any(folder.iterdir()) and not arguments.force:
        sys.exit(f"{folder} holds task files that are kept by hand; --force replaces them")
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks(list(_rows(arguments.tasks))):
        _write(folder / f"{task['id']}.json", task)
    _write(CATALOGUE / "taxonomy.json", TAXONOMY)
    write_results(arguments.results, CATALOGUE / "published.csv")


def tasks(rows: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the content of the task files."""
    second = {SECOND_ROWS[row["id"]]: row for row in rows if row["id"] in SECOND_ROWS}
    for row in rows:
        if row["id"] not in SECOND_ROWS:
            domains = [_domain(each) for each in (row, second.get(row["id"])) if each]
            content = {**_identity(row), **_scoring(row), **_data(row), "domain": domains, "notes": _notes(row)}
            yield {key: value for key, value in content.items() if value not in ("", [], {}, None)}


def _identity(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": row["name"],
        "core": [] if row["core_set"] == "none" else [row["core_set"]],
        "languages": _languages(row["id"]),
        "source": row["dataset"],
        "license": row["license"],
        "phase": int(row["phase"]),
    }


def _scoring(row: Mapping[str, str]) -> dict[str, Any]:
    metrics = row["metrics"].split(";")
    return {
        "kind": row["task_type"],
        "metrics": metrics,
        "better": {name: metric(name).better for name in metrics},
        "primary_metric": next(name for name in metrics if name != "na_rate"),
        "target_format": TARGET_FORMATS.get(row["id"], {}),
        "multi_label": True if row["id"] in MULTI_LABEL else None,
    }


def _data(row: Mapping[str, str]) -> dict[str, Any]:
    paths = row["hf_path"].split(";")
    versions = _padded(row["hf_revision"], len(paths))
    phase1 = _padded(row["phase1_revision"], len(paths))
    parts = [
        {
            "path": path,
            "version": version if FULL_COMMIT.fullmatch(version) else "",
            "variant": _variant(path) if row["id"] in TWO_CORPORA else "",
            "phase1_version": old,
        }
        for path, version, old in zip(paths, versions, phase1, strict=True)
    ]
    parts = [{key: value for key, value in part.items() if value} for part in parts]
    audio = AUDIO_COLUMNS.get(row["id"])
    return {
        **(parts[0] if len(parts) == 1 else {"parts": parts}),
        "split": row["hf_split"],
        "columns": {"audio": audio} if audio else {},
        "audios": int(row["n_audio_inputs"]) if row["n_audio_inputs"] else None,
        "text_input": row["has_text_input"] == "true" if row["has_text_input"] else None,
        "implied_samples": int(row["implied_n"]) if row["implied_n"] and row["id"] not in NO_SIZE else None,
    }


def _padded(cell: str, length: int) -> list[str]:
    return cell.split(";") if cell else [""] * length


def _variant(path: str) -> str:
    return re.sub(r"-Fold\d+$", "", path.split("_", 1)[1])


def _domain(row: Mapping[str, str]) -> str:
    """Return the domain as Table 3 names it, and what Table 4 has below it."""
    below = row["taxonomy_path"].split(" / ")[2:]
    return "/".join([row["domain"], *below])


def _languages(task: str) -> list[str]:
    for pattern, languages in LANGUAGES:
        found = re.search(pattern, task)
        if found:
            return [found["tag"]] if "tag" in found.groupdict() else list(languages)
    return []


def _notes(row: Mapping[str, str]) -> list[str]:
    notes = row["note"].split("; ") if row["note"] else []
    odd = [version for version in row["hf_revision"].split(";") if version and not FULL_COMMIT.fullmatch(version)]
    if odd:
        notes = [note for note in notes if note != "a revision that is no full commit id"]
        notes += [f"the list gives the revision {', '.join(odd)}, which is no commit id, so the revision is unknown"]
    elif "" in _padded(row["hf_revision"], 1):
        notes += ["revision of the benchmark's data unknown"]
    return [*notes, *NOTES.get(row["id"], [])]


def write_results(source: Path, target: Path) -> None:
    """Write the printed values with the ids that the catalogue gives to tasks and variants."""
    rows = list(_rows(source))
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            if row["task_id"] in TWO_CORPORA:
                corpus = row["task"].rpartition("(")[2].rstrip(")").replace(" ", "")
                row["task_id"] += f"/{corpus}"
            writer.writerow(row)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
