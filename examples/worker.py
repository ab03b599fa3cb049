"""A worker for ``--model 'cmd/python examples/worker.py'``: needs nothing but Python.

It answers from the length of the audio alone, so it is a control as much as an example: what can be scored without
listening? Replace ``answer`` by a call to your model. The protocol is in docs/worker-protocol.md;
``otoscope models workers FOLDER`` gives you a file that speaks it for you.
"""

from __future__ import annotations

import json
import os
import sys
import wave

# The protocol keeps standard output for itself: whatever else is printed, by any library, goes to standard error.
OUTPUT = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def seconds(path: str) -> float:
    """Return the duration of a 16-bit WAV file."""
    with wave.open(path, "rb") as file:
        return file.getnframes() / file.getframerate()


def answer(audio: list[str], instruction: str) -> str:
    """Return the duration where the instruction asks for seconds, else the word yes."""
    duration = sum(map(seconds, audio))
    return f"{duration:.2f} seconds" if "second" in instruction.lower() else "Yes"


def send(message: dict[str, object]) -> None:
    """Write one line and flush it, so that the host sees it at once."""
    OUTPUT.write(json.dumps(message) + "\n")
    OUTPUT.flush()


def main() -> None:
    """Say hello, then answer every batch until standard input ends."""
    send({"type": "hello", "protocol": 1, "id": "example", "revision": "1", "rate": 16000, "clips": 2, "batch": 4})
    for line in sys.stdin:
        for request in json.loads(line)["requests"]:
            try:
                reply = {"answer": answer(request["audio"], request["instruction"])}
            except (OSError, wave.Error) as error:
                reply = {"error": str(error)}
            send({"type": "reply", "id": request["id"], **reply})


if __name__ == "__main__":
    main()
