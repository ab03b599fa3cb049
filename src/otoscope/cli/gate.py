"""``otoscope gate``: decide about files, and calibrate a gate."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from otoscope.cli.options import Decorated, json_option, key_values, print_json, say
from otoscope.cli.sure_report import replay_command
from otoscope.errors import UsageError

if TYPE_CHECKING:
    from otoscope.gate.calibrate import Calibrated
    from otoscope.gate.rule import Gate
    from otoscope.records import Clip, Decision

STANDARD_INPUT = Path("-")

UNREADABLE = {"missing", "undecodable", "empty", "non-finite", "truncated", "too-long"}
"""Reasons that say the audio could not be read."""
NO_EVIDENCE = {*UNREADABLE, "score-error"}
"""Reasons that say the audio could not be examined, rather than what was found in it."""
EXPLAINED = {*UNREADABLE, "unscaled", "anti-phase"}
"""Reasons of which there is more to say about the file."""


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
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR|-...", type=click.Path(path_type=Path))
@click.option("--gate", "spec", metavar="PRESET|FILE", default="energy+silero", show_default=True, help="The gate.")
@click.option("--threshold", type=float, help="Threshold of whisper and whisper_text, 0 to 1.")
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
      otoscope gate check recordings --gate energy+whisper --json
      arecord -d 5 -f S16_LE -r 16000 | otoscope gate check -

    A folder stands for the audio files in it and below it, by name; - for one file on standard input.

    Exit status 1 says that a file could not be examined; the others are decided.
    """
    from otoscope.gate.rule import load_gate

    paths = list(_paths(files))
    gate: Gate = load_gate(spec, options=key_values("-G", options), threshold=threshold, force=force)
    status = 0
    for clip in map(_clip, paths):
        decision = gate.decide([clip])
        message = _explain(clip) if decision.reason in EXPLAINED else ""
        say_decision = click.echo if as_json else say
        say_decision((_json if as_json else _line)(clip.name, decision, message))
        if decision.reason in NO_EVIDENCE or (strict and not decision.admit):
            status = 1
    return status


def _paths(files: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that are named, and those in the folders that are."""
    from otoscope.audio import SUFFIXES

    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("-: standard input is read once; name it once")
    for file in files:
        if not file.is_dir():
            yield file
            continue
        found = sorted(path for path in file.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
        if not found:
            raise UsageError(f"{file}: no audio file in this folder or below it ({', '.join(sorted(SUFFIXES))})")
        yield from found


def _clip(file: Path) -> "Clip":
    """Return a file, or what is on standard input, as a clip."""
    from otoscope.records import Clip

    if file != STANDARD_INPUT:
        return Clip(file, str(file))
    if sys.stdin is None:
        raise UsageError("-: standard input is closed; send an audio file to it")
    return Clip(sys.stdin.buffer.read(), "-")


def _explain(clip: "Clip") -> str:
    """Return what is wrong with a clip, in words; logged decisions do not hold it, so the clip is looked at again."""
    from otoscope.gate.evidence import read_sound

    return read_sound(clip).message


def _json(file: str, decision: "Decision", message: str) -> str:
    from otoscope.records import dump_json

    return dump_json({"file": file, **decision.to_json(), **({"message": message} if message else {})})


def _line(file: str, decision: "Decision", message: str) -> str:
    scores = " ".join(f"{name}={value:.3g}" for name, value in decision.scores.items())
    flags = f"  [{', '.join(decision.flags)}]" if decision.flags else ""
    # The message begins with the name of the file.
    found = f"{message}  {scores}" if message else f"{file}  {scores}"
    return f"{decision.outcome:<8} {decision.reason:<17} {found}{flags}".rstrip()


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

    One that is interrupted keeps nothing and starts anew.
    """
    from otoscope.gate.calibrate import Plan, calibrate, outputs, save
    from otoscope.outputs import check_outputs
    from otoscope.progress import count_bar

    check_outputs(output, outputs(output))
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
    sources = "their sources are not known"
    if "rejects_at_most" in record:
        sources = (
            f"{at['failed']} of {at['sources']} sources lose a row (at most {record['rejects_at_most']:.3g} of all "
            f"sources, at a risk of {record['delta']:g})"
        )
    say(f"supported     {at['supported'] - at['rejected']} of {at['supported']} admitted; {sources}")
    for kind, (away, total) in at["turned_away"].items():
        say(f"{kind:<13} {away} of {total} turned away")
    for note in calibrated.notes:
        say(f"note: {note}")


command.add_command(replay_command)
