"""Score any targets and answers by a metric, without a task and without a run."""

import json
from array import array
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.errors import MetricError, TaskError, UnreadableValueError
from otoscope.jsonfile import numbered_lines
from otoscope.metrics import Metric
from otoscope.metrics.edit import RunOn
from otoscope.records import Better, worded
from otoscope.stats import count_clusters, interval, name_code


class BadRow(NamedTuple):
    """A row that could not be scored.

    Attributes:
        line: number of its line, from 1.
        key: what is wrong in it, or an empty string where the line is no row.
        reason: why.
    """

    line: int
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class PairsScore:
    """One metric of the rows of a file.

    Attributes:
        metric: name of the metric.
        better: whether higher or lower values are better.
        value: the value, or None where it is not defined.
        low: lower end of its 95 % interval, or None.
        high: upper end of it.
        n: rows that were scored.
        na: rows whose answer the metric cannot read.
        clusters: sources of the rows that were scored.
        bad: rows that could not be scored, by no fault of the answer.
        notes: what to know before the value is believed.
        signature: signature of the metric, and how the interval was found.
    """

    metric: str
    better: Better
    value: float | None
    low: float | None
    high: float | None
    n: int
    na: int
    clusters: int
    bad: tuple[BadRow, ...]
    notes: tuple[str, ...]
    signature: str

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary of JSON values; what is not defined is the word ``undefined``."""
        return {**worded(asdict(self)), "bad": [bad._asdict() for bad in self.bad]}


def score_pairs(metric: Metric, file: Path) -> PairsScore:
    """Score the rows of a JSONL file.

    Args:
        metric: the metric.
        file: rows with the keys ``target`` and ``answer`` and, where they are known, ``cluster``: the source of the
            row. A value that is no string is taken as its JSON. Rows without cluster are independent.

    Raises:
        TaskError: the file holds no row.
    """
    import numpy as np

    run_on = RunOn([metric])
    statistics, clusters, bad, na = array("d"), array("Q"), list[BadRow](), 0
    for line, text in numbered_lines(file):
        try:
            row = _read_row(text)
            target = _text(row, "target")
            values = metric.row(target, _text(row, "answer"))
        except UnreadableValueError:
            na += 1
        except _RowError as error:
            bad.append(BadRow(line, error.key, str(error)))
        except MetricError as error:
            bad.append(BadRow(line, "target", str(error)))
        else:
            run_on.add(target)
            statistics.extend(values)
            cluster = row.get("cluster")
            clusters.append(name_code(f"line {line} of the file" if cluster is None else str(cluster)))
    if not (clusters or bad or na):
        raise TaskError(f'{file}: no rows; write one a line, such as {{"target": "a b", "answer": "a c"}}')
    n = len(clusters)
    rows = np.array(statistics, np.float64).reshape(n, -1 if n else 1)
    value = metric.value(rows) if n else None
    found = interval(metric, rows, clusters) if value is not None else None
    return PairsScore(
        metric=metric.name,
        better=metric.better,
        value=value,
        low=found.low if found else None,
        high=found.high if found else None,
        n=n,
        na=na,
        clusters=count_clusters(clusters),
        bad=tuple(bad),
        notes=tuple(run_on.notes()),
        signature=f"{metric.signature}|interval:{found.method if found else 'undefined'}",
    )


class _RowError(Exception):
    """A line is no row with both texts; ``key`` is what it lacks."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


def _read_row(line: bytes) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _RowError("", f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise _RowError("", f"a row is an object with the keys target and answer, not {type(row).__name__}")
    return row


def _text(row: Mapping[str, Any], key: str) -> str:
    if row.get(key) is None:
        raise _RowError(key, f"missing; the row has {', '.join(row) or 'no keys'}")
    value = row[key]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
