"""The catalogue: 180 task files that say what the published table of tasks says."""

import copy
import csv
import itertools
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from otoscope.cli.tasks import command
from otoscope.errors import TaskError
from otoscope.metrics import METRICS
from otoscope.task import CATALOGUE, catalogue, filter_tasks, read_task, select_tasks, taxonomy, variants

SECOND_ROW = "sentence-grammar-acceptability-sblimp-2"
TABLE = Path(__file__).parent / "catalogue" / "tasks.csv"
with TABLE.open(encoding="utf-8", newline="") as table:
    ROWS = {row["id"]: row for row in csv.DictReader(table)}
TASKS = {task.id: task for task in catalogue()}

each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)

Json = dict[str, Any]


def _output(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False, standalone_mode=False)
    return result.stdout


def test_every_row_of_the_table_is_a_task() -> None:
    assert len(ROWS) == 181
    assert len(TASKS) == 180
    assert set(TASKS) == set(ROWS) - {SECOND_ROW}
    assert {file.stem for file in CATALOGUE.iterdir()} == set(TASKS)


@each_task
def test_file_says_what_the_table_says(task: Any) -> None:
    row = ROWS[task.id]
    listed = row["metrics"].split(";")
    metrics = [name for name in listed if name != "na_rate"]
    directions = dict(zip(row["metrics"].split(";"), row["higher_is_better"].split(";"), strict=True))
    assert [part.path for part in task.hub_parts] == row["hf_path"].split(";")
    assert task.content["metrics"] == listed
    assert list(task.metrics) == metrics
    assert ("na_rate" in row["metrics"]) == (task.kind == "regression")
    assert task.better == {name: "higher" if directions[name] == "true" else "lower" for name in listed}
    assert task.primary == metrics[0]
    assert (task.kind, task.split, task.source) == (row["task_type"], row["hf_split"], row["dataset"])
    assert (task.license, "".join(task.core) or "none") == (row["license"], row["core_set"])
    assert ("" if task.audios is None else str(task.audios)) == row["n_audio_inputs"]
    assert ("" if task.text_input is None else str(task.text_input).lower()) == row["has_text_input"]
    assert task.domain[0].startswith(row["domain"])
    assert task.domain[0].split("/")[0].lower() == row["field"]


@each_task
def test_revisions_are_commits_or_noted(task: Any) -> None:
    listed = ROWS[task.id]["hf_revision"].split(";")
    for part, version in itertools.zip_longest(task.hub_parts, listed, fillvalue=""):
        found = getattr(part, "version", "")
        assert found in ("", version)
        assert not found or len(found) == 40
        assert found or any("revision" in note for note in task.notes)


@each_task
def test_file_is_valid(task: Any) -> None:
    assert read_task(task.file).content == task.content
    assert all(METRICS[name].better == better for name, better in task.better.items())


Break = Callable[[Json], object]
BREAKS: dict[str, Break] = {
    "metrics": lambda content: content.update(metrics=["word_error_rate"]),
    "kind": lambda content: content.update(kind="translation"),
    "domain": lambda content: content.update(domain="Speech"),
    "split": lambda content: content.update(split=1),
    "core": lambda content: content.update(core=["glue"]),
    "better": lambda content: content.update(better=dict.fromkeys(content["metrics"], "up")),
    "domian": lambda content: content.update(domian=content.pop("domain")),
    "name": lambda content: content.pop("name"),
    "primary_metric": lambda content: content.update(primary_metric="kappa"),
    "id": lambda content: content.update(id="no spaces"),
}


@each_task
def test_broken_copy_is_refused_with_the_key(task: Any, tmp_path: Path) -> None:
    for key, damage in BREAKS.items():
        content: Json = copy.deepcopy(dict(task.content))
        damage(content)
        file = tmp_path / "task.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(TaskError, match=rf": {key}\b|'{key}'"):
            read_task(file)


