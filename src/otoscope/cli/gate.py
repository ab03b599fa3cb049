"""``otoscope gate``: decide about files, and calibrate a gate."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import Decorated, json_option, key_values, print_json, say
from otoscope.cli.sure_report import replay_command

if TYPE_CHECKING:
    from otoscope.gate.calibrate import Calibrated
    from otoscope.gate.rule import Gate
    from otoscope.records import Decision

NO_EVIDENCE = {"missing", "undecodable", "empty", "non-finite", "truncated", "too-long", "score-error"}
"""Reasons that say the audio could not be examined, rather than what was found in it."""


@click.group("gate")
def command() -> None:
    """Decide whether audio holds enough evidence of speech to be answered.

    \b
    Examples:
      otoscope gate list
      otoscope gate check call.wav
      otoscope gate check *.wav --gate energy+silero --json
      otoscope gate calibrate my-set --split dev --rule zero_reject -o gate.json
      otoscope gate check call.wav --gate gate.json
    """


def _settings_option(function: Decorated) -> Decorated:
    return click.option(
        "-G",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="A setting of the Whisper scorer: scorer (weights, folder or repository), backend, precision, language, "
        "suppression, pooling, window. Or tagger: yamnet, or folder or repository of an Audio Spectrogram Transformer.",
    )(function)


@command.command("list")
def list_gates() -> int:
    """List what a gate can be made of.

    \b
    Example:
      otoscope gate list
    """
    from otoscope.gate.rule import PRESETS

    for name, meaning in PRESETS.items():
        say(f"{name:<16} {meaning}")
    say("Names are joined by +, such as energy+silero.")
    return 0


@command.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--gate", "spec", metavar="PRESET|FILE", default="energy+silero", show_default=True, help="The gate.")
@click.option("--threshold", type=float, help="Threshold of whisper and whisper_text.")
@click.option(
    "--force",
    is_flag=True,
    help="Use a threshold with another scorer or tagger, or other settings, than it was chosen for.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if any file is not to be answered.")
@_settings_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a file and nothing else.")
def check_files(
    *,
    files: tuple[Path, ...],
    spec: str,
    threshold: float | None,
    force: bool,
    strict: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """Decide about each file: answer, abstain or clarify, with the reason and the scores.

    \b
    Examples:
      otoscope gate check call.wav hold-music.wav
      otoscope gate check *.flac --gate energy+whisper --json

    Exit status 1 says that a file could not be examined; the others are decided.
    """
    from otoscope.gate.rule import load_gate
    from otoscope.records import Clip

    gate: Gate = load_gate(spec, options=key_values("-G", options), threshold=threshold, force=force)
    status = 0
    for file in files:
        decision = gate.decide([Clip(file, str(file))])
        if as_json:
            click.echo(_json(file, decision))
        else:
            say(_line(file, decision))
        if decision.reason in NO_EVIDENCE or (strict and not decision.admit):
            status = 1
    return status


def _json(file: Path, decision: "Decision") -> str:
    from otoscope.records import dump_json

    return dump_json({"file": str(file), **decision.to_json()})


def _line(file: Path, decision: "Decision") -> str:
    scores = " ".join(f"{name}={value:.3g}" for name, value in decision.scores.items())
    flags = f"  [{', '.join(decision.flags)}]" if decision.flags else ""
    return f"{decision.outcome:<8} {decision.reason:<17} {file}  {scores}{flags}"


@command.command("calibrate")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--gate", "spec", metavar="NAMES", default="energy+whisper", show_default=True, help="Parts, joined by +."
)
@click.option("--split", default="dev", show_default=True, help="The split to choose on.")
@click.option(
    "--rule",
    type=click.Choice(["zero_reject", "bounded"]),
    default="zero_reject",
    show_default=True,
    help="No supported row is turned away; or at most a share ALPHA of the sources, shown at risk DELTA.",
)
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.02, show_default=True)
@click.option("--delta", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option(
    "--language", "languages", multiple=True, metavar="CODE", help="Choose a threshold for this language too."
)
@_settings_option
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("gate.json"),
    show_default=True,
    help="The gate; its name ends in .json.",
)
@json_option
def calibrate_gate(  # noqa: PLR0913 - one parameter an option
    *,
    folder: Path,
    spec: str,
    split: str,
    rule: str,
    alpha: float,
    delta: float,
    languages: tuple[str, ...],
    options: tuple[str, ...],
    output: Path,
    as_json: bool,
) -> int:
    """Choose a threshold on a split and freeze the gate, with a table and two figures of all thresholds beside it.

    \b
    Examples:
      otoscope gate calibrate my-set --split dev --rule zero_reject -o gate.json
      otoscope gate calibrate my-set --rule bounded --alpha 0.05 --delta 0.05
      otoscope gate calibrate my-set --gate energy+whisper+overlap
    """
    from otoscope.gate.calibrate import Plan, calibrate, outputs, save
    from otoscope.progress import count_bar

    outputs(output)  # before the measuring, which may take hours
    plan = Plan("bounded" if rule == "bounded" else "zero_reject", alpha, delta, split, languages)
    with count_bar("measuring") as watch:
        calibrated = calibrate(folder, spec, plan, options=key_values("-G", options), watch=watch)
    paths = save(calibrated, output)
    if as_json:
        print_json(calibrated.gate.to_json())
        return 0
    _tell(calibrated)
    say(f"written: {', '.join(map(str, paths))}")
    return 0


def _tell(calibrated: "Calibrated") -> None:
    record = calibrated.gate.calibration
    at = record["at"]
    bound = next(one.bound for one in calibrated.gate.conditions if one.score == calibrated.score)
    say(f"{calibrated.score} at {bound} {calibrated.threshold:.4g} ({record['rule']}, {record['split']})")
    say(
        f"supported     {at['supported'] - at['rejected']} of {at['supported']} admitted; {at['failed']} of "
        f"{at['sources']} sources lose a row (at most {record['rejects_at_most']:.3g} of all sources, at a risk of "
        f"{record['delta']:g})"
    )
    for kind, (away, total) in at["turned_away"].items():
        say(f"{kind:<13} {away} of {total} turned away")
    for note in calibrated.notes:
        say(f"note: {note}")


command.add_command(replay_command)
