"""Answers of a language model behind a versioned cache: asked once, kept for ever, read without a key.

Any endpoint that speaks the chat-completions protocol, through the ``openai`` client, which itself retries rate limits
(honouring Retry-After), server errors, timeouts and lost connections. Each answer that arrives whole is appended to a
JSON-lines file and synced before the next step, so that nothing that was paid for is lost or asked again. The key comes
from the environment and goes nowhere else.

A cache line: ``{"request": <hash>, "model", "messages", "temperature", "answer", "usage", "date"}``. A model that
declines to answer has answered: ``answer`` is empty then, ``refusal`` has its words, and nobody asks again.
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
"""The answer of a model that declined to give one."""


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
    """What asking would take. Tokens are estimated offline, from words and marks."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float

    def __str__(self) -> str:
        tokens = f"about {self.tokens_in:,} tokens in and {self.tokens_out:,} out"
        return f"{self.requests:,} requests, {tokens}, estimated cost {self.cost:.2f}"


class Failure(NamedTuple):
    """A request that got no answer; ``reason`` is the kind of error, never its text (which may repeat the key)."""

    reason: str


def request_hash(endpoint: Endpoint, messages: Sequence[Message]) -> str:
    """What an answer is filed under: everything that decides it but the place that gave it."""
    content = [endpoint.model, endpoint.temperature, endpoint.max_tokens, list(messages)]
    return hashlib.sha256(json.dumps(content, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


class Cache:
    """Answers by request hash, read from every ``*.jsonl`` of some folders; new ones go to one file."""

    def __init__(self, folders: Iterable[Path], file: Path | None = None) -> None:
        self._file, self._lock = file, threading.Lock()
        self._answers: dict[str, str] = {}
        for folder in folders:
            for path in sorted(folder.glob("*.jsonl")):
                self._answers |= _read(path)

    def get(self, key: str) -> str | None:
        """The answer, REFUSED where the model gave none; None where it has not been asked."""
        return self._answers.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def add(self, key: str, record: Mapping[str, Any]) -> None:
        """Append the answer and wait until it is on the disk. Safe to call from any thread."""
        assert self._file is not None, "a cache that was opened for reading gets no answers"
        line = json.dumps({"request": key, **record}, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            if key in self._answers:
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab+") as file:
                _end_line(file)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._answers[key] = record["answer"]


def _end_line(file: Any) -> None:
    """Close a line that an earlier process left unfinished, so that ours stands alone."""
    if file.seek(0, os.SEEK_END):
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def _read(path: Path) -> dict[str, str]:
    """The answers of a file; lines that a killed process cut short are passed over, any other fault is an error."""
    answers: dict[str, str] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            if line.rstrip().endswith(b"}"):
                raise ValueError(f"{path}, line {number}: not JSON. Restore the file from Git.") from None
            continue
        if not (isinstance(record, dict) and record.keys() >= {"request", "answer"}):
            raise ValueError(f"{path}, line {number}: no answer of the cache. Restore the file from Git.")
        answers[record["request"]] = record["answer"]
    return answers


class Client:
    """Asks an endpoint, many requests at a time, and files every answer in the cache."""

    def __init__(self, endpoint: Endpoint, cache: Cache) -> None:
        self.endpoint, self.cache = endpoint, cache

    def missing(self, prompts: Iterable[Sequence[Message]]) -> dict[str, Sequence[Message]]:
        """The prompts that have no answer yet, by request hash, each once."""
        keyed = {request_hash(self.endpoint, messages): messages for messages in prompts}
        return {key: messages for key, messages in keyed.items() if key not in self.cache}

    def estimate(self, prompts: Iterable[Sequence[Message]], tokens_out: int) -> Estimate:
        """What the missing prompts would take, at ``tokens_out`` tokens an answer. ValueError without prices."""
        price_in, price_out = self.endpoint.price_in, self.endpoint.price_out
        if price_in is None or price_out is None:
            raise ValueError(
                "the endpoint's price_in and price_out (per million tokens; params.yaml, captioner) are missing: "
                "the cost is unknown. State them; 0 for an endpoint that is free."
            )
        missing = self.missing(prompts).values()
        into = sum(estimated_tokens(message["content"]) for messages in missing for message in messages)
        out = tokens_out * len(missing)
        return Estimate(len(missing), into, out, (into * price_in + out * price_out) / 1_000_000)

    def ask(self, prompts: Iterable[Sequence[Message]]) -> Iterator[Failure | None]:
        """Ask all missing prompts; gives None for each answer that came in and is filed, in the order of arrival.

        ValueError when the environment has no key.
        """
        missing = self.missing(prompts)
        if not missing:
            return
        client = _connect(self.endpoint)
        with ThreadPoolExecutor(self.endpoint.concurrency) as pool:
            waiting = [pool.submit(self._ask_one, client, key, messages) for key, messages in missing.items()]
            try:
                yield from (future.result() for future in as_completed(waiting))
            finally:
                pool.shutdown(cancel_futures=True)

    def _ask_one(self, client: OpenAI, key: str, messages: Sequence[Message]) -> Failure | None:
        from openai import APIError

        try:
            response = client.chat.completions.with_raw_response.create(
                model=self.endpoint.model,
                messages=list(messages),  # type: ignore[arg-type]
                temperature=self.endpoint.temperature,
                max_tokens=self.endpoint.max_tokens,
            )
        except APIError as error:
            status = getattr(error, "status_code", None)
            return Failure(f"HTTP status {status}" if status else type(error).__name__)
        try:
            return self._file(key, messages, json.loads(response.text))
        except json.JSONDecodeError:
            return Failure("answer is not JSON")

    def _file(self, key: str, messages: Sequence[Message], completion: Any) -> Failure | None:
        """Put a whole answer into the cache. ``completion`` is the endpoint's JSON, which may be anything."""
        message = _message(completion)
        if message is None:
            return Failure("answer without text")
        self.cache.add(
            key,
            {
                "model": self.endpoint.model,
                "messages": list(messages),
                "temperature": self.endpoint.temperature,
                **message,
                "usage": completion.get("usage") or {},
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        )
        return None


def make_client(endpoint: Endpoint, folder: Path) -> Client:
    """The client of an endpoint; its answers go to ``folder``, one file per model."""
    name = re.sub(r"[^\w.-]+", "-", endpoint.model)
    return Client(endpoint, Cache([folder], folder / f"{name}.jsonl"))


def ask_all(client: Client, prompts: Sequence[Sequence[Message]], tokens_out: int, max_cost: float) -> Counter[str]:
    """Print what asking would take, at ``tokens_out`` tokens an answer, and ask; gives what came of it, by reason.

    ValueError before the first request where the estimated cost is above ``max_cost``.
    """
    estimate = client.estimate(prompts, tokens_out)
    print(estimate)
    if estimate.cost > max_cost:
        raise ValueError(
            f"the estimated cost {estimate.cost:.2f} is above --max-cost {max_cost:.2f}. Nothing was asked."
        )
    return Counter("answered" if failure is None else failure.reason for failure in client.ask(prompts))


def _connect(endpoint: Endpoint) -> OpenAI:
    """The ``openai`` client of an endpoint. ValueError when the environment has no key."""
    from openai import OpenAI

    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise ValueError(f"{KEY_VARIABLE} is not set. Export it, or use the answers that the cache has.")
    return OpenAI(api_key=key, base_url=endpoint.base_url, max_retries=endpoint.retries, timeout=endpoint.timeout)


def _message(completion: Any) -> dict[str, str] | None:
    """``answer``, and ``refusal`` if that is what it is, of a whole completion; else None."""
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


def estimated_tokens(text: str) -> int:
    """Tokens of an English text by its words (4/3 each) and marks; within about 15 % of OpenAI's tokenisers."""
    return round(4 / 3 * len(re.findall(r"\w+", text))) + len(re.findall(r"[^\w\s]", text)) + 4
