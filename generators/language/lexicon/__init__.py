"""Knowledge about words that WordNet lacks: relations, exclusive attributes, and nouns with irregular grammar."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def load_lexicon(name: str) -> Any:
    """Return the content of ``name``.yaml in this folder."""
    return yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text("utf-8"))
