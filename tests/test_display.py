"""Foreign text in tables and reports: shown, not obeyed."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from otoscope.cli.display import Display, print_result
from otoscope.cli.main import cli
from otoscope.records import Outcome, Score
from otoscope.report.markdown import code, plain, render_report, table
from otoscope.report.tables import for_terminal, printable
from otoscope.runner.local import Begun, Counted, RunResult, Scored
from otoscope.score import Missing, TaskScores

HEADER: dict[str, Any] = {
    "started": "2026-01-01T00:00:00Z",
    "command": "otoscope run `x`\n# y",
    "limit": "all",
    "seed": 0,
    "long": "cut",
    "batch": 1,
    "python": "3",
    "platform": "p",
    "model": {"settings": {"server": "a`b\n"}},
    "versions": {},
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b]0;t\x07", r"\x1b]0;t\x07"),
        ("\x9b31m\x7f", r"\x9b31m\x7f"),
        ("a\u202eb\u2028", r"a\u202eb\u2028"),
        ("\udcff", r"\udcff"),
        ("naïve 你好\u3000नहीं\u200c [bold] 🎵", "naïve 你好\u3000नहीं\u200c [bold] 🎵"),
    ],
)
def test_printable_escapes_what_acts_and_keeps_what_is_read(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_printable_is_one_line_without_controls_and_the_same_twice(text: str) -> None:
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f]", shown)
    assert printable(shown) == shown


@given(st.text(), st.sampled_from(["ascii", "latin-1", "utf-8", "cp1252"]))
def test_for_terminal_can_always_be_encoded(text: str, encoding: str) -> None:
    assert for_terminal(text, encoding).encode(encoding).decode(encoding) == for_terminal(text, encoding)


def test_arrows_become_ascii_only_where_they_must() -> None:
    assert for_terminal("wer ↓, accuracy ↑, é", "utf-8") == "wer ↓, accuracy ↑, é"
    assert for_terminal("wer ↓, accuracy ↑, é", "ascii") == r"wer v, accuracy ^, \xe9"


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_plain_is_undone_by_taking_the_backslashes_before_marks_away(text: str) -> None:
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("# no heading", r"\# no heading"),
        ("a_b _c_", r"a_b \_c\_"),
        ("<b>*x*</b> [y](z) `q`", r"\<b>\*x\*\</b> \[y\](z) \`q\`"),
        ("&lt; a & b", r"\&lt; a & b"),
        (r"C:\dir \* \n", r"C:\dir \\\* \n"),
    ],
)
def test_plain_escapes_the_marks_of_markdown(text: str, markdown: str) -> None:
    assert plain(text) == markdown


@given(st.text())
def test_a_code_span_ends_where_its_text_ends(text: str) -> None:
    span = code(text)
    fence = re.match("`+", span)
    assert fence is not None
    assert span.endswith(fence[0])
    assert fence[0] not in span[len(fence[0]) : -len(fence[0])]
    assert len(span.splitlines()) == 1


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_a_table_has_one_line_a_row_and_as_many_cells_as_columns(rows: list[tuple[str, str]]) -> None:
    lines = [line for line in "\n".join(table(("a", "b"), rows)).splitlines() if line]
    assert len(lines) == 2 + len(rows)
    assert {line.count("|") for line in lines} == {3}


def test_a_report_is_not_broken_by_ids_and_reasons(tmp_path: Path) -> None:
    missing = [Missing("t|1", "# id", "error", "HTTP 500: <p>\n# Missing\n| a | b |\n\x1b[31m- ok")]
    result = RunResult(tmp_path, "m\n## Scores", "", {"t|1": TaskScores([], missing, Counter())})
    text = render_report(result, HEADER)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        r"# m\n## Scores",
        *(f"## {name}" for name in ("By kind", "Judged by", "Missing", "Signatures", "Settings")),
    ]
    assert r"- error: t|1 \# id: HTTP 500: \<p>\n# Missing\n| a | b |\n\x1b\[31m- ok" in text.splitlines()
    assert r"with `` otoscope run `x`\n# y ``, otoscope" in text
    assert r"- server: `` a`b\n ``" in text.splitlines()


HOSTILE = "[bold]x[/red]:smile:\x1b[31m\n"
SHOWN = r"[bold]x[/red]:smile:\x1b[31m\n"


def score(task: str) -> Score:
    counts: dict[Outcome, int] = {"ok": 1}
    values = (1.0, 1.0, 1.0, 1.0)
    return Score(task, "classification", "accuracy", "higher", *values, 1, counts, 0.0, 1, None, None, 0.0, "")


def test_the_table_and_its_remarks_show_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = [Missing(HOSTILE, HOSTILE, "error", HOSTILE)]
    result = RunResult(tmp_path, HOSTILE, "", {HOSTILE: TaskScores([score(HOSTILE)], missing, Counter({HOSTILE: 1}))})
    print_result(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"{SHOWN} ")
    assert lines[2:5] == [f"error: {SHOWN} {SHOWN}: {SHOWN}", f"Judged: 1 by {SHOWN}", f"Model: {SHOWN}"]


@pytest.mark.parametrize("terminal", [False, True])
def test_a_run_in_progress_shows_markup(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1" if terminal else "", "TERM": "xterm", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    with Display() as display:
        display.watch(Begun(HOSTILE, "answer", 1))
        display.watch(Counted("error"))
        display.watch(Scored(HOSTILE, TaskScores([score(HOSTILE)])))
        display.watch(Begun(HOSTILE, "judge", 1))
        display.watch(Scored(HOSTILE, TaskScores(missing=[Missing(HOSTILE, "", "error", HOSTILE)])))
    shown = capsys.readouterr().err
    assert SHOWN in shown
    assert (f"judge {SHOWN}" in shown) == terminal
    assert "\x1b[31m\n" not in shown


ODD, ODD_SHOWN = "a\x1b[31m\n", r"a\x1b[31m\n"


def test_names_that_a_terminal_would_obey_are_shown_by_tasks_and_judge(tmp_path: Path) -> None:
    task = {"name": ODD, "id": "odd", "metrics": ["accuracy"], "options": ["a", "b"], "audios": 0}
    row = {"id": ODD, "instruction": "a or b?", "label": " "}
    (tmp_path / "task.json").write_text(json.dumps(task))
    (tmp_path / "samples.jsonl").write_text(json.dumps(row))
    (tmp_path / "answers.jsonl").write_text(json.dumps({**row, "target": "a", "answer": f"{ODD} a or maybe b"}))
    for command in (
        ("tasks", "list", str(tmp_path)),
        ("tasks", "check", str(tmp_path)),
        ("judge", str(tmp_path / "answers.jsonl"), "--kind", "classification"),
    ):
        printed = CliRunner().invoke(cli, command).output
        assert ODD_SHOWN in printed, command
        assert "\x1b" not in printed
