"""Questions to a language model about a class that are answered by a list: example captions or descriptors.

Only ``ask`` sends requests; other functions read the cached answers. If an answer has too few suitable items, the
question is asked a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import yaml

from compeval.generators.llm.answers import read_list
from compeval.generators.llm.client import (
    REFUSED,
    Cache,
    Client,
    Endpoint,
    Message,
    check_cost,
    request_hash,
)

TOKENS_PER_ITEM = 20
"""For the estimated cost."""


class Question(NamedTuple):
    """``name`` is the key in questions.yaml. ``select(items, class_name)`` returns the suitable items for a class."""

    name: str
    select: Callable[[Iterable[str], str], list[str]]

    def make_text(self, attempt: int, class_name: str, count: int) -> str:
        """Return the first (``attempt`` 0) or second (1) request for ``count`` items."""
        return _read_texts()[self.name][attempt].format(name=class_name, count=count)


@cache
def _read_texts() -> Mapping[str, Sequence[str]]:
    return yaml.safe_load(
        resources.files("compeval.generators.llm").joinpath("questions.yaml").read_text("utf-8")
    )


class Items(NamedTuple):
    """The suitable items of the cached answers, and the next request; ``pending`` is None if no request is needed."""

    items: list[str]
    pending: list[Message] | None


def read_cached_items(
    question: Question, class_name: str, count: int, endpoint: Endpoint, answers: Cache
) -> Items:
    """Return at most ``count`` suitable items of the cached answers about a class."""
    items: list[str] = []
    messages: list[Message] = []
    for attempt in range(2):
        messages = [
            *messages,
            Message(role="user", content=question.make_text(attempt, class_name, count)),
        ]
        answer = answers.get(request_hash(endpoint, messages))
        if answer is None:
            return Items(items[:count], messages)
        items = question.select([*items, *read_list(answer)], class_name)
        if len(items) >= count or answer == REFUSED:
            break
        messages.append(Message(role="assistant", content=answer))
    return Items(items[:count], None)


def ask(
    questions: Sequence[tuple[Question, int]],
    class_names: Sequence[str],
    client: Client,
    max_cost: float,
) -> Counter[str]:
    """Ask all (question, number of items) pairs about all classes; return the number of requests by outcome.

    Raises ValueError before the first request if the estimated cost is above ``max_cost``. The estimate assumes two
    requests per class and question.
    """
    estimates = [
        client.estimate(
            _find_pending(question, class_names, count, client), 2 * count * TOKENS_PER_ITEM
        )
        for question, count in questions
    ]
    check_cost(2 * sum(estimate.cost for estimate in estimates), max_cost)
    outcomes = Counter[str]()
    for question, count in questions:
        for _ in range(2):
            outcomes.update(client.ask(_find_pending(question, class_names, count, client)))
    return outcomes


def _find_pending(
    question: Question, class_names: Iterable[str], count: int, client: Client
) -> list[list[Message]]:
    results = (
        read_cached_items(question, class_name, count, client.endpoint, client.cache)
        for class_name in class_names
    )
    return [result.pending for result in results if result.pending]
