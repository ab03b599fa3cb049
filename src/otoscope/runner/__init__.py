"""The stages of a run, and the log they share."""
