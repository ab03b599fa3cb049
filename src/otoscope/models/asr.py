"""Speech recognition: the ears of a cascade."""

from collections.abc import Mapping
from typing import Any, Protocol

from otoscope.audio import Audio
from otoscope.models.remote import check_options, read_count
from otoscope.models.whisper import Transcript, load_whisper


class ASR(Protocol):
    """Writes down what is said, the same for the same clip whatever was heard before."""

    @property
    def id(self) -> str:
        """Names the model in logs."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that can change a transcript."""

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight."""

    def transcribe(self, audio: Audio) -> Transcript:
        """Return the transcript of mono audio at 16 kHz.

        Raises:
            ModelCallError: there is none.
        """


def load_asr(spec: str, options: Mapping[str, str]) -> ASR:
    """Load a speech recogniser.

    Args:
        spec: ``openai/NAME`` at a server with the transcription API, ``hf/REPO-or-FOLDER`` for a Whisper of the
            transformers library, or a Whisper on CTranslate2: named weights, a folder, or a repository on the hub.
        options: as for OpenAITranscription and TransformersWhisper, ``threads`` for CTranslate2.

    Raises:
        UsageError: an option is not known.
        ModelLoadingError: it cannot be loaded; the message says what to install or fetch.
    """
    provider, _, name = spec.partition("/")
    # A cascade hands on the threads, which neither a server nor transformers takes.
    others = {key: options[key] for key in options if key != "threads"}
    if provider == "openai" and name:
        from otoscope.models.transcription import OpenAITranscription

        return OpenAITranscription(name, others)
    if provider == "hf" and name:
        from otoscope.models.transformers_whisper import TransformersWhisper

        return TransformersWhisper(name, others)
    check_options(spec, options, ("threads",))
    return load_whisper(spec, read_count(spec, options, "threads", 1) if "threads" in options else None)
