"""The cascade: an ASR writes a transcript, an LLM answers from it (Dynamic-SUPERB Phase-2, section 4, its baseline)."""

from collections.abc import Mapping, Sequence
from typing import Any

from otoscope.audio import Audio, Intake
from otoscope.errors import ModelCallError, UnknownOptionError, UsageError
from otoscope.models.asr import load_asr
from otoscope.models.chat import load_chat
from otoscope.models.protocol import Reply, Request
from otoscope.models.transcription import ASR_PREFIX
from otoscope.models.whisper import RATE
from otoscope.records import digest

DEFAULT = "whisper-base+qwen2.5-coder-1.5b"

SYSTEM = """\
You answer questions about audio that you cannot hear. \
You are given what speech recognition wrote down, and a question. \
Give only the answer, with no explanation."""
USER = "{transcripts}\nQuestion: {question}"


OPTIONS_OF_PARTS = (
    "asr.OPTION is for the speech recognition, any other for the language model, and threads for both; openai/NAME and "
    "hf/REPO take the options of their kind, see otoscope models"
)


class Cascade:
    """Speech recognition, then a chat model; a clip is transcribed once, however many instructions ask about it.

    Args:
        name: ``ASR+LLM``, where either half is what ``load_asr`` and ``load_chat`` take; empty for the default pair.
        options: ``asr.KEY=VALUE`` is the option ``KEY`` of the ASR, any other is the chat model's. ``threads`` is for
            whichever of them run on CTranslate2 or llama.cpp.

    Raises:
        UsageError: the name is not of that form, or a part has no such option.
        ModelLoadingError: a part cannot be loaded.
    """

    intake = Intake(rate=RATE, clips=9)
    batch = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        asr, plus, llm = (name or DEFAULT).partition("+")
        if not (asr and plus and llm):
            raise UsageError(f"cascade/{name}: write cascade/ASR+LLM, such as cascade/{DEFAULT}")
        self.id = f"cascade/{asr}+{llm}"
        for_asr, for_llm = split_options(options)
        try:
            self._asr = load_asr(asr, for_asr)
            self._llm = load_chat(llm, for_llm)
        except UnknownOptionError as error:
            raise UsageError(f"{self.id}: {error}; {OPTIONS_OF_PARTS}") from error
        self.concurrency = min(self._asr.concurrency, self._llm.concurrency)
        self._transcripts: dict[str, str] = {}
        self.settings: Mapping[str, Any] = join_settings(self._asr.settings, self._llm.settings)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer each request from the transcripts of its clips."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        try:
            texts = [self._transcript(audio) for audio in request.audios]
            return self._llm.chat(SYSTEM, USER.format(transcripts=_list_transcripts(texts), question=request.prompt))
        except ModelCallError as error:
            return Reply(error=str(error))

    def _transcript(self, audio: Audio) -> str:
        key = digest(audio.digest, *audio.changes)
        if key not in self._transcripts:
            self._transcripts[key] = self._asr.transcribe(audio).text
        return self._transcripts[key]


def split_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of the ASR and those of the chat model; ``threads`` goes to both."""
    for_asr = {key.removeprefix(ASR_PREFIX): value for key, value in options.items() if key.startswith(ASR_PREFIX)}
    for_llm = {key: value for key, value in options.items() if not key.startswith(ASR_PREFIX)}
    if "threads" in options:
        for_asr.setdefault("threads", options["threads"])
    return for_asr, for_llm


def join_settings(asr: Mapping[str, Any], llm: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that can change an answer; where both parts have a setting, each keeps its own."""
    shared = {f"{ASR_PREFIX}{name}": asr[name] for name in asr if name in llm}
    return {**asr, **llm, **shared, "prompt": digest(SYSTEM, USER)}


def _list_transcripts(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return f'Transcript of the audio: "{texts[0]}"'
    return "\n".join(f'Transcript of audio {number}: "{text}"' for number, text in enumerate(texts, 1))
