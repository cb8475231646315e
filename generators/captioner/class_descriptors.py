"""Descriptors of a class for prompts: visual features that distinguish the class ("long whiskers around its mouth").

Source: Menon and Vondrick 2023 (arXiv:2210.07183), section 2: a language model lists visual features of a category, and
each feature becomes a prompt "..., which has ...". Differences from the paper: the request has our own wording
(llm/questions.yaml), and every item is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compeval.generators.llm.questions import Question

DESCRIPTORS_PER_CLASS = 5
"""Descriptors per class."""
MAX_WORDS = 10
"""Longer descriptors are dropped."""
_PREFIX = re.compile(r"^(?:which |that |it )?(?:has|have|is|are|with)\s+", re.IGNORECASE)


def select_items(items: Iterable[str], name: str) -> list[str]:
    """Return the distinct short items that do not name the class.

    A prefix such as "it has" and a final period are removed.
    """
    class_name = re.compile(rf"(?<!\w){re.escape(name.lower())}(?!\w)")
    cleaned = (_PREFIX.sub("", item.strip()).rstrip(". ") for item in items)
    distinct: dict[str, str] = {}
    for text in cleaned:
        if text and len(text.split()) <= MAX_WORDS and not class_name.search(text.lower()):
            distinct.setdefault(text.lower(), text)
    return list(distinct.values())


DESCRIPTORS = Question("class_descriptors", select_items)


def make_prompts(name: str, descriptors: Iterable[str]) -> list[str]:
    """Return one prompt per descriptor."""
    return [f"a photo of a {name}, which has {item}" for item in descriptors]
