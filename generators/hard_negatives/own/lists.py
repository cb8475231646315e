"""The lists of words in the YAML files of this folder."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml


@cache
def load_lists(name: str) -> Mapping[str, frozenset[str]]:
    """Return the lists of ``NAME.yaml`` by their keys."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    return {key: frozenset(words) for key, words in yaml.safe_load(text).items()}


@cache
def load_words(name: str) -> frozenset[str]:
    """Return the words of all lists of ``NAME.yaml``."""
    return frozenset[str]().union(*load_lists(name).values())
