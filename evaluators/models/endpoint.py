"""Ask a model behind the chat-completions protocol one question about one image.

The ``openai`` client retries after rate limits (respecting Retry-After), server errors, timeouts and lost connections.
Arguments that a server refuses (log-probabilities, temperature, ``max_tokens``) are left out or renamed. Messages of a
server are not repeated in errors, because they can contain the key.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from compeval.base.plain_text import strip_url

if TYPE_CHECKING:
    from openai import OpenAI

KEY_VARIABLE = "OPENAI_API_KEY"
TOP_LOGPROBS = 20
"""The largest number that endpoints accept."""
OPTIONAL = ("top_logprobs", "logprobs", "temperature")
"""Arguments that are left out if a server refuses them."""
UNREADABLE = "an answer that is not a chat completion"


class RequestError(Exception):
    """A request that failed. The message names the cause, without anything that a server wrote."""


@dataclass(frozen=True)
class Answer:
    """An answer of a model."""

    text: str = ""
    top: tuple[tuple[str, float], ...] = ()
    """The most probable first tokens with their log-probabilities; empty if the server gives none."""
    refusal: str = ""
    """Why the model declined; empty if it answered."""


class Endpoint:
    """A model behind an endpoint. It may be used by several threads."""

    def __init__(self, model: str, base_url: str | None, numbers: Mapping[str, float]) -> None:
        """``numbers`` are ``max_tokens`` per answer, ``timeout`` in seconds and ``retries`` per request."""
        self.model, self.base_url = model, base_url or os.environ.get("OPENAI_BASE_URL")
        self.requests = 0
        """Number of requests that were sent."""
        self._timeout, self._retries, self._lock = (
            numbers["timeout"],
            int(numbers["retries"]),
            threading.Lock(),
        )
        self._arguments: dict[str, Any] = {
            "logprobs": True,
            "top_logprobs": TOP_LOGPROBS,
            "temperature": 0,
            "max_tokens": int(numbers["max_tokens"]),
        }

    @property
    def address(self) -> str | None:
        """The address without what may be secret: it is stored and printed. None for OpenAI's."""
        return self.base_url and strip_url(self.base_url)

    @property
    def identity(self) -> tuple[str, str | None]:
        """What tells the model from others."""
        return self.model, self.address

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        key = os.environ.get(KEY_VARIABLE)
        if not key and self.base_url is None:
            raise RequestError(
                f"{KEY_VARIABLE} is not set. Export it, or name another endpoint with --base-url."
            )
        return OpenAI(
            api_key=key or "none",
            base_url=self.base_url,
            max_retries=self._retries,
            timeout=self._timeout,
        )

    def ask(self, question: str, image_url: str, max_requests: int) -> Answer:
        """Return the answer to a question about an image.

        Raises RequestError if the server does not answer, or if ``max_requests`` requests have been sent.
        """
        content = [
            {"type": "image_url", "image_url": {"url": image_url}},
            {"type": "text", "text": question},
        ]
        messages = [{"role": "user", "content": content}]
        for _ in range(
            self._retries + 1
        ):  # the client itself retries all but answers that cannot be read
            answer = _read(self._send(messages, max_requests))
            if answer is not None:
                return answer
        raise RequestError(f"{self._where}: {UNREADABLE}.")

    @property
    def _where(self) -> str:
        return self.address or "OpenAI"

    def _send(self, messages: Any, max_requests: int) -> str:
        """Return the response as text. Arguments that the server refuses are left out, and the request is repeated."""
        from openai import APIError, BadRequestError

        while True:
            arguments = dict(self._arguments)
            with self._lock:
                if self.requests >= max_requests:
                    raise RequestError(f"--max-requests: {max_requests:,} requests were sent.")
                self.requests += 1
            try:
                create: Any = self._client.chat.completions.with_raw_response.create
                return create(model=self.model, messages=messages, **arguments).text
            except BadRequestError as error:
                if not self._drop_refused(error, arguments):
                    raise RequestError(f"{self._where}: HTTP status 400{_name(error)}.") from None
            except APIError as error:
                status = getattr(error, "status_code", None)
                cause = (
                    f"HTTP status {status}"
                    if status
                    else f"{type(error).__name__}, {self._timeout:g} s at most"
                )
                hint = f" Check {KEY_VARIABLE}." if status in (401, 403) else ""
                raise RequestError(f"{self._where}: {cause}{_name(error)}.{hint}") from None

    def _drop_refused(self, error: Any, arguments: dict[str, Any]) -> bool:
        """Leave out or rename the argument that the server refused. Returns False if it is none of them."""
        message = f"{error.param} {error.body}"
        with self._lock:
            if arguments != self._arguments:  # another thread has done so
                return True
            if "max_tokens" in arguments and "max_completion_tokens" in message:
                self._arguments["max_completion_tokens"] = self._arguments.pop("max_tokens")
                return True
            refused = next(
                (name for name in OPTIONAL if name in arguments and name in message), None
            )
            if refused is None:
                return False
            for name in ("logprobs", "top_logprobs") if "logprobs" in refused else (refused,):
                self._arguments.pop(name, None)
            return True


def _name(error: Any) -> str:
    """Return the code of an error in brackets, if it is one word."""
    code = str(getattr(error, "code", None) or "")
    return f" ({code})" if code.isidentifier() and len(code) < 50 else ""


def _read(response: str) -> Answer | None:
    """Return the answer in a response; None if it is incomplete or of an unknown format."""
    try:
        (choice, *_) = json.loads(response)["choices"]
        message = choice["message"]
        if choice.get("finish_reason") == "content_filter":
            return Answer(refusal="content filter")
        if message.get("refusal"):
            return Answer(refusal=str(message["refusal"]))
        text = message.get("content") or ""
        tokens = (choice.get("logprobs") or {}).get("content") or []
        first = next((token for token in tokens if token["token"].strip()), None)
        top = tuple(
            (str(one["token"]), float(one["logprob"]))
            for one in (first or {}).get("top_logprobs") or ()
        )
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    if choice.get("finish_reason") == "length" and not (text.strip() or top):
        raise RequestError(
            "the model used all tokens before its answer. Raise the setting max_tokens."
        )
    return Answer(text, top) if text.strip() or top else None
