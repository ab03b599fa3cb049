"""``otoscope sure``: the sets that measure whether a model, or a gate before it, abstains where it should."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from otoscope.cli.options import json_option, key_values, print_json, say
from otoscope.cli.sure_report import control_command, report_command
from otoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otoscope.sure.families import Family
    from otoscope.sure.sources import Utterance

EXTRA = ("blue", "violet", "speech-shaped")

EPILOG = """\b
SOURCE is a folder in LibriSpeech's layout (speaker/chapter/*.flac and *.trans.txt); a manifest: a JSONL, CSV or
Parquet file with the columns audio and text, and if they are known id, speaker, license and attribution; or a dataset
on the hub with such columns: hub:ORG/NAME[@REVISION][/BEGINNING], its Parquet files whose names begin so.
The set mini is built from sentences that come with the package.
"""


HELP = """Build sets of speech to answer, and of silence, noise and babble to abstain from.

\b
Examples:
  otoscope sure build --set mini -o sure-mini
  otoscope run sure-mini
"""

BUILD_HELP = """Build a set after SURE-Challenge: a reconstruction with its counts, not its audio.

\b
Examples:
  otoscope sure build --set mini -o sure-mini
  otoscope sure build --speech LibriSpeech/dev-clean --set core -o sure-core
  otoscope sure build --speech hub:openslr/librispeech_asr/clean/validation --column speaker=speaker_id \\
    --set core -o sure-core
  otoscope sure build --speech LibriSpeech/train-clean-100 --set extended --babble within-split -o sure-extended
"""


@click.group("sure", help=HELP)
def command() -> None:
    """Take the verb below it."""


@command.command("build", help=BUILD_HELP, epilog=EPILOG)
@click.option("--speech", metavar="SOURCE", help="What to build from.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="What a column of SOURCE is called, such as text=sentence or speaker=speaker_id.",
)
@click.option(
    "--set",
    "name",
    type=click.Choice(["core", "extended", "mini"]),
    default="mini",
    show_default=True,
    help="40, 120 or 20 sources.",
)
@click.option("--recipe", type=click.Choice(["A", "B"]), default="A", show_default=True, help="Which families.")
@click.option("--seed", type=int, default=0, show_default=True, help="Decides everything that is drawn.")
@click.option(
    "--babble",
    type=click.Choice(["circular", "within-split", "disjoint"]),
    default="circular",
    show_default=True,
    help="Voices of the sources that follow; of any others of the split; of any others of a group of five.",
)
@click.option("--speed/--no-speed", default=True, show_default=True, help="Change the speed of babble's voices.")
@click.option(
    "--short",
    "fit",
    type=click.Choice(["tile", "pad"]),
    default="tile",
    show_default=True,
    help="Loop a voice that is shorter than the row, or let silence follow.",
)
@click.option(
    "--disjoint",
    type=click.Choice(["source", "speaker"]),
    default="source",
    show_default=True,
    help="What no two splits share.",
)
@click.option("--distinct-speakers", is_flag=True, help="The voices of a babble row are of different speakers.")
@click.option(
    "--screen/--no-screen",
    default=None,
    help="Leave out babble with a voice of another split; by default as published: not in core.",
)
@click.option("--add", "added", type=click.Choice(EXTRA), multiple=True, help="One more family of noise.")
@click.option("--music", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of music to add.")
@click.option(
    "--environment",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of environmental sound to add.",
)
@click.option("--self-abstain", is_flag=True, help="Offer in the instructions the answer UNSUPPORTED.")
@click.option("--license", "license_name", metavar="NAME", default="", help="Licence of speech that names none.")
@click.option(
    "--output", "-o", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Folder to be made."
)
@json_option
def build(
    speech: str | None,
    columns: tuple[str, ...],
    added: tuple[str, ...],
    music: Path | None,
    environment: Path | None,
    license_name: str,
    output: Path,
    as_json: bool,
    **settings: Any,
) -> int:
    """Build a set, and say what is in it."""
    from otoscope.progress import count_bar
    from otoscope.sure.build import build_set
    from otoscope.sure.plan import Settings

    utterances = _utterances(speech, settings["name"], license_name, key_values("--column", columns))
    families = _families(added, music, environment)
    with count_bar("make rows") as watch:
        datasheet = build_set(utterances, Settings(**settings), output, families, watch)
    if as_json:
        print_json(datasheet, sort_keys=True)
    else:
        _print(datasheet, output)
    return 0


def _utterances(speech: str | None, name: str, license_name: str, columns: dict[str, str]) -> "Iterator[Utterance]":
    from otoscope.sure.sources import MINI, read_utterances

    if speech is None and name != "mini":
        raise UsageError(f"--set {name} needs --speech: a LibriSpeech folder, a manifest or a dataset on the hub")
    return read_utterances(speech or MINI, license_name, columns)


def _families(added: tuple[str, ...], music: Path | None, environment: Path | None) -> "list[Family]":
    from otoscope.sure.families import EXTRA as FAMILIES
    from otoscope.sure.families import clip_family

    folders = {"music": music, "environment": environment}
    clips = [clip_family(name, folder) for name, folder in folders.items() if folder is not None]
    return [*(FAMILIES[name] for name in dict.fromkeys(added)), *clips]


def _print(datasheet: dict[str, Any], output: Path) -> None:
    for split, counts in datasheet["counts"].items():
        kinds, rows = counts["kinds"], cast("dict[str, int]", counts["rows"])
        say(
            f"{split:<6} {counts['sources']:>3} sources: {kinds['supported']} supported, {kinds['non-speech']} "
            f"non-speech, {kinds['babble']} babble; {rows['leaking']} leak; {rows['written']} rows written"
        )
    say(f"{output}: datasheet.md says what is in it; next: otoscope run {output}")


command.add_command(report_command)
command.add_command(control_command)
