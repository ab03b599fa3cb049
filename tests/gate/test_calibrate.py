"""Thresholds from crafted scores."""

import csv
import io
import itertools
import json
import random
import tracemalloc
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import write_clip
from gate_fakes import Fake, measured, row, whisper_gate
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from otoscope.errors import TaskError, UsageError
from otoscope.gate.calibrate import (
    Plan,
    calibrate,
    certifies,
    choose,
    data_digest,
    outputs,
    pick,
    read_split,
    save,
    sources_needed,
    upper_bound,
)
from otoscope.gate.frozen import row_digest
from otoscope.gate.overlap import Overlap, overlap_features, train_overlap
from otoscope.gate.rule import CONDITIONS, Gate, load_gate
from otoscope.gate.signal import Scores
from otoscope.gate.spectrum import BLOCK, FRAME, HOP, blocks
from otoscope.gate.sweep import Point, Row, sweep
from otoscope.outputs import check_outputs
from otoscope.records import Expect

ROWS = [
    row("a", "answer", 0.80),
    row("b", "answer", 0.71),
    row("c", "answer", 0.95),
    row("n", "abstain", 0.40),
    row("m", "abstain", 0.705),
    row("o", "abstain", 0.90, kind="babble"),
]


def test_zero_reject_is_the_highest_threshold_that_loses_nothing() -> None:
    found = choose(whisper_gate(), "whisper", ROWS, Plan())
    assert found.threshold == 0.71
    assert found.gate.calibration["at"]["turned_away"] == {"babble": [0, 1], "noise": [2, 2]}
    assert [point.rejected for point in found.points if point.threshold in {0.71, 0.72}] == [0, 1]


def test_a_tie_at_the_least_score_is_admitted() -> None:
    rows = [row("a", "answer", 0.7), row("b", "answer", 0.7), row("n", "abstain", 0.7)]
    found = choose(whisper_gate(), "whisper", rows, Plan())
    assert found.threshold == 0.7
    assert found.gate.calibration["at"]["rejected"] == 0


def test_bounded_counts_sources_and_says_how_many_it_takes() -> None:
    rows = [row(f"r{number}-{copy}", "answer", 0.9, f"s{number}") for number in range(30) for copy in range(9)]
    rows.append(row("n", "abstain", 0.2))
    with pytest.raises(UsageError, match=r"30 sources.*It takes 149 sources.*0\.095 at best"):
        choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.02))
    with pytest.raises(UsageError, match="It takes 59 sources"):
        choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.05))
    assert choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.1)).threshold == 0.9


def test_bounded_stops_where_the_certificate_ends() -> None:
    rows = [row(f"r{number}", "answer", 0.5 + number / 1000) for number in range(200)] + [row("n", "abstain", 0.2)]
    found = choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.05))
    at = found.gate.calibration["at"]
    assert found.threshold == 0.5
    assert binom.cdf(at["failed"], 200, 0.05) <= 0.05
    assert not certifies(10, 200, Plan("bounded", 0.05))
    assert at["failed"] == 0


@given(st.integers(0, 20), st.floats(0.005, 0.5), st.floats(0.01, 0.2))
def test_the_number_of_sources_is_the_least_that_serves(failed: int, alpha: float, delta: float) -> None:
    needed = sources_needed(alpha, delta, failed)
    assert binom.cdf(failed, needed, alpha) <= delta
    assert needed == failed + 1 or binom.cdf(failed, needed - 1, alpha) > delta
    assert upper_bound(failed, needed, delta) <= alpha + 1e-9


def test_the_published_counts_give_the_published_bounds() -> None:
    assert upper_bound(0, 30, 0.05) == pytest.approx(0.095, abs=5e-4)
    assert upper_bound(0, 270, 0.05) == pytest.approx(0.0110, abs=5e-5)
    assert [sources_needed(alpha, 0.05) for alpha in (0.01, 0.02, 0.05)] == [299, 149, 59]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=2, max_size=40), st.randoms())
