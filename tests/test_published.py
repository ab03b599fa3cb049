"""The published tables, recomputed."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from otoscope.cli.published import command
from otoscope.errors import UnknownNameError, UsageError
from otoscope.published import SYSTEMS, core_table, domain_scores, measures, printed, results
from otoscope.relative import RANGES
from otoscope.task import catalogue, taxonomy, variants

IDS = {task.id for whole in catalogue() for task in variants(whole)}


def test_every_printed_value_belongs_to_a_task() -> None:
    rows = printed()
    assert len(rows) == 2268
    assert {row.system for row in rows} == set(SYSTEMS)
    assert {row.task for row in rows} == IDS - {"chord-classification-acoustic-guitar-and-piano"}


def test_every_cell_of_table_2_is_recomputed_within_its_digits() -> None:
    cells = core_table("superb")
    assert len(cells) == 90
    assert Counter(cell.state for cell in cells) == {"equal": 84, "within": 6}
    assert all(cell.scaled for cell in cells if cell.state == "within")


def test_tables_9_and_10_differ_where_the_catalogue_notes_it() -> None:
    hear, marble = core_table("hear"), core_table("marble")
    assert {cell.printed.task for cell in hear if cell.state != "equal"} == {"hear-music-transcription-maestro"}
    assert {cell.printed.task for cell in marble if cell.state != "equal"} == {"marble-key-detection-giantsteps-key"}
    noted = {task.id: " ".join(task.notes) for task in catalogue()}
    assert "three scales" in noted["hear-music-transcription-maestro"]
    assert "Table 10 only" in noted["marble-key-detection-giantsteps-key"]


def test_ranks_tie_where_intervals_overlap() -> None:
    column = {cell.printed.system: cell for cell in core_table("superb") if cell.printed.label == "SV"}
    best = column["paper/salmonn-13b"]
    assert best.rank == 1
    assert best.low is not None
    assert best.high is not None
    assert best.low < 0.935 < best.high
    assert column["paper/salmonn-7b"].rank == column["paper/wavllm"].rank == 2
    assert all(cell.rank is None for cell in core_table("superb") if cell.printed.label == "SD")


def test_last_printing_counts() -> None:
    found = results()
    assert found["hear-music-transcription-maestro", "token_error_rate", "paper/whisper-llama"].raw == "1.0065"
    pitch = "pitch-extraction-by-lyrics-childrens-song-dataset-csd"
    assert found[pitch, "token_error_rate", "paper/whisper-llama"].raw == "146.28%"


def test_domain_scores_follow_the_rule() -> None:
    found = domain_scores()
    assert all(set(comparison.domains) == set(taxonomy()) for comparison in found.values())
    baseline = found["paper/whisper-llama"]
    assert {score.relative for score in baseline.domains.values()} == {0.0}
    assert {score.gain for score in baseline.domains.values()} == {0.0}
    assert found["paper/qwen2-audio"].domains["Speech/Speaker & Language"].relative == pytest.approx(14.8497, abs=1e-4)
    assert found["paper/wavllm"].domains["Speech/Phonetics, Phonology, Prosody"].relative == pytest.approx(
        -43.910, abs=1e-3
    )
    duration = found["paper/salmonn-7b"].domains["Audio/Signal-Characteristics Analysis"]
    assert duration.relative == pytest.approx(-294.514, abs=1e-3)
    for comparison in found.values():
        assert all(score.gain is not None and -1 <= score.gain <= 1 for score in comparison.domains.values())


def test_every_row_is_a_number_or_an_exclusion_with_a_reason() -> None:
    for comparison in domain_scores().values():
        assert len(comparison.rows) == sum(len(task.metrics) for whole in catalogue() for task in variants(whole))
        for row in comparison.rows:
            assert (row.relative is None) == bool(row.excluded)
            assert (row.gain is None) == bool(row.gain_excluded)
            assert not row.caveat or (row.baseline is not None and row.baseline < 0)


def test_exclusions_of_one_system() -> None:
    excluded = {(row.task, row.metric): row.excluded for row in domain_scores()["paper/ltu-as"].rows if row.excluded}
    assert excluded["sound-position-prediction-binaural-sound-perception", "angle_difference"] == "every answer is N/A"
    assert excluded["hear-sound-event-detection-dcase2016-task2", "llm_judge_accuracy"] == "the baseline is 0"
    assert excluded["marble-beat-tracking-gtzan-rhythm", "mse"] == "every answer of the baseline is N/A"
    assert (
        excluded["chord-classification-acoustic-guitar-and-piano", "llm_judge_accuracy"] == "the baseline has no result"
    )
    salmonn = {row.task: row.excluded for row in domain_scores()["paper/salmonn-13b"].rows}
    assert salmonn["phonological-feature-classification-vox-angeles-phone"] == "no result"


def test_every_metric_that_should_be_high_has_a_range() -> None:
    for measure in measures("paper/gama"):
        assert measure.better == "lower" or measure.metric in RANGES


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match="paper/gama"):
        measures("paper/gamma")
    with pytest.raises(UnknownNameError, match="hear"):
        core_table("heer")


def test_command() -> None:
    runner = CliRunner()
    table = json.loads(runner.invoke(command, ["--core", "superb", "--json"], standalone_mode=False).stdout)
    assert table["table"] == "table2"
    assert len(table["cells"]) == 90
    assert "rank 1" in runner.invoke(command, ["--core", "marble"], standalone_mode=False).stdout
    scores = json.loads(runner.invoke(command, ["--domains", "--json"], standalone_mode=False).stdout)
    assert set(scores["systems"]) == set(SYSTEMS)
    assert scores["systems"]["paper/gama"]["domains"]["Audio/Quality Assessment"]["relative"] == "undefined"
    text = runner.invoke(command, ["--domains", "--baseline", "paper/wavllm"], standalone_mode=False).stdout
    assert "against paper/wavllm" in text
    assert "excluded: audio-segment-retrieval-clotho iou" in text
    for arguments in ([], ["--core", "hear", "--domains"]):
        with pytest.raises(UsageError, match="either"):
            runner.invoke(command, arguments, standalone_mode=False, catch_exceptions=False)
