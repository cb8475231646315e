"""Ask a model behind the chat-completions protocol one question about one image.

base/chat_completions.py sends the requests, retries, and leaves out or renames arguments that a server refuses
(log-probabilities, temperature, ``max_tokens``). Messages of a server are not repeated in errors, because they can
contain the key.
"""

from __future__ import annotations

import json
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from compeval.base.chat_completions import KEY_VARIABLE, ChatCompletions
from compeval.base.plain_text import strip_url

TOP_LOGPROBS = 20
"""The largest number that endpoints accept."""
OPTIONAL = ("top_logprobs", "logprobs", "temperature")
"""Arguments that are left out if a server refuses them."""
LEAD = re.compile(
    r"[\W_]*(?:(?:(?:the|my|final|correct)\s+)*answer(?:\s+is)?[\W_]*)?", re.IGNORECASE
)
"""Marks, and "The answer is", before an answer."""
UNREADABLE = "an answer that is not a chat completion"
CUT_OFF = "cut off while thinking"
"""``Answer.refusal`` of a model that used its budget of tokens before it answered."""


class RequestError(Exception):
    """A request that failed. The message names the cause, without anything that a server wrote."""


@dataclass(frozen=True)
class Answer:
    """An answer of a model."""

    text: str = ""
    top: tuple[tuple[str, float], ...] = ()
    """The most probable tokens where the answer begins, with log-probabilities; empty if the server returns none."""
    refusal: str = ""
    """The reason why the model declined; empty if it answered."""
    made: str = ""
    """The time at which the answer arrived (UTC); empty in stores of earlier versions."""


class Endpoint:
    """A model behind an endpoint. It may be used by several threads."""

    def __init__(self, model: str, base_url: str | None, numbers: Mapping[str, float]) -> None:
        """``numbers`` are ``max_tokens`` per answer and ``think`` before it, ``timeout`` in seconds, and ``retries``
        per request."""
        self.model = model
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        self.thinks = numbers["think"] > 0
        self.max_tokens = numbers["max_tokens"] + numbers["think"]
        """Tokens of thoughts and answer together."""
        self.requests = 0
        """Number of requests that were sent."""
        self._timeout = numbers["timeout"]
        self._retries = int(numbers["retries"])
        self._lock = threading.Lock()

    @property
    def address(self) -> str | None:
        """The address without what may be secret: it is stored and printed. None for OpenAI's."""
        return self.base_url and strip_url(self.base_url)

    @property
    def identity(self) -> tuple[str, str | None]:
        """Identity of the model: its name and address."""
        return self.model, self.address

    @cached_property
    def _connection(self) -> ChatCompletions:
        key = os.environ.get(KEY_VARIABLE)
        if not key and self.base_url is None:
            raise RequestError(
                f"{KEY_VARIABLE} is not set. Export it, or name another endpoint with --base-url."
            )
        arguments = {
            "logprobs": True,
            "top_logprobs": TOP_LOGPROBS,
            "temperature": 0,
            "max_tokens": int(self.max_tokens),
        }
        return ChatCompletions(
            self.base_url,
            key or "none",
            arguments,
            optional=OPTIONAL,
            retries=self._retries,
            timeout=self._timeout,
        )

    def ask(
        self, question: str, image_url: str, max_requests: int, words: Sequence[str] = ()
    ) -> Answer:
        """Return the answer to a question about an image. ``words`` are the expected answers.

        Raises RequestError if the server does not answer, or if ``max_requests`` requests have been sent.
        """
        content = [
            {"type": "image_url", "image_url": {"url": image_url}},
            {"type": "text", "text": question},
        ]
        messages = [{"role": "user", "content": content}]
        # The client itself retries all but answers that cannot be read.
        for _ in range(self._retries + 1):
            answer = _read(self._send(messages, max_requests), words, self.thinks)
            if answer is not None:
                return replace(answer, made=datetime.now(UTC).isoformat(timespec="seconds"))
        raise RequestError(f"{self._where}: {UNREADABLE}.")

    @property
    def _where(self) -> str:
        return self.address or "OpenAI"

    def _send(self, messages: Any, max_requests: int) -> str:
        """Return the response as text. Arguments that the server refuses are left out, and the request is repeated."""
        from openai import APIError

        while True:
            with self._lock:
                if self.requests >= max_requests:
                    raise RequestError(f"--max-requests: {max_requests:,} requests were sent.")
                self.requests += 1
            try:
                response = self._connection.try_send({"model": self.model, "messages": messages})
            except APIError as error:
                status = getattr(error, "status_code", None)
                cause = (
                    f"HTTP status {status}"
                    if status
                    else f"{type(error).__name__}, {self._timeout:g} s at most"
                )
                hint = f" Check {KEY_VARIABLE}." if status in (401, 403) else ""
                raise RequestError(f"{self._where}: {cause}{_name(error)}.{hint}") from None
            if response is not None:
                return response


