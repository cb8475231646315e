"""Example captions of a class: short sentences that mention the class, for prompts with more than its name.

Source: Kumar et al. 2024 (Compun), section 4: a language model writes k captions of at most ten words in diverse
settings. Differences from the paper: the request has our own wording (llm/questions.yaml), every caption is checked (it
must mention the class, have at most ten words, and be distinct), and the request is repeated once if too few captions
are valid. Without a language model, a small grammar writes the captions; the result names the captioner.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from compeval.generators.language import inflection
from compeval.generators.llm.client import Cache, Endpoint
from compeval.generators.llm.questions import Question, read_cached_items

GRAMMAR = "grammar"
LLM = "llm"
MAX_WORDS = 10
CAPTIONS_PER_CLASS = 5
"""The default, as in the paper's main experiments (Table 2)."""

_ADJECTIVES = ("small", "large", "red", "blue", "green", "yellow", "white", "old", "new")
_SETTINGS = (
    "in a room",
    "in a garden",
    "on a street",
    "on a beach",
    "at home",
    "in front of a wall",
    "in the evening",
)


class Examples(NamedTuple):
    """The captions of a class and their captioner.

    ``fault`` is the reason why the captioner is not a language model.
    """

    captions: tuple[str, ...]
    captioner: str
    fault: str | None = None


def find_faults(caption: str, name: str) -> list[str]:
    """Return the faults of a caption: it does not mention the class in singular or plural, or it is too long."""
    faults = []
    names = "|".join(re.escape(form.lower()) for form in {name, inflection.pluralise(name)})
    if not re.search(rf"(?<!\w)(?:{names})(?!\w)", caption.lower()):
        faults.append("the class is not named")
    if len(caption.split()) > MAX_WORDS:
        faults.append(f"more than {MAX_WORDS} words")
    return faults


def select_valid(captions: Iterable[str], name: str) -> list[str]:
    """Return the captions without faults, without duplicates. Case and a final period are ignored."""
    distinct: dict[str, str] = {}
    for caption in captions:
        if not find_faults(caption, name):
            distinct.setdefault(caption.lower().rstrip(". "), caption)
    return list(distinct.values())


CAPTIONS = Question("example_captions", select_valid)
PUBLISHED_CAPTIONS = Question(
    "published_example_captions", lambda captions, name: list(dict.fromkeys(captions))
)
"""The request that the paper prints; its captions are not checked (``rules: paper``)."""


def captions_from_grammar(name: str, count: int) -> tuple[str, ...]:
    """Return captions such as "a small raincoat in a garden", the same in every call.

    Raises ValueError if ``count`` is larger than the number of captions in the grammar.
    """
    phrases = list(product(_ADJECTIVES, _SETTINGS))
    if count > len(phrases):
        raise ValueError(
            f"{name}: {count} example captions requested, but the grammar has only {len(phrases)}."
        )
    chosen = Random(f"examples:{name}").sample(phrases, count)
    return tuple(
        f"{inflection.choose_article(adjective)} {adjective} {name} {setting}"
        for adjective, setting in chosen
    )


def choose_examples(
    name: str,
    count: int = CAPTIONS_PER_CLASS,
    endpoint: Endpoint | None = None,
    cache: Cache | None = None,
) -> Examples:
    """Return ``count`` captions of a class, from the cached answers of a language model or else from the grammar."""
    if endpoint is None or cache is None:
        return Examples(captions_from_grammar(name, count), GRAMMAR)
    captions, pending = read_cached_items(CAPTIONS, name, count, endpoint, cache)
    if len(captions) == count:
        return Examples(tuple(captions), f"{LLM}:{endpoint.model}")
    fault = "not asked yet" if pending else f"{len(captions)} of {count} captions are good"
    return Examples(captions_from_grammar(name, count), GRAMMAR, fault)


def find_published_examples(
    name: str, count: int, endpoint: Endpoint | None, cache: Cache
) -> Examples | None:
    """Return the first ``count`` cached answers to the paper's request, or None if there are fewer."""
    if endpoint is None:
        return None
    captions = read_cached_items(PUBLISHED_CAPTIONS, name, count, endpoint, cache).items
    return Examples(tuple(captions), f"{LLM}:{endpoint.model}") if len(captions) == count else None


def example_captions(
    names: Iterable[str],
    count: int = CAPTIONS_PER_CLASS,
    endpoint: Endpoint | None = None,
    answers: Path | None = None,
) -> dict[str, Examples]:
    """Return ``count`` example captions per class: ``compeval.example_captions(["lab coat", "coat"])``.

    ``answers`` is the folder of a language model's cached answers (``*.jsonl``), and ``endpoint`` is that model. The
    grammar writes the captions of a class if one of the two is missing, or if the cache has too few valid captions. No
    request is sent: ``compeval examples --ask`` fills the cache. ``make_prompts`` turns captions into prompts. Raises
    ValueError for an empty name.
    """
    names = list(names)
    if not all(name.strip() for name in names):
        raise ValueError("A class name is empty.")
    cache = Cache([answers]) if answers else None
    return {name: choose_examples(name, count, endpoint, cache) for name in names}


def make_prompts(name: str, captions: Iterable[str]) -> list[str]:
    """Return the paper's prompts, one per caption (section 4)."""
    return [
        f"a photo of a {name}. An example of {name} in an image is {caption}"
        for caption in captions
    ]
