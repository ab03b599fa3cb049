"""The published results of nine systems (Dynamic-SUPERB Phase-2, Tables 2 and 5 to 10), and what follows from them."""

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from otoscope.errors import UnknownNameError
from otoscope.records import Better, worded
from otoscope.relative import Comparison, Measure, compare, domain_names, rank, scale
from otoscope.task import CATALOGUE, Task, catalogue, variants

SYSTEMS: Final[Mapping[str, str]] = {
    "paper/whisper-llama": "Whisper-LLaMA",
    "paper/salmonn-7b": "SALMONN-7B",
    "paper/salmonn-13b": "SALMONN-13B",
    "paper/qwen-audio": "Qwen-Audio",
    "paper/qwen2-audio": "Qwen2-Audio",
    "paper/wavllm": "WavLLM",
    "paper/ltu-as": "LTU-AS",
    "paper/gama": "GAMA",
    "paper/mu-llama": "MU-LLaMA",
}
"""Names of the systems here, and as they are printed."""

BASELINE = "paper/whisper-llama"

CoreSet = Literal["superb", "hear", "marble"]

TASK_TABLES = ("table5", "table6", "table7", "table8")
CORE_TABLES: Final[Mapping[CoreSet, str]] = {"superb": "table2", "hear": "table9", "marble": "table10"}


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed value.

    Attributes:
        table: where it is printed, such as ``table5``.
        label: the name that is printed for the task.
        task: id of the task or variant.
        metric: name of the metric, or ``na_rate``.
        better: whether higher or lower is better, which the printed arrows do not always tell.
        system: name of the system, a key of ``SYSTEMS``.
        value: the value, percentages as fractions; None where a dash is printed.
        raw: what is printed.
        note: what is odd about it.
    """

    table: str
    label: str
    task: str
    metric: str
    better: Better
    system: str
    value: float | None
    raw: str
    note: str

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit, as a fraction where a percentage is printed."""
        decimals = len(self.raw.rstrip("%").partition(".")[2])
        in_percent = self.raw.endswith("%") or self.table == "table2"
        return 0.5 * 10.0 ** (-decimals - 2 * in_percent)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table of a core set, recomputed from the tables of single tasks.

    Attributes:
        printed: the printed cell.
        scaled: whether the N/A rate is counted in.
        recomputed: the value from Tables 5 to 8, or None where those print a dash or nothing.
        slack: how far rounding in the source, of value and N/A rate, can have moved it.
        state: ``equal`` to the last printed digit; ``within`` the slack; ``differs``; or ``no source``.
        low: lower end of the 95 % interval, for accuracies whose number of samples can be told from the tables.
        high: upper end of it.
        rank: rank among the systems; systems whose intervals overlap are not told apart.
    """

    printed: Printed
    scaled: bool
    recomputed: float | None
    slack: float
    state: Literal["equal", "within", "differs", "no source"]
    low: float | None = None
    high: float | None = None
    rank: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; what is not defined is the word ``undefined``."""
        row: dict[str, Any] = {
            "task": self.printed.task,
            "column": self.printed.label,
            "metric": self.printed.metric,
            "better": self.printed.better,
            "system": self.printed.system,
            "raw": self.printed.raw,
            "printed": self.printed.value,
            "scaled": self.scaled,
            "recomputed": self.recomputed,
            "slack": self.slack,
            "state": self.state,
            "low": self.low,
            "high": self.high,
            "rank": self.rank,
        }
        return worded(row)


@functools.cache
def printed() -> tuple[Printed, ...]:
    """Return every printed value, in the order of the tables."""
    names = {name: system for system, name in SYSTEMS.items()}
    with (CATALOGUE.parent / "published.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Printed(
                table=row["table"],
                label=row["task"],
                task=row["task_id"],
                metric=row["metric"],
                better="higher" if row["higher_is_better"] == "true" else "lower",
                system=names[row["model"]],
                value=float(row["value"]) if row["value"] else None,
                raw=row["raw"],
                note=row["note"],
            )
            for row in csv.DictReader(file)
        )


def results(tables: tuple[str, ...] = (*TASK_TABLES, "table9", "table10")) -> dict[tuple[str, str, str], Printed]:
    """Return the result of each task, metric and system. Of several printings in ``tables`` the last counts.

    Table 2 is left out: it is scaled and rounded. The printings of Tables 9 and 10 come last, since they are the ones
    with plausible units where printings differ.
    """
    return {(row.task, row.metric, row.system): row for row in printed() if row.table in tables}


