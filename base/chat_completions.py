"""Send requests to an endpoint of the chat-completions protocol.

The ``openai`` client retries after rate limits (respecting Retry-After), server errors, timeouts and lost connections.
Servers refuse different arguments: newer models of OpenAI accept only ``max_completion_tokens``, and other servers only
``max_tokens``; some return no log-probabilities or accept no temperature. An argument that is refused once is renamed
or left out in all later requests.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai import OpenAI

KEY_VARIABLE = "OPENAI_API_KEY"
MAX_TOKENS = "max_tokens"
MAX_COMPLETION_TOKENS = "max_completion_tokens"


class ChatCompletions:
    """An endpoint. It may be used by several threads."""

    def __init__(
        self,
        base_url: str | None,
        key: str,
        arguments: Mapping[str, Any],
        *,
        optional: Sequence[str] = (),
        retries: int,
        timeout: float,
    ) -> None:
        """``arguments`` are sent with every request. Those that are ``optional`` are left out if the server refuses
        them. ``base_url`` None is OpenAI's endpoint. ``timeout`` is in seconds, and ``retries`` is per request."""
        self._base_url = base_url
        self._key = key
        self._arguments = dict(arguments)
        self._optional = optional
        self._retries = retries
        self._timeout = timeout
        self._lock = threading.Lock()

    @cached_property
    def _client(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(
            api_key=self._key,
            base_url=self._base_url,
            max_retries=self._retries,
            timeout=self._timeout,
        )

    def try_send(self, request: Mapping[str, Any]) -> str | None:
        """Send a request and return the response as text.

        Returns None if the server refused an argument that can be renamed or left out; send the request again. Raises
        openai.APIError for any other failure. Its message may contain the key.
        """
        from openai import BadRequestError

        with self._lock:
            arguments = dict(self._arguments)
        try:
            create: Any = self._client.chat.completions.with_raw_response.create
            return create(**request, **arguments).text
        except BadRequestError as error:
            if not self._drop_refused(f"{error.param} {error.body}", arguments):
                raise
            return None

    def send(self, request: Mapping[str, Any]) -> str:
        """Send a request, without the arguments that the server refuses, and return the response as text.

        Raises openai.APIError. Its message may contain the key.
        """
        while (response := self.try_send(request)) is None:
            pass
        return response

    def _drop_refused(self, message: str, arguments: Mapping[str, Any]) -> bool:
        """Rename or leave out the argument that the server refused. Returns False if it is none of them."""
        with self._lock:
            if arguments != self._arguments:  # another thread has done so
                return True
            if MAX_TOKENS in arguments and MAX_COMPLETION_TOKENS in message:
                self._arguments[MAX_COMPLETION_TOKENS] = self._arguments.pop(MAX_TOKENS)
                return True
            refused = [name for name in self._optional if name in arguments and name in message]
            if not refused:
                return False
            # "top_logprobs" is of no use without "logprobs", whose name is a part of it.
            dropped = ("logprobs", "top_logprobs") if "logprobs" in refused[0] else refused[:1]
            for name in dropped:
                self._arguments.pop(name, None)
            return True
