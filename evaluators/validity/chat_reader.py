"""A chat model as a reader without eyes: which of some captions is a photo's, from two worked examples and no photo.

Source: Kamath et al. 2023 (arXiv:2305.14897), Table 10 (ChatGPT, 2-shot, on ARO). Their prompt is not known: ours, and
its examples, are our own. The captions stand in an order that their hash decides, under letters, and the answer is a
letter or a caption; an answer that is neither, or more than one, counts as wrong. Chance: 1/K. Asks nobody: answers
come from the cache of generators/llm/client.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

import numpy as np

from evaluators.metrics.statistics import bootstrap_intervals
from generators.hard_negatives.blind_scorers import Sets
from generators.llm.client import Cache, Endpoint, Message, request_hash

TOKENS_OUT = 8


class Shot(NamedTuple):
    """A worked example: captions as they are listed, and which of them is the true one."""

    captions: Sequence[str]
    true: int


ORDER_SHOTS = (
    Shot(
        [
            "beside black cat an sleeps a old gate",
            "old gate sleeps beside an a black cat",
            "a black cat sleeps beside an old gate",
            "a gate old sleeps beside an cat black",
            "black a cat an beside sleeps gate old",
        ],
        2,
    ),
    Shot(
        [
            "two sailors fold a white sail on the quay",
            "two white fold a quay sailors on the sail",
            "sailors fold two sail a white the on quay",
            "on the quay two sailors fold a white sail",
            "the sailors a two white sail fold on quay",
        ],
        0,
    ),
)
SHOTS = {
    "vg_relation": (
        Shot(["the helmet is on the cyclist", "the cyclist is on the helmet"], 0),
        Shot(["the teapot is holding the waiter", "the waiter is holding the teapot"], 1),
    ),
    "vg_attribution": (
        Shot(["the curly noodles and the porcelain bowl", "the porcelain noodles and the curly bowl"], 0),
        Shot(["the wooden sheep and the woolly fence", "the woolly sheep and the wooden fence"], 1),
    ),
    "coco_order": ORDER_SHOTS,
    "flickr30k_order": ORDER_SHOTS,
}
"""By config of ARO."""


def endpoint(told: Mapping[str, Any]) -> Endpoint:
    """Of the settings in params.yaml; the likeliest answer where they do not say otherwise."""
    return Endpoint(**{"temperature": 0.0, "max_tokens": 16, **told})


def messages(config: str, captions: Sequence[str]) -> list[Message]:
    """The request about a set of captions, in the order given."""
    conversation = []
    for shot in SHOTS[config]:
        conversation += [Message(role="user", content=question(shot.captions))]
        conversation += [Message(role="assistant", content=ascii_uppercase[shot.true])]
    return [*conversation, Message(role="user", content=question(captions))]


def question(captions: Sequence[str]) -> str:
    lettered = "\n".join(f"{letter}. {caption}" for letter, caption in zip(ascii_uppercase, captions, strict=False))
    letters = ", ".join(ascii_uppercase[: len(captions)])
    return (
        "One of these captions was written for a photo that you cannot see; the others are the same words in the wrong "
        f"places. Which one is most likely the true caption?\n{lettered}\nAnswer with one letter ({letters}) alone."
    )


def order(captions: Sequence[str]) -> np.ndarray:
    """Positions (K) of the captions as they are listed: the same at every call, the truth anywhere."""
    seed = hashlib.sha256("\n".join(captions).encode()).digest()
    return np.random.default_rng(int.from_bytes(seed[:8], "big")).permutation(len(captions))


def read_choice(answer: str, captions: Sequence[str]) -> int | None:
    """Which of the captions as they were listed was chosen: by its letter, else by its words; None if not one."""
    letters = ascii_uppercase[: len(captions)]
    named = set(re.findall(rf"(?:^|[(*\s])([{letters}])(?=$|[).:,;*]|\s*\n|\s+(?:is|because)\b)", answer.strip()))
    if named:
        return letters.index(named.pop()) if len(named) == 1 else None
    told = answer.casefold()
    quoted = [place for place, caption in enumerate(captions) if caption.strip(" .").casefold() in told]
    return quoted[0] if len(quoted) == 1 else None


def listed(captions: Sequence[str]) -> list[str]:
    """The captions in the order that they are asked about."""
    return [captions[int(place)] for place in order(captions)]


def prompts(config: str, sets: Sets) -> list[list[Message]]:
    """One request a set."""
    return [messages(config, listed(captions)) for captions in sets.captions]


def measure(config: str, sets: Sets, asked: Endpoint, cache: Cache) -> dict[str, Any] | None:
    """Recall@1 with its interval over the sets that the cache has answers on; None where it has none."""
    hits, unread, images = [], 0, []
    for captions, image in zip(sets.captions, sets.images, strict=True):
        shown = listed(captions)
        answer = cache.get(request_hash(asked, messages(config, shown)))
        if answer is None:
            continue
        choice = read_choice(answer, shown)
        unread += choice is None
        hits.append(choice is not None and shown[choice] == captions[0])
        images.append(image)
    if not hits:
        return None
    hit_N = np.array(hits, dtype=np.float64)
    interval = bootstrap_intervals({"hit": hit_N}, images)["hit"]
    return {
        "model": asked.model,
        "asked": len(hits),
        "unreadable": unread,
        "recall@1": float(hit_N.mean()),
        "interval": interval,
    }
