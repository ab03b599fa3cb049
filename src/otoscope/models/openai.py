"""Any server that speaks the OpenAI chat API, through the official client."""

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from otoscope.audio import Audio, Intake, to_wav
from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models.chat import MAX_TOKENS
from otoscope.models.protocol import Reply, Request

if TYPE_CHECKING:
    from openai import OpenAI

CONCURRENCY = 8
RETRIES = 5
TIMEOUT_SECONDS = 120.0
OPTIONS = ("api_key", "base_url", "concurrency", "longest", "max_tokens", "retries", "timeout")


class OpenAIModel:
    """Sends the clips as ``input_audio`` parts of one user message.

    A call that fails is retried by the client, which waits as the server's Retry-After says; one that still fails is
    an error, never an empty answer.

    Args:
        name: the model's name at the server.
        options: ``base_url`` and ``api_key`` (or OPENAI_BASE_URL and OPENAI_API_KEY), ``concurrency``, ``timeout`` in
            seconds, ``retries``, ``max_tokens``, ``longest`` clip in seconds.

    Raises:
        ModelLoadingError: the client is not installed, or there is no key.
    """

    batch = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        unknown = [key for key in options if key not in OPTIONS]
        if unknown:
            raise UsageError(f"openai/{name}: no option {unknown[0]!r}; there are {', '.join(OPTIONS)}")
        self.id = f"openai/{name}"
        self.concurrency = int(options.get("concurrency", CONCURRENCY))
        longest = options.get("longest")
        self.intake = Intake(clips=9, longest=float(longest) if longest else None)
        self._name = name
        self._max_tokens = int(options.get("max_tokens", str(MAX_TOKENS)))
        self._client = _client(self.id, options)
        server = str(self._client.base_url)
        self.settings: Mapping[str, Any] = {"server": server, "max_tokens": self._max_tokens, "temperature": 0}

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer each request by one call."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        content = [*map(_audio_part, request.audios), {"type": "text", "text": request.prompt}]
        try:
            messages = [{"role": "user", "content": content}]
            return _complete(self._client, self._name, messages, self._max_tokens)
        except ModelCallError as error:
            return Reply(error=str(error))


class OpenAIChat:
    """A text model at a server, as the LLM of a cascade or of a judge.

    Args:
        name: the model's name at the server.
        options: as for OpenAIModel.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"openai/{name}"
        self.concurrency = int(options.get("concurrency", CONCURRENCY))
        self._name = name
        self._client = _client(self.id, options)
        self.settings: Mapping[str, Any] = {
            "llm": self.id,
            "server": str(self._client.base_url),
            "max_tokens": MAX_TOKENS,
            "temperature": 0,
        }

    def chat(self, system: str, user: str) -> str:
        """Return the answer to ``user`` under the standing instructions ``system``.

        Raises:
            ModelCallError: the server gave none.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return _complete(self._client, self._name, messages, MAX_TOKENS).answer


def _client(model: str, options: Mapping[str, str]) -> "OpenAI":
    try:
        import openai
    except ImportError:
        raise ModelLoadingError(f"{model}: needs the client: pip install 'otoscope[openai]'") from None
    # A local server asks for no key, but the client insists on one.
    key = options.get("api_key") or ("none" if "base_url" in options else None)
    try:
        return openai.OpenAI(
            api_key=key,
            base_url=options.get("base_url"),
            max_retries=int(options.get("retries", RETRIES)),
            timeout=float(options.get("timeout", TIMEOUT_SECONDS)),
        )
    except openai.OpenAIError as error:
        raise ModelLoadingError(
            f"{model}: {error}; set OPENAI_API_KEY or give -M api_key=... -M base_url=..."
        ) from error


def _audio_part(audio: Audio) -> dict[str, Any]:
    data = base64.b64encode(to_wav(audio)).decode()
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def _complete(client: "OpenAI", name: str, messages: Any, max_tokens: int) -> Reply:
    import openai

    try:
        completion = client.chat.completions.create(
            model=name,
            messages=messages,
            max_tokens=max_tokens,
            temperature=0,
        )
    except openai.APIStatusError as error:
        raise ModelCallError(f"HTTP {error.status_code}: {error.message}") from error
    except (openai.OpenAIError, ValueError) as error:  # ValueError: the body is not JSON
        raise ModelCallError(f"{type(error).__name__}: {error}") from error
    choices = getattr(completion, "choices", None)
    answer = getattr(choices[0].message, "content", None) if choices else None
    if not isinstance(answer, str):
        raise ModelCallError("the reply holds no message content")
    usage = completion.usage
    counts = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens} if usage else {}
    return Reply(answer, usage=counts)
