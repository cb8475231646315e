"""Lists of short texts about a class that a language model is asked for: example captions, descriptors.

Answers are read from the versioned cache; those with too few good items are asked for once more. ``ask`` fills the
cache, nothing else asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from generators.llm.answers import read_list
from generators.llm.client import REFUSED, Cache, Client, Endpoint, Message, request_hash

TOKENS_PER_ITEM = 20


class Question(NamedTuple):
    """What is asked about a class (name, number of items), and which items of an answer will do."""

    first: Callable[[str, int], str]
    again: Callable[[str, int], str]
    """Where the first answer has too few good items."""
    good: Callable[[Iterable[str], str], list[str]]
    """The good ones among items, for a class, each once."""


class Found(NamedTuple):
    """The good items of the cached answers, and the request that is open; None where none is."""

    items: list[str]
    open: list[Message] | None


def answered(question: Question, name: str, count: int, endpoint: Endpoint, cache: Cache) -> Found:
    """What the cache has on a class, ``count`` items at most."""
    items: list[str] = []
    messages = [Message(role="user", content=question.first(name, count))]
    for attempt in range(2):
        answer = cache.get(request_hash(endpoint, messages))
        if answer is None:
            return Found(items[:count], messages)
        items = question.good([*items, *read_list(answer)], name)
        if len(items) >= count or answer == REFUSED or attempt:
            break
        again = Message(role="user", content=question.again(name, count))
        messages = [*messages, Message(role="assistant", content=answer), again]
    return Found(items[:count], None)


def ask(wanted: Sequence[tuple[Question, int]], names: Sequence[str], client: Client, max_cost: float) -> Counter[str]:
    """Ask each question, for so many items, about all classes, and once more where an answer will not do.

    Gives what came of it, by reason. ValueError before the first request where the estimated cost, two requests a
    class and question, is above ``max_cost``.
    """
    estimates = [
        client.estimate(_open(question, names, count, client), 2 * count * TOKENS_PER_ITEM)
        for question, count in wanted
    ]
    cost = 2 * sum(estimate.cost for estimate in estimates)
    if cost > max_cost:
        raise ValueError(f"the estimated cost {cost:.2f} is above --max-cost {max_cost:.2f}. Nothing was asked.")
    came = Counter[str]()
    for question, count in wanted:
        for _ in range(2):
            asked = client.ask(_open(question, names, count, client))
            came.update("answered" if failure is None else failure.reason for failure in asked)
    return came


def _open(question: Question, names: Iterable[str], count: int, client: Client) -> list[list[Message]]:
    """The requests that have no answer yet."""
    found = (answered(question, name, count, client.endpoint, client.cache) for name in names)
    return [one.open for one in found if one.open]
