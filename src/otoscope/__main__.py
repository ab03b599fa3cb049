"""``python -m otoscope`` is ``otoscope``."""

from otoscope.cli.main import main

if __name__ == "__main__":
    main()
