"""Load files of weights into models of open_clip, without guesses about what a file leaves open.

open_clip fits a file to an architecture without a word: position embeddings of another image size, or of another
number of tokens, are interpolated. Here the file decides: the model gets its image size and its number of tokens, and
where a folder's configuration says another size, that is an error. Prefixes that a training leaves in the names of the
tensors (``module.``, ``_orig_mod.`` of torch.compile, ``model.`` of Lightning) are removed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import open_clip
from open_clip import convert, factory
from open_clip.model import resize_pos_embed, resize_text_pos_embed
from torch import Tensor

from compeval.base.pretrained import check_no_adapter

WRAPPERS = re.compile(r"\b(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.")
"""Parts of a name that wrap a module: torch.compile, FSDP and activation checkpointing."""
PREFIXES = ("module.", "model.", "clip_model.", "clip.", "net.")
"""Prefixes that all names of a file may share: DistributedDataParallel, and attributes of a training's class."""
CONTAINERS = ("state_dict", "model_state_dict", "model", "ema", "model_ema")
"""Keys of a checkpoint under which trainings keep the weights."""
IMAGE_POSITIONS = (
    "visual.positional_embedding",
    "visual.attnpool.positional_embedding",
    "visual.trunk.pos_embed",
)
TEXT_POSITIONS = ("positional_embedding", "text.positional_embedding")
POSITION_IDS = "text.transformer.embeddings.position_ids"
"""A constant that older versions of transformers stored."""
BIG_VISION = (".npz", ".npy")
NUM_SHOWN = 3


class Sizes(NamedTuple):
    """Sizes of a model's inputs, from its position embeddings; None if they say nothing."""

    grid: int | None
    """Number of patches along a side of the image."""
    tokens: int | None


State = dict[str, Tensor]


def read_state(path: Path | str) -> State:
    """Return the tensors of a file under the names of open_clip. Never unpickles arbitrary objects."""
    state: Any = factory.load_state_dict(str(path), weights_only=True)
    while inner := next((key for key in CONTAINERS if isinstance(state.get(key), Mapping)), None):
        state = state[inner]
    tensors = {
        WRAPPERS.sub("", name): value for name, value in state.items() if isinstance(value, Tensor)
    }
    while prefix := next((candidate for candidate in PREFIXES if _share(tensors, candidate)), None):
        tensors = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return tensors


def _share(names: Collection[str], prefix: str) -> bool:
    return bool(names) and all(name.startswith(prefix) for name in names)


def measure(state: Mapping[str, Tensor]) -> Sizes:
    """Return the sizes of the inputs that a model with these tensors reads."""
    image = next((state[name] for name in IMAGE_POSITIONS if name in state), None)
    text = next((state[name] for name in TEXT_POSITIONS if name in state), None)
    grid = None if image is None else _find_grid(image.shape[-2])
    return Sizes(grid, None if text is None else text.shape[0])


def _find_grid(positions: int) -> int | None:
    """Return the side of a square of positions, with or without one for the class token; None if it is no square."""
    sides = (math.isqrt(positions - extra) for extra in (0, 1))
    return next((side for side in sides if side * side in (positions, positions - 1)), None)


def load(create: Callable[..., Any], path: Path) -> Any:
    """Return the model that ``create`` makes with the weights, the image size and the number of tokens of a file.

    ``create`` takes open_clip's ``force_image_size`` and ``force_context_length``. Files of big_vision (.npz) are read,
    too. Raises ValueError if the tensors are not those of the model, or if there is an adapter for them.
    """
    check_no_adapter(path.parent)
    if path.suffix in BIG_VISION:
        model = _create_fitting(create, _measure_big_vision(path))
        factory.load_checkpoint(model, str(path))
        return model
    state = read_state(path)
    model = _create_fitting(create, measure(state))
    load_state(model, state)
    return model


