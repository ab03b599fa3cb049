"""Any server that speaks the OpenAI chat API, through the official client."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from otoscope.audio import Audio, Intake, to_wav
from otoscope.errors import ModelCallError, UsageError
from otoscope.models.chat import MAX_TOKENS
from otoscope.models.protocol import Reply, Request, is_amount
from otoscope.models.remote import check_options, read_count, read_number, read_object, read_seconds
from otoscope.models.server import OPTIONS as SERVER_OPTIONS
from otoscope.models.server import Server
from otoscope.text import clean_text

CLIPS = 9
SHORTEST_LIMIT = 0.1
"""Seconds; what is cut shorter is no clip."""
MILLION = 1e6
CHAT_OPTIONS = (*SERVER_OPTIONS, "max_tokens", "price_in", "price_out")
OPTIONS = (*CHAT_OPTIONS, "audio", "clips", "longest", "voice")

AudioPart = Literal["input_audio", "audio_url"]
"""How a message carries a clip: as OpenAI has it, or as a data URL, the only form that some servers take."""


class OpenAIModel:
    """Sends the clips as parts of one user message.

    A call that fails is retried by the client, which waits as the server's Retry-After says; one that still fails is
    an error, never an empty answer.

    Args:
        name: the model's name at the server.
        options: ``base_url`` and ``api_key`` (or OPENAI_BASE_URL and OPENAI_API_KEY), ``concurrency``, ``timeout`` in
            seconds for one try, ``retries`` after the first try, ``max_tokens``, ``longest`` clip in seconds,
            ``clips`` a message may hold before they are joined into one,
            ``audio`` (``input_audio`` or ``audio_url``), ``voice`` of a spoken answer, which is asked for by that,
            ``price_in`` and ``price_out`` in a currency a million tokens.

    Raises:
        UsageError: an option is not known, or not what it must be.
        ModelLoadingError: the client is not installed, or there is no key.
    """

    batch = 1

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"openai/{name}"
        check_options(self.id, options, OPTIONS)
        self._server = _Endpoint(name, options)
        self.concurrency = self._server.concurrency
        self.settings: Mapping[str, Any] = self._server.settings
        longest = None
        if "longest" in options:
            longest = read_seconds(self.id, options, "longest", 0, least=SHORTEST_LIMIT)
            self.settings = {**self.settings, "longest": longest}
        self._part = _read_part(self.id, options)
        if self._part != "input_audio":
            self.settings = {**self.settings, "audio": self._part}
        self._spoken: Mapping[str, Any] = {}
        if "voice" in options:
            self._spoken = {
                "modalities": ["text", "audio"],
                "audio": {"voice": options["voice"], "format": "wav"},
            }
            self.settings = {**self.settings, "voice": options["voice"]}
        self.intake = Intake(clips=read_count(self.id, options, "clips", CLIPS), longest=longest)

    def answer(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer each request by one call."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Reply:
        parts = [_audio_part(audio, self._part) for audio in request.audios]
        content = [*parts, {"type": "text", "text": request.prompt}]
        try:
            return self._server.complete([{"role": "user", "content": content}], self._spoken)
        except ModelCallError as error:
            return Reply(error=str(error))


class OpenAIChat:
    """A text model at a server, as the LLM of a cascade or of a judge.

    Args:
        name: the model's name at the server.
        options: ``base_url``, ``api_key``, ``concurrency``, ``timeout``, ``retries``, ``max_tokens``, ``price_in`` and
            ``price_out`` of OpenAIModel.

    Raises:
        UsageError: an option is not known, or not a number.
        ModelLoadingError: the client is not installed, or there is no key.
    """

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.id = f"openai/{name}"
        check_options(self.id, options, CHAT_OPTIONS)
        self._server = _Endpoint(name, options)
        self.concurrency = self._server.concurrency
        self.settings: Mapping[str, Any] = {"llm": self.id, **self._server.settings}

    def chat(self, system: str, user: str) -> Reply:
        """Return the answer to ``user`` under the standing instructions ``system``.

        Raises:
            ModelCallError: the server gave none.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return self._server.complete(messages)