def test_rejection_only_grows_and_order_does_not_matter(pairs: list[tuple[bool, int]], shuffler: random.Random) -> None:
    rows = [row(f"r{n}", "answer" if good else "abstain", score / 100) for n, (good, score) in enumerate(pairs)]
    points = sweep(whisper_gate(), CONDITIONS["whisper"], rows)
    assert all(one.rejected <= two.rejected for one, two in itertools.pairwise(points))
    assert all(one.unsupported <= two.unsupported for one, two in itertools.pairwise(points))
    shuffled = shuffler.sample(rows, len(rows))
    assert sweep(whisper_gate(), CONDITIONS["whisper"], shuffled) == points
    assert data_digest(shuffled) == data_digest(rows)


def test_what_no_threshold_brings_back_is_told_apart() -> None:
    points = [Point(0.0, 10, 1, 10, 1, {}), Point(0.5, 10, 1, 10, 1, {}), Point(0.6, 10, 2, 10, 2, {})]
    assert pick(points, Plan()) == 0.5


def test_languages_get_thresholds_of_their_own() -> None:
    rows = [
        row("a", "answer", 0.9, language="en"),
        row("b", "answer", 0.6, language="fr"),
        row("n", "abstain", 0.5, language="en"),
    ]
    found = choose(whisper_gate(), "whisper", rows, Plan(languages=("en", "fr")))
    assert found.gate.conditions[0].languages == {"en": 0.9, "fr": 0.6}
    assert found.threshold == 0.6
    with pytest.raises(UsageError, match="no supported row was heard in it"):
        choose(whisper_gate(), "whisper", rows, Plan(languages=("de",)))


def silent_rows(values: list[float]) -> list[Row]:
    rows = []
    for number, value in enumerate(values):
        one = row(f"r{number}", "answer" if number else "abstain", 0.9)
        scores = {**one.measured.scores, "no_speech_prob": value}
        rows.append(Row(one.id, one.expect, one.kind, one.cluster, type(one.measured)(one.id, "", 1.0, scores)))
    return rows


def test_a_constant_no_speech_probability_disables_itself() -> None:
    found = choose(whisper_gate(), "whisper", silent_rows([1e-11, 2e-11, 1e-11]), Plan())
    assert found.gate.disabled == ("no_speech_prob",)
    assert "says nothing" in found.notes[0]
    assert choose(whisper_gate(), "whisper", silent_rows([0.1, 0.9]), Plan()).gate.disabled == ()
    named = choose(whisper_gate(CONDITIONS["no_speech_prob"]), "whisper", silent_rows([0.0, 0.0]), Plan())
    assert [condition.score for condition in named.gate.conditions] == ["whisper"]
    assert "is disabled" in named.notes[0]
    alone = Gate("no_speech_prob", {}, [CONDITIONS["no_speech_prob"]])
    with pytest.raises(UsageError, match="no other threshold to choose"):
        choose(alone, "no_speech_prob", silent_rows([0.0, 0.0]), Plan())


def scored(name: str, *rows: tuple[Expect, float]) -> list[Row]:
    """Return rows, each a source of its own, with one score."""
    return [
        Row(f"r{number}", expect, expect, f"r{number}", replace(measured(f"r{number}"), scores={name: value}))
        for number, (expect, value) in enumerate(rows)
    ]


def test_seconds_are_tried_as_far_as_they_occur(tmp_path: Path) -> None:
    gate = Gate("silero", {}, [CONDITIONS["silero"]])
    rows = scored("silero", ("answer", 2.4), ("answer", 3.2), ("abstain", 0.0), ("abstain", 1.5))
    found = choose(gate, "silero", rows, Plan())
    assert found.threshold == 2.4
    assert found.gate.calibration["at"]["turned_away"] == {"abstain": [2, 2]}
    assert found.gate.calibration["grid"] == [0.0, 3.2, 104]
    assert choose(gate, "silero", rows, Plan("bounded", 0.9, 0.9)).threshold == 2.4
    _, table, curve, det = save(found, tmp_path / "gate.json")
    assert [line["threshold"] for line in csv.DictReader(io.StringIO(table.read_text()))][-4:] == [
        "1", "1.5", "2.4", "3.2",
    ]  # fmt: skip
    assert ">3.2<" in curve.read_text()
    assert det.read_text().count("<circle") == 1
    with pytest.raises(TaskError, match="no row has the score whisper"):
        sweep(gate, CONDITIONS["whisper"], rows)