def results_of(task: Task) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what is printed of a task in any table: variant or id, then metric, then system."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (name, metric, system), row in results().items():
        if name == task.id or name.startswith(f"{task.id}/"):
            value = "undefined" if row.value is None else row.value
            found.setdefault(name, {}).setdefault(metric, {})[system] = value
    return found


def measures(system: str) -> list[Measure]:
    """Return the results of a published system over the catalogue, a task without any included.

    Raises:
        UnknownNameError: no published system has that name.
    """
    if system not in SYSTEMS:
        raise UnknownNameError("published system", system, SYSTEMS)
    found = results()
    return [
        Measure(
            task=task.id,
            metric=metric,
            better=task.better[metric],
            domains=domain_names(task.domain),
            value=row.value if (row := found.get((task.id, metric, system))) else None,
            na_rate=rate.value if (rate := found.get((task.id, "na_rate", system))) else None,
        )
        for whole in catalogue()
        for task in variants(whole)
        for metric in task.metrics
    ]


def domain_scores(baseline: str = BASELINE) -> dict[str, Comparison]:
    """Return the comparison of each published system with a published baseline.

    Raises:
        UnknownNameError: no published system has that name.
    """
    base = measures(baseline)
    return {system: compare(measures(system), base) for system in SYSTEMS}


def core_table(core: str) -> list[Cell]:
    """Return the cells of a core set's table, recomputed.

    Args:
        core: ``superb`` (Table 2), ``hear`` (Table 9) or ``marble`` (Table 10).

    Raises:
        UnknownNameError: there is no such table.
    """
    for name in get_args(CoreSet):
        if name == core:
            break
    else:
        raise UnknownNameError("core set", core, get_args(CoreSet))
    found = results(TASK_TABLES)
    cells = [_cell(row, found) for row in printed() if row.table == CORE_TABLES[name]]
    return _ranked(cells)


def _cell(row: Printed, found: Mapping[tuple[str, str, str], Printed]) -> Cell:
    source = found.get((row.task, row.metric, row.system))
    if source is None:
        return Cell(row, scaled=False, recomputed=None, slack=0.0, state="no source")
    rate = found.get((row.task, "na_rate", row.system)) if row.table == "table2" else None
    scaled = rate is not None
    value = _scaled(source, rate, 0, 0)
    if value is None or row.value is None:
        return Cell(row, scaled, value, 0.0, "equal" if value is row.value else "differs")
    ends = [_scaled(source, rate, one, other) for one in (-1, 1) for other in (-1, 1)]
    slack = max(abs(end - value) for end in ends if end is not None)
    away, edge = abs(value - row.value), row.rounding * (1 + 1e-9)  # a value on the edge is rounded either way
    return Cell(row, scaled, value, slack, "equal" if away <= edge else "within" if away <= edge + slack else "differs")


def _scaled(source: Printed, rate: Printed | None, up: int, rate_up: int) -> float | None:
    """Return the scaled value with value and N/A rate moved by none (0) or all (-1, 1) of what rounding hides."""
    if source.value is None:
        return None
    na_rate = 0.0 if rate is None or rate.value is None else min(1.0, rate.value + rate_up * rate.rounding)
    return scale(source.value + up * source.rounding, source.better, na_rate)


def _ranked(cells: list[Cell]) -> list[Cell]:
    """Add intervals and ranks to the accuracies."""
    sizes = {task.id: task.implied_samples for whole in catalogue() for task in variants(whole)}
    columns: dict[tuple[str, str], dict[str, tuple[float, float]]] = {}
    for cell in cells:
        size = sizes.get(cell.printed.task)
        if cell.printed.metric == "llm_judge_accuracy" and cell.printed.value is not None and size:
            column = columns.setdefault((cell.printed.task, cell.printed.label), {})
            column[cell.printed.system] = _proportion(cell.printed.value, size)
    ranks = {column: rank(intervals, "higher") for column, intervals in columns.items()}
    return [_with_rank(cell, columns, ranks) for cell in cells]


def _proportion(value: float, n: int) -> tuple[float, float]:
    from otoscope.stats import exact_interval

    found = exact_interval(round(value * n), n)
    return (found.low, found.high) if found else (0.0, 1.0)


def _with_rank(
    cell: Cell,
    columns: Mapping[tuple[str, str], Mapping[str, tuple[float, float]]],
    ranks: Mapping[tuple[str, str], Mapping[str, int]],
) -> Cell:
    column = (cell.printed.task, cell.printed.label)
    if cell.printed.system not in columns.get(column, {}):
        return cell
    low, high = columns[column][cell.printed.system]
    place = ranks[column][cell.printed.system]
    return replace(cell, low=low, high=high, rank=place)
