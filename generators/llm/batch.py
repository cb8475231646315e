"""Asking a language model through its endpoint's batch API: files in, files out, cheaper, within a day.

Same prompts, same cache as generators/llm/client.py. What is under way stands beside the cache in
``<model>.batch.json``, so
that a process that was killed is taken up where it stopped: the requests and a label are written there before the
endpoint hears of them, the batch's id after. A batch that was started but whose id was never written is found by the
label in its metadata. The file goes when all that came back is filed.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from generators.llm.client import Cache, Client, Endpoint, Failure, Message, body, connect, failure

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types import Batch

MOST_REQUESTS = 50_000
"""OpenAI's limit for one batch."""
URL = "/v1/chat/completions"
LABEL = "compeval"
"""The metadata key of a batch's label."""


@dataclass(frozen=True)
class UnderWay:
    """The batch that is being worked on: its requests by hash, and its id once the endpoint gave one."""

    requests: Mapping[str, Sequence[Message]]
    label: str
    id: str | None = None

    def write(self, path: Path) -> UnderWay:
        """Put it on the disk, in one piece or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with new.open("w") as file:
            json.dump(asdict(self), file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        return self

    @classmethod
    def read(cls, path: Path) -> UnderWay | None:
        return cls(**json.loads(path.read_text())) if path.exists() else None


def make_client(endpoint: Endpoint, folder: Path) -> Client:
    """The client that an endpoint's settings ask for; it files its answers in ``folder``, in one file a model."""
    name = re.sub(r"[^\w.-]+", "-", endpoint.model)
    file = folder / f"{name}.jsonl"
    cache = Cache([folder], file)
    return BatchClient(endpoint, cache, file.with_suffix(".batch.json")) if endpoint.batch else Client(endpoint, cache)


class BatchClient(Client):
    """A client that sends all requests at once and waits; ``state`` is the file of what is under way."""

    def __init__(self, endpoint: Endpoint, cache: Cache, state: Path) -> None:
        super().__init__(endpoint, cache)
        self.state = state

    def ask(self, prompts: Iterable[Sequence[Message]]) -> Iterator[Failure | None]:
        """As Client.ask; first finishes the batch that an earlier process left.

        ValueError when the environment has no key, or when the connection is lost for good: run again to go on.
        """
        from openai import APIError

        todo = self.missing(prompts)
        while todo or self.state.exists():
            current = UnderWay.read(self.state)
            if current is None:
                current = UnderWay(dict(islice(todo.items(), MOST_REQUESTS)), uuid4().hex).write(self.state)
            try:
                found = self._results(connect(self.endpoint), current)
            except APIError as error:
                raise ValueError(
                    f"{self.state}: the batch is not finished ({failure(error).reason}). "
                    "Run the command again to go on, or delete the file to give it up."
                ) from None
            yield from (self._file(key, current.requests[key], found[key]) for key in current.requests)
            self.state.unlink()
            todo = {key: messages for key, messages in todo.items() if key not in current.requests}

    def _results(self, client: OpenAI, current: UnderWay) -> dict[str, Any]:
        """The endpoint's line for each request, once the batch has ended."""
        batch_id = current.id or _find(client, current.label)
        if batch_id is None:
            lines = (json.dumps(_line(self.endpoint, key, text)) for key, text in current.requests.items())
            content = "\n".join(lines).encode()
            file = client.files.create(file=("requests.jsonl", content), purpose="batch")
            # Not to be sent twice: what is lost on the way may have arrived, and the next run finds it.
            batch_id = (
                client.with_options(max_retries=0)
                .batches.create(
                    input_file_id=file.id,
                    endpoint=URL,
                    completion_window="24h",
                    metadata={LABEL: current.label},
                )
                .id
            )
        replace(current, id=batch_id).write(self.state)
        batch = _ended(client, batch_id, self.endpoint.poll)
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        lines = [line for file in files for line in client.files.content(file).text.splitlines()]
        unanswered = {"error": {"code": f"batch {batch.status}, no answer"}}
        return dict.fromkeys(current.requests, unanswered) | dict(_parsed(lines))

    def _file(self, key: str, messages: Sequence[Message], line: Any) -> Failure | None:
        """Put one answer into the cache."""
        match line:
            case {"response": {"status_code": 200, "body": completion}}:
                return self.file(key, messages, completion)
            case {"response": {"status_code": int(status)}}:
                return Failure(f"HTTP status {status}")
            case {"error": {"code": str(code)}}:
                return Failure(code)
        return Failure("answer without text")


def _line(endpoint: Endpoint, key: str, messages: Sequence[Message]) -> dict[str, Any]:
    """One line of the input file."""
    return {"custom_id": key, "method": "POST", "url": URL, "body": body(endpoint, messages)}


def _parsed(lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The endpoint's line for each request; what is not JSON or names no request is passed over."""
    for line in lines:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(result, dict) and "custom_id" in result:
            yield result["custom_id"], result


def _find(client: OpenAI, label: str) -> str | None:
    """The batch that was started under a label, if any."""
    return next((batch.id for batch in client.batches.list() if (batch.metadata or {}).get(LABEL) == label), None)


def _ended(client: OpenAI, batch_id: str, poll: float) -> Batch:
    """The batch once the endpoint works on it no longer."""
    while True:
        batch = client.batches.retrieve(batch_id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(poll)
