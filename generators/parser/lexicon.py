"""Word lists of the caption parser. lexicon.yaml explains each list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

LEXICON: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("lexicon.yaml").read_text("utf-8")
)
WORDS = {
    name: frozenset(words.split() if isinstance(words, str) else words)
    for name, words in LEXICON.items()
}
"""The words of each list in lexicon.yaml, and the keys of each table."""
ATTRIBUTE_NOUNS = WORDS["colors"] | WORDS["materials"] | WORDS["kinds"]
ACTORS = WORDS["animate_nouns"] | WORDS["clothes"]
CONTENT_NOUNS = WORDS["image_nouns"] | WORDS["measures"]
