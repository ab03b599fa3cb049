"""``report.md``: what a run measured, by which means, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from otoscope.report.tables import HEADINGS, cells, number

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
        f"# {result.model}",
        "",
        f"Started {header['started']} with `{header['command']}`, otoscope {content['otoscope']}.",
        f"Judge: {result.judge or 'none needed'}.",
        *table(HEADINGS, [cells(score) for score in result.scores]),
        NOTE,
        *section("By kind"),
        *table(
            ("kind", "metric", "tasks", "mean"),
            [(row["kind"], row["metric"], str(row["tasks"]), number(row["mean"])) for row in content["kinds"]],
        ),
        *_instructions(content["instructions"]),
        *section("Judged by"),
        *(
            [f"- {judge}: {count}" for judge, count in sorted(content["judged_by"].items())]
            or ["No answer was judged."]
        ),
        *section("Missing"),
        *(
            [f"- {row.outcome}: {row.task} {row.sample}: {row.reason}" for row in result.missing]
            or ["Nothing is missing."]
        ),
        *section("Signatures"),
        *[f"- {score.task}: `{score.signature}`" for score in result.scores],
        *section("Settings"),
        *[f"- {name}: `{value}`" for name, value in sorted(_settings(header).items())],
        "",
    ]
    return "\n".join(lines)


def _instructions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how far the wording of the instruction moves each task, if any task says so."""
    headings = ("task", "metric", "instructions", "least", "greatest")
    lines = [
        (row["task"], row["metric"], str(row["instructions"]), number(row["low"]), number(row["high"])) for row in rows
    ]
    return [*section("By instruction"), *table(headings, lines)] if rows else []


def _settings(header: Mapping[str, Any]) -> dict[str, Any]:
    names = ("limit", "seed", "long", "batch", "python", "platform")
    return {**{name: header[name] for name in names}, **header["model"]["settings"], **header["versions"]}


def section(title: str) -> list[str]:
    """Return the lines of a heading."""
    return ["", f"## {title}", ""]


def table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table."""
    return ["", _line(headings), _line(tuple("---" for _ in headings)), *map(_line, rows), ""]


def _line(row: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', '¦') for cell in row)} |"
