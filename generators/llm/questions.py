"""Questions to a language model about a class, whose answers are lists of short texts: example captions, descriptors.

Answers are read from the versioned cache. An answer with too few suitable items is requested once more. Only ``ask``
sends requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml

from generators.llm.answers import read_list
from generators.llm.client import REFUSED, Cache, Client, Endpoint, Message, check_cost, request_hash

TOKENS_PER_ITEM = 20


class Question(NamedTuple):
    """``name`` is the key of its texts in questions.yaml; ``select`` returns the suitable ones of items for a class."""

    name: str
    select: Callable[[Iterable[str], str], list[str]]

    def text(self, attempt: int, class_name: str, count: int) -> str:
        """Return the request (``attempt`` 0) or its repetition (1) for ``count`` items."""
        return _texts()[self.name][attempt].format(name=class_name, count=count)


@cache
def _texts() -> Mapping[str, Sequence[str]]:
    return yaml.safe_load(resources.files("generators.llm").joinpath("questions.yaml").read_text("utf-8"))


class Items(NamedTuple):
    """The suitable items of the cached answers, and the request that has no answer yet, if any."""

    items: list[str]
    pending: list[Message] | None


def read_cached_items(question: Question, class_name: str, count: int, endpoint: Endpoint, answers: Cache) -> Items:
    """Return at most ``count`` items of the cached answers about a class."""
    items: list[str] = []
    messages: list[Message] = []
    for attempt in range(2):
        messages = [*messages, Message(role="user", content=question.text(attempt, class_name, count))]
        answer = answers.get(request_hash(endpoint, messages))
        if answer is None:
            return Items(items[:count], messages)
        items = question.select([*items, *read_list(answer)], class_name)
        if len(items) >= count or answer == REFUSED:
            break
        messages.append(Message(role="assistant", content=answer))
    return Items(items[:count], None)


def ask(wanted: Sequence[tuple[Question, int]], names: Sequence[str], client: Client, max_cost: float) -> Counter[str]:
    """Ask each question, with its number of items, about all classes; repeat it once where too few items are suitable.

    Returns the number of requests by outcome. ValueError before the first request if the estimated cost, two requests
    per class and question, is above ``max_cost``.
    """
    estimates = [
        client.estimate(_pending(question, names, count, client), 2 * count * TOKENS_PER_ITEM)
        for question, count in wanted
    ]
    check_cost(2 * sum(estimate.cost for estimate in estimates), max_cost)
    outcomes = Counter[str]()
    for question, count in wanted:
        for _ in range(2):
            outcomes.update(client.ask(_pending(question, names, count, client)))
    return outcomes


def _pending(question: Question, names: Iterable[str], count: int, client: Client) -> list[list[Message]]:
    results = (read_cached_items(question, name, count, client.endpoint, client.cache) for name in names)
    return [result.pending for result in results if result.pending]
