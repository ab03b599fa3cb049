"""SURE: does a clip hold enough speech to be answered? Building the sets that measure it."""
