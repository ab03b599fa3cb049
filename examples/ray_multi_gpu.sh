#!/usr/bin/env bash
# One machine with several GPUs: an actor a GPU, each with the model. Run it again to go on after an interruption.
# Usage: MODEL=openai/NAME TASKS=starter examples/ray_multi_gpu.sh
set -euo pipefail

# Ray starts here for this run alone and ends with it. Without --actors there are as many as there are GPUs.
otoscope run "${TASKS:-starter}" --model "${MODEL:-cascade}" --engine ray \
  --gpus-per-actor 1 --cpus-per-actor 4 --batch-size 8 --output "${RUN:-runs/multi-gpu}"
