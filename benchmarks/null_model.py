"""CPU of a whole run over 1,000 one-second clips with the null model, and of ``otoscope --help``.

Run: ``python benchmarks/null_model.py [CLIPS]``. Prints the CPU seconds of the child process, start to finish.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile


def make_task(folder: Path, clips: int) -> None:
    """Write a task of noise clips, one second each at 16 kHz."""
    (folder / "task.json").write_text(json.dumps({"name": "noise", "metrics": ["accuracy"], "options": ["a", "b"]}))
    noise = np.random.default_rng(0)
    rows = []
    for number in range(clips):
        soundfile.write(folder / f"{number}.wav", noise.uniform(-0.1, 0.1, 16_000), 16_000)
        rows.append(json.dumps({"audio": f"{number}.wav", "instruction": "Is it a or b?", "label": "a"}))
    (folder / "samples.jsonl").write_text("\n".join(rows) + "\n")


def cpu_seconds(*arguments: str) -> float:
    """Return user and system CPU seconds of one child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "otoscope", *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the figures."""
    clips = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"otoscope --help: {min(cpu_seconds('--help') for _ in range(5)):.3f} s CPU")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_task(folder, clips)
        run = ("run", str(folder), "--model", "null", "--judge", "rules", "-o")
        seconds = min(cpu_seconds(*run, f"{name}/run-{number}") for number in range(3))
        print(f"{clips} clips, null model: {seconds:.2f} s CPU")


if __name__ == "__main__":
    main()
