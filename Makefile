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

docs:
	python scripts/write_cli_docs.py docs/cli.md
