"""A chat model as a text-only scorer: which caption is a photo's, from two worked examples and no photo.

Source: Kamath et al. 2023 (arXiv:2305.14897), Table 10 (ChatGPT, 2-shot, on ARO). Their prompt is unpublished; this one
and its examples (chat_examples.yaml) are ours. Captions are listed under letters in an order given by their hash. An
answer that is not exactly one letter or caption counts as wrong. Chance: 1/K. Sends no requests: answers come from the
cache of generators/llm/client.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
import yaml

from evaluators.metrics.statistics import bootstrap_intervals
from generators.hard_negatives.text_only_scorers import RetrievalSets
from generators.llm.client import Cache, Endpoint, Message, request_hash

MAX_ANSWER_TOKENS = 8
EXAMPLES = yaml.safe_load(Path(__file__).with_name("chat_examples.yaml").read_text(encoding="utf-8"))


def endpoint(settings: Mapping[str, Any]) -> Endpoint:
    """The endpoint of params.yaml; by default at temperature 0."""
    return Endpoint(**{"temperature": 0.0, "max_tokens": 16, **settings})


def messages(config: str, captions: Sequence[str]) -> list[Message]:
    """The request about a set of captions, in the order given."""
    conversation = []
    for example in EXAMPLES[config]:
        conversation += [Message(role="user", content=question(example["captions"]))]
        conversation += [Message(role="assistant", content=example["answer"])]
    return [*conversation, Message(role="user", content=question(captions))]


def question(captions: Sequence[str]) -> str:
    lettered = "\n".join(f"{letter}. {caption}" for letter, caption in zip(ascii_uppercase, captions, strict=False))
    letters = ", ".join(ascii_uppercase[: len(captions)])
    return (
        "One of these captions was written for a photo that you cannot see; the others are the same words in the wrong "
        f"places. Which one is most likely the true caption?\n{lettered}\nAnswer with one letter ({letters}) alone."
    )


def shuffled(captions: Sequence[str]) -> list[str]:
    """The captions in the order of the request: the same on every call, the true one at any position."""
    seed = hashlib.sha256("\n".join(captions).encode()).digest()
    order = np.random.default_rng(int.from_bytes(seed[:8], "big")).permutation(len(captions))
    return [captions[int(position)] for position in order]


def read_choice(answer: str, captions: Sequence[str]) -> int | None:
    """Position of the chosen caption, by its letter, else by its words; None if the answer is not one choice."""
    letters = ascii_uppercase[: len(captions)]
    named = set(re.findall(rf"(?:^|[(*\s])([{letters}])(?=$|[).:,;*]|\s*\n|\s+(?:is|because)\b)", answer.strip()))
    if named:
        return letters.index(named.pop()) if len(named) == 1 else None
    folded = answer.casefold()
    quoted = [position for position, caption in enumerate(captions) if caption.strip(" .").casefold() in folded]
    return quoted[0] if len(quoted) == 1 else None


def prompts(config: str, sets: RetrievalSets) -> list[list[Message]]:
    """One request per set."""
    return [messages(config, shuffled(captions)) for captions in sets.captions]


def measure(config: str, sets: RetrievalSets, model: Endpoint, cache: Cache) -> dict[str, Any] | None:
    """Recall@1 with its interval over the sets with a cached answer; None if there is none."""
    hits, unreadable, images = [], 0, []
    for captions, image in zip(sets.captions, sets.images, strict=True):
        listed = shuffled(captions)
        answer = cache.get(request_hash(model, messages(config, listed)))
        if answer is None:
            continue
        choice = read_choice(answer, listed)
        unreadable += choice is None
        hits.append(choice is not None and listed[choice] == captions[0])
        images.append(image)
    if not hits:
        return None
    hit_N = np.array(hits, dtype=np.float64)
    return {
        "model": model.model,
        "asked": len(hits),
        "unreadable": unreadable,
        "recall@1": float(hit_N.mean()),
        "interval": bootstrap_intervals({"hit": hit_N}, images)["hit"],
    }
