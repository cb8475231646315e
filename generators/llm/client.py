"""Request answers from a language model, and cache them in versioned files.

A cached answer is never requested again, and reading it needs no API key. base/chat_completions.py sends the requests
and retries. Every complete answer is appended to a JSON-lines file immediately, so a killed process
does not lose paid answers. The API key is read from the environment and never written.

A line of the cache is ``{"request": <hash>, "model", "messages", "temperature", "answer", "usage", "date"}``. If the
model declines to answer, ``answer`` is empty and ``refusal`` contains the reason; the request is not repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from compeval.base.chat_completions import (
    KEY_VARIABLE,
    MAX_COMPLETION_TOKENS,
    MAX_TOKENS,
    ChatCompletions,
)
from compeval.base.files.listing import list_files
from compeval.base.plain_text import strip_url

REFUSED = ""
"""The cached answer if the model declined."""
ANSWERED = "answered"
"""The outcome of a successful request."""


class Message(TypedDict):
    role: str
    content: str


@dataclass(frozen=True)
class Endpoint:
    """A language model and its endpoint.

    If ``base_url`` is None, OpenAI's endpoint is used. Prices are per million input and output tokens, in the same
    currency as ``max_cost``.
    """

    model: str
    base_url: str | None = None
    temperature: float = 0.7
    max_tokens: int = 200
    concurrency: int = 8
    retries: int = 6
    timeout: float = 60.0
    price_in: float | None = None
    price_out: float | None = None

    @classmethod
    def from_params(cls, fields: Mapping[str, Any], key: str) -> Endpoint:
        """Return the endpoint of a block of params.yaml, whose name is ``key``.

        Raises ValueError if the model is missing or a key is unknown.
        """
        if "model" not in fields or not fields.keys() <= cls.__annotations__.keys():
            raise ValueError(
                f"params.yaml, {key}: got {', '.join(fields) or 'no keys'}; expected model and, where needed, "
                f"{', '.join(name for name in cls.__annotations__ if name != 'model')}."
            )
        address = fields.get("base_url")
        if address and strip_url(address) != address:
            raise ValueError(
                f"params.yaml, {key}: base_url is {strip_url(address)} and more. dvc.lock would store a password or a "
                "query: leave them out, and set OPENAI_API_KEY."
            )
        return cls(**fields)


class Estimate(NamedTuple):
    """The estimated tokens and cost of requests."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float

    def __str__(self) -> str:
        tokens = f"about {self.tokens_in:,} tokens in and {self.tokens_out:,} out"
        return f"{self.requests:,} requests, {tokens}, estimated cost {self.cost:.2f}"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: 4/3 per English word and 1 per mark.

    The estimate is within about 15 % of OpenAI's tokenisers.
    """
    return round(4 / 3 * len(re.findall(r"\w+", text))) + len(re.findall(r"[^\w\s]", text)) + 4


def check_cost(cost: float, max_cost: float) -> None:
    """Raise ValueError if the estimated cost is above the maximum."""
    if cost > max_cost:
        raise ValueError(
            f"the estimated cost {cost:.2f} is above --max-cost {max_cost:.2f}. No request was sent."
        )


def request_hash(endpoint: Endpoint, messages: Sequence[Message]) -> str:
    """Return the cache key: a hash of everything that determines an answer, except the URL of the endpoint."""
    content = [endpoint.model, endpoint.temperature, endpoint.max_tokens, list(messages)]
    return hashlib.sha256(
        json.dumps(content, ensure_ascii=False, sort_keys=True).encode()
    ).hexdigest()


class Cache:
    """Answers by request hash, read from all ``*.jsonl`` files in ``folders``; new answers are appended to ``file``."""

    def __init__(self, folders: Iterable[Path], file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._answers: dict[str, str] = {}
        for folder in folders:
            for path in list_files(folder, "*.jsonl"):
                self._answers |= _read(path)

    def get(self, key: str) -> str | None:
        """Return the answer, REFUSED if the model declined, or None if there is no answer yet."""
        return self._answers.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def add(self, key: str, record: Mapping[str, Any]) -> None:
        """Append an answer and wait until it is written to disk. Thread-safe."""
        assert self._file is not None, "this cache is read-only"
        line = json.dumps({"request": key, **record}, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            if key in self._answers:
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab+") as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # a killed process left an incomplete line
                        line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._answers[key] = record["answer"]


def _read(path: Path) -> dict[str, str]:
    """Return the answers of a file by request hash.

    Lines that a killed process left incomplete are skipped. Raises ValueError for any other invalid line.
    """
    answers: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            record = json.loads(line or b"{")
        except ValueError:
            if line.rstrip().endswith(b"}"):
                raise ValueError(
                    f"{path}, line {number}: not JSON. Restore the file from Git."
                ) from None
            continue
        if not (isinstance(record, dict) and record.keys() >= {"request", "answer"}):
            raise ValueError(
                f"{path}, line {number}: not a line of the cache. Restore the file from Git."
            )
        answers[record["request"]] = record["answer"]
    return answers


class Client:
    """Sends concurrent requests to an endpoint and writes every answer to the cache."""

    def __init__(self, endpoint: Endpoint, cache: Cache) -> None:
        self.endpoint = endpoint
        self.cache = cache
        self._connection: ChatCompletions | None = None

    def find_missing(self, prompts: Iterable[Sequence[Message]]) -> dict[str, Sequence[Message]]:
        """Return the distinct prompts without a cached answer, by request hash."""
        by_key = {request_hash(self.endpoint, messages): messages for messages in prompts}
        return {key: messages for key, messages in by_key.items() if key not in self.cache}

    def make_request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return what is sent to the endpoint, except the limit of tokens, and stored with the answer."""
        return {
            "model": self.endpoint.model,
            "messages": list(messages),
            "temperature": self.endpoint.temperature,
        }

    def estimate(self, prompts: Iterable[Sequence[Message]], tokens_out: int) -> Estimate:
        """Estimate the cost of the prompts that are not cached, with ``tokens_out`` tokens per answer.

        Raises ValueError if the endpoint has no prices.
        """
        price_in = self.endpoint.price_in
        price_out = self.endpoint.price_out
        if price_in is None or price_out is None:
            raise ValueError(
                "The cost is unknown, because the endpoint has no price_in and price_out (per million tokens; 0 for a "
                "free endpoint). Set them in params.yaml, captioner, or with --price-in and --price-out."
            )
        missing = self.find_missing(prompts).values()
        total_in = sum(
            estimate_tokens(message["content"]) for messages in missing for message in messages
        )
        total_out = tokens_out * len(missing)
        cost = (total_in * price_in + total_out * price_out) / 1_000_000
        return Estimate(len(missing), total_in, total_out, cost)

    def ask(self, prompts: Iterable[Sequence[Message]]) -> Iterator[str]:
        """Send all prompts that are not cached; yield ``ANSWERED`` or the kind of error as each answer arrives.

        The message of an error is not part of the result, because it can contain the API key. Raises ValueError if the
        environment has no API key.
        """
        endpoint = self.endpoint
        missing = self.find_missing(prompts)
        if not missing:
            return
        if self._connection is None:
            self._connection = ChatCompletions(
                endpoint.base_url,
                check_key(),
                {MAX_TOKENS: endpoint.max_tokens},
                retries=endpoint.retries,
                timeout=endpoint.timeout,
            )
        connection = self._connection
        with ThreadPoolExecutor(endpoint.concurrency) as pool:
            futures = [
                pool.submit(self._ask_one, connection, key, messages)
                for key, messages in missing.items()
            ]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(cancel_futures=True)

    def _ask_one(self, connection: ChatCompletions, key: str, messages: Sequence[Message]) -> str:
        """Send one request and cache the answer. Returns the outcome."""
        from openai import APIError

        request = self.make_request(messages)
        try:
            completion = json.loads(connection.send(request))
        except APIError as error:
            status = getattr(error, "status_code", None)
            if not status:
                return type(error).__name__
            names = (*request, MAX_TOKENS, MAX_COMPLETION_TOKENS)
            return f"HTTP status {status}" + (f" ({error.param})" if error.param in names else "")
        except json.JSONDecodeError:
            return "answer is not JSON"
        answer = _read_answer(completion)
        if answer is None:
            return "answer without text"  # empty or incomplete, not cached
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self.cache.add(
            key, {**request, **answer, "usage": completion.get("usage") or {}, "date": date}
        )
        return ANSWERED