def test_no_more_seconds_are_asked_for_than_turn_something_away() -> None:
    gate = Gate("silero", {}, [CONDITIONS["silero"]])
    for least, noise, expected in ((4.064, 0.0, 0.1), (0.6, 0.095, 0.1), (1.0, 0.3, 0.31)):
        rows = scored("silero", ("answer", least), ("answer", 9.0), ("abstain", noise))
        assert choose(gate, "silero", rows, Plan()).threshold == expected
        assert choose(gate, "silero", rows, Plan("bounded", 0.9, 0.9)).threshold == expected


def test_logarithms_are_tried_at_every_score_that_occurs() -> None:
    rows = scored("avg_logprob", ("answer", -0.8), ("answer", -0.2), ("abstain", -1.7))
    assert choose(Gate("x", {}, [CONDITIONS["avg_logprob"]]), "avg_logprob", rows, Plan()).threshold == -0.8


def test_a_limit_from_above_goes_down_from_the_largest() -> None:
    rows = scored("no_speech_prob", ("answer", 0.31), ("answer", 0.1), ("abstain", 0.5), ("abstain", 0.9))
    found = choose(Gate("x", {}, [CONDITIONS["no_speech_prob"]]), "no_speech_prob", rows, Plan())
    assert found.threshold == 0.31
    assert found.gate.calibration["at"]["turned_away"] == {"abstain": [2, 2]}
    assert all(one.rejected <= two.rejected for one, two in itertools.pairwise(found.points))


def test_languages_and_the_common_threshold_share_the_risk() -> None:
    rows = [row(f"r{number}", "answer", 0.9, language="fr") for number in range(71)] + [row("n", "abstain", 0.2)]
    assert choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.05)).threshold == 0.9
    with pytest.raises(UsageError, match=r"at a risk of 0\.025. It takes 72 sources"):
        choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.05, languages=("fr",)))
    found = choose(
        whisper_gate(),
        "whisper",
        [*rows, row("o", "answer", 0.9, language="fr")],
        Plan("bounded", 0.05, languages=("fr",)),
    )
    assert found.gate.calibration["rejects_at_most"] == upper_bound(0, 72, 0.025)


def test_both_sorts_of_rows_are_needed() -> None:
    with pytest.raises(TaskError, match="no row expects 'abstain'"):
        choose(whisper_gate(), "whisper", ROWS[:3], Plan())


def test_what_is_written_is_what_was_chosen(tmp_path: Path) -> None:
    signal = Fake(Scores({"whisper": 0.8}))
    gate = Gate("whisper", {"whisper": signal}, [CONDITIONS["whisper"]])
    frozen, table, *figures = save(choose(gate, "whisper", ROWS, Plan()), tmp_path / "new" / "gate.json")
    content = json.loads(frozen.read_text())
    assert content["conditions"][0]["threshold"] == 0.71
    assert content["calibration"]["data"] == data_digest(ROWS)
    assert content["calibration"]["rows"] == sorted(row_digest(one.measured.digest, one.cluster) for one in ROWS)
    lines = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(lines) == 101
    assert lines[71]["babble_rows"] == "1"
    assert [path.name for path in figures] == ["gate.svg", "gate.det.svg"]
    assert all(ET.fromstring(figure.read_text()).tag.endswith("svg") for figure in figures)  # noqa: S314


