"""Rows of a task, read one at a time."""

from otoscope.datasets.samples import count_samples, read_samples, try_samples

__all__ = ["count_samples", "read_samples", "try_samples"]
