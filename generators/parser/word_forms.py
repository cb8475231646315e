"""Every word that the rule parser can make of one word of a caption; the seen analysis is exact because of it.

The text of an atom consists of lemmas and forms of single tokens (lemmas.py), phrasal prepositions in their written
form, and a few words that the parser adds: "man in a shirt" is ``wear``, an owner's relation is ``have``.
"""

from __future__ import annotations

from functools import cache

from generators.parser import lemmas
from generators.parser.phrasal_prepositions import PAIRS, PLACES, SPELLINGS
from generators.parser.spacy_model import split_words

ADDED_WORDS = frozenset({"have"})
"""Words that may be added to any caption: possession needs no word of its own ("the dog house's roof")."""


def word_forms(token: str) -> frozenset[str]:
    """All words that a lower-case token, or its parts after tokenisation, can become in an atom of any kind."""
    forms: set[str] = set()
    for part in (token, *split_words().get(token, ())):
        forms |= name_forms(part) | {lemmas.verb(part)} | _written_forms().get(part, frozenset())
    return frozenset(forms)


def name_forms(word: str) -> frozenset[str]:
    """All words that a lower-case token can become in the text of an object or an attribute."""
    joined = (name for parts, name in lemmas.SPELLINGS.items() if word in parts.split())
    singulars = lemmas.noun(word, plural=False), lemmas.noun(word)
    return frozenset((word, *singulars, lemmas.participle(word), lemmas.attribute(word), *joined))


@cache
def _written_forms() -> dict[str, frozenset[str]]:
    """The words of the written forms of the prepositions that a word can be part of."""
    written = {"in": {"wear"}, "of": {"on", "in"}, "side": set(PLACES["sides"].split())}
    first_words = ((pair.split()[0], text) for pair, text in PAIRS.items())
    for word, text in (*SPELLINGS.items(), *PLACES.items(), *first_words):
        written.setdefault(word, set()).update(text.split())
    return {word: frozenset(forms) for word, forms in written.items()}
