"""What WordNet does not know: relations, attributes that exclude each other, nouns that fit only some slots."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def read(name: str) -> Any:
    """One of the YAML files beside this one, read once."""
    return yaml.safe_load(resources.files("generators.language.lexicon").joinpath(f"{name}.yaml").read_text("utf-8"))
