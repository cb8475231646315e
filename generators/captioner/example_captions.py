"""Example captions of a class: short sentences in which it occurs, for prompts that say more than its name.

Source: Kumar et al. 2024 (Compun), section 4: k captions of at most ten words in diverse settings, from a language
model. Differs from it in: the request is in our own words; every caption is checked (the class occurs, ten words at
most, all distinct), and an answer with too few good ones is asked for once more. Without a language model the captions
come from a small grammar and say so. Reads cached answers only; asked_lists.ask fills the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple

from generators.language import inflection
from generators.llm.asked_lists import Question, answered
from generators.llm.client import Cache, Endpoint

GRAMMAR, LLM = "grammar", "llm"
LONGEST = 10
"""Words of a caption."""
DEFAULT = 5
"""Captions of a class: what the paper settles on (Table 2)."""

_LOOKS = ("small", "large", "red", "blue", "green", "yellow", "white", "old", "new")
_SETTINGS = ("in a room", "in a garden", "on a street", "on a beach", "at home", "in front of a wall", "in the evening")


class Examples(NamedTuple):
    """The captions of a class; ``captioner`` names what made them, ``fault`` says why no language model did."""

    captions: tuple[str, ...]
    captioner: str
    fault: str | None = None


def request(name: str, count: int) -> str:
    """What a language model is asked."""
    return (
        f'Write {count} captions of photos in which "{name}" can be seen. Name it in every caption. Each caption is '
        f"one line of at most {LONGEST} words; the {count} captions differ in setting, verb and action. For "
        '"paper lantern" and 2 captions a good answer is ["Paper lantern glowing above a night market.", "Child '
        'carrying a paper lantern home."]. Answer with the list of strings alone.'
    )


def second_request(name: str, count: int) -> str:
    """What it is asked where its first answer will not do."""
    return (
        f"That does not give {count} captions that fit. Answer with a JSON list of {count} different strings alone, "
        f'each of at most {LONGEST} words and each with "{name}" in it.'
    )


def faults(caption: str, name: str) -> list[str]:
    """What is wrong with a caption: it does not name the class (in singular or plural), or it is too long."""
    found = []
    names = "|".join(re.escape(form.lower()) for form in {name, inflection.pluralise(name)})
    if not re.search(rf"(?<!\w)(?:{names})(?!\w)", caption.lower()):
        found.append("the class is not named")
    if len(caption.split()) > LONGEST:
        found.append(f"more than {LONGEST} words")
    return found


def good(captions: Iterable[str], name: str) -> list[str]:
    """The captions without fault, each once, whatever its capitals and final period."""
    distinct = {
        caption.lower().rstrip(". "): caption for caption in reversed(list(captions)) if not faults(caption, name)
    }
    return list(distinct.values())[::-1]


CAPTIONS = Question(request, second_request, good)


def from_grammar(name: str, count: int) -> tuple[str, ...]:
    """Captions like "a small raincoat in a garden", the same at every call. ValueError for more than there are."""
    frames = list(product(_LOOKS, _SETTINGS))
    if count > len(frames):
        raise ValueError(f"{name}: {count} example captions asked for, the grammar has {len(frames)}.")
    chosen = Random(f"examples:{name}").sample(frames, count)
    return tuple(f"{inflection.article(look)} {look} {name} {setting}" for look, setting in chosen)


def examples(name: str, count: int = DEFAULT, endpoint: Endpoint | None = None, cache: Cache | None = None) -> Examples:
    """``count`` example captions of a class: a language model's where ``cache`` has enough, else the grammar's.

    Asks nobody.
    """
    if endpoint is None or cache is None:
        return Examples(from_grammar(name, count), GRAMMAR)
    captions, open_request = answered(CAPTIONS, name, count, endpoint, cache)
    if len(captions) == count:
        return Examples(tuple(captions), f"{LLM}:{endpoint.model}")
    fault = "not asked yet" if open_request else f"{len(captions)} of {count} captions are good"
    return Examples(from_grammar(name, count), GRAMMAR, fault)


def example_captions(
    names: Iterable[str], count: int = DEFAULT, endpoint: Endpoint | None = None, answers: Path | None = None
) -> dict[str, Examples]:
    """``count`` example captions of each class: ``compeval.example_captions(["lab coat", "coat"])``.

    ``answers`` is the folder of a language model's cached answers (``*.jsonl``), ``endpoint`` says which model; without
    both, or where the cache has too few good captions of a class, the grammar speaks and ``fault`` says why.
    ``prompts`` makes prompts of them. Asks nobody: ``compeval examples --ask`` does. ValueError for a class that has
    no name.
    """
    cache = Cache([answers]) if answers else None
    found = {}
    for name in names:
        if not name.strip():
            raise ValueError("A class without a name: give each a word or more.")
        found[name] = examples(name, count, endpoint, cache)
    return found


def prompts(name: str, captions: Iterable[str]) -> list[str]:
    """The paper's prompts, one a caption (section 4)."""
    return [f"a photo of a {name}. An example of {name} in an image is {caption}" for caption in captions]
