"""Spoken answers: kept as files in the run folder, and written down by speech recognition where they have no text."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from otoscope.audio import join, read_audio, resample, to_wav
from otoscope.errors import AudioError
from otoscope.models.protocol import Reply
from otoscope.models.whisper import RATE, Whisper, load_whisper
from otoscope.records import Prediction, digest, dump_json
from otoscope.text import clean_text

DEFAULT_ASR = "whisper-base"
FOLDER = "answers"
UNUSABLE = "the spoken answer cannot be used"
_ENDINGS = {b"RIFF": "wav", b"fLaC": "flac", b"OggS": "ogg", b"ID3": "mp3", b"\xff": "mp3"}


class Scribe:
    """Writes down what is said in an audio file.

    Args:
        asr: names the speech recognition; it is loaded when there is something to write down.
    """

    def __init__(self, asr: str = DEFAULT_ASR) -> None:
        self._spec = asr

    def write_down(self, data: bytes) -> str:
        """Return what is said in a file.

        Raises:
            AudioError: it cannot be decoded.
            ModelLoadingError: the speech recognition cannot be loaded.
        """
        return self._asr.transcribe(resample(read_audio(data, "the answer"), RATE)).text

    @functools.cached_property
    def id(self) -> str:
        """Names the speech recognition and all that can change what it writes."""
        return f"{self._asr.id} {digest(dump_json(dict(self._asr.settings)))[:12]}"

    @functools.cached_property
    def _asr(self) -> Whisper:
        return load_whisper(self._spec)


class Spoken:
    """The spoken answers of one run.

    Only the thread that writes the log calls it: a file is there before the line that names it.

    Args:
        run: the run folder.
        scribe: writes down answers without text.
    """

    def __init__(self, run: Path, scribe: Scribe) -> None:
        self._run = run
        self._scribe = scribe

    def keep(self, prediction: Prediction, replies: Sequence[Reply]) -> Prediction:
        """Store what was said and return the prediction with it; an answer without text is what the audio says.

        Args:
            prediction: made of the texts of the replies; one that failed is returned as it is.
            replies: the replies to one sample, several where its audio was chunked.

        Raises:
            ModelLoadingError: the speech recognition cannot be loaded.
        """
        heard = [reply.audio for reply in replies if reply.audio]
        if not heard or prediction.status != "ok":
            return prediction
        try:
            file = self._store(prediction.key, heard)
            spelled = [spell(reply, self._scribe) for reply in replies]
        except AudioError as error:
            return replace(prediction, status="error", answer="", reason=f"{UNUSABLE}: {error}")
        wordless = any(reply.audio and not reply.answer for reply in replies)
        asr = self._scribe.id if wordless else ""
        return replace(prediction, answer=clean_text(" ".join(spelled)), spoken=file, asr=asr)

    def renew(self, prediction: Prediction) -> Prediction | None:
        """Return an earlier prediction as this run's speech recognition writes it down; None if the file is gone.

        Raises:
            ModelLoadingError: the speech recognition cannot be loaded.
        """
        if prediction.asr == self._scribe.id:
            return prediction
        try:
            answer = self._scribe.write_down((self._run / prediction.spoken).read_bytes())
        except (OSError, AudioError):
            return None
        return replace(prediction, answer=answer, asr=self._scribe.id)

    def _store(self, key: str, heard: Sequence[bytes]) -> str:
        """Write the answer at once and return its path in the run folder; several pieces become one file."""
        audios = [read_audio(data, "the answer") for data in heard]
        data = heard[0] if len(heard) == 1 else to_wav(join([resample(audio, audios[0].rate) for audio in audios]))
        ending = next((ending for start, ending in _ENDINGS.items() if data.startswith(start)), "audio")
        path = self._run / FOLDER / f"{key}.{ending}"
        path.parent.mkdir(exist_ok=True)
        part = path.with_name(path.name + ".new")
        part.write_bytes(data)
        part.replace(path)
        return f"{FOLDER}/{path.name}"


def spell(reply: Reply, scribe: Scribe) -> str:
    """Return the text of a reply, or what its audio says where it has none.

    Raises:
        AudioError: the audio cannot be decoded.
    """
    return scribe.write_down(reply.audio) if reply.audio and not reply.answer else reply.answer
