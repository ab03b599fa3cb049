"""The report on a SURE set as Markdown. No rejection stands without the retention that it was bought with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from otoscope.report.markdown import plain, section, table
from otoscope.sure.refusals import openers, phrases
from otoscope.sure.score import RIGHT_WER

Json = Mapping[str, Any]

NOTE = f"""\
Supported accuracy: rows to be answered that were answered rightly; one that is turned away or refused counts as wrong.
A transcript is right up to a word error rate of {RIGHT_WER}, a first word if it is equal; case and punctuation do not
count. Gate R.: rows to be left alone that the gate turns away; Sys. R.: that the gate turns away or the model refuses.
Brackets: 95 % interval as if rows were independent (Clopper-Pearson), then over sources (drawn anew, or exact over
sources where all rows are alike; undefined for one source, and where all sources are alike but their rows are not, so
that drawing them anew changes nothing). Babble rows of one split share voices, so even the second is too narrow for
them."""

TIME_NOTE = """\
Seconds are means a row, then medians: a mean counts loading and busy moments too, and what takes long only now and then
is in no median. Without: the model's over all rows. With: the gate's over all rows and the model's over those that are
let through, summed, by all rows. Break-even: the gate's by the model's without it, which is the share of rows that has
to be turned away for the gate to save time, where these take the model as long as others. Rows that failed or are not
answered yet are in none of these. Of a run made behind a gate it is unknown what the model would have taken, and
counted, for rows that it was not asked about."""

CURVE_NOTE = """\
Of the score that the threshold is on. AURC and AUGRC here count a row as lost if it should not be answered; rows that
another part of the gate turns away, as far as it was measured, come last. Rejection at a retention: the most that any
threshold reaches on these rows, which nobody can choose beforehand."""

EXTERNAL_NOTE = """\
Tasks that are neither SURE sets nor controls. Where one has no row to be answered, what is retained is of all such rows
here."""

CONTROL_NOTE = """\
Clear speech, and questions that it does not answer. A gate hears audio alone and cannot tell: it should keep both, and
what it turns away here is an error or chance, no rejection to its credit."""

RISK_NOTE = """\
SCOD risk: mean cost of what is answered, where an unsupported row costs c and a wrong answer 1 - c; coverage, the share
of all rows that is answered, stands beside it, since a system that answers nothing risks nothing. AURC and AUGRC count
wrong answers and answers to unsupported rows alike, the rows ordered by the gate's score. Left out of risk and areas:
rows that failed or are not answered yet, whose cost nobody knows."""

TEST_NOTE = """\
Each model alone against itself behind the gate. p: signs of the sources' differences flipped, which allows for rows of
one source being alike; Holm: adjusted over the gates of the model; McNemar: exact, as if rows were independent."""


def render(report: Json) -> str:
    """Return the report that ``otoscope.sure.report.build`` made as Markdown."""
    lines = [
        "# SURE report",
        "",
        f"Otoscope {report['otoscope']}.",
        *_notes(report["notes"]),
        *_runs(report["runs"]),
        *(_gates(report["gates"]) if report["gates"] else []),
        *_models(report["models"]),
        *_costs(report["models"]),
        *(_fronts(report["front_ends"]) if report["front_ends"] else []),
        *_stages(report["front_ends"]),
        *(_families(report["families"], report["external"]) if report["families"] else []),
        *_model_families(report["model_families"]),
        *(_tests(report["tests"]) if report["tests"] else []),
        *(_curves(report["curves"]) if report["curves"] else []),
        *_risks(report["risks"], report["cost"]),
        *_refusals(report["refusals"]),
        "",
    ]
    return "\n".join(lines)


def _notes(notes: Sequence[str]) -> list[str]:
    return ["", *(f"- **Note:** {plain(note)}" for note in notes)] if notes else []


def _runs(runs: Sequence[Json]) -> list[str]:
    return table(
        ("run", "model", "task", "rows", "sources", "not answered yet", "way to abstain offered"),
        (
            (
                plain(run["run"]),
                plain(run["model"]),
                plain(run["task"]),
                str(run["rows"]),
                str(run["sources"]),
                str(run["missing"]),
                "yes" if run["offered"] else "no",
            )
            for run in runs
        ),
    )


def _gates(gates: Sequence[Json]) -> list[str]:
    return [
        *section("Gates"),
        *table(
            ("gate", "conditions", "calibration", "signature"),
            (
                (plain(gate["name"]), "; ".join(gate["conditions"]) or "energy", _calibration(gate), gate["signature"])
                for gate in gates
            ),
        ),
    ]


def _calibration(gate: Json) -> str:
    found = gate["calibration"]
    if not found:
        return "not calibrated"
    most = f"; at most {_number(found['rejects_at_most'])} of sources fail" if "rejects_at_most" in found else ""
    return f"{found['rule']} on {found['split']}: {found['score']} {found['threshold']:g}{most}"


def _models(rows: Sequence[Json]) -> list[str]:
    return [
        *section("Models"),
        NOTE,
        *table(
            (
                "model",
                "run",
                "task",
                "gate",
                "supported accuracy",
                "retention",
                "Gate R.",
                "Sys. R.",
                "WER (answered)",
                "failed",
            ),
            (
                (
                    _model(row),
                    plain(row["run"]),
                    plain(row["task"]),
                    plain(row["gate"]),
                    _share(row["supported_accuracy"]),
                    _share(row["retention"]),
                    _share(row["gate_rejection"]),
                    _share(row["system_rejection"]),
                    _wer(row["wer"]),
                    str(row["failed"]),
                )
                for row in rows
            ),
        ),
    ]


def _model(row: Json) -> str:
    return plain(f"{row['model']}, offered to abstain" if row.get("offered") else row["model"])


def _costs(rows: Sequence[Json]) -> list[str]:
    return [
        *section("Calls, seconds and cost"),
        TIME_NOTE,
        *table(
            (
                "model",
                "run",
                "task",
                "gate",
                "calls",
                "fewer",
                "gate s",
                "model s",
                "s without",
                "s with",
                "rows timed",
                "break-even",
                "counted",
            ),
            (
                (
                    _model(row),
                    plain(row["run"]),
                    plain(row["task"]),
                    plain(row["gate"]),
                    f"{row['calls']} of {row['rows']}",
                    _percent(row["reduction"]),
                    _seconds(row["gate_seconds"], row["gate_median"]),
                    _seconds(row["model_seconds"], row["model_median"]),
                    _without(row),
                    _number(row["seconds_with"]),
                    str(row["timed"]),
                    _break_even(row["break_even"]),
                    _usage(row),
                )
                for row in rows
            ),
        ),
    ]


def _seconds(mean: float | None, median: float | None) -> str:
    return "" if mean is None else f"{_number(mean)}, median {_number(median)}"


def _without(row: Json) -> str:
    unknown = row["seconds_without"] is None and row["seconds_with"] is not None
    return "unknown" if unknown else _number(row["seconds_without"])


def _break_even(value: float | None) -> str:
    return f"{_percent(value)}: cannot save time" if value is not None and value > 1 else _percent(value)


def _usage(row: Json) -> str:
    without = row["usage_without"]
    told = {name: "unknown" if without is None else f"{without[name]:g}" for name in row["usage_with"]}
    return ", ".join(f"{name} {row['usage_with'][name]:g} of {told[name]}" for name in told) or "nothing"


def _fronts(rows: Sequence[Json]) -> list[str]:
    return [
        *section("Front ends alone"),
        "Each gate over each set once; the run is the first one with its rows.",
        *table(
            ("gate", "task", "run", "retention", "Gate R.", "by kind", "different clips", "s a clip", "reasons"),
            (
                (
                    plain(row["gate"]),
                    plain(row["task"]),
                    plain(row["run"]),
                    _share(row["retention"]),
                    _share(row["rejection"]),
                    "; ".join(f"{kind} {_count(share)}" for kind, share in row["kinds"].items()),
                    str(row["unique_audio"]),
                    _seconds(row["seconds"], row["median"]),
                    ", ".join(f"{reason} {count}" for reason, count in sorted(row["reasons"].items())) or "none",
                )
                for row in rows
            ),
        ),
    ]


def _stages(rows: Sequence[Json]) -> list[str]:
    """Return what each stage of each gate takes; nothing where an earlier version made the decisions."""
    lines = [
        (
            plain(row["gate"]),
            plain(row["task"]),
            plain(row["run"]),
            name,
            _seconds(stage["seconds"], stage["median"]),
            str(stage["clips"]),
        )
        for row in rows
        for name, stage in row["stages"].items()
    ]
    headings = ("gate", "task", "run", "stage", "s a clip", "clips that came to it")
    return ["By stage; a clip that one turns away comes to none after it.", *table(headings, lines)] if lines else []


def _families(rows: Sequence[Json], external: Sequence[Json]) -> list[str]:
    sets = (row for row in rows if not row["external"] and not row["control"])
    sure = [row for row in sets if row["gate"] == rows[0]["gate"]]
    others = [row for row in rows if row["external"]]
    controls = [row for row in rows if row["control"]]
    told = "Of the first gate; the JSON report has those of the others."
    lines = [*section("Families, by gate"), told, *_family_table(sure)] if sure else []
    lines += [*section("External checks, by gate"), EXTERNAL_NOTE, *_family_table(others, external)] if others else []
    lines += [*section("Control, by gate"), CONTROL_NOTE, *_family_table(controls)] if controls else []
    lost = [
        f"- {plain(row['gate'])}, {plain(row['run'])}: {plain(name)}" for row in rows for name in row["turned_away"]
    ]
    return [*lines, *(["Supported rows turned away:", "", *lost, ""] if lost else [])]


def _family_table(rows: Iterable[Json], totals: Iterable[Json] = ()) -> list[str]:
    together = [
        {**row, "task": "all", "run": "all", "family": "all", "kind": "all", "unique_audio": ""} for row in totals
    ]
    return table(
        ("gate", "task", "run", "family", "kind", "turned away", "supported retained", "different clips"),
        (
            (
                plain(row["gate"]),
                plain(row["task"]),
                plain(row["run"]),
                plain(row["family"]),
                plain(row["kind"]),
                _share(row["rejection"]) if row["rejection"] else "(to be answered)",
                _share(row["retention"]),
                str(row["unique_audio"]),
            )
            for row in [*rows, *together]
        ),
    )


def _model_families(rows: Sequence[Json]) -> list[str]:
    return [
        *section("Families, by model"),
        "Right: answered rightly where the row is supported, not answered where it is not.",
        *table(
            ("model", "run", "gate", "family", "right", "WER", "accuracy on all supported rows"),
            (
                (
                    plain(row["model"]),
                    plain(row["run"]),
                    plain(row["gate"]),
                    plain(row["family"]),
                    f"{row['right']['count']} of {row['right']['of']}",
                    _number(row["wer"]) if row["supported"] else "",
                    f"{row['accuracy']['count']} of {row['accuracy']['of']}",
                )
                for row in rows
            ),
        ),
    ]


def _tests(rows: Sequence[Json]) -> list[str]:
    return [
        *section("Alone against behind a gate"),
        TEST_NOTE,
        *table(
            ("model", "run", "gate", "rows", "gained", "lost", "difference", "p", "Holm", "McNemar"),
            (
                (
                    plain(row["model"]),
                    plain(row["run"]),
                    plain(row["gate"]),
                    f"{row['of']} {row['rows']}",
                    str(row["gained"]),
                    str(row["lost"]),
                    _number(row["difference"]) + _bracket(row["sources"]),
                    _small(row["p"]),
                    _small(row["holm"]),
                    _small(row["mcnemar"]),
                )
                for row in rows
            ),
        ),
    ]


def _curves(rows: Sequence[Json]) -> list[str]:
    return [
        *section("The score at every threshold"),
        CURVE_NOTE,
        *table(
            ("gate", "task", "run", "score", "ROC AUC", "AURC", "AUGRC", "rejection at retention 1.00, 0.99, 0.95"),
            (
                (
                    plain(row["gate"]),
                    plain(row["task"]),
                    plain(row["run"]),
                    row["score"],
                    _number(row["roc_auc"]),
                    _number(row["aurc"]),
                    _number(row["augrc"]),
                    ", ".join(map(_number, row["rejection_at"].values())),
                )
                for row in rows
            ),
        ),
        *(line for row in rows[:1] for line in _det(row)),
    ]


def _det(row: Json) -> list[str]:
    """Return the points of the first gate where the curve turns."""
    points = row["det"]
    inner = zip(points, points[1:], points[2:], strict=False)
    corners = [
        *points[:1],
        *(point for before, point, after in inner if _turns(before, point, after)),
        *points[1:][-1:],
    ]
    what = f"{plain(row['gate'])} on {plain(row['task'])} of {plain(row['run'])}"
    return [
        f"Detection error trade-off of {what}; the JSON report has every point.",
        *table(
            ("threshold", "supported turned away", "unsupported admitted"),
            (
                (_number(point["threshold"]), _number(point["missed"]), _number(point["false_accepts"]))
                for point in corners
            ),
        ),
    ]


def _turns(before: Json, point: Json, after: Json) -> bool:
    return bool((before["missed"] != point["missed"]) != (point["missed"] != after["missed"]))


def _risks(rows: Sequence[Json], cost: float) -> list[str]:
    costs = sorted({0.5, cost})
    return [
        *section("Risk of what is answered"),
        RISK_NOTE,
        *table(
            (
                "model",
                "run",
                "gate",
                *(f"SCOD, c = {value:g}" for value in costs),
                "coverage",
                "left out",
                "AURC",
                "AUGRC",
            ),
            (
                (
                    plain(row["model"]),
                    plain(row["run"]),
                    plain(row["gate"]),
                    *(_number(row[f"scod_{value:g}"]) for value in costs),
                    _number(row["coverage"]),
                    str(row["left_out"]),
                    _number(row["aurc"]),
                    _number(row["augrc"]),
                )
                for row in rows
            ),
        ),
    ]


def _refusals(rows: Sequence[Json]) -> list[str]:
    rule = (
        f"An answer is a refusal if it is empty, or is or begins with one of {len(phrases())} phrases. What is right "
        "is none, nor is one whose phrase the target is or begins with too: it may be a transcript. Matched were:"
    )
    return [
        *section("Refusals"),
        rule,
        *(
            table(
                ("model", "run", "phrase", "answers", "such as"),
                (
                    (
                        plain(row["model"]),
                        plain(row["run"]),
                        f"`{row['phrase']}`",
                        str(row["count"]),
                        "; ".join(map(_quoted, row["answers"])),
                    )
                    for row in rows
                ),
            )
            if rows
            else ["", "none.", ""]
        ),
        "The list:",
        "",
        _listed(phrases()),
        "",
        "Before any of them may stand:",
        "",
        _listed(openers()),
    ]


def _listed(lines: Iterable[str]) -> str:
    return ", ".join(f"`{line}`" for line in lines) + "."


def _quoted(answer: str) -> str:
    return f'"{plain(" ".join(answer.split())[:80])}"'


def _share(share: Json) -> str:
    return f"{_number(share['value'])} ({_count(share)}){_bracket(share['exact'])}{_bracket(share['sources'])}"


def _count(share: Json) -> str:
    return f"{share['count']}/{share['of']}"


def _bracket(ends: Sequence[float] | None) -> str:
    return f" [{_number(ends[0])}, {_number(ends[1])}]" if ends else " [undefined]"


def _wer(wer: Json) -> str:
    basis = f"{wer['answered']} of {wer['of']} rows, {wer['words']:g} words"
    return f"{_number(wer['value'])}{_bracket(wer['sources'])} ({basis})"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _small(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2g}"
