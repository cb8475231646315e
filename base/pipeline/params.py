"""Read the blocks of params.yaml."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

Settings = TypeVar("Settings")

OURS = "ours"
"""The value of ``rules`` for our procedure."""
PAPER = "paper"
"""The value of ``rules`` for the procedure of each paper, to the letter (docs/papers.md)."""


def read_all_params(path: Path = Path("params.yaml")) -> dict[str, Any]:
    """Return all blocks of params.yaml. Raises FileNotFoundError without the file."""
    if not path.exists():
        raise FileNotFoundError(
            f"{path.resolve()}: not found. Run the stages from the root of the checkout."
        )
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def read_params(block: str, path: Path = Path("params.yaml")) -> Any:
    """Return a top-level block of params.yaml.

    Raises FileNotFoundError without the file and ValueError without the block.
    """
    params = read_all_params(path)
    if block not in params:
        raise ValueError(f"{path}: no block {block!r}; it has {', '.join(params)}.")
    return params[block]


def read_settings(settings_class: type[Settings], block: str, **extra: Any) -> Settings:
    """Return an instance of a dataclass with the keys of a block and the ``extra`` fields.

    Raises ValueError if a key is unknown or missing.
    """
    return make_settings(settings_class, read_params(block), f"params.yaml, block {block}", **extra)


def make_settings(
    settings_class: type[Settings], block: Mapping[str, Any], place: str, **extra: Any
) -> Settings:
    """Return an instance of a dataclass with the keys of a block and the ``extra`` fields.

    The messages are our own, since those of Python for a wrong argument depend on its version. Raises ValueError, which
    begins with ``place``, if a key of the block is unknown or missing.
    """
    keys = {
        field.name: field.default is MISSING and field.default_factory is MISSING
        for field in fields(settings_class)  # pyright: ignore[reportArgumentType]
        if field.init and field.name not in extra
    }
    faults = [f"unknown key {key!r}" for key in block if key not in keys]
    faults += [
        f"no key {key!r}" for key, is_required in keys.items() if is_required and key not in block
    ]
    if faults:
        raise ValueError(f"{place}: {', '.join(faults)}; expected {', '.join(keys)}.")
    return settings_class(**block, **extra)


def read_rules() -> str:
    """Return the parameter ``rules``; by default, ours. Raises ValueError for another value than ours and paper."""
    rules = read_all_params().get("rules", OURS)
    if rules not in (OURS, PAPER):
        raise ValueError(f"params.yaml: rules is {rules!r}; expected {OURS} or {PAPER}.")
    return rules


def read_parser_params() -> dict[str, Any]:
    """Return the blocks ``parser`` and ``spelling``, which say how the phrases of a source are parsed."""
    return {name: read_params(name) for name in ("parser", "spelling")}