@pytest.mark.parametrize("name", ["gate", "gate.csv", "gate.svg", "gate.frozen", "gate.json.bak"])
def test_a_gate_is_not_written_where_it_could_not_be_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="known by its suffix"):
        save(choose(whisper_gate(), "whisper", ROWS, Plan()), tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [float("nan"), 0.0, 1.0, -0.1, float("inf")])
def test_shares_and_risks_lie_between_0_and_1(number: float) -> None:
    with pytest.raises(UsageError, match="--alpha"):
        Plan("bounded", alpha=number)
    with pytest.raises(UsageError, match="--delta"):
        Plan(delta=number)


def failing(one: Row, code: str) -> Row:
    return replace(one, measured=replace(one.measured, code=code, scores={}))


def test_what_could_not_be_heard_is_no_rejection() -> None:
    unheard = [failing(row(f"u{code}", "abstain", 0.1), code) for code in ("missing", "undecodable")]
    nan = row("w", "abstain", float("nan"))
    silent = failing(row("s", "abstain", 0.0), "near-silent")
    silent = replace(silent, measured=replace(silent.measured, scores={"whisper": 0.0}))
    found = choose(whisper_gate(), "whisper", [*ROWS, *unheard, nan, silent], Plan())
    assert found.threshold == 0.71
    assert found.gate.calibration["at"]["turned_away"] == {"babble": [0, 1], "noise": [3, 3]}
    [note] = found.notes
    assert "left out: 3 (umissing: missing, uundecodable: undecodable, w: score-error)" in note
    assert found.gate.calibration["notes"] == [note]
    with pytest.raises(TaskError, match=r"'abstain' could be heard: 2 \(umissing: missing"):
        choose(whisper_gate(), "whisper", [*ROWS[:3], *unheard], Plan())
    lost = failing(row("l", "answer", 0.9), "missing")
    kept = choose(whisper_gate(), "whisper", [*ROWS, lost], Plan())
    assert "1 of 4 supported rows are turned away, l first: missing" in kept.notes


def test_no_bound_is_stated_over_sources_that_nobody_named(tmp_path: Path) -> None:
    rows = [replace(one, clustered=one.id != "b") for one in ROWS]
    found = choose(whisper_gate(), "whisper", rows, Plan())
    assert found.threshold == 0.71
    assert "rejects_at_most" not in found.gate.calibration
    assert set(found.gate.calibration["at"]) == {"threshold", "supported", "rejected", "turned_away"}
    assert "no bound over sources: supported rows that name none in the column cluster: 1 (b)" in found.notes
    _, table, *_ = save(found, tmp_path / "gate.json")
    assert table.read_text().splitlines()[0] == (
        "threshold,supported,supported_rejected,babble_rejected,babble_rows,noise_rejected,noise_rows"
    )
    with pytest.raises(UsageError, match="row b names none in the column cluster"):
        choose(whisper_gate(), "whisper", rows, Plan("bounded", 0.9, 0.9))


def test_copies_of_one_sound_are_no_independent_sources() -> None:
    sound = row("x", "answer", 0.9).measured
    copies = [Row(f"c{number}", "answer", "supported", f"s{number}", sound) for number in range(4)]
    found = choose(whisper_gate(), "whisper", [*ROWS, *copies], Plan())
    assert found.notes == ("sources that share audio with others, and so are no independent ones: 4 (s0, s1, s2, ...)",)
    gone = [failing(copy, "missing") for copy in copies]
    found = choose(whisper_gate(), "whisper", [*ROWS, *gone], Plan())
    assert found.notes == ("4 of 7 supported rows are turned away, c0 first: missing",)


def risk(bound: Callable[[int, int], float], sources: int, lost: float) -> float:
    """Return how often a bound is wrong if other conditions lose a share of all sources and the least score is taken.

    Of k sources lost, the least of the others' scores, uniform ones, is over x with the probability (1-x)^(n-k).
    """
    wrong = 0.0
    for failed in range(sources):
        most = bound(failed, sources)
        passed = 1.0 if most < lost else ((1 - most) / (1 - lost)) ** (sources - failed)
        wrong += float(binom.pmf(failed, sources, lost)) * (passed if most < 1 else 0.0)
    return wrong


