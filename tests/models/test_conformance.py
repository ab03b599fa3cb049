"""The conformance test passes a good worker, and names the rule that a bad one breaks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from otoscope.conformance import check_worker
from otoscope.errors import UsageError

ROOT = Path(__file__).parents[2]
EXAMPLE = f"{sys.executable} {ROOT / 'examples' / 'worker.py'}"

HEAD = """
import json, os, sys, time, wave
def send(**message):
    print(json.dumps(message), flush=True)
def hello(**more):
    send(**{"type": "hello", "protocol": 1, "id": "w", "batch": 3, **more})
def batches():
    for line in sys.stdin:
        yield json.loads(line)["requests"]
def requests():
    for batch in batches():
        yield from batch
def reply(request, **more):
    send(**{"type": "reply", "id": request["id"], "answer": "yes", **more})
def frames(request):
    return sum(wave.open(path).getnframes() for path in request["audio"])
def listen(request, most=10**9):
    try:
        ok = frames(request) <= most
    except OSError as error:
        return reply(request, answer=None, error=str(error))
    return reply(request) if ok else reply(request, error="too long")
"""

#: What a worker does wrong, and the rules that it breaks.
BAD = {
    "hello()\nfor r in requests(): listen(r)": [],
    "print('Loading')": ["says hello"],
    "hello(id=str(time.time()))\nfor r in requests(): listen(r)": ["says the same hello again"],
    "hello()\nfor b in batches():\n    if len(b) == 3: os._exit(1)\n    for r in b: listen(r)": [
        "answers full and smaller batches",
        "lets a broken request cost only itself",
    ],
    "hello()\nfor r in requests(): r['audio'][0]; listen(r)": ["replies to a request without audio"],
    "hello(clips=3)\nfor r in requests():\n    reply(r, error='many') if len(r['audio']) > 2 else listen(r)": [
        "takes as many clips as it says"
    ],
    "hello()\nfor r in requests():\n    1 / (not r['audio'] or 'no-such' in r['audio'][0] or frames(r) > 9_000)\n    "
    "listen(r)": ["takes a clip of 0.1 s"],
    "hello(longest=40)\nfor r in requests(): listen(r, most=30 * 16_000)": ["takes a clip as long as it says"],
    "hello()\nfor r in requests(): r['instruction'].encode('latin-1'); listen(r)": ["takes any text"],
    "hello()\nfor r in requests():\n    assert set(r) == {'id', 'audio', 'instruction', 'text'}\n    listen(r)": [
        "ignores fields it does not know"
    ],
    "hello()\nfor r in requests(): frames(r); reply(r)": ["lets a broken request cost only itself"],
    "hello()\nfor r in requests(): reply(r)": ["lets a broken request cost only itself"],
    "hello()\nfor r in requests(): frames(r) if 'no-such' not in str(r) else 0; "
    "reply(r, **({'error': 'e'} if 'no-such' in str(r) else {'answer': str(time.time())}))": ["answers the same twice"],
    "hello()\nfor r in requests(): listen(r)\ntime.sleep(60)": ["ends with its standard input"],
    "hello()\nfor r in requests(): listen(r)\nprint('bye')": ["writes nothing but the protocol"],
}


def write(folder: Path, body: str) -> str:
    (folder / "worker.py").write_text(HEAD + body)
    return f"{sys.executable} {folder / 'worker.py'}"


@pytest.mark.parametrize("body", BAD)
def test_a_bad_worker_is_told_the_rule_it_breaks(body: str, tmp_path: Path) -> None:
    findings = list(check_worker(write(tmp_path, body), {"timeout": "30"}))
    assert [finding.rule for finding in findings if not finding.passed] == BAD[body]
    for finding in findings:
        assert bool(finding.detail) == bool(finding.advice) == (not finding.passed)


def test_a_worker_for_one_batch_is_told_so_first(tmp_path: Path) -> None:
    body = "hello()\nfor b in batches():\n    for r in b: listen(r)\n    break"
    failed = [finding.rule for finding in check_worker(write(tmp_path, body), {}) if not finding.passed]
    assert failed[0] == "stays for further batches"


def test_no_clip_is_longer_than_the_worker_takes(tmp_path: Path) -> None:
    body = "hello(longest=0.5)\nfor r in requests(): listen(r, most=8_000)"
    assert [finding for finding in check_worker(write(tmp_path, body), {}) if not finding.passed] == []


def test_no_worker_outlives_a_check_that_is_broken_off(tmp_path: Path) -> None:
    body = (
        "open(__file__ + '.pid', 'w').write(str(os.getpid()))\nhello()\nfor r in requests(): listen(r)\ntime.sleep(60)"
    )
    findings = check_worker(write(tmp_path, body), {})
    next(findings)
    next(findings)
    findings.close()
    assert not Path(f"/proc/{(tmp_path / 'worker.py.pid').read_text()}").exists()


def test_only_what_comes_to_the_request_is_taken_for_its_reply(tmp_path: Path) -> None:
    body = "hello()\nfor r in requests(): listen(r); print('50%|###', flush=True)"
    findings = {finding.rule: finding for finding in check_worker(write(tmp_path, body), {"timeout": "30"})}
    assert not findings["stays for further batches"].passed
    assert "50%|###" in findings["stays for further batches"].detail


def test_a_worker_that_hangs_is_given_up_for_each_rule(tmp_path: Path) -> None:
    findings = list(check_worker(write(tmp_path, "hello()\ntime.sleep(60)"), {"timeout": "0.3"}))
    by_rule = {finding.rule: finding for finding in findings}
    assert by_rule["answers a request"].detail == "the worker wrote nothing for 0.3 s"
    assert not by_rule["ends with its standard input"].passed


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otoscope", "models", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_example_conforms() -> None:
    result = run(f"cmd/{EXAMPLE}")
    assert (result.returncode, result.stderr, "FAIL" in result.stdout) == (0, "", False)
    assert result.stdout.startswith("pass  says hello\n")


def test_a_failure_is_printed_with_what_to_do(tmp_path: Path) -> None:
    command = write(tmp_path, "hello()\nfor r in requests(): reply(r)")
    result = run(f"cmd/{command}", "-M", "timeout=30")
    assert result.returncode == 1
    assert "FAIL  lets a broken request cost only itself\n" in result.stdout
    assert "      asked about a file that does not exist, it answered 'yes'\n" in result.stdout
    assert "      to do: open every path in audio" in result.stdout
    as_json = run(f"cmd/{command}", "--json")
    findings = json.loads(as_json.stdout)
    assert as_json.returncode == 1
    assert [finding["rule"] for finding in findings if not finding["passed"]] == [
        "lets a broken request cost only itself"
    ]


def test_only_workers_can_be_checked(tmp_path: Path) -> None:
    assert run("null").returncode == 2
    assert "only workers can be checked" in run("openai/gpt").stderr
    with pytest.raises(UsageError, match="no option 'speed'"):
        list(check_worker(write(tmp_path, ""), {"speed": "1"}))