@each_task
def test_hub_dataset_needs_a_full_commit(task: Any, tmp_path: Path) -> None:
    content: Json = copy.deepcopy(dict(task.content))
    content.get("parts", [content])[0]["version"] = "c88b0fc"
    (tmp_path / "task.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TaskError, match="version"):
        read_task(tmp_path)


def test_one_task_has_two_domains() -> None:
    assert [task.id for task in TASKS.values() if len(task.domain) > 1] == ["sentence-grammar-acceptability-sblimp"]
    assert ROWS[SECOND_ROW]["taxonomy_path"].replace(" / ", "/") in TASKS[SECOND_ROW.removesuffix("-2")].domain


def test_variants_are_tasks_of_their_own() -> None:
    found = {task.id: variants(task) for task in TASKS.values() if len(variants(task)) > 1}
    assert len(found) == 3
    for name, parts in found.items():
        assert len(parts) == 2
        paths = [part.path for task in parts for part in task.hub_parts]
        assert sorted(paths) == sorted(ROWS[name]["hf_path"].split(";"))
        assert all(task.id.startswith(f"{name}/") for task in parts)
        assert parts[0].hash != parts[1].hash
    assert variants(TASKS["superb-er-iemocap"]) == [TASKS["superb-er-iemocap"]]


def test_taxonomy_covers_the_catalogue() -> None:
    domains = Counter("/".join(task.domain[0].split("/")[:2]) for task in TASKS.values())
    assert len(taxonomy()) == 17
    assert set(domains) == set(taxonomy())
    printed = Counter(row["domain"] for row in ROWS.values() if row["id"] != SECOND_ROW)
    assert domains == printed


def test_core_sets() -> None:
    assert [len(select_tasks([name])) for name in ("superb", "hear", "marble", "core")] == [9, 14, 7, 30]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("speech/**", 123),
        ("Speech", 123),
        ("music/harmony-pitch", 6),
        ("Music/Harmony & Pitch", 6),
        ("speech/*/prosody/**", 13),
        ("multi-lingual-speech-recognition-mls-*", 8),
        ("speech-detection-ljspeech", 1),
        ("starter/*-number", 1),
        ("starter", 13),
        ("catalogue", 180),
    ],
)
def test_names_select(name: str, count: int) -> None:
    assert len(select_tasks([name])) == count


def test_filters() -> None:
    tasks = catalogue()
    assert len(filter_tasks(tasks, kind="regression")) == 24
    assert len(filter_tasks(tasks, field="music")) == 21
    assert len(filter_tasks(tasks, license="cc-by*")) == 5
    assert len(filter_tasks(tasks, license="unknown")) == 175
    assert [task.id for task in filter_tasks(tasks, max_audios=0)] == ["n-best-correction-librispeech-test-other"]
    assert len(filter_tasks(tasks, field="speech", core="superb")) == 9
    assert len(filter_tasks(tasks, domain="speech/speech-enhancement", kind="classification")) == 18


def test_list_prints_json() -> None:
    listed = json.loads(_output("list", "--json"))
    assert [entry["id"] for entry in listed] == sorted(TASKS)
    assert {entry["id"] for entry in json.loads(_output("list", "speech/**", "--core", "superb", "--json"))} == {
        task.id for task in TASKS.values() if "superb" in task.core
    }


def test_list_tells_what_it_leaves_out() -> None:
    result = CliRunner().invoke(command, ["list", "--max-audio", "2", "--json"], standalone_mode=False)
    unknown = sum(task.audios is None for task in TASKS.values())
    assert len(json.loads(result.stdout)) == sum(
        task.audios is not None and task.audios <= 2 for task in TASKS.values()
    )
    assert f"{unknown} tasks with an unknown number" in result.stderr


def test_show_prints_published_results() -> None:
    shown = json.loads(_output("show", "superb-sf-audio-snips-test"))
    results = shown["published"]["superb-sf-audio-snips-test"]
    assert set(results) == {"na_rate", "slot_type_f1", "slot_value_cer"}
    assert results["slot_type_f1"]["paper/whisper-llama"] == pytest.approx(0.8637)
    assert all(len(systems) == 9 for systems in results.values())
    assert shown["license"] == "unknown"


def test_taxonomy_prints_counts() -> None:
    tree = {entry["domain"]: entry for entry in json.loads(_output("taxonomy", "--json"))}
    assert tree["Speech"]["tasks"] + tree["Audio"]["tasks"] + tree["Music"]["tasks"] == 180
    assert tree["Speech/Spoken Language Understanding"]["tasks"] == 21
    assert tree["Audio/Sound Event"]["matches"] == ["INTERSPEECH", "EDICS"]
    assert "180 tasks in 17 domains" in _output("taxonomy")


def test_listing_loads_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "jsonschema", "soundfile", "rich")
    code = (
        "import sys; from click.testing import CliRunner; from otoscope.cli.tasks import command;"
        "CliRunner().invoke(command, ['list', '--json'], catch_exceptions=False, standalone_mode=False);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