@pytest.mark.parametrize("sources", [5, 30, 149])
def test_the_bound_of_zero_reject_holds_where_other_conditions_lose_sources_too(sources: int) -> None:
    def stated(failed: int, total: int) -> float:
        lost = [failing(row(f"l{number}", "answer", 0.5), "too-short") for number in range(failed)]
        kept = [row(f"k{number}", "answer", 0.5) for number in range(total - failed)]
        rows = [*lost, *kept, row("n", "abstain", 0.2)]
        return float(choose(whisper_gate(), "whisper", rows, Plan()).gate.calibration["rejects_at_most"])

    known = {failed: stated(failed, sources) for failed in range(min(sources, 12))}
    shares = [0.0, 0.002, 0.005, 0.01, 0.02, *([0.05, 0.1, 0.3] if sources < 149 else [])]
    assert known[0] == pytest.approx(1 - 0.05 ** (1 / sources))
    worst = max(risk(lambda failed, total: known.get(failed) or upper_bound(failed + 1, total, 0.05), sources, share)
        for share in shares)  # fmt: skip
    assert worst < 0.058
    if sources == 149:
        assert risk(lambda failed, total: upper_bound(failed, total, 0.05), sources, 0.02) > 0.08


def overlapping(*rows: tuple[Expect, float]) -> list[Row]:
    made = scored("overlap", *rows)
    return [
        replace(one, kind="babble" if one.expect == "abstain" else "supported",
            measured=replace(one.measured, scores={**one.measured.scores, "whisper": 0.9}))
        for one in made
    ]  # fmt: skip


def overlap_limit(rows: list[Row], plan: Plan) -> float:
    gate = whisper_gate(CONDITIONS["overlap"])
    return choose(gate, "whisper", rows, plan).gate.conditions[1].threshold


def test_overlap_turns_no_more_away_than_finds_babble() -> None:
    speech: list[tuple[Expect, float]] = [("answer", number / 1000) for number in range(100)]
    rows = overlapping(*speech, ("abstain", 0.5), ("abstain", 0.7))
    assert overlap_limit(rows, Plan("bounded", 0.5)) == overlap_limit(rows, Plan()) == pytest.approx((0.099 + 0.5) / 2)
    mixed = overlapping(*speech, ("abstain", 0.0965), ("abstain", 0.7), ("abstain", 0.001))
    assert overlap_limit(mixed, Plan("bounded", 0.5)) == pytest.approx((0.096 + 0.0965) / 2)
    assert overlap_limit(mixed, Plan()) == pytest.approx((0.099 + 0.7) / 2)
    with pytest.raises(TaskError, match="no row of kind babble"):
        overlap_limit([replace(one, kind="noise") for one in rows], Plan())


def test_a_further_limit_costs_a_source_of_the_bound() -> None:
    rows = overlapping(("answer", 0.1), ("answer", 0.2), ("answer", 0.3), ("abstain", 0.9))
    found = choose(whisper_gate(CONDITIONS["overlap"]), "whisper", rows, Plan())
    assert found.gate.calibration["rejects_at_most"] == upper_bound(1, 3, 0.05)


def test_outputs_that_cannot_be_written_are_found_before_the_measuring(tmp_path: Path) -> None:
    check_outputs(path := tmp_path / "new" / "deep" / "gate.json", outputs(path))
    assert not list(tmp_path.iterdir())
    (tmp_path / "gate.svg").mkdir()
    with pytest.raises(UsageError, match=r"gate\.svg is in the way"):
        check_outputs(path := tmp_path / "gate.json", outputs(path))
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="takes no file"):
        check_outputs(path := tmp_path / "file" / "gate.json", outputs(path))


