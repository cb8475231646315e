"""Compute an image and the common beginning of its prompts once for all captions, with a key-value cache.

A prompt is the image, the beginning of the question, the caption and the end of the question. In a causal decoder the
states of a beginning do not depend on what follows. So the beginning runs once for each image, its keys and values are
repeated for each caption, and only the rest of each prompt runs in a batch, padded on the right.

Shapes: N prompts, I images, L tokens of the beginning, R tokens of the longest rest, V words.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

NOT_CAUSAL = {
    "paligemma": "its image and prompt attend to each other in both directions",
    "instructblip": "its image tokens depend on the question",
}
"""Families of transformers whose states of the beginning depend on the rest of the prompt."""
REPEATABLE = (DynamicLayer, DynamicSlidingWindowLayer)
"""Layers of a cache that can be repeated for several captions."""


class UnrepeatableCacheError(Exception):
    """Raised if the cache of a beginning cannot be repeated for several captions."""


def count_common(sequences: Sequence[Sequence[int]]) -> int:
    """Return the length of the common beginning, which leaves at least one token of each sequence."""
    shortest = min(map(len, sequences)) - 1
    columns = enumerate(zip(*sequences, strict=False))
    return next(
        (index for index, column in columns if index == shortest or len(set(column)) > 1), shortest
    )


def collate(inputs: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Concatenate the inputs of several prompts, which must have equal shapes."""
    return {name: torch.cat([of_prompt[name] for of_prompt in inputs]) for name in inputs[0]}


def cut(inputs: dict[str, Tensor], length: int) -> dict[str, Tensor]:
    """Return the inputs of the first ``length`` tokens. What describes the image stays as it is."""
    shape = inputs["input_ids"].shape
    return {
        name: tensor[:, :length] if tensor.shape == shape else tensor
        for name, tensor in inputs.items()
    }


def run_beginning(model: Any, inputs: dict[str, Tensor]) -> tuple[DynamicCache, Tensor]:
    """Return the keys and values of the common beginnings (I, L), and the next position (I, 1) of each of them.

    The next position is not L if the model counts the positions of image tokens in rows and columns (Qwen-VL).
    Raises UnrepeatableCacheError if the cache cannot be repeated.
    """
    output = model(**inputs, use_cache=True, **_keep_logits(model, 1))
    cache = getattr(output, "past_key_values", None)
    if not isinstance(cache, DynamicCache) or any(
        type(layer) not in REPEATABLE for layer in cache.layers
    ):
        raise UnrepeatableCacheError("its cache is not one of keys and values only")
    num_images, length = inputs["input_ids"].shape
    next_I1 = torch.full((num_images, 1), length, device=inputs["input_ids"].device)
    deltas_I1 = getattr(model.model, "rope_deltas", None)
    return cache, next_I1 if deltas_I1 is None else next_I1 + deltas_I1.to(next_I1.device)


def run_rests(
    model: Any,
    cache: DynamicCache,
    next_I1: Tensor,
    image_N: Sequence[int],
    rests: Sequence[Sequence[int]],
    pad: int,
) -> Tensor:
    """Return the logits (N, V) after N prompts. ``image_N`` is the image of each prompt, ``rests`` its last tokens."""
    device = next_I1.device
    longest = max(map(len, rests))
    index_N = torch.tensor(image_N, device=device)
    token_NR = torch.tensor(
        [[*rest, *[pad] * (longest - len(rest))] for rest in rests], device=device
    )
    last_N = torch.tensor([len(rest) - 1 for rest in rests], device=device)
    offset_R = torch.arange(longest, device=device)
    beginning_NL = torch.ones(len(rests), cache.get_seq_length(), dtype=torch.long, device=device)
    keep_P, position_N = last_N.unique(return_inverse=True)
    output = model(
        input_ids=token_NR,
        attention_mask=torch.cat([beginning_NL, (offset_R <= last_N[:, None]).long()], dim=1),
        position_ids=next_I1[index_N] + offset_R,
        past_key_values=_repeat(cache, index_N),
        use_cache=True,
        **_keep_logits(model, keep_P),
    )
    is_reduced = output.logits.shape[1] == len(keep_P)
    return output.logits[
        torch.arange(len(rests), device=device), position_N if is_reduced else last_N
    ]


def _repeat(cache: DynamicCache, index_N: Tensor) -> DynamicCache:
    """Return a new cache with the entries of the images ``index_N``; ``cache`` stays as it is."""
    repeated = copy.copy(cache)
    repeated.layers = [copy.copy(layer) for layer in cache.layers]
    repeated.batch_select_indices(index_N)
    return repeated


def _keep_logits(model: Any, positions: int | Tensor) -> dict[str, Any]:
    """Return the argument that restricts the logits to the last, or to some positions, if the model has it."""
    return (
        {"logits_to_keep": positions}
        if "logits_to_keep" in inspect.signature(model.forward).parameters
        else {}
    )
