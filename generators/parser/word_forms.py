"""All words that the rule parser can derive from a word of a caption. The seen analysis relies on these lists.

The text of an atom consists of lemmas and forms of single tokens (lemmas.py), phrasal prepositions in their written
form, and a few words that the parser adds: "man in a shirt" becomes ``wear``, and owners get the relation ``have``.
"""

from __future__ import annotations

from functools import cache

from generators.parser import lemmas
from generators.parser.phrasal_prepositions import NOUN_PHRASES, PAIRS, SPELLINGS
from generators.parser.spacy_model import split_words

ADDED_WORDS = frozenset({"have"})
"""Words that may be added to any caption: a possession may not have a word of its own ("the dog house's roof")."""


def find_word_forms(token: str) -> frozenset[str]:
    """Return all words that a lower-case token, or a part of it, can become in the text of any atom."""
    forms: set[str] = set()
    for part in (token, *split_words().get(token, ())):
        forms |= find_name_forms(part) | {lemmas.infinitive(part)} | _find_written_forms().get(part, frozenset())
    return frozenset(forms)


def find_name_forms(word: str) -> frozenset[str]:
    """Return all words that a lower-case token can become in the text of an object or an attribute."""
    joined = (name for parts, name in lemmas.SPELLINGS.items() if word in parts.split())
    singulars = lemmas.singular(word, plural=False), lemmas.singular(word)
    return frozenset((word, *singulars, lemmas.participle(word), lemmas.normalise_attribute(word), *joined))


@cache
def _find_written_forms() -> dict[str, frozenset[str]]:
    """Return for each word the words of all prepositions that the parser may write when it reads that word."""
    written = {"in": {"wear"}, "of": {"on", "in"}, "side": set(NOUN_PHRASES["sides"].split())}
    first_words = ((pair.split()[0], text) for pair, text in PAIRS.items())
    for word, text in (*SPELLINGS.items(), *NOUN_PHRASES.items(), *first_words):
        written.setdefault(word, set()).update(text.split())
    return {word: frozenset(forms) for word, forms in written.items()}