def test_a_gate_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = choose(whisper_gate(), "whisper", ROWS, Plan())
    path = tmp_path / "gate.json"
    save(found, path)
    before = path.read_bytes()

    def full(file: Path, _text: str, _encoding: str) -> int:
        file.write_bytes(b"{")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        save(found, path)
    assert path.read_bytes() == before


def test_a_set_is_calibrated_end_to_end(tmp_path: Path) -> None:
    pytest.importorskip("webrtcvad")
    folder = tmp_path / "set"
    lines = []
    rng = np.random.default_rng(0)
    for number in range(4):
        write_clip(folder / f"dev/{number}.wav", 1.0, 200 + 50 * number)
        expect = "abstain" if number % 2 else "answer"
        base = {"id": f"r{number}", "audio": f"{number}.wav", "instruction": "?", "label": "", "split": "dev"}
        lines.append(json.dumps({**base, "expect": expect, "cluster": f"c{rng.integers(1000)}"}))
    (folder / "dev/task.json").write_text(json.dumps({"name": "set", "metrics": ["wer"]}))
    (folder / "dev/samples.jsonl").write_text("\n".join(lines))
    seen: list[int] = []
    found = calibrate(folder, "energy+webrtc", Plan(), watch=lambda done, _total: seen.append(done))
    assert seen == [1, 2, 3, 4]
    save(found, tmp_path / "gate.json")
    assert load_gate(str(tmp_path / "gate.json")).signature == found.gate.signature
    with pytest.raises(TaskError, match="no rows of the split 'train'; they are of dev"):
        read_split(folder / "dev", "train")
    with pytest.raises(TaskError, match="no task folder of the split 'devv'; there are dev"):
        read_split(folder, "devv")
    with pytest.raises(UsageError, match="no threshold to choose"):
        calibrate(folder, "energy", Plan())
    for whole in ("sure-paper", "gate.json"):
        with pytest.raises(UsageError, match=f"{whole} is a whole gate"):
            calibrate(folder, whole, Plan())


def task_folder(folder: Path, *splits: str | None) -> Path:
    """Write a task folder with one row a split; None leaves the column out."""
    rows = [
        {"id": f"r{number}", "audio": "x.wav", "instruction": "?", "label": "", "expect": "answer", "split": split}
        for number, split in enumerate(splits)
    ]
    lines = [json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows]
    folder.mkdir(parents=True)
    (folder / "samples.jsonl").write_text("\n".join(lines))
    (folder / "task.json").write_text(json.dumps({"name": "set", "metrics": ["wer"]}))
    return folder


def test_a_split_that_no_row_names_is_none(tmp_path: Path) -> None:
    plain = task_folder(tmp_path / "plain", None, None)
    assert [sample.id for sample in read_split(plain, "dev")] == ["r0", "r1"]
    for split in ("devv", "train", ""):
        with pytest.raises(TaskError, match=rf"no split '{split}', since no row names one; .* column split"):
            read_split(plain, split)
    named = task_folder(tmp_path / "named", "train", "dev")
    assert [sample.id for sample in read_split(named, "dev")] == ["r1"]
    with pytest.raises(TaskError, match="no rows of the split 'devv'; they are of dev, train"):
        read_split(named, "devv")
    with pytest.raises(TaskError, match="row r1 names no split, and others do"):
        read_split(task_folder(tmp_path / "half", "train", None), "dev")
    task_folder(tmp_path / "set" / "train", None)
    assert [sample.id for sample in read_split(tmp_path / "set", "train")] == ["r0"]


def test_overlap_is_not_trained_on_the_rows_that_its_limit_is_chosen_on(tmp_path: Path) -> None:
    plain = task_folder(tmp_path / "plain", None, None)
    with pytest.raises(TaskError, match=r"overlap is trained on rows of a split train, apart from dev: .*column split"):
        calibrate(plain, "energy+silero+overlap", Plan())
    named = task_folder(tmp_path / "named", "train", "train")
    with pytest.raises(UsageError, match="--split train: overlap is trained on these rows"):
        calibrate(named, "energy+silero+overlap", Plan(split="train"))


