"""Peak memory of a run over 200,000 samples in one task against one over 2,000, with the null model.

The samples have no clips, and each its own instruction and source, so that nothing is shared. Prints the peak resident
memory and the CPU seconds of each child process, and the difference of the peaks (goal: 50 MB).

usage: python benchmarks/memory.py [SAMPLES]
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FEW, MANY = 2_000, 200_000
KINDS = {
    "classification": ("accuracy", "a"),
    "regression": ("mse", "3.5"),
    "sequence": ("wer", "the quick brown fox"),
}


def make_task(folder: Path, kind: str, samples: int) -> None:
    """Write a task of that many samples; targets of sequences differ."""
    metric, target = KINDS[kind]
    folder.mkdir()
    task = {"name": folder.name, "kind": kind, "metrics": [metric], "audios": 0, "options": ["a", "b"]}
    (folder / "task.json").write_text(json.dumps(task))
    with (folder / "samples.jsonl").open("w") as file:
        for number in range(samples):
            label = f"{target} {number}" if kind == "sequence" else target
            row = {"id": f"recording-{number}", "instruction": f"What is at {number}?", "label": label}
            file.write(json.dumps({**row, "cluster": f"speaker-{number}"}) + "\n")


def measure(*arguments: str) -> tuple[float, float]:
    """Return the peak resident memory (MB) and the CPU seconds of one child process."""
    null = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-m", "otoscope", *arguments], stdout=null, stderr=null) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"otoscope {' '.join(arguments)} exited with {process.returncode}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print the figures."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    for kind in KINDS:
        peaks = []
        for samples in (FEW, many):
            with tempfile.TemporaryDirectory() as name:
                make_task(Path(name, "task"), kind, samples)
                options = ("--model", "null", "--judge", "rules", "-o", f"{name}/run")
                peak, seconds = measure("run", f"{name}/task", *options)
            print(f"{kind}, {samples} samples: peak {peak:.0f} MB, {seconds:.1f} s CPU", flush=True)
            peaks.append(peak)
        print(f"{kind}: {peaks[1] - peaks[0]:.0f} MB more (goal 50)", flush=True)


if __name__ == "__main__":
    main()
