"""Shards of a run: every sample once, and merged as if never split."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import MakeTask
from test_run import Counting, answering, timeless

import otoscope
from otoscope.cli.merge import command as merge_command
from otoscope.errors import RunError, UsageError
from otoscope.models import Reply, Request
from otoscope.runner.shard import Shard
from otoscope.task import PACKAGE

AUDIO = PACKAGE / "starter" / "audio"


def run_shards(tasks: list[str], folder: Path, of: int, **options: Any) -> list[Path]:
    """Run every shard in its own folder; return the folders in no particular order."""
    paths = []
    for number in range(1, of + 1):
        paths.append(folder / f"part-{number}")
        otoscope.run(tasks, model=Counting(), folder=paths[-1], shard=f"{number}/{of}", **options)
    random.Random(of).shuffle(paths)
    return paths


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("of", [1, 2, 7, 100])
@pytest.mark.parametrize("samples", [0, 1, 13, 200])
def test_shards_cover_every_sample_once(of: int, samples: int) -> None:
    for task in ("a", "b/c", "starter/pitch"):
        shards = [Shard(number, of) for number in range(1, of + 1)]
        parts = [list(shard.part(task, range(samples))) for shard in shards]
        assert sorted(sample for part in parts for sample in part) == list(range(samples))
        assert [shard.count(task, samples) for shard in shards] == [len(part) for part in parts]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "a/b", "1/2/3", "-1/2", ""])
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard"):
        Shard.read(text)


@pytest.mark.parametrize("of", [1, 2, 3, 9])
def test_merged_shards_score_as_one_run(make_task: MakeTask, tmp_path: Path, of: int) -> None:
    first, second = make_task(13, name="first"), make_task(5, name="second")
    (first / "4.wav").write_bytes(b"not audio")
    tasks = [str(first), str(second)]
    whole = otoscope.run(tasks, model=Counting(), folder=tmp_path / "whole")
    merged = otoscope.merge_runs(run_shards(tasks, tmp_path, of), tmp_path / "merged")
    assert merged.missing == whole.missing
    assert timeless(tmp_path / "merged") == timeless(tmp_path / "whole")
    assert (tmp_path / "merged" / "samples.jsonl").read_bytes() == (tmp_path / "whole" / "samples.jsonl").read_bytes()
    model = Counting()
    again = otoscope.run(tasks, model=model, folder=tmp_path / "merged")
    assert (model.calls, again.made) == (0, 0), "the merged run is a run like any other"


def test_spoken_answers_are_merged_with_their_records(make_task: MakeTask, tmp_path: Path) -> None:
    clip = next(AUDIO.glob("*.flac")).read_bytes()

    def speak(request: Request) -> Reply:
        return Reply(request.instruction, audio=clip)

    task, parts = str(make_task(4)), []
    for number in (1, 2):
        parts.append(tmp_path / f"part-{number}")
        otoscope.run(task, model=speak, folder=parts[-1], shard=f"{number}/2")
    otoscope.merge_runs(parts, tmp_path / "merged")
    spoken = [row["spoken"] for row in rows(tmp_path / "merged", "predictions.jsonl")]
    assert len(spoken) == 4
    assert all((tmp_path / "merged" / file).read_bytes() == clip for file in spoken)


def test_shards_written_down_by_different_recognisers_are_refused(make_task: MakeTask, tmp_path: Path) -> None:
    clip, task = next(AUDIO.glob("*-digits-*.flac")).read_bytes(), str(make_task(4))

    def speak(_request: Request) -> Reply:
        return Reply(audio=clip)

    def part(number: int, asr: str, model: Any = speak) -> Path:
        folder = tmp_path / f"{number}-{asr}"
        otoscope.run(task, model=model, folder=folder, shard=f"{number}/2", asr=asr)
        return folder

    one, two = part(1, "whisper-tiny.en"), part(2, "whisper-base")
    with pytest.raises(RunError, match=r"differ in who wrote .* down: whisper-tiny.en \w+ and whisper-base"):
        otoscope.merge_runs([one, two], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    otoscope.run(task, model=speak, folder=two, shard="2/2", asr="whisper-tiny.en")
    assert otoscope.merge_runs([one, two], tmp_path / "merged").to_json()["written_down_by"].keys() == {
        row["asr"] for row in rows(one, "predictions.jsonl")
    }
    for number, asr in ((1, "whisper-tiny.en"), (2, "whisper-base")):  # nobody spoke, so nobody wrote it down
        otoscope.run(task, model="null", folder=tmp_path / f"null-{number}", shard=f"{number}/2", asr=asr)
    otoscope.merge_runs([tmp_path / "null-1", tmp_path / "null-2"], tmp_path / "null")


def test_a_limit_is_dealt_out_too(make_task: MakeTask, tmp_path: Path) -> None:
    task = [str(make_task(20))]
    otoscope.run(task, model=Counting(), folder=tmp_path / "whole", limit=7, seed=3)
    otoscope.merge_runs(run_shards(task, tmp_path, 3, limit=7, seed=3), tmp_path / "merged")
    assert timeless(tmp_path / "merged") == timeless(tmp_path / "whole")


def test_a_wrong_row_stops_its_task_in_every_shard(make_task: MakeTask, tmp_path: Path) -> None:
    bad, good = make_task(6, name="bad"), make_task(6, name="good")
    text = (bad / "samples.jsonl").read_text()
    (bad / "samples.jsonl").write_text(text.replace('"id": "r5"', '"id": "r1"'))
    tasks = [str(bad), str(good)]
    otoscope.run(tasks, model=Counting(), folder=tmp_path / "whole")
    otoscope.merge_runs(run_shards(tasks, tmp_path, 4), tmp_path / "merged")
    assert timeless(tmp_path / "merged") == timeless(tmp_path / "whole")


def test_one_request_in_two_shards_is_one_record(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(1)
    row = json.loads((task / "samples.jsonl").read_text())
    (task / "samples.jsonl").write_text("".join(json.dumps({**row, "id": name}) + "\n" for name in "abcd"))
    otoscope.merge_runs(run_shards([str(task)], tmp_path, 2), tmp_path / "merged")
    assert len(rows(tmp_path / "merged", "predictions.jsonl")) == 1
    assert len(rows(tmp_path / "merged", "samples.jsonl")) == 4


def test_shards_have_folders_of_their_own(make_task: MakeTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = str(make_task(4))
    monkeypatch.chdir(tmp_path)
    names = [otoscope.run(task, model="null", shard=f"{number}/2").folder.name for number in (1, 2)]
    assert [name.rpartition("--")[2] for name in names] == ["shard-1-of-2", "shard-2-of-2"]


def test_what_does_not_belong_together_is_refused(make_task: MakeTask, tmp_path: Path) -> None:
    task, merged = [str(make_task(6))], tmp_path / "merged"
    one, two = sorted(run_shards(task, tmp_path, 2))
    otoscope.run(task, model=answering("low"), folder=tmp_path / "model", shard="2/2")
    otoscope.run(task, model=Counting(), folder=tmp_path / "limit", shard="2/2", limit=2)
    otoscope.run(task, model=Counting(), folder=tmp_path / "third", shard="2/3")
    otoscope.run(task, model=Counting(), folder=tmp_path / "whole")
    for paths, message in (
        ([one, tmp_path / "model"], "differ in model"),
        ([one, tmp_path / "limit"], "differ in limit"),
        ([one, tmp_path / "third"], "is shard 1/2 and .* is shard 2/3"),
        ([one, tmp_path / "whole"], "whole: is no shard"),
        ([one, one], "are both shard 1/2"),
        ([two], "absent: shard 1/2"),
        ([one, tmp_path], "not a run folder"),
    ):
        with pytest.raises(RunError, match=message):
            otoscope.merge_runs(paths, merged)
        assert not merged.exists()
    with pytest.raises(RunError, match="is a run already"):
        otoscope.merge_runs([one, two], one)


def test_rows_that_changed_between_shards_are_noticed(make_task: MakeTask, tmp_path: Path) -> None:
    task = make_task(6)
    otoscope.run(str(task), model=Counting(), folder=tmp_path / "part-1", shard="1/2")
    lines = (task / "samples.jsonl").read_text().splitlines(keepends=True)
    (task / "samples.jsonl").write_text("".join(lines[:2]))
    otoscope.run(str(task), model=Counting(), folder=tmp_path / "part-2", shard="2/2")
    with pytest.raises(RunError, match="its rows have changed"):
        otoscope.merge_runs([tmp_path / "part-1", tmp_path / "part-2"], tmp_path / "merged")


def reverse(lines: list[str]) -> list[str]:
    return lines[::-1]


def rotate_by_two(lines: list[str]) -> list[str]:
    return lines[2:] + lines[:2]


def relabel(lines: list[str]) -> list[str]:
    return [line.replace('"label": "low"', '"label": "high"') for line in lines]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (reverse, r"part-1 and .*part-2 both have sample 'r\d' of task tones; its rows have changed"),
        (rotate_by_two, "task tones: its rows are not the same in both, or not in the same order"),
        (relabel, "task tones: its rows are not the same in both, or not in the same order"),
    ],
)
def test_shards_of_other_rows_are_refused(
    make_task: MakeTask, tmp_path: Path, change: Callable[[list[str]], list[str]], message: str
) -> None:
    task = make_task(10)
    otoscope.run(str(task), model=Counting(), folder=tmp_path / "part-1", shard="1/2")
    lines = (task / "samples.jsonl").read_text().splitlines(keepends=True)
    (task / "samples.jsonl").write_text("".join(change(lines)))
    otoscope.run(str(task), model=Counting(), folder=tmp_path / "part-2", shard="2/2")
    with pytest.raises(RunError, match=message):
        otoscope.merge_runs([tmp_path / "part-1", tmp_path / "part-2"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
    otoscope.run(str(task), model=Counting(), folder=tmp_path / "part-1", shard="1/2")
    whole = otoscope.run(str(task), model=Counting(), folder=tmp_path / "whole")
    merged = otoscope.merge_runs([tmp_path / "part-1", tmp_path / "part-2"], tmp_path / "merged")
    assert merged.scores[0].value == whole.scores[0].value


def test_an_unfinished_shard_is_named(make_task: MakeTask, tmp_path: Path) -> None:
    task = str(make_task(6))

    class StopError(BaseException):
        """As an interrupt."""

    def watch(_event: object) -> None:
        raise StopError

    with pytest.raises(StopError):
        otoscope.run(task, model=Counting(), folder=tmp_path / "part-1", shard="1/2", watch=watch)
    otoscope.run(task, model=Counting(), folder=tmp_path / "part-2", shard="2/2")
    with pytest.raises(RunError, match="shard 1/2 is not finished"):
        otoscope.merge_runs([tmp_path / "part-1", tmp_path / "part-2"], tmp_path / "merged")


def test_an_interrupted_merge_is_done_by_the_same_command(make_task: MakeTask, tmp_path: Path) -> None:
    task = [str(make_task(6))]
    paths = run_shards(task, tmp_path, 2)
    otoscope.merge_runs(paths, tmp_path / "merged")
    expected = timeless(tmp_path / "merged")
    (tmp_path / "merged" / "header.jsonl").unlink()  # what is written last
    otoscope.merge_runs(paths, tmp_path / "merged")
    assert timeless(tmp_path / "merged") == expected
    assert len(rows(tmp_path / "merged", "predictions.jsonl")) == 6


def test_the_command_prints_what_api_returns(make_task: MakeTask, tmp_path: Path) -> None:
    paths = [str(path) for path in run_shards([str(make_task(6))], tmp_path, 2)]
    result = CliRunner().invoke(merge_command, [*paths, "-o", str(tmp_path / "merged"), "--json"])
    assert json.loads(result.stdout) == json.loads((tmp_path / "merged" / "scores.json").read_text())
