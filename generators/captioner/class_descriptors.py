"""Descriptors of a class: what tells it in a photo ("long whiskers around its mouth"), for prompts that say it.

Source: Menon and Vondrick 2023 (arXiv:2210.07183), section 2: a language model is asked for visual features of a
category, and each makes a prompt "..., which has ...". Differs from it in: the request is in our own words, a list of
strings is asked for, and every item is checked. Reads cached answers only; asked_lists.ask fills the cache.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from generators.llm.asked_lists import Question

COUNT = 5
"""Descriptors that are asked for, of each class."""
LONGEST = 10
"""Words of a descriptor."""
_LEAD = re.compile(r"^(?:which |that |it )?(?:has|have|is|are|with)\s+", re.IGNORECASE)


def request(name: str, count: int) -> str:
    """What a language model is asked."""
    return (
        f'By which {count} visible features does one recognise "{name}" in a photo? Each is a noun phrase of at most '
        f'{LONGEST} words that fits after "which has", and does not name it. For "lemur" and 2 features a good answer '
        'is ["a long striped tail", "large round eyes"]. Answer with the list of strings alone.'
    )


def second_request(name: str, count: int) -> str:
    """What it is asked where its first answer will not do."""
    return (
        f"That does not give {count} features that fit. Answer with a JSON list of {count} different noun phrases "
        f'alone, each of at most {LONGEST} words, none with "{name}" in it.'
    )


def good(items: Iterable[str], name: str) -> list[str]:
    """Short items that do not name the class, each once, without a lead like "it has" and without a final period."""
    named = re.compile(rf"(?<!\w){re.escape(name.lower())}(?!\w)")
    cleaned = (_LEAD.sub("", item.strip()).rstrip(". ") for item in items)
    fitting = [text for text in cleaned if text and len(text.split()) <= LONGEST and not named.search(text.lower())]
    return list({text.lower(): text for text in reversed(fitting)}.values())[::-1]


DESCRIPTORS = Question(request, second_request, good)


def prompts(name: str, descriptors: Iterable[str]) -> list[str]:
    """One prompt a descriptor."""
    return [f"a photo of a {name}, which has {item}" for item in descriptors]
