"""A server that speaks one of the OpenAI APIs: its address and key, and what may be told of them."""

import base64
import ipaddress
import os
import re
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from otoscope.errors import ModelCallError, ModelLoadingError, UsageError
from otoscope.models.remote import read_count, read_seconds
from otoscope.records import digest
from otoscope.text import clean_text

if TYPE_CHECKING:
    from openai import OpenAI

CONCURRENCY = 8
RETRIES = 5
TIMEOUT_SECONDS = 120.0
OPTIONS = ("api_key", "base_url", "concurrency", "retries", "timeout")
TOLD_OF_SECRET = 8
"""From this many characters on, the beginning of a secret is hidden too: error texts are cut somewhere."""

Made = TypeVar("Made")


class Server:
    """Calls a server through the official client, which retries and waits as the server's Retry-After says.

    Neither the key nor who logs in nor what the query of the address says stands in its settings or in an error.

    Args:
        model: how errors name the model, ``openai/NAME``.
        options: ``base_url`` and ``api_key`` (or OPENAI_BASE_URL and OPENAI_API_KEY), ``concurrency``, ``timeout`` in
            seconds for one try, ``retries`` after the first try.
        prefix: what stands before these options on the command line.

    Raises:
        UsageError: an option is not what it must be.
        ModelLoadingError: the client is not installed, or there is no key.
    """

    def __init__(self, model: str, options: Mapping[str, str], prefix: str = "") -> None:
        self._model = model
        self._prefix = prefix
        self._timeout = read_seconds(model, options, "timeout", TIMEOUT_SECONDS)
        self.concurrency = read_count(model, options, "concurrency", CONCURRENCY)
        retries = read_count(model, options, "retries", RETRIES, least=0)
        given = options.get("base_url", os.environ.get("OPENAI_BASE_URL"))
        address = None if given is None else _read_address(model, given)
        key = options.get("api_key") or os.environ.get("OPENAI_API_KEY")
        if key and not re.fullmatch(r"[!-~]+", key):
            raise UsageError(f"{model}: the API key holds a space, a control character or a letter that is not ASCII")
        self._secrets = [*([key] if key else []), *(address.secrets if address else [])]
        if not key and address:
            key = "none"  # a local server asks for no key, but the client insists on one
        self.client = self._connect(key, address, retries)
        weakref.finalize(self, self.client.close)
        self.settings = {"server": str(self.client.base_url.copy_with(userinfo=b""))}
        if address and address.query:
            self.settings["server_query"] = digest(address.query)

    def call(self, ask: Callable[[], Made]) -> Made:
        """Return what ``ask`` does with the client.

        Raises:
            ModelCallError: the last try failed too, or what came is not what was asked for.
        """
        import openai

        try:
            return ask()
        except ModelCallError as error:
            raise ModelCallError(self._hide(str(error))) from None
        except openai.APIStatusError as error:
            said = self._hide(error.response.text.strip())[:500]
            raise ModelCallError(f"HTTP {error.status_code}: {said}") from error
        except openai.APITimeoutError as error:
            option = f"{self._prefix}timeout"
            raise ModelCallError(f"no reply within {self._timeout:g} s; -M {option}=... changes that") from error
        except openai.OpenAIError as error:
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            raise ModelCallError(self._hide(clean_text(f"{type(error).__name__}: {error}{cause}"))) from error

    def _hide(self, text: str) -> str:
        for secret in self._secrets:
            for spelling in (secret, repr(secret)[1:-1], secret.replace("/", r"\/")):
                for end in range(len(spelling), min(len(spelling), TOLD_OF_SECRET) - 1, -1):
                    text = text.replace(spelling[:end], "...")
        return text

    def _connect(self, key: str | None, address: "_Address | None", retries: int) -> "OpenAI":
        try:
            import openai
        except ImportError:
            raise ModelLoadingError(f"{self._model}: needs the client: pip install 'otoscope[openai]'") from None
        try:
            return openai.OpenAI(
                api_key=key,
                base_url=address.url if address else None,
                default_query=dict(parse_qsl(address.query, keep_blank_values=True)) if address else None,
                max_retries=retries,
                timeout=self._timeout,
                http_client=openai.DefaultHttpxClient(event_hooks={"response": [_forbid_vain_retries]}),
            )
        except openai.OpenAIError as error:
            raise ModelLoadingError(
                f"{self._model}: {error}; set OPENAI_API_KEY, or give -M {self._prefix}base_url=... of a server that "
                "asks for none"
            ) from error


class _Address(NamedTuple):
    """Where a server is.

    Attributes:
        url: the address without its query.
        query: what follows the question mark.
        secrets: what of both nobody else is to read.
    """

    url: str
    query: str
    secrets: list[str]


def _read_address(model: str, text: str) -> _Address:
    """Return a base URL in parts.

    Raises:
        UsageError: it is none; the message does not quote it, since it may hold a password.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        if re.fullmatch(r"[\d.]+", host):
            ipaddress.ip_address(host)
    except ValueError:
        host, port = "", None
    if not (host and host.isascii() and text.isprintable() and parts.scheme in ("http", "https") and port != 0):
        raise UsageError(f"{model}: base_url is no address of a server, such as http://127.0.0.1:8000/v1")
    values = [value for _, value in parse_qsl(parts.query) if len(value) >= TOLD_OF_SECRET]
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    in_header = base64.b64encode(login.encode()).decode()
    logins = [in_header, login, parts.password or parts.username or login] if login != ":" else []
    hidden = [*([parts.query] if parts.query else []), *values, *logins]
    return _Address(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), parts.query, hidden)


def _forbid_vain_retries(response: Any) -> None:
    """Have the client give up at once where a server says that it lacks a feature.

    llama.cpp answers with status 500 when its model takes no audio, and the client would ask six times.
    """
    if response.status_code >= 500 and b"not supported" in response.read():  # noqa: PLR2004 - server errors
        response.headers["x-should-retry"] = "false"
