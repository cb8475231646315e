"""Word knowledge that WordNet lacks: relations, attributes that exclude each other, nouns that fit only some slots."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def read(name: str) -> Any:
    """The content of ``name``.yaml in this folder."""
    return yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text("utf-8"))