def test_thresholds_that_are_not_chosen_have_to_be_known(tmp_path: Path) -> None:
    tiny = {"scorer": "whisper-tiny.en"}
    with pytest.raises(UsageError, match=r"no threshold of whisper is known .*at a time, here that of whisper_text"):
        calibrate(tmp_path, "whisper+whisper_text", Plan(), options=tiny)
    with pytest.raises(UsageError, match=r"chosen for yamnet, not for ast.*here that of whisper"):
        calibrate(tmp_path, "tagger+whisper", Plan(), options={"tagger": "ast"})


def test_bounded_counts_no_rows_that_name_no_source(tmp_path: Path) -> None:
    base = {"audio": "x.wav", "instruction": "?", "label": ""}
    rows = [{**base, "id": "n", "expect": "abstain"}, {**base, "id": "a", "expect": "answer", "talker": "t"}]
    task = {"name": "set", "metrics": ["wer"]}
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "task.json").write_text(json.dumps(task))
    with pytest.raises(UsageError, match="row a names none in the column cluster"):
        calibrate(tmp_path, "whisper", Plan("bounded"))
    (tmp_path / "task.json").write_text(json.dumps({**task, "columns": {"cluster": "talker"}}))
    assert [sample.clustered for sample in read_split(tmp_path, "dev")] == [False, True]


def voice(rng: np.random.Generator, voices: int) -> NDArray[np.float32]:
    """Make bursts of harmonics with pauses; several voices fill each other's pauses."""
    total = np.zeros(16_000)
    for _ in range(voices):
        times = np.arange(16_000) / 16_000
        pitch = rng.uniform(90, 250)
        harmonics = np.sum([np.sin(2 * np.pi * pitch * n * times) / n for n in range(1, 12)], axis=0)
        total += harmonics * (np.sin(2 * np.pi * rng.uniform(2, 4) * times + rng.uniform(0, 6)) > 0)
    scaled = 0.05 * total / np.sqrt(np.mean(total**2)) + rng.normal(0, 1e-4, 16_000)
    return np.asarray(scaled, np.float32)


def test_the_overlap_classifier_tells_one_voice_from_four() -> None:
    rng = np.random.default_rng(0)
    several = [False, True] * 30
    features = np.stack([overlap_features(voice(rng, 4 if many else 1)) for many in several])
    classifier = train_overlap(features[:40], several[:40], "rows")
    scores = np.array([classifier.score(one) for one in features[40:]])
    truth = np.array(several[40:])
    assert (scores[truth].min() > scores[~truth].max()) or np.mean((scores > 0.5) == truth) >= 0.9
    assert Overlap.from_settings(json.loads(json.dumps(classifier.settings))) == classifier
    again = train_overlap(features[:40][::-1], several[:40][::-1], "rows")
    assert np.allclose(again.weights, classifier.weights)


@pytest.mark.parametrize("samples", [0, 100, 560, 561, 4096 * 160 + 240, 4096 * 160 + 399, 4096 * 160 + 400, 900_000])
def test_blocks_have_every_whole_frame_once(samples: int) -> None:
    audio = np.arange(samples, dtype=np.float32)
    starts = [int(block[frame]) for block in blocks(audio) for frame in range(0, len(block) - FRAME + 1, HOP)]
    assert starts == list(range(0, samples - FRAME + 1, HOP))
    assert all((len(block) - FRAME) // HOP < BLOCK for block in blocks(audio))


def test_features_of_long_audio_do_not_take_the_memory_of_its_spectra() -> None:
    audio = np.tile(voice(np.random.default_rng(0), 2), 600)
    tracemalloc.start()
    features = overlap_features(audio)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # of ten minutes; its power spectra alone fill 123 MB
    assert np.isfinite(features).all()
