"""Answers of a language model behind a versioned cache: requested once, and read without a key.

Works with any endpoint of the chat-completions protocol, through the ``openai`` client, which retries rate limits
(respecting Retry-After), server errors, timeouts and lost connections. Each complete answer is appended to a JSON-lines
file and synced before the next step, so no paid answer is lost or requested again. The key is read from the environment
and never written.

A cache line: ``{"request": <hash>, "model", "messages", "temperature", "answer", "usage", "date"}``. If the model
declines, ``answer`` is empty, ``refusal`` has its words, and the request is not repeated.
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
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

if TYPE_CHECKING:
    from openai import OpenAI

KEY_VARIABLE = "OPENAI_API_KEY"
REFUSED = ""
"""The answer of a model that declined."""
ANSWERED = "answered"
"""The outcome of a request whose answer is in the cache."""
NO_TEXT = "answer without text"


class Message(TypedDict):
    role: str
    content: str


@dataclass(frozen=True)
class Endpoint:
    """``base_url`` None is OpenAI's own; prices are per million tokens, in the currency of ``max_cost``."""

    model: str
    base_url: str | None = None
    temperature: float = 0.7
    max_tokens: int = 200
    concurrency: int = 8
    retries: int = 6
    timeout: float = 60.0
    price_in: float | None = None
    price_out: float | None = None


class Estimate(NamedTuple):
    """The cost of requests. Tokens are estimated offline, from words and punctuation marks."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float

    def __str__(self) -> str:
        tokens = f"about {self.tokens_in:,} tokens in and {self.tokens_out:,} out"
        return f"{self.requests:,} requests, {tokens}, estimated cost {self.cost:.2f}"


def estimate_tokens(text: str) -> int:
    """Return 4/3 tokens per English word and 1 per mark; within about 15 % of OpenAI's tokenisers."""
    return round(4 / 3 * len(re.findall(r"\w+", text))) + len(re.findall(r"[^\w\s]", text)) + 4


def check_cost(cost: float, max_cost: float) -> None:
    """ValueError if the estimated cost is above the maximum."""
    if cost > max_cost:
        raise ValueError(f"the estimated cost {cost:.2f} is above --max-cost {max_cost:.2f}. Nothing was asked.")


def request_hash(endpoint: Endpoint, messages: Sequence[Message]) -> str:
    """Return the cache key: everything that determines an answer, except the URL of the endpoint."""
    content = [endpoint.model, endpoint.temperature, endpoint.max_tokens, list(messages)]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


