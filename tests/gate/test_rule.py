"""What follows from scores."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gate_fakes import Fake, measured, whisper_gate
from hypothesis import given
from hypothesis import strategies as st

from otoscope.errors import UnknownNameError, UsageError
from otoscope.gate.evidence import Energy
from otoscope.gate.frozen import SETTINGS, sign
from otoscope.gate.rule import CONDITIONS, Condition, Gate, load_gate, part_names, read_gate, write_gate
from otoscope.gate.signal import Scores
from otoscope.records import Clip, Decision, digest, dump_json
from otoscope.runner.replay import read_frozen
from otoscope.weights import fetch

CLIP = Clip((0.1 * np.sin(np.arange(16_000) / 5).astype(np.float32), 16_000), "clip")
SILENCE = Clip((np.zeros(16_000, np.float32), 16_000), "silence")


@given(st.floats())
def test_a_score_is_admitted_from_the_threshold_on_and_never_if_it_is_no_number(score: float) -> None:
    decision = whisper_gate().judge(measured(whisper=score))
    assert decision.admit == (math.isfinite(score) and score >= 0.7)
    dump_json(decision.to_json())  # refuses NaN


def test_a_failed_score_has_a_reason_of_its_own() -> None:
    decision = whisper_gate().judge(measured(whisper=math.nan, level=-20.0))
    assert (decision.outcome, decision.reason, decision.flags) == ("abstain", "score-error", ("not-finite:whisper",))
    assert decision.scores == {"level": -20.0}
    assert whisper_gate().judge(measured(level=-20.0)).reason == "score-error"


def test_what_decides_is_the_first_condition_that_fails() -> None:
    gate = Gate("both", {}, [CONDITIONS["silero"], CONDITIONS["whisper"], CONDITIONS["overlap"]])
    assert gate.judge(measured(silero=0.0, whisper=0.1, overlap=0.9)).reason == "no-speech"
    assert gate.judge(measured(silero=1.0, whisper=0.1, overlap=0.9)).reason == "low-score"
    clarify = gate.judge(measured(silero=1.0, whisper=0.9, overlap=0.9))
    assert (clarify.outcome, clarify.reason, clarify.admit) == ("clarify", "ambiguous-source", False)
    assert gate.judge(measured(silero=1.0, whisper=0.9, overlap=0.1)).admit


@pytest.mark.parametrize("flag", ["no-text", "loop"])
def test_a_sure_score_of_no_words_is_no_evidence(flag: str) -> None:
    heard = replace(measured(whisper=0.99), flags=(flag,))
    assert whisper_gate().judge(heard).reason == flag


def test_a_language_has_its_own_limit_and_another_one_is_flagged() -> None:
    gate = Gate("languages", {}, [Condition("whisper", "whisper", "least", 0.7, "low-score", languages={"fr": 0.5})])
    assert gate.judge(measured(language="fr", whisper=0.6)).admit
    assert not gate.judge(measured(language="en", whisper=0.6)).admit
    assert gate.judge(measured(language="en", whisper=0.8)).flags == ("uncalibrated-language",)
    assert gate.judge(measured(language="fr", whisper=0.8)).flags == ()


def test_a_cheap_signal_saves_the_dear_one() -> None:
    dear = Fake(Scores({"whisper": 0.9}))
    gate = Gate("energy+whisper", {"energy": Energy(), "whisper": dear}, [CONDITIONS["whisper"]])
    assert gate.decide([SILENCE]).reason == "near-silent"
    assert dear.calls == 0
    assert gate.decide([CLIP]).admit
    assert dear.calls == 1
    assert gate.measure(SILENCE, everything=True).scores["whisper"] == 0.9


def test_the_seconds_of_every_stage_stand_in_the_decision() -> None:
    gate = Gate("energy+whisper", {"energy": Energy(), "whisper": Fake(Scores({"whisper": 0.9}))}, [])
    one, two = gate.decide([CLIP]), gate.decide([CLIP, CLIP])
    assert list(one.stages) == list(two.stages) == ["read", "energy", "whisper"]
    assert 0 < sum(one.stages.values()) <= one.seconds
    assert list(gate.decide([SILENCE]).stages) == ["read", "energy"]
    assert list(gate.decide([Clip(b"", "empty")]).stages) == ["read"]
    assert Decision.from_json(json.loads(dump_json(one.to_json()))) == one
    assert Decision.from_json({key: value for key, value in one.to_json().items() if key != "stages"}).stages == {}


def test_every_clip_of_a_request_must_be_admitted() -> None:
    gate = load_gate("energy")
    assert gate.decide([CLIP, CLIP]).admit
    assert gate.decide([CLIP, SILENCE]).reason == "near-silent"
    assert gate.decide([]).admit


def test_decisions_depend_neither_on_order_nor_on_names() -> None:
    gate = load_gate("energy")
    requests = [[CLIP], [SILENCE], [CLIP, SILENCE], [SILENCE], [CLIP]]
    ahead = [(one.key, one.outcome) for one in map(gate.decide, requests)]
    assert ahead == [(one.key, one.outcome) for one in map(gate.decide, requests[::-1])][::-1]
    assert gate.decide([Clip(CLIP.source, "other")]).key == ahead[0][0]
    assert len({key for key, _ in ahead}) == 3


def test_the_published_rule_is_refused_for_another_scorer() -> None:
    with pytest.raises(UsageError, match=r"0\.7 was chosen for Whisper small.*not for whisper-base.*--force"):
        load_gate("sure-paper", options={"scorer": "whisper-base"})
    with pytest.raises(UsageError, match="with suppression"):
        load_gate("sure-paper", options={"suppression": "none"})
    with pytest.raises(UsageError, match="no threshold of whisper is known for the scorer whisper-tiny"):
        load_gate("energy+whisper", options={"scorer": "whisper-tiny.en"})


@pytest.mark.parametrize(
    ("option", "value"),
    [("window", "short"), ("suppression", "none"), ("pooling", "min"), ("language", "fr"), ("precision", "int16")],
)
def test_a_threshold_is_of_the_way_in_which_it_was_counted(option: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"known for the scorer whisper-base with {option}={value}"):
        load_gate("whisper", options={option: value})
    with pytest.raises(UsageError, match=f"not for Systran/faster-whisper-small with {option}={value}"):
        load_gate("sure-paper", options={option: value})


def test_what_is_usual_may_be_said() -> None:
    assert fetch("whisper-base").is_dir()
    plain = load_gate("whisper")
    assert plain.conditions[0].threshold == 0.7
    usual = {"window": "whole", "precision": "int8", "language": "detect", "backend": "ctranslate2"}
    assert load_gate("whisper", options=usual).signature == plain.signature
    short = load_gate("whisper", options={"window": "short"}, threshold=0.4)
    assert short.conditions[0].threshold == 0.4
    assert load_gate("whisper", options={"window": "short"}, force=True).conditions[0].threshold == 0.7


@pytest.mark.parametrize("spec", ["whisper", "energy+whisper_text", "sure-paper"])
@pytest.mark.parametrize("threshold", [float("nan"), -0.01, 1.5, float("inf")])
def test_a_threshold_that_is_no_probability_is_refused(spec: str, threshold: float) -> None:
    with pytest.raises(UsageError, match=f"--threshold {threshold}: whisper and whisper_text are probabilities; give"):
        load_gate(spec, threshold=threshold, force=True)


def test_a_threshold_without_its_score_is_refused() -> None:
    for spec in ("energy", "energy+avg_logprob"):
        with pytest.raises(UsageError, match="--threshold is of whisper and whisper_text"):
            load_gate(spec, threshold=0.5)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("energy+wisper", {}, "did you mean whisper"),
        ("energy", {"scorer": "whisper-base"}, "scorer: an option of the Whisper scorer"),
        ("whisper", {"tagger": "yamnet"}, "tagger: an option of the tagger"),
        ("energy+tagger", {"tagger": "ast"}, "chosen for yamnet, not for ast"),
        ("whisper", {"precison": "int8"}, "did you mean precision"),
        ("whisper+overlap", {}, "otoscope gate calibrate"),
        ("absent.json", {}, "there is no such file"),
    ],
)
def test_what_is_wrong_is_said(spec: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_gate(spec, options=options)


def test_names_are_asked_in_one_order() -> None:
    assert part_names("whisper+silero+energy") == part_names("energy+silero+whisper") == ["energy", "silero", "whisper"]
    with pytest.raises(UnknownNameError):
        part_names("")


def test_a_frozen_gate_is_the_same_gate(tmp_path: Path) -> None:
    gate = Gate("energy", {"energy": Energy(0.2, -50.0)}, [], {"data": "abc"})
    write_gate(gate, tmp_path / "gate.json")
    again = read_gate(tmp_path / "gate.json")
    assert again.signature == gate.signature
    assert again.calibration == {"data": "abc"}
    assert again.decide([CLIP]).key == gate.decide([CLIP]).key


def edited(content: dict[str, Any], path: Path, *, digested: bool) -> Path:
    """Write what a person might make of a frozen gate, with digests that fit if they know how."""
    if digested:
        settings = {key: content[key] for key in SETTINGS}
        further = {key: value for key, value in content.items() if key not in {*SETTINGS, "signature", "digest"}}
        told = {**settings, **further, "signature": sign(settings)}
        content = {**told, "digest": digest("gate", dump_json(told))}
    path.write_text(json.dumps(content))
    return path


WRONG: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("signals", "energy", "floor"), "low", "signals.energy.floor: 'low' is not of type 'number'"),
    (("signals", "energy", "ceiling"), 0, r"signals.energy: .*'ceiling' was unexpected"),
    (("signals", "sonar"), {}, r"signals: .*'sonar' was unexpected"),
    (("conditions", 0, "threshold"), "0.7", r"conditions.0.threshold: '0.7' is not of type 'number'"),
    (("conditions", 0, "bound"), "about", "conditions.0.bound: 'about' is not one of"),
    (("forged",), True, "'forged' was unexpected"),
    (("format",), "otoscope-gate/9", "this version reads otoscope-gate/2"),
    (("disabled",), None, "disabled: None is not of type 'array'"),
]


@pytest.mark.parametrize("read", [read_gate, partial(read_gate, force=True), read_frozen])
@pytest.mark.parametrize("digested", [True, False])
@pytest.mark.parametrize(("where", "value", "message"), WRONG)
def test_an_edited_gate_is_one_line(
    read: Callable[..., object], digested: bool, where: tuple[str | int, ...], value: Any, message: str, tmp_path: Path
) -> None:
    content = json.loads(dump_json(Gate("energy", {"energy": Energy()}, [CONDITIONS["whisper"]]).to_json()))
    place = content
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    path = edited(content, tmp_path / "gate.json", digested=digested)
    with pytest.raises(UsageError, match=message) as caught:
        read(path if read is not read_frozen else str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_gate, partial(read_gate, force=True), read_frozen])
def test_every_value_of_a_frozen_gate_is_under_its_digest(read: Callable[..., object], tmp_path: Path) -> None:
    gate = Gate("energy", {"energy": Energy()}, [], {"rule": "zero_reject", "rejects_at_most": 0.4})
    for key, value in (
        ("calibration", {"rule": "bounded", "rejects_at_most": 0.001}),
        ("name", "energy+whisper"),
        ("signature", "0" * 32),
        ("digest", "0" * 32),
        ("signals", {"energy": {"shortest": 0.1, "floor": -90.0}}),
        ("calibration", {"alpha": math.nan}),
    ):
        path = edited({**gate.to_json(), key: value}, tmp_path / "gate.json", digested=False)
        with pytest.raises(UsageError, match="not what its digest says; it was edited"):
            read(path if read is not read_frozen else str(path))
    for wrong in ("[]", "{", "{}", "[" * 100_000):
        path.write_text(wrong)
        with pytest.raises(UsageError, match="not a frozen gate"):
            read(path if read is not read_frozen else str(path))


def test_other_weights_are_refused_unless_forced_and_other_conventions_always(tmp_path: Path) -> None:
    assert fetch("whisper-tiny.en").is_dir()
    gate = load_gate("whisper", options={"scorer": "whisper-tiny.en"}, threshold=0.6)
    content = json.loads(dump_json(gate.to_json()))
    content["signals"]["whisper"]["revision"] = "another"
    path = edited(content, tmp_path / "gate.json", digested=True)
    assert read_frozen(str(path)).calibration == {}
    with pytest.raises(UsageError, match=r"frozen with whisper revision 'another', here it is .*insist with --force"):
        load_gate(str(path))
    assert load_gate(str(path), force=True).conditions == gate.conditions
    content["signals"]["whisper"]["beam"] = 5
    edited(content, path, digested=True)
    with pytest.raises(UsageError, match=r"frozen with whisper beam 5, here it is None; calibrate again$"):
        load_gate(str(path), force=True)
