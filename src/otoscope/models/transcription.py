"""A server that speaks the OpenAI transcription API, as the ASR of a cascade, through the official client."""

from collections.abc import Mapping
from typing import Any

from otoscope.audio import Audio, to_wav
from otoscope.errors import ModelCallError
from otoscope.models.remote import check_options, read_object
from otoscope.models.server import OPTIONS, Server
from otoscope.models.whisper import Transcript
from otoscope.text import clean_text

ASR_PREFIX = "asr."
"""An option of a cascade that begins so is for the speech recognition, any other for the chat model."""


class OpenAITranscription:
    """Sends a clip as a WAV file and takes the text that comes back.

    A call that fails is retried by the client, which waits as the server's Retry-After says; one that still fails is
    an error, never an empty transcript. A clip of any length is one call.

    Args:
        name: the model's name at the server.
        options: ``base_url`` and ``api_key`` (or OPENAI_BASE_URL and OPENAI_API_KEY), ``concurrency``, ``timeout`` in
            seconds for one try, ``retries`` after the first try.

    Raises:
        UsageError: an option is not known, or not a number.
        ModelLoadingError: the client is not installed, or there is no key.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"openai/{name}"
        check_options(self.id, options, OPTIONS)
        self._name = name
        self._server = Server(self.id, options, ASR_PREFIX)
        self.concurrency = self._server.concurrency
        server = {f"asr_{setting}": value for setting, value in self._server.settings.items()}
        self.settings: Mapping[str, Any] = {"asr": self.id, **server, "decoding": "temperature 0"}

    def transcribe(self, audio: Audio) -> Transcript:
        """Return what the server wrote down; its language is not asked for.

        Raises:
            ModelCallError: the last try failed too, or what came holds no text.
        """

        def ask() -> str:
            response = self._server.client.audio.transcriptions.with_raw_response.create(
                model=self._name, file=("audio.wav", to_wav(audio), "audio/wav"), response_format="json", temperature=0
            )
            text = read_object(response.content, "the transcription").get("text")
            if not isinstance(text, str):
                raise ModelCallError(f"the reply is not a transcription: {response.content[:200]!r}")
            return text

        try:
            return Transcript(clean_text(self._server.call(ask)).strip(), "")
        except ModelCallError as error:
            raise ModelCallError(f"{self.id}: {error}") from error