def _measure_big_vision(path: Path) -> Sizes:
    """Return the sizes of the inputs of a model of big_vision."""
    with np.load(path, allow_pickle=False) as arrays:
        shapes = {
            kind: next(
                (arrays[name].shape[-2] for name in arrays.files if name.endswith(suffix)), None
            )
            for kind, suffix in (("grid", "img/pos_embedding"), ("tokens", "txt/pos_embedding"))
        }
    grid = None if shapes["grid"] is None else _find_grid(shapes["grid"])
    return Sizes(grid, shapes["tokens"])


def _create_fitting(create: Callable[..., Any], sizes: Sizes) -> Any:
    """Return the model that ``create`` makes, for inputs of the given sizes."""
    model = create()
    expected = measure(model.state_dict())
    forced: dict[str, int] = {}
    if sizes.grid and expected.grid and sizes.grid != expected.grid:
        forced["force_image_size"] = sizes.grid * (get_image_size(model) // expected.grid)
    if sizes.tokens and expected.tokens and sizes.tokens != expected.tokens:
        forced["force_context_length"] = sizes.tokens
    return create(**forced) if forced else model


def get_image_size(model: Any) -> int:
    """Return the side of the images that a model of open_clip reads, in pixels."""
    size = model.visual.image_size
    return size if isinstance(size, int) else size[0]


def describe_difference(model: Any, state: State) -> str:
    """Return how the inputs of the weights differ from those of the model, "" if they do not."""
    expected = measure(model.state_dict())
    sizes = measure(state)
    parts: list[str] = []
    if sizes.grid and expected.grid and sizes.grid != expected.grid:
        size = get_image_size(model)
        parts.append(f"images of {sizes.grid * (size // expected.grid)} pixels, not of {size}")
    if sizes.tokens and expected.tokens and sizes.tokens != expected.tokens:
        parts.append(f"texts of {sizes.tokens} tokens, not of {expected.tokens}")
    return " and ".join(parts)


def load_state(model: Any, state: State, *, resize: bool = False) -> None:
    """Load tensors into a model of open_clip. Raises ValueError, in one line, if they are not those of the model.

    ``resize``: interpolate position embeddings of other sizes, as open_clip does.
    """
    state = convert.convert_state_dict(model, dict(state))
    if "positional_embedding" in state and not hasattr(model, "positional_embedding"):
        state = open_clip.model.convert_to_custom_text_state_dict(state)
    for name in ("logit_scale", "logit_bias"):  # numbers, or lists of one number
        parameter = getattr(model, name, None)
        if parameter is not None and name in state:
            state[name] = state[name].reshape(parameter.shape)
    if getattr(model, "logit_bias", None) is not None:
        # It moves all scores alike. Models that were not trained with it have none.
        state.setdefault("logit_bias", model.logit_bias.detach().clone().zero_())
    if POSITION_IDS not in model.state_dict():
        state.pop(POSITION_IDS, None)
    if resize:
        resize_pos_embed(state, model)
        resize_text_pos_embed(state, model)
    check_tensors(model, state)
    model.load_state_dict(state, strict=True)


def check_tensors(model: Any, state: State) -> None:
    """Raise ValueError if tensors are missing, are not the model's, or have another shape."""
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    kinds = {
        "are missing": [name for name in expected if name not in shapes],
        "are not of this architecture": [name for name in shapes if name not in expected],
        "have another shape": [
            f"{name} {shapes[name]}, not {shape}"
            for name, shape in expected.items()
            if shapes.get(name, shape) != shape
        ],
    }
    if problems := [_list(names, what) for what, names in kinds.items() if names]:
        raise ValueError("; ".join(problems))


def _list(names: list[str], what: str) -> str:
    others = f" and {len(names) - NUM_SHOWN:,} more" if len(names) > NUM_SHOWN else ""
    return f"{len(names):,} tensors {what} ({', '.join(names[:NUM_SHOWN])}{others})"
