"""A worker for ``--model 'cmd/python examples/worker.py'``: needs nothing but Python.

It answers from the length of the audio alone, so it is a control as much as an example: what can be scored without
listening? Replace ``answer`` by a call to your model. The protocol is in docs/worker-protocol.md.
"""

import json
import sys
import wave


def seconds(path: str) -> float:
    """Return the duration of a 16-bit WAV file."""
    with wave.open(path) as file:
        return file.getnframes() / file.getframerate()


def answer(audio: list[str], instruction: str) -> str:
    """Return the duration where the instruction asks for seconds, else the word yes."""
    if "second" in instruction.lower():
        return f"{sum(map(seconds, audio)):.2f} seconds"
    return "Yes"


def send(message: dict[str, object]) -> None:
    """Write one line and flush it, so that the host sees it at once."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


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
