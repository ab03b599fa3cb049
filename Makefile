.PHONY: lint types test bench docs

lint:
	ruff check .
	ruff format --check .

types:
	mypy

test:
	pytest

bench:
	python benchmarks/null_model.py
	python benchmarks/edit.py
	python benchmarks/memory.py
	python benchmarks/gate_vad.py  # also needs: pip install silero-vad torch
	python benchmarks/whisper_score.py
	python benchmarks/throughput.py

docs:
	python scripts/write_cli_docs.py docs/cli.md
	python scripts/write_model_docs.py docs/models.md
