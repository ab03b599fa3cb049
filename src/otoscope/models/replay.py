"""Replay the answers of a stored run, so that a judge, a metric or a gate can change without calling a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from otoscope.audio import Intake
from otoscope.errors import ModelLoadingError
from otoscope.models.protocol import Reply, Request
from otoscope.records import digest
from otoscope.runner.log import Log


def request_digest(digests: Sequence[str], instruction: str, text: str) -> str:
    """Return what identifies a request to any model: decoded audio content, instruction and text."""
    return digest(*digests, instruction, text)


class _Stored(NamedTuple):
    """An answer, and where it was spoken: its file, and the speech recognition that wrote it down, if one did."""

    answer: str
    spoken: str
    asr: str


class ReplayModel:
    """Answers with what another run's model answered to the same request.

    Args:
        folder: the run folder.

    Raises:
        ModelLoadingError: the folder holds no predictions.
    """

    batch = 64
    concurrency = 1
    intake = Intake(clips=1_000)

    def __init__(self, folder: Path) -> None:
        path = folder / "predictions.jsonl"
        if not path.is_file():
            raise ModelLoadingError(f"replay: {path} does not exist; name the folder of a run")
        with Log(path) as log:
            rows = [row for row in log if row["status"] == "ok"]
        self._folder = folder
        self._answers = {
            row["request"]: _Stored(row["answer"], row.get("spoken", ""), row.get("asr", "")) for row in rows
        }
        stored = sorted(f"{request} {kept.answer}" for request, kept in self._answers.items())
        self.settings: Mapping[str, Any] = {"answers": digest(*stored)}
        self.id = f"replay/{rows[0]['model'] if rows else folder.name}"

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the stored answers; a request that was not stored is a Reply with ``error``."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        key = request_digest([audio.digest for audio in request.audios], request.instruction, request.text)
        if key not in self._answers:
            return Reply(error="the replayed run has no answer to this request")
        return self._restore(self._answers[key])

    def _restore(self, stored: _Stored) -> Reply:
        """Return a stored answer; what speech recognition wrote down is left to this run's."""
        if not stored.spoken:
            return Reply(stored.answer)
        try:
            audio = (self._folder / stored.spoken).read_bytes()
        except OSError as error:
            return Reply(error=f"the spoken answer of the replayed run cannot be read: {error}")
        return Reply("" if stored.asr else stored.answer, audio=audio)
