"""Example captions of a class: short sentences that mention it, for prompts with more than its name.

Source: Kumar et al. 2024 (Compun), section 4: k captions of at most ten words in diverse settings, from a language
model. Differs from it in: the request is our own (llm/questions.yaml); every caption is checked (it mentions the class,
has ten words at most, and is distinct), and an answer with too few is requested once more. Without a language model the
captions come from a small grammar, which the result names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from generators.language import inflection
from generators.llm.client import Cache, Endpoint
from generators.llm.questions import Question, read_cached_items

GRAMMAR, LLM = "grammar", "llm"
MAX_WORDS = 10
DEFAULT = 5
"""Captions per class, as in the paper's main experiments (Table 2)."""

_LOOKS = ("small", "large", "red", "blue", "green", "yellow", "white", "old", "new")
_SETTINGS = ("in a room", "in a garden", "on a street", "on a beach", "at home", "in front of a wall", "in the evening")


class Examples(NamedTuple):
    """The captions of a class and their captioner; ``fault`` is the reason why it is not a language model."""

    captions: tuple[str, ...]
    captioner: str
    fault: str | None = None


def faults(caption: str, name: str) -> list[str]:
    """Return the faults of a caption: the class is not mentioned (in singular or plural), or it is too long."""
    faults = []
    names = "|".join(re.escape(form.lower()) for form in {name, inflection.pluralise(name)})
    if not re.search(rf"(?<!\w)(?:{names})(?!\w)", caption.lower()):
        faults.append("the class is not named")
    if len(caption.split()) > MAX_WORDS:
        faults.append(f"more than {MAX_WORDS} words")
    return faults


def select(captions: Iterable[str], name: str) -> list[str]:
    """Return the captions without faults that are distinct up to case and final period."""
    distinct: dict[str, str] = {}
    for caption in captions:
        if not faults(caption, name):
            distinct.setdefault(caption.lower().rstrip(". "), caption)
    return list(distinct.values())


CAPTIONS = Question("example_captions", select)


def from_grammar(name: str, count: int) -> tuple[str, ...]:
    """Return captions like "a small raincoat in a garden", the same at every call. ValueError above the maximum."""
    frames = list(product(_LOOKS, _SETTINGS))
    if count > len(frames):
        raise ValueError(f"{name}: {count} example captions requested, the grammar has {len(frames)}.")
    chosen = Random(f"examples:{name}").sample(frames, count)
    return tuple(f"{inflection.article(look)} {look} {name} {setting}" for look, setting in chosen)


def examples(name: str, count: int = DEFAULT, endpoint: Endpoint | None = None, cache: Cache | None = None) -> Examples:
    """Return ``count`` captions of a class: a language model's if ``cache`` has enough, else the grammar's."""
    if endpoint is None or cache is None:
        return Examples(from_grammar(name, count), GRAMMAR)
    captions, pending = read_cached_items(CAPTIONS, name, count, endpoint, cache)
    if len(captions) == count:
        return Examples(tuple(captions), f"{LLM}:{endpoint.model}")
    fault = "not asked yet" if pending else f"{len(captions)} of {count} captions are good"
    return Examples(from_grammar(name, count), GRAMMAR, fault)


def example_captions(
    names: Iterable[str], count: int = DEFAULT, endpoint: Endpoint | None = None, answers: Path | None = None
) -> dict[str, Examples]:
    """Return ``count`` example captions per class: ``compeval.example_captions(["lab coat", "coat"])``.

    ``answers`` is the folder of a language model's cached answers (``*.jsonl``), ``endpoint`` the model. Without both,
    or if the cache has too few suitable captions of a class, its captions come from the grammar. No request is sent:
    ``compeval examples --ask`` fills the cache. ``prompts`` makes prompts of captions. ValueError for an empty name.
    """
    names = list(names)
    if not all(name.strip() for name in names):
        raise ValueError("A class without a name: give each a word or more.")
    cache = Cache([answers]) if answers else None
    return {name: examples(name, count, endpoint, cache) for name in names}


def prompts(name: str, captions: Iterable[str]) -> list[str]:
    """Return the paper's prompts, one per caption (section 4)."""
    return [f"a photo of a {name}. An example of {name} in an image is {caption}" for caption in captions]