def _read_answer(completion: Any) -> dict[str, str] | None:
    """Return the keys ``answer`` and, if the model declined, ``refusal``.

    Returns None if the answer is incomplete or ``completion`` has an unknown format.
    """
    match completion:
        case {"choices": [{"finish_reason": "content_filter"}, *_]}:
            return {"answer": REFUSED, "refusal": "content filter"}
        case {"choices": [{"message": {"refusal": str(refusal)}}, *_]} if refusal:
            return {"answer": REFUSED, "refusal": refusal}
        case {"choices": [{"finish_reason": "length"}, *_]}:
            return None
        case {"choices": [{"message": {"content": str(content)}}, *_]} if content.strip():
            return {"answer": content}
    return None


def check_key() -> str:
    """Return the API key of the environment. Raises ValueError if there is none.

    To be called before work that only requests need.
    """
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise ValueError(f"{KEY_VARIABLE} is not set. Export it, or use the cached answers.")
    return key


def make_client(endpoint: Endpoint, folder: Path) -> Client:
    """Return the client of an endpoint, which writes one file per model to ``folder``."""
    name = re.sub(r"[^\w.-]+", "-", endpoint.model)
    return Client(endpoint, Cache([folder], folder / f"{name}.jsonl"))


def ask_all(
    client: Client, prompts: Sequence[Sequence[Message]], tokens_out: int, max_cost: float
) -> Counter[str]:
    """Print the estimated cost and send all prompts; return the number of requests by outcome.

    The estimate assumes ``tokens_out`` tokens per answer. Raises ValueError before the first request if the estimated
    cost is above ``max_cost``.
    """
    estimate = client.estimate(prompts, tokens_out)
    print(estimate)
    check_cost(estimate.cost, max_cost)
    return Counter(client.ask(prompts))
