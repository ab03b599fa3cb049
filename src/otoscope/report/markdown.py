"""``report.md``: what a run measured, by which means, and what is missing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from otoscope.audio import Alteration
from otoscope.report.tables import HEADINGS, amount, cells, number, printable, refused

if TYPE_CHECKING:
    from otoscope.runner.local import RunResult


NOTE = (
    "Chance is what guessing among the options scores, majority what always giving the most frequent label scores. "
    "Intervals are over the sources the samples were made from."
)


def write_report(result: "RunResult", header: Mapping[str, Any]) -> None:
    """Write ``report.md`` into the run folder."""
    (result.folder / "report.md").write_text(render_report(result, header), "utf-8")


def render_report(result: "RunResult", header: Mapping[str, Any]) -> str:
    """Return the report of a run as Markdown."""
    content = result.to_json()
    lines = [
        f"# {plain(result.model)}",
        "",
        f"Started {header['started']} with {code(header['command'])}, otoscope {content['otoscope']}.",
        f"Judge: {plain(result.judge) or 'none needed'}.",
        *table(HEADINGS, [tuple(map(plain, cells(score))) for score in result.scores]),
        NOTE,
        *_notes(content["notes"]),
        *section("By kind"),
        *table(
            ("kind", "metric", "tasks", "mean"),
            [(row["kind"], row["metric"], str(row["tasks"]), number(row["mean"])) for row in content["kinds"]],
        ),
        *_instructions(content["instructions"]),
        *_turned_away(result),
        *_spoken(content["written_down_by"]),
        *_altered(content["altered"]),
        *_usage(content["usage"], content["usage_in_total"]),
        *section("Judged by"),
        *(
            [f"- {plain(judge)}: {count}" for judge, count in sorted(content["judged_by"].items())]
            or ["No answer was judged."]
        ),
        *section("Missing"),
        *(
            [f"- {row.outcome}: {plain(f'{row.task} {row.sample}: {row.reason}')}" for row in result.missing]
            or ["Nothing is missing."]
        ),
        *section("Signatures"),
        *[f"- {plain(score.task)}: {code(score.signature)}" for score in result.scores],
        *section("Settings"),
        *[f"- {plain(name)}: {code(str(value))}" for name, value in sorted(_settings(header).items())],
        "",
    ]
    return "\n".join(lines)


def _notes(tasks: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what to know before scores are believed, if there is anything."""
    lines = [f"- {plain(f'{task}: {note}')}" for task, notes in tasks.items() for note in notes]
    return [*section("Notes"), *lines] if lines else []


def _instructions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how far the wording of the instruction moves each task, if any task says so."""
    headings = ("task", "metric", "instructions", "least", "greatest")
    lines = [
        (plain(row["task"]), row["metric"], str(row["instructions"]), number(row["low"]), number(row["high"]))
        for row in rows
    ]
    return [*section("By instruction"), *table(headings, lines)] if rows else []


def _turned_away(result: "RunResult") -> list[str]:
    """Return of how many samples the gate let the model not be asked, and why, if there was a gate."""
    if not result.gate:
        return []
    reasons = list(refused(result.turned_away))
    lines = []
    for task, scores in result.tasks.items():
        counts = refused(scores.turned_away)
        total = f"{sum(counts.values())} of {scores.scores[0].n}" if scores.scores else ""
        lines.append((plain(task), total, *(str(counts.get(reason, "")) for reason in reasons)))
    said = f"Samples that {plain(result.gate)} turned away, so that the model was not asked."
    return [*section("Gate"), said, *table(("task", "turned away", *map(plain, reasons)), lines)]


def _spoken(counts: Mapping[str, int]) -> list[str]:
    """Return by what spoken answers without text were written down, if there are any."""
    lines = [f"- {count} written down by {plain(asr)}" for asr, count in sorted(counts.items())]
    return [*section("Spoken answers"), *lines] if lines else []


def _altered(tasks: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return how many samples of each task had audio that was altered before the model got it, if any had."""
    kinds = [kind for kind in get_args(Alteration) if any(kind in counts for counts in tasks.values())]
    lines = [(plain(task), *(str(counts.get(kind, "")) for kind in kinds)) for task, counts in tasks.items()]
    said = "Samples of which a clip was altered before the model got it."
    return [*section("Altered audio"), said, *table(("task", *kinds), lines)] if lines else []


def _usage(tasks: Mapping[str, Mapping[str, float]], total: Mapping[str, float]) -> list[str]:
    """Return what the answers took, if the model said."""
    rows = [*tasks.items(), ("in total", total)]
    lines = [(plain(task), *(amount(usage[name]) if name in usage else "" for name in total)) for task, usage in rows]
    headings = ("task", *(name.replace("_", " ") for name in total))
    return [*section("Usage"), *table(headings, lines)] if total else []


def _settings(header: Mapping[str, Any]) -> dict[str, Any]:
    names = ("limit", "seed", "long", "allow_cut", "batch", "python", "platform")
    return {
        **{name: header[name] for name in names if name in header},
        **header["model"]["settings"],
        **header["versions"],
    }


_MARKS = re.compile(
    r"[`*\[\]<~]|(?<!\w)_|_(?!\w)|(?<!\S)#|&(?=#?\w+;)"
    r"|\\(?=[!-/:-@\[-`{-~]|$)"  # any other backslash stands for itself
)


def plain(text: str) -> str:
    """Return Markdown that shows ``text`` on one line, whatever marks are in it."""
    return _MARKS.sub(r"\\\g<0>", printable(text))


def code(text: str) -> str:
    """Return ``text`` as a code span on one line, in more backticks than it holds in a row."""
    shown = printable(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    room = " " if len(fence) > 1 or not shown else ""
    return f"{fence}{room}{shown}{room}{fence}"


def section(title: str) -> list[str]:
    """Return the lines of a heading."""
    return ["", f"## {title}", ""]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table."""
    return ["", _line(headings), _line(tuple("---" for _ in headings)), *map(_line, rows), ""]


def _line(row: tuple[str, ...]) -> str:
    return f"| {' | '.join(printable(cell).replace('|', '¦') for cell in row)} |"