def _name(error: Any) -> str:
    """Return the code of an error in brackets, if it is one word."""
    code = str(getattr(error, "code", None) or "")
    return f" ({code})" if code.isidentifier() and len(code) < 50 else ""


def _read(response: str, words: Sequence[str], thinks: bool) -> Answer | None:
    """Return the answer in a response; None if it is incomplete or of an unknown format.

    ``thinks``: the model has a budget for its thoughts, so that an answer that is missing behind them is counted.
    Raises RequestError if it has none, and used all tokens before its answer.
    """
    try:
        (choice, *_) = json.loads(response)["choices"]
        message = choice["message"]
        if choice.get("finish_reason") == "content_filter":
            return Answer(refusal="content filter")
        if message.get("refusal"):
            return Answer(refusal=str(message["refusal"]))
        text = message.get("content") or ""
        # A server that separates the thoughts has them in a field of their own, and no text before they end.
        is_separate = bool(message.get("reasoning_content") or message.get("reasoning"))
        tokens = (choice.get("logprobs") or {}).get("content") or []
        spelled = [str(token["token"]) for token in tokens]
        position = find_answer(spelled, words)
        top = () if position is None else _read_top(tokens[position])
        any_top = _read_top(tokens[0]) if tokens else ()
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    is_full = choice.get("finish_reason") == "length"
    written = "".join(spelled) or text
    reply = strip_thoughts(written)
    is_open = thinks and is_full and not is_separate and "</think>" not in written
    if is_open or (is_separate and not text.strip()):
        reply = None
    if thinks and (reply is None or (is_full and not reply.strip())):
        return Answer(refusal=CUT_OFF, top=any_top)
    if is_full and (reply is None or not (reply.strip() or top)):
        raise RequestError(
            "the model used all tokens before its answer. Raise the setting max_tokens. If it thinks first, give it a "
            "budget of tokens: --setting think=1024."
        )
    return Answer(text, top) if text.strip() or top else None


def _read_top(token: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    return tuple(
        (str(entry["token"]), float(entry["logprob"])) for entry in token["top_logprobs"] or ()
    )


def strip_thoughts(text: str) -> str | None:
    """Return what a model says after it has thought (<think>...</think>); None if it has not ended to think."""
    before, end, after = text.rpartition("</think>")
    if end:
        return after
    return None if re.match(r"\s*<think>", before or after) else after


def find_answer(tokens: Sequence[str], words: Sequence[str]) -> int | None:
    """Return the position of the token at which a model answers with one of ``words``; None if there is no token.

    It is the first token that is no thought, no mark ("**", quotes), and not part of "The answer is"; or the first that
    begins one of the words and ends a clause, as in "The image shows a ball, so yes.".
    """
    starts = [0]
    text = ""
    for token in tokens:
        text += token
        starts.append(len(text))
    reply = strip_thoughts(text)
    if not tokens or reply is None:
        return None
    start = len(text) - len(reply)
    lead = LEAD.match(reply)
    first = start + (lead.end() if lead else 0)
    one_of = "|".join(map(re.escape, words)) or r"(?!)"
    ends_clause = rf"(?<!\w)(?:{one_of})(?=\s*(?:$|[^\w\s]))"
    clause_end = re.compile(ends_clause, re.IGNORECASE).search(text, first)
    begin = clause_end.start() if clause_end else first
    return min(max(bisect_right(starts, begin) - 1, 0), len(tokens) - 1)