class Cache:
    """Answers by request hash, read from every ``*.jsonl`` of some folders; new answers are appended to ``file``."""

    def __init__(self, folders: Iterable[Path], file: Path | None = None) -> None:
        self._file, self._lock = file, threading.Lock()
        self._answers: dict[str, str] = {}
        for folder in folders:
            for path in sorted(folder.glob("*.jsonl")):
                self._answers |= _read(path)

    def get(self, key: str) -> str | None:
        """Return the answer, REFUSED if the model declined, None if there is no answer yet."""
        return self._answers.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def add(self, key: str, record: Mapping[str, Any]) -> None:
        """Append the answer and wait until it is on the disk. Thread-safe."""
        assert self._file is not None, "this cache is read-only"
        line = json.dumps({"request": key, **record}, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            if key in self._answers:
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab+") as file:
                if file.seek(0, os.SEEK_END):  # end a line that a killed process left incomplete
                    file.seek(-1, os.SEEK_END)
                    line = line if file.read(1) == b"\n" else b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._answers[key] = record["answer"]


def _read(path: Path) -> dict[str, str]:
    """The answers of a file. Lines cut short by a killed process are skipped; any other fault is an error."""
    answers: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            record = json.loads(line or b"{")
        except ValueError:
            if line.rstrip().endswith(b"}"):
                raise ValueError(f"{path}, line {number}: not JSON. Restore the file from Git.") from None
            continue
        if not (isinstance(record, dict) and record.keys() >= {"request", "answer"}):
            raise ValueError(f"{path}, line {number}: no answer of the cache. Restore the file from Git.")
        answers[record["request"]] = record["answer"]
    return answers


class Client:
    """Sends requests to an endpoint concurrently and writes every answer to the cache."""

    def __init__(self, endpoint: Endpoint, cache: Cache) -> None:
        self.endpoint, self.cache = endpoint, cache

    def _missing(self, prompts: Iterable[Sequence[Message]]) -> dict[str, Sequence[Message]]:
        """The distinct prompts without an answer, by request hash."""
        keyed = {request_hash(self.endpoint, messages): messages for messages in prompts}
        return {key: messages for key, messages in keyed.items() if key not in self.cache}

    def estimate(self, prompts: Iterable[Sequence[Message]], tokens_out: int) -> Estimate:
        """Return the cost of the missing prompts at ``tokens_out`` tokens per answer. ValueError without prices."""
        price_in, price_out = self.endpoint.price_in, self.endpoint.price_out
        if price_in is None or price_out is None:
            raise ValueError(
                "the endpoint's price_in and price_out (per million tokens; params.yaml, captioner) are missing: "
                "the cost is unknown. State them; 0 for an endpoint that is free."
            )
        missing = self._missing(prompts).values()
        into = sum(estimate_tokens(message["content"]) for messages in missing for message in messages)
        out = tokens_out * len(missing)
        return Estimate(len(missing), into, out, (into * price_in + out * price_out) / 1_000_000)

    def ask(self, prompts: Iterable[Sequence[Message]]) -> Iterator[str]:
        """Send all missing prompts; yield ``ANSWERED`` or the kind of error for each, in the order of arrival.

        An error's text is never part of the result, since it may contain the key. ValueError if the environment has no
        key.
        """
        missing = self._missing(prompts)
        if not missing:
            return
        client = _connect(self.endpoint)
        with ThreadPoolExecutor(self.endpoint.concurrency) as pool:
            futures = [pool.submit(self._ask_one, client, key, messages) for key, messages in missing.items()]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(cancel_futures=True)

    def _ask_one(self, client: OpenAI, key: str, messages: Sequence[Message]) -> str:
        from openai import APIError

        request = {"model": self.endpoint.model, "messages": list(messages), "temperature": self.endpoint.temperature}
        try:
            response: Any = client.chat.completions.with_raw_response.create(
                **request,  # type: ignore[arg-type]
                max_tokens=self.endpoint.max_tokens,
            )
            completion = json.loads(response.text)
        except APIError as error:
            status = getattr(error, "status_code", None)
            return f"HTTP status {status}" if status else type(error).__name__
        except json.JSONDecodeError:
            return "answer is not JSON"
        answer = _answer(completion)
        if answer is None:
            return NO_TEXT
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self.cache.add(key, {**request, **answer, "usage": completion.get("usage") or {}, "date": date})
        return ANSWERED


def _answer(completion: Any) -> dict[str, str] | None:
    """``answer``, and ``refusal`` if the model declined; None for an incomplete answer. Any JSON is accepted."""
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


def _connect(endpoint: Endpoint) -> OpenAI:
    from openai import OpenAI

    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise ValueError(f"{KEY_VARIABLE} is not set. Export it, or use the cached answers.")
    return OpenAI(api_key=key, base_url=endpoint.base_url, max_retries=endpoint.retries, timeout=endpoint.timeout)


def make_client(endpoint: Endpoint, folder: Path) -> Client:
    """Return the client of an endpoint; its answers go to ``folder``, one file per model."""
    name = re.sub(r"[^\w.-]+", "-", endpoint.model)
    return Client(endpoint, Cache([folder], folder / f"{name}.jsonl"))


def ask_all(client: Client, prompts: Sequence[Sequence[Message]], tokens_out: int, max_cost: float) -> Counter[str]:
    """Print the estimated cost, at ``tokens_out`` tokens per answer, and send all prompts; count the outcomes.

    ValueError before the first request if the estimated cost is above ``max_cost``.
    """
    estimate = client.estimate(prompts, tokens_out)
    print(estimate)
    check_cost(estimate.cost, max_cost)
    return Counter(client.ask(prompts))