class _Endpoint:
    """One chat model at a server, and how it is called."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        model = f"openai/{name}"
        self._name = name
        self._max_tokens = read_count(model, options, "max_tokens", MAX_TOKENS)
        self._prices = _read_prices(model, options)  # no part of the settings: they change no answer
        self._server = Server(model, options)
        self.concurrency = self._server.concurrency
        self.settings = {**self._server.settings, "max_tokens": self._max_tokens, "temperature": 0}

    def complete(self, messages: Any, more: Mapping[str, Any] | None = None) -> Reply:
        """Return the model's answer to ``messages``.

        Args:
            messages: the conversation.
            more: further parameters of the request.

        Raises:
            ModelCallError: the last try failed too, or what came holds no answer.
        """

        def ask() -> Reply:
            response = self._server.client.chat.completions.with_raw_response.create(
                model=self._name,
                messages=messages,
                max_tokens=self._max_tokens,
                temperature=0,
                stream=False,
                **(more or {}),
            )
            return _read_completion(response.content)

        reply = self._server.call(ask)
        return replace(reply, usage={**reply.usage, **_cost(reply.usage, self._prices)})


def _read_part(model: str, options: Mapping[str, str]) -> AudioPart:
    for part in get_args(AudioPart):
        if part == options.get("audio", "input_audio"):
            return part  # type: ignore[no-any-return]  # get_args forgets that these are the names
    raise UsageError(f"{model}: audio={options['audio']} is neither input_audio nor audio_url")


def _read_prices(model: str, options: Mapping[str, str]) -> tuple[float, float] | None:
    """Return the prices of a million tokens in and out, or None where none is given."""
    given = [name for name in ("price_in", "price_out") if name in options]
    if not given:
        return None
    if len(given) == 1:
        raise UsageError(f"{model}: {given[0]} without its other half; give price_in and price_out, 0 for what is free")
    return read_number(model, options, "price_in"), read_number(model, options, "price_out")


def _cost(usage: Mapping[str, float], prices: tuple[float, float] | None) -> dict[str, float]:
    """Return what the tokens cost; nothing where no price was given, or the server counts no tokens."""
    if prices is None or not {"prompt_tokens", "completion_tokens"} <= usage.keys():
        return {}
    return {"cost": (usage["prompt_tokens"] * prices[0] + usage["completion_tokens"] * prices[1]) / MILLION}


def _audio_part(audio: Audio, part: AudioPart) -> dict[str, Any]:
    data = base64.b64encode(to_wav(audio)).decode()
    if part == "audio_url":
        return {"type": part, part: {"url": f"data:audio/wav;base64,{data}"}}
    return {"type": part, part: {"data": data, "format": "wav"}}


def _read_completion(body: bytes) -> Reply:
    """Return the answer in a chat completion; the client itself takes any JSON for one."""
    completion = read_object(body, "the reply")
    try:
        choice = completion["choices"][0]
        finish, message = choice.get("finish_reason"), choice["message"]
        audio, transcript = _read_spoken(message.get("audio"))
        answer = message.get("content") or transcript or message.get("refusal") or message.get("content")
    except (LookupError, TypeError, AttributeError):
        raise ModelCallError(f"the reply is not a chat completion: {body[:200]!r}") from None
    if audio and answer is None:
        answer = ""
    if not isinstance(answer, str) or (not answer and not audio and finish != "stop"):
        hint = "; raise -M max_tokens=..." if finish == "length" else ""
        raise ModelCallError(f"the reply holds no text, it finished by {finish!r}{hint}")
    return Reply(clean_text(answer), usage=_read_usage(completion.get("usage")), audio=audio)


def _read_spoken(audio: Any) -> tuple[bytes, str]:
    """Return the file of a spoken answer and what the server says is said in it; nothing of a plain one."""
    if not isinstance(audio, dict):
        return b"", ""
    data, transcript = audio.get("data"), audio.get("transcript")
    try:
        file = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except ValueError:
        raise ModelCallError("the reply holds audio that is not base64") from None
    return file, transcript if isinstance(transcript, str) else ""


def _read_usage(usage: Any) -> dict[str, float]:
    if not isinstance(usage, dict):
        return {}
    counts = {name: usage.get(name) for name in ("prompt_tokens", "completion_tokens")}
    return {name: count for name, count in counts.items() if type(count) is int and is_amount(count)}
