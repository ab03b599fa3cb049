"""Parts of ``build_starter.py``: packages, clips, music and tasks of the starter suite."""
