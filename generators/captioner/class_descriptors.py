"""Descriptors of a class: visual features that distinguish it ("long whiskers around its mouth"), for prompts.

Source: Menon and Vondrick 2023 (arXiv:2210.07183), section 2: a language model lists visual features of a category, and
each makes a prompt "..., which has ...". Differs from it in: the request is our own (llm/questions.yaml), and every
item is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from generators.llm.questions import Question

COUNT = 5
"""Descriptors per class."""
MAX_WORDS = 10
_LEAD = re.compile(r"^(?:which |that |it )?(?:has|have|is|are|with)\s+", re.IGNORECASE)


def select(items: Iterable[str], name: str) -> list[str]:
    """Return the distinct short items that do not name the class, without a lead like "it has" or a final period."""
    class_name = re.compile(rf"(?<!\w){re.escape(name.lower())}(?!\w)")
    cleaned = (_LEAD.sub("", item.strip()).rstrip(". ") for item in items)
    distinct: dict[str, str] = {}
    for text in cleaned:
        if text and len(text.split()) <= MAX_WORDS and not class_name.search(text.lower()):
            distinct.setdefault(text.lower(), text)
    return list(distinct.values())


DESCRIPTORS = Question("class_descriptors", select)


def prompts(name: str, descriptors: Iterable[str]) -> list[str]:
    """Return one prompt per descriptor."""
    return [f"a photo of a {name}, which has {item}" for item in descriptors]
