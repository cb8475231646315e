"""Ask a chat model which of K captions is the true one, with two worked examples and without the image.

Source: Kamath et al. 2023 (arXiv:2305.14897), Table 10 (ChatGPT, 2-shot, on ARO). Difference from the paper: its prompt
is unpublished, so the prompt and its examples (chat_examples.yaml) are our own. Captions are listed under letters, in
an order that depends on a hash of the captions. An answer that does not name exactly one caption counts as wrong.
Chance: 1/K. This module sends no requests; it reads answers from the cache of generators/llm/client.py.
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

from compeval.base.text_only.baselines import RetrievalSets
from compeval.evaluators.metrics.intervals import compute_share_interval
from compeval.generators.llm.client import Cache, Endpoint, Message, request_hash

MAX_ANSWER_TOKENS = 8
EXAMPLES = yaml.safe_load(
    Path(__file__).with_name("chat_examples.yaml").read_text(encoding="utf-8")
)


def read_endpoint(settings: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint that params.yaml names. The default temperature is 0."""
    return Endpoint(**{"temperature": 0.0, "max_tokens": 16, **settings})


def build_messages(config: str, captions: Sequence[str]) -> list[Message]:
    """Return the chat messages of a request: the config's worked examples and the question about ``captions``."""
    conversation = []
    for example in EXAMPLES[config]:
        conversation += [Message(role="user", content=format_question(example["captions"]))]
        conversation += [Message(role="assistant", content=example["answer"])]
    return [*conversation, Message(role="user", content=format_question(captions))]


def format_question(captions: Sequence[str]) -> str:
    lettered = "\n".join(
        f"{letter}. {caption}" for letter, caption in zip(ascii_uppercase, captions, strict=False)
    )
    letters = ", ".join(ascii_uppercase[: len(captions)])
    return (
        "One of these captions was written for a photo that you cannot see; the others are the same words in the wrong "
        f"places. Which one is most likely the true caption?\n{lettered}\nAnswer with one letter ({letters}) alone."
    )


def shuffle_captions(captions: Sequence[str]) -> list[str]:
    """Return the captions in an order that depends on the captions only, and not on which one is true."""
    ordered = sorted(captions)
    seed = hashlib.sha256("\n".join(ordered).encode()).digest()
    order = np.random.default_rng(int.from_bytes(seed[:8], "big")).permutation(len(ordered))
    return [ordered[int(index)] for index in order]


def read_choice(answer: str, captions: Sequence[str]) -> int | None:
    """Return the index of the caption that the answer names, by letter or by its text.

    Returns None if the answer does not name exactly one caption.
    """
    letters = ascii_uppercase[: len(captions)]
    letters_named = set(
        re.findall(
            rf"(?:^|[(*\s])([{letters}])(?=$|[).:,;*]|\s*\n|\s+(?:is|because)\b)", answer.strip()
        )
    )
    if letters_named:
        return letters.index(letters_named.pop()) if len(letters_named) == 1 else None
    answer = answer.casefold()
    quoted = [
        index for index, caption in enumerate(captions) if caption.strip(" .").casefold() in answer
    ]
    return quoted[0] if len(quoted) == 1 else None


def build_requests(config: str, sets: RetrievalSets) -> list[list[Message]]:
    """Return the messages of one request per set of captions."""
    return [build_messages(config, shuffle_captions(captions)) for captions in sets.captions]


def measure(
    config: str, sets: RetrievalSets, model: Endpoint, cache: Cache
) -> dict[str, Any] | None:
    """Return Recall@1 with its confidence interval over the sets that have a cached answer.

    Returns None if no set has one.
    """
    hits = []
    unreadable = 0
    image_ids = []
    for captions, image_id in zip(sets.captions, sets.images, strict=True):
        options = shuffle_captions(captions)
        answer = cache.get(request_hash(model, build_messages(config, options)))
        if answer is None:
            continue
        choice = read_choice(answer, options)
        unreadable += choice is None
        hits.append(choice is not None and options[choice] == captions[0])
        image_ids.append(image_id)
    if not hits:
        return None
    hit_N = np.array(hits, dtype=np.float64)
    return {
        "model": model.model,
        "asked": len(hits),
        "unreadable": unreadable,
        "recall@1": float(hit_N.mean()),
        "interval": compute_share_interval(hit_N, image_ids),
    }
