"""The outline of the authors' program: the options and the table it reads, the file it writes, and no model."""

import argparse
import csv
import os
from pathlib import Path

from stub_audio import describe

parser = argparse.ArgumentParser()
parser.add_argument("data", type=Path)
for name in ("user-dir", "tokenizer-path", "gen-subset", "task", "path", "scoring"):
    parser.add_argument(f"--{name}", required=True)
parser.add_argument("--results-path", type=Path, required=True)
parser.add_argument("--skip-invalid-size-inputs-valid-test", action="store_true")
for name in ("max-tokens", "beam", "nbest", "max-len-a", "max-len-b"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("--sampling", action="store_true")
options = parser.parse_args()

assert not options.sampling
assert (options.beam, options.nbest, options.max_len_a, options.max_len_b) == (1, 1, 0, 512)
assert options.task == "speechllm_task"
assert Path(options.path).is_absolute()
assert Path(options.tokenizer_path).is_file()
assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(Path.cwd())
assert (options.data / "dict.txt").is_file()

rows = (options.data / f"{options.gen_subset}.tsv").open(encoding="utf-8", newline="")
with rows, (options.results_path / f"generate-{options.gen_subset}.txt").open("w", encoding="utf-8") as results:
    for number, row in enumerate(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n")):
        assert row["with_speech"] == "True"
        assert row["tgt_text"]
        heard = describe(row["audio"], 16_000)
        assert heard == f"{int(row['n_frames']) / 16_000:.2f}s"
        answer = f"{heard}: {row['prompt']}"
        print(f"T-{number}\t{row['tgt_text']}", file=results)
        print(f"D-{number}\t-0.5\t{answer!r}", file=results)
    print("Generate requests with beam=1: WER: 0", file=results)
