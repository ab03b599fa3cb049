"""What the documentation shows is what happens."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import write_clip

from otoscope.task import read_task

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def in_shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/bash", "-e", "-c", script], cwd=folder, capture_output=True, text=True, check=False, env={"PATH": path}
    )


def test_the_python_example_runs(tmp_path: Path) -> None:
    [code] = blocks("python")
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "starter/duration mse" in result.stdout


def test_your_own_data_in_five_minutes(tmp_path: Path) -> None:
    script = next(block for block in blocks("sh") if "mkdir my-task" in block)
    write_clip(tmp_path / "door.wav")
    write_clip(tmp_path / "bell.wav", frequency=900)
    result = in_shell(script, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    (tmp_path / "my-task" / "bell.wav").write_bytes(b"RIFF")
    broken = in_shell("otoscope run my-task --model null --judge rules", tmp_path)
    assert broken.returncode == 1
    assert "undecodable: bell.wav" in broken.stdout


def test_the_command_page_is_what_the_commands_say(tmp_path: Path) -> None:
    # In a process of its own: click keeps what a command run earlier in this one has set.
    command = [sys.executable, str(ROOT / "scripts" / "write_cli_docs.py"), str(tmp_path / "cli.md")]
    subprocess.run(command, check=True)
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == (tmp_path / "cli.md").read_text("utf-8"), "run: make docs"


def test_the_page_of_tasks_names_every_key_and_its_example_is_a_task(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tasks.md").read_text("utf-8")
    schema = json.loads((ROOT / "src" / "otoscope" / "task.schema.json").read_text("utf-8"))["properties"]
    nested = {**schema["columns"]["properties"], **schema["target_format"]["properties"]}
    assert not [key for key in {**schema, **nested} if f"`{key}`" not in page]
    [example] = re.findall(r"^```json\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "task.json").write_text(example)
    assert "unit:degrees" in read_task(tmp_path).metric("angle_difference").signature


@pytest.mark.parametrize(
    "page", sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    file = ROOT / page
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read_text("utf-8")):
        assert (file.parent / target).exists(), f"{page} links to {target}"
