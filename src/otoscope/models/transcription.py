"""A server that speaks the OpenAI transcription API, as the ASR of a cascade, through the official client."""

import os
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from otoscope.audio import Audio, to_wav
from otoscope.errors import ModelCallError, ModelLoadingError
from otoscope.models.openai import CONCURRENCY, RETRIES, TIMEOUT_SECONDS
from otoscope.models.remote import check_options, clean_text, read_count, read_object, read_seconds
from otoscope.models.whisper import Transcript

if TYPE_CHECKING:
    from openai import OpenAI

OPTIONS = ("api_key", "base_url", "concurrency", "retries", "timeout")


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
        self._timeout = read_seconds(self.id, options, "timeout", TIMEOUT_SECONDS)
        self.concurrency = read_count(self.id, options, "concurrency", CONCURRENCY)
        self._client = self._connect(options, read_count(self.id, options, "retries", RETRIES, least=0))
        weakref.finalize(self, self._client.close)
        server = self._client.base_url.copy_with(userinfo=b"")  # a password has no place in a log
        self.settings: Mapping[str, Any] = {"asr": self.id, "asr_server": str(server), "decoding": "temperature 0"}

    def transcribe(self, audio: Audio) -> Transcript:
        """Return what the server wrote down; its language is not asked for.

        Raises:
            ModelCallError: the last try failed too, or what came holds no text.
        """
        import openai

        try:
            response = self._client.audio.transcriptions.with_raw_response.create(
                model=self._name, file=("audio.wav", to_wav(audio), "audio/wav"), response_format="json", temperature=0
            )
        except openai.APIStatusError as error:
            raise ModelCallError(f"{self.id}: HTTP {error.status_code}: {error.response.text.strip()[:500]}") from error
        except openai.APITimeoutError as error:
            raise ModelCallError(f"{self.id}: no transcript within {self._timeout:g} s; -M asr.timeout=...") from error
        except openai.OpenAIError as error:
            raise ModelCallError(clean_text(f"{self.id}: {type(error).__name__}: {error}")) from error
        text = read_object(response.content, "the transcription").get("text")
        if not isinstance(text, str):
            raise ModelCallError(f"{self.id}: the reply is not a transcription: {response.content[:200]!r}")
        return Transcript(clean_text(text).strip(), "")

    def _connect(self, options: Mapping[str, str], retries: int) -> "OpenAI":
        try:
            import openai
        except ImportError:
            raise ModelLoadingError(f"{self.id}: needs the client: pip install 'otoscope[openai]'") from None
        key = options.get("api_key") or os.environ.get("OPENAI_API_KEY")
        if not key and ("base_url" in options or "OPENAI_BASE_URL" in os.environ):
            key = "none"  # a local server asks for no key, but the client insists on one
        try:
            return openai.OpenAI(
                api_key=key, base_url=options.get("base_url"), max_retries=retries, timeout=self._timeout
            )
        except openai.OpenAIError as error:
            raise ModelLoadingError(
                f"{self.id}: {error}; set OPENAI_API_KEY, or give -M asr.base_url=... of a server without keys"
            ) from error
