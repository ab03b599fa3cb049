"""Models in a process of their own: each way a worker can fail costs at most the sample that made it fail."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MakeTask
from hypothesis import given
from hypothesis import strategies as st

import otoscope
from otoscope.audio import Intake, read_audio
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models import Reply, Request, load_model
from otoscope.models.command import CommandModel, _read_hello, _to_reply
from otoscope.runner.local import Counted, Event

ROOT = Path(__file__).parents[2]
EXAMPLE = f"{sys.executable} {ROOT / 'examples' / 'worker.py'}"

HEAD = """
import itertools, json, os, signal, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
def hello(**more):
    send(**{"type": "hello", "protocol": 1, "id": "w", "batch": 4, **more})
def batches():
    for line in sys.stdin:
        yield json.loads(line)["requests"]
def requests():
    for batch in batches():
        yield from batch
def reply(request, **more):
    send(**{"type": "reply", "id": request["id"], "answer": "re " + request.get("instruction", ""), **more})
def times(name):
    # How often this was called with this name, by any worker of the test.
    with open(os.path.join(os.path.dirname(__file__), name), "a+") as file:
        file.write("x")
        return file.tell()
times("starts")
"""

MakeWorker = Callable[..., str]


@pytest.fixture
def make_worker(tmp_path: Path) -> MakeWorker:
    """Give a function that writes a worker and returns the command that runs it."""

    def make(body: str, *, head: str = HEAD) -> str:
        file = tmp_path / "worker.py"
        file.write_text(head + body)
        return f"{sys.executable} {file}"

    return make


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text())


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def make_requests(count: int, **request: Any) -> list[Request]:
    audio = read_audio((np.zeros(1_600), 16_000))
    return [Request((audio,), f"question {number}", **request) for number in range(count)]


def answers(count: int) -> list[Reply]:
    return [Reply(f"re question {number}") for number in range(count)]


def children(process: int) -> list[int]:
    """Return the ids of the processes that ``process`` has started."""
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(word) for file in files for word in file.read_text().split()]


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}/cmdline").is_file() and bool(Path(f"/proc/{process}/cmdline").read_bytes())


# What happens to a worker once, to whichever request; the number of workers it takes.
PASSING = {
    "is killed in its first batch": (
        "hello()\nfor r in requests():\n    if times('asked') == 3: os.kill(os.getpid(), signal.SIGKILL)\n    reply(r)",
        2,
    ),
    "is killed before each fourth reply": (
        "hello()\nfor n, r in enumerate(requests()):\n    if n == 3: os.kill(os.getpid(), 9)\n    reply(r)",
        3,
    ),
    "ends after each batch": ("hello()\nfor b in batches():\n    for r in b: reply(r)\n    break", None),
    "prints once": ("hello()\nfor r in requests():\n    if times('asked') == 3: print('Loading...')\n    reply(r)", 2),
    "hangs once": ("hello()\nfor r in requests():\n    if times('asked') == 3: time.sleep(60)\n    reply(r)", 2),
    "closes its output once": (
        "hello()\nfor r in requests():\n    if times('asked') == 3: os.close(1); os._exit(0)\n    reply(r)",
        2,
    ),
    "replies in any order": ("hello()\nfor b in batches():\n    for r in b[2:] + b[1::-1]: reply(r)", 1),
    "replies twice": ("hello()\nfor r in requests():\n    reply(r); reply(r, answer='again')", None),
    "replies to the last batch": (
        "hello()\nfor b in batches():\n    if times('n') == 2: reply({'id': 0})\n    for r in b: reply(r)",
        2,
    ),
    "shouts": ("hello()\nfor r in requests():\n    sys.stderr.write('x' * 10**6 + '\\n'); reply(r)", 1),
    "starts slowly": ("time.sleep(0.7)\nhello()\nfor r in requests(): reply(r)", 1),
    "knows more fields": ("hello(longest=None)\nfor r in requests(): reply(r, tokens=3, error=None)", 1),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_worker_that_recovers_costs_nothing(name: str, make_worker: MakeWorker, tmp_path: Path) -> None:
    body, workers = PASSING[name]
    model = CommandModel(make_worker(body), {"timeout": "1.5" if "hangs" in name else "60"})
    requests = make_requests(9)
    assert [*model.answer(requests[:4]), *model.answer(requests[4:])] == answers(9)
    assert workers is None or starts(tmp_path) == workers


# What question 5 does to any worker, and the reason that is logged for it.
POISON = {
    "killed": (
        "os.kill(os.getpid(), signal.SIGKILL)",
        "the worker ended with status -9, as happens when memory runs out",
    ),
    "137": ("os._exit(137)", "the worker ended with status 137, as happens when memory runs out"),
    "traceback": (
        "1 / 0",
        "the worker ended with status 1; its standard error said: Traceback (most recent call last):",
    ),
    "hangs": ("time.sleep(60)", "the worker wrote nothing for 1.5 s"),
    "prints": (
        "print('50%|###', flush=True)",
        r"a line of the worker's standard output is not a JSON object: '50%|###\n'",
    ),
    "binary": ("os.write(1, bytes(range(128, 256)) + b'\\n')", "a line of the worker's standard output is not a JSON"),
    "endless": (
        "[os.write(1, b'x' * 2**20) for _ in range(20)]",
        "a line of the worker's standard output is not a JSON",
    ),
    "array": ("print([5], flush=True)", r"a line of the worker's standard output is not a JSON object: '[5]\n'"),
    "brackets": ("print('[' * 10**5, flush=True)", "a line of the worker's standard output is not a JSON object: '[["),
    "other type": (
        "send(type='progress', id=r['id'])",
        "the worker wrote no reply to a waiting request: {'type': 'prog",
    ),
    "unknown id": (
        "reply({**r, 'id': 99})",
        "the worker wrote no reply to a waiting request: {'type': 'reply', 'id': 99",
    ),
    "id as text": (
        "reply({**r, 'id': str(r['id'])})",
        "the worker wrote no reply to a waiting request: {'type': 'reply'",
    ),
    "no answer": ("reply(r, answer=None); continue", "the worker's reply has no answer and no error: {'type': 'reply'"),
    "a number": ("reply(r, answer=5); continue", "the worker's reply has no answer and no error: {'type': 'reply'"),
    "error": ("reply(r, answer=None, error='too loud'); continue", "too loud"),
    "both": ("reply(r, error='too loud'); continue", "too loud"),
    "speech in a relative path": (
        "reply(r, audio='worker.py'); continue",
        "audio in the worker's reply is no absolute path: 'worker.py'",
    ),
    "speech that is no path": ("reply(r, audio=5); continue", "audio in the worker's reply is no absolute path: 5"),
    "no speech": ("reply(r, audio='/no/such.wav'); continue", "audio in the worker's reply is no file: /no/such.wav"),
    "speech in a folder": ("reply(r, audio='/'); continue", "audio in the worker's reply is no file: /"),
    "speech in a pipe": (
        "path = __file__ + '.pipe'; os.path.exists(path) or os.mkfifo(path); reply(r, audio=path); continue",
        "audio in the worker's reply is no file: ",
    ),
    "speech in no name": (
        "reply(r, audio='/\\0.wav'); continue",
        r"audio in the worker's reply ",
    ),
    "empty speech": (
        "open(__file__ + '.wav', 'w').close(); reply(r, audio=__file__ + '.wav'); continue",
        "audio in the worker's reply is empty: ",
    ),
    "endless speech": (
        "open(__file__ + '.wav', 'w').truncate(2**28 + 1); reply(r, audio=__file__ + '.wav'); continue",
        "audio in the worker's reply is larger than 256 MiB: ",
    ),
}


@pytest.mark.parametrize("name", POISON)
def test_a_poisonous_request_costs_only_itself(name: str, make_worker: MakeWorker, tmp_path: Path) -> None:
    poison, reason = POISON[name]
    body = f"hello()\nfor r in requests():\n    if '5' in r['instruction']:\n        {poison}\n    reply(r)"
    model = CommandModel(make_worker(body), {"timeout": "1.5" if name == "hangs" else "60"})
    requests = make_requests(9)
    replies = [*model.answer(requests[:4]), *model.answer(requests[4:])]
    assert replies[5].answer == ""
    assert replies[5].error.startswith(reason)
    assert [*replies[:5], *replies[6:]] == [*answers(9)[:5], *answers(9)[6:]]
    assert starts(tmp_path) == (1 if "continue" in poison else 3)


def test_a_spoken_answer_is_read_before_the_next_batch(make_worker: MakeWorker) -> None:
    body = (
        "hello()\nfor n, r in enumerate(requests()):\n"
        "    path = f'{__file__}-{n % 4}.wav'; open(path, 'w').write(r['instruction'])\n"
        "    reply(r, audio=path, **({'answer': None} if n % 2 else {}))"
    )
    model = CommandModel(make_worker(body), {})
    questions = [f"question {number}" for number in range(9)]
    assert model.answer(make_requests(9)) == [
        Reply("" if number % 2 else f"re {question}", audio=question.encode())
        for number, question in enumerate(questions)
    ]


def test_a_worker_that_gives_up_stops_at_once(make_worker: MakeWorker, tmp_path: Path) -> None:
    model = CommandModel(make_worker("hello()\nfor r in requests(): send(type='fatal', error='no weights')"), {})
    with pytest.raises(ModelLoadingError, match=r"^cmd: the worker gave up: no weights$"):
        model.answer(make_requests(3))
    assert starts(tmp_path) == 1


def test_a_worker_that_closes_its_output_and_stays(make_worker: MakeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otoscope.models.command.GRACE_SECONDS", 0.2)
    model = CommandModel(make_worker("hello()\nfor r in requests():\n    os.close(1); time.sleep(60)"), {})
    assert model.answer(make_requests(1)) == [Reply(error="the worker closed its standard output")]


def test_a_worker_that_does_not_read_cannot_block(make_worker: MakeWorker) -> None:
    model = CommandModel(make_worker("hello()\ntime.sleep(60)"), {"timeout": "0.3"})
    [reply] = model.answer(make_requests(1, text="x" * 10**6))  # a pipe holds 64 KiB
    assert reply.error == "the worker wrote nothing for 0.3 s"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/no/such/program --fast", "cannot start /no/such/program --fast: No such file or directory"),
        (f"{sys.executable} -c 'print(\"Loading\")'", "is not a JSON object: 'Loading"),
        (
            f"{sys.executable} -c 'import nothing_of_the_kind'",
            "ended with status 1; its standard error said: Traceback",
        ),
        (f"{sys.executable} -c 'print({{}})'", "first line is no hello of protocol 1: {}"),
        (f"{sys.executable} -c 'import time; time.sleep(60)'", "wrote nothing for 0.5 s"),
    ],
)
def test_a_worker_that_cannot_start_is_named(command: str, reason: str) -> None:
    with pytest.raises(ModelLoadingError) as error:
        load_model(f"cmd/{command}", {"start_timeout": "0.5" if "sleep" in command else "30"})
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("protocol=2", "no hello of protocol 1"),
        ("batch=0", "whole number above 0"),
        ("rate='16k'", "whole number above 0"),
        ("clips=True", "whole number above 0"),
        ("longest=-3", "number of seconds above 0"),
        ("id=5", "not text"),
        ("temperature=float('nan')", "NaN, infinity or broken text"),
        ("revision=chr(0xd800)", "NaN, infinity or broken text"),
    ],
)
def test_a_wrong_hello_is_refused(more: str, reason: str, make_worker: MakeWorker) -> None:
    with pytest.raises(ModelLoadingError, match=reason):
        CommandModel(make_worker(f"hello({more})\nsys.stdin.read()"), {})


def test_the_hello_is_the_identity(make_worker: MakeWorker) -> None:
    command = make_worker("hello(rate=8000, clips=2, longest=30.5, temperature=0)\nsys.stdin.read()")
    model = CommandModel(command, {})
    assert (model.id, model.intake, model.batch) == ("cmd/w", Intake(8000, 2, 30.5), 4)
    assert model.settings == {
        "command": command, "id": "w", "rate": 8000, "clips": 2, "longest": 30.5, "temperature": 0
    }  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["answer", "error", "id", "audio"]), st.none() | st.integers() | st.text() | st.lists(st.text())
    )
)
def test_any_reply_is_an_answer_or_an_error(row: dict[str, Any]) -> None:
    reply = _to_reply(row)
    assert not (reply.answer and reply.error)
    assert reply.error or isinstance(row["answer"], str) or row["audio"]


@given(
    st.fixed_dictionaries(
        {"type": st.just("hello"), "protocol": st.just(1)},
        optional={
            name: st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
            for name in ("id", "rate", "clips", "longest", "batch", "revision")
        },
    )
)
def test_any_hello_is_read_or_refused(row: dict[str, Any]) -> None:
    try:
        hello = _read_hello(row)
    except ModelCallError as error:
        assert "hello" in str(error)  # noqa: PT017 - either is right
    else:
        assert min(hello.batch, hello.intake.rate, hello.intake.clips) > 0
        json.dumps(dict(hello.settings), allow_nan=False).encode()


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="no option 'time'; there are timeout, start_timeout"):
        load_model("cmd/true", {"time": "3"})
    with pytest.raises(UsageError, match="timeout=soon is not a number of seconds from"):
        load_model("cmd/true", {"timeout": "soon"})
    with pytest.raises(UsageError, match="not a command: No closing quotation"):
        load_model("cmd/python 'my worker.py")
    with pytest.raises(UsageError, match="name a program"):
        load_model("cmd/ ")


def test_never_more_than_a_batch_at_once(make_worker: MakeWorker) -> None:
    body = "hello()\nfor b in batches():\n    for r in b: reply(r, answer=str(len(b)))"
    replies = CommandModel(make_worker(body), {}).answer(make_requests(10))
    assert [reply.answer for reply in replies] == [*"4444444422"]


def test_a_wrapper_is_killed_with_its_child(make_worker: MakeWorker, tmp_path: Path) -> None:
    body = "open(os.path.join(os.path.dirname(__file__), 'pid'), 'w').write(str(os.getpid()))\nhello()\ntime.sleep(60)"
    model = CommandModel(f"sh -c '{make_worker(body)}; true'", {"timeout": "0.3"})
    assert model.answer(make_requests(1)) == [Reply(error="the worker wrote nothing for 0.3 s")]
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_a_worker_ends_with_its_model(make_worker: MakeWorker, tmp_path: Path) -> None:
    body = "hello()\nfor r in requests(): reply(r)\nopen(os.path.join(os.path.dirname(__file__), 'bye'), 'w').close()"
    model = CommandModel(make_worker(body), {})
    assert model.answer(make_requests(2)) == answers(2)
    del model
    gc.collect()
    assert (tmp_path / "bye").is_file()  # it was let go, not killed


def test_another_model_is_not_taken_for_the_first(make_worker: MakeWorker) -> None:
    body = "hello(revision=str(times('hellos')))\nfor r in requests(): os._exit(3)"
    model = CommandModel(make_worker(body), {})
    with pytest.raises(ModelLoadingError, match="the worker came back as another model"):
        model.answer(make_requests(1))


def run_cli(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_a_worker_that_cannot_come_back_stops_a_run_that_can(
    make_worker: MakeWorker, make_task: MakeTask, tmp_path: Path
) -> None:
    body = (
        "if times('lives') == 2: sys.exit(4)\nhello()\nfor r in requests():\n    if times('asked') == 7: sys.exit(3)\n"
    )
    command = make_worker(body + "    reply(r, answer='high')")
    arguments = (str(make_task(12)), "--model", f"cmd/{command}", "--judge", "rules", "-o", str(tmp_path / "run"))
    stopped = run_cli(*arguments)
    assert stopped.returncode == 1
    assert "worker.py: the worker ended with status 4" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    log = tmp_path / "run" / "predictions.jsonl"
    assert len(read_lines(log)) == 4
    assert run_cli(*arguments).returncode == 0
    predictions = read_lines(log)
    assert {row["status"] for row in predictions} == {"ok"}
    assert len({row["key"] for row in predictions}) == len(predictions) == 12


# What becomes of a worker at the third question, once and for all; the reason that is logged, or none.
TROUBLES = {
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "the worker ended with status -9, as happens when memory"),
    "runs out of memory in a container": ("os._exit(137)", "the worker ended with status 137, as happens when memory"),
    "hangs": ("time.sleep(60)", "the worker wrote nothing for 2 s"),
    "writes garbage": ("os.write(1, bytes(range(256)))", "a line of the worker's standard output is not a JSON object"),
}


@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("name", TROUBLES)
def test_no_trouble_of_a_worker_loses_a_sample(
    name: str, once: bool, make_worker: MakeWorker, make_task: MakeTask, tmp_path: Path
) -> None:
    trouble, reason = TROUBLES[name]
    when = f"not os.path.exists({str(tmp_path / 'well')!r})" + (" and times('troubles') == 1" if once else "")
    body = f"hello()\nfor r in requests():\n    if 'tone 3 ' in r['instruction'] and {when}: {trouble}\n"
    command = make_worker(body + "    reply(r, answer='low' if int(r['instruction'].split()[2]) % 2 else 'high')")
    log = tmp_path / "run" / "predictions.jsonl"
    arguments = (str(make_task(10)), "--model", f"cmd/{command}", "--judge", "rules", "-o", str(log.parent))
    first = run_cli(*arguments, "-M", "timeout=2" if name == "hangs" else "timeout=60")
    rows = {row["sample"]: row for row in read_lines(log)}
    assert len(rows) == len({row["key"] for row in rows.values()}) == 10
    lost = [] if once else ["r3"]
    assert [sample for sample, row in rows.items() if row["status"] == "error"] == lost
    assert first.returncode == (1 if lost else 0)
    assert all(rows[sample]["reason"].startswith(reason) for sample in lost)
    assert "Traceback" not in first.stderr
    assert len(read_lines(log.parent / "samples.jsonl")) == 10

    (tmp_path / "well").touch()
    asked = len(read_lines(log))
    again = run_cli(*arguments, "-M", "timeout=60")
    assert again.returncode == 0, again.stderr
    assert len(read_lines(log)) == asked + len(lost)  # only what was lost is asked again
    counts = json.loads((log.parent / "scores.json").read_text("utf-8"))["tasks"][0]["counts"]
    assert counts["ok"] == sum(counts.values()) == 10


def test_a_worker_that_starts_too_slowly_is_named_and_waited_for_longer(
    make_worker: MakeWorker, make_task: MakeTask, tmp_path: Path
) -> None:
    # At its second start it takes long: a run that has begun stops there, and keeps what it has.
    body = (
        "if times('lives') == 2: time.sleep(60)\nhello()\nfor r in requests():\n"
        "    if times('asked') == 7: sys.exit(3)\n    reply(r, answer='high')"
    )
    arguments = (str(make_task(10)), "--model", f"cmd/{make_worker(body)}", "--judge", "rules", "-o")
    folder = tmp_path / "run"
    stopped = run_cli(*arguments, str(folder), "-M", "start_timeout=3")
    assert stopped.returncode == 1
    assert "the worker wrote nothing for 3 s" in stopped.stderr
    assert len(read_lines(folder / "predictions.jsonl")) == 4
    assert run_cli(*arguments, str(folder)).returncode == 0
    assert [row["status"] for row in read_lines(folder / "predictions.jsonl")] == ["ok"] * 10


def test_the_example_from_the_command_line(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    options = ("--model", "cmd/python examples/worker.py", "--judge", "rules", "-o", str(tmp_path))
    result = run_cli("starter", *options, cwd=ROOT, env={**os.environ, "PATH": path})
    assert result.returncode == 1, result.stderr  # it says "Yes" to everything, which the rules leave undecided
    samples, predictions = read_lines(tmp_path / "samples.jsonl"), read_lines(tmp_path / "predictions.jsonl")
    assert Counter(row["key"] for row in predictions) == Counter({row["prediction"] for row in samples})
    assert {row["status"] for row in predictions} == {"ok"}
    scores = json.loads((tmp_path / "scores.json").read_text("utf-8"))["tasks"]
    assert next(score["value"] for score in scores if score["task"] == "starter/duration") < 0.01


def test_the_example_killed_again_and_again_answers_everything(tmp_path: Path) -> None:
    whole = otoscope.run("starter", model=f"cmd/{EXAMPLE}", judge="rules", folder=tmp_path / "whole")
    model = CommandModel(EXAMPLE, {})
    counted = Counter[str]()

    def watch(event: Event) -> None:
        counted[type(event).__name__] += 1
        if isinstance(event, Counted) and counted["Counted"] % 20 == 0:
            for child in children(os.getpid()):
                if b"worker.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)
                    counted["killed"] += 1

    result = otoscope.run("starter", model=model, judge="rules", folder=tmp_path / "run", watch=watch)
    assert counted["killed"] >= 5
    assert result.to_json()["missing"] == whole.to_json()["missing"]
    logs = [read_lines(tmp_path / name / "predictions.jsonl") for name in ("whole", "run")]
    first, second = ({row["key"]: (row["status"], row["answer"]) for row in log} for log in logs)
    assert first == second
    assert len(logs[1]) == len(second)


def test_the_example_killed_from_outside_in_the_middle(make_task: MakeTask, tmp_path: Path) -> None:
    log = tmp_path / "run" / "predictions.jsonl"
    arguments = (
        "run",
        str(make_task(400)),
        "--model",
        f"cmd/{EXAMPLE}",
        "--judge",
        "rules",
        "-o",
        str(tmp_path / "run"),
    )
    with subprocess.Popen([sys.executable, "-m", "otoscope", *arguments], stdout=subprocess.DEVNULL) as host:
        while not log.is_file() or not log.stat().st_size:
            time.sleep(0.005)
        [worker] = children(host.pid)
        os.kill(worker, signal.SIGKILL)
        done = len(log.read_bytes().splitlines())
    assert 0 < done < 400
    predictions = read_lines(log)
    assert len({row["key"] for row in predictions}) == len(predictions) == 400
    assert {row["status"] for row in predictions} == {"ok"}


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_host(end: signal.Signals, make_task: MakeTask, tmp_path: Path) -> None:
    log = tmp_path / "run" / "predictions.jsonl"
    arguments = ("run", str(make_task(200)), "--model", f"cmd/{EXAMPLE}", "--judge", "rules", "-o", str(log.parent))
    with subprocess.Popen([sys.executable, "-m", "otoscope", *arguments], stdout=subprocess.DEVNULL) as host:
        while not log.is_file() or not log.stat().st_size:
            time.sleep(0.005)
        [worker] = children(host.pid)
        host.send_signal(end)
    for _ in range(2_000):
        if not is_alive(worker):
            break
        time.sleep(0.005)
    assert not is_alive(worker)
