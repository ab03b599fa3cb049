"""The cascade: an ASR writes a transcript, an LLM answers from it (Dynamic-SUPERB Phase-2, section 4, its baseline)."""

from collections.abc import Mapping, Sequence
from typing import Any

from otoscope.audio import Audio, Intake
from otoscope.errors import ModelCallError, UsageError
from otoscope.models.chat import load_chat
from otoscope.models.protocol import Reply, Request
from otoscope.models.whisper import RATE, load_whisper
from otoscope.records import digest

DEFAULT = "whisper-base+qwen2.5-coder-1.5b"

SYSTEM = """\
You answer questions about audio that you cannot hear. \
You are given what speech recognition wrote down, and a question. \
Give only the answer, with no explanation."""
USER = "{transcripts}\nQuestion: {question}"


class Cascade:
    """Whisper followed by a chat model; each clip is transcribed once, however many instructions ask about it.

    Args:
        name: ``ASR+LLM``; an empty name is the default pair.
        options: ``threads``, and what the chat model takes.

    Raises:
        UsageError: the name is not of that form.
        ModelLoadingError: a part cannot be loaded.
    """

    intake = Intake(rate=RATE, clips=9)
    batch = 1
    concurrency = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        asr, plus, llm = (name or DEFAULT).partition("+")
        if not (asr and plus and llm):
            raise UsageError(f"cascade/{name}: write cascade/ASR+LLM, such as cascade/{DEFAULT}")
        self.id = f"cascade/{asr}+{llm}"
        self._asr = load_whisper(asr, options.get("threads", ""))
        self._llm = load_chat(llm, options)
        self._transcripts: dict[str, str] = {}
        self.settings: Mapping[str, Any] = {**self._asr.settings, **self._llm.settings, "prompt": digest(SYSTEM, USER)}

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer each request from the transcripts of its clips."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        texts = [self._transcript(audio) for audio in request.audios]
        try:
            return Reply(
                self._llm.chat(SYSTEM, USER.format(transcripts=_list_transcripts(texts), question=request.prompt))
            )
        except ModelCallError as error:
            return Reply(error=str(error))

    def _transcript(self, audio: Audio) -> str:
        key = digest(audio.digest, *audio.changes)
        if key not in self._transcripts:
            self._transcripts[key] = self._asr.transcribe(audio).text
        return self._transcripts[key]


def _list_transcripts(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return f'Transcript of the audio: "{texts[0]}"'
    return "\n".join(f'Transcript of audio {number}: "{text}"' for number, text in enumerate(texts, 1))
