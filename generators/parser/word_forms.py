"""All words that the rule parser can derive from a word of a caption. The seen analysis relies on these lists.

The text of an atom consists of lemmas and forms of single tokens (lemmas.py), phrasal prepositions in their written
form, and a few words that the parser adds: "man in a shirt" becomes ``wear``, and owners get the relation ``have``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from compeval.base.schemas.scene_graph import AtomKind
from compeval.generators.parser import lemmas
from compeval.generators.parser.phrasal_prepositions import NOUN_PHRASES, PAIRS, SPELLINGS
from compeval.generators.parser.spacy_model import split_words

RECIPROCAL_WORDS = frozenset({"other", "another"})
"""With these words, a mention can be both ends of a relation ("two balls next to each other")."""
ADDED_WORDS = frozenset({"have"})
"""Words that may be added to any caption: a possession may not have a word of its own ("the dog house's roof")."""


def find_word_forms(token: str, kind: AtomKind) -> frozenset[str]:
    """Return all words that a lower-case token, or a part of it, can become in the text of any atom of a kind."""
    return frozenset(
        form for part in (token, *split_words().get(token, ())) for form in _find_forms(part, kind)
    )


def _find_forms(word: str, kind: AtomKind) -> Iterable[str]:
    if kind == "relation":
        return word, lemmas.infinitive(word), *_find_written_forms().get(word, ())
    spellings = SPELLINGS.get(word, "").split()
    if kind == "attribute":
        participles = [lemmas.participle(word)] if lemmas.is_verb(word) else []
        return word, *participles, lemmas.normalise_attribute(word), *spellings
    written = {word, lemmas.singular(word, plural=False), lemmas.singular(word)}
    return (
        *written,
        *(name for form in written for name in _find_joined_names().get(form, ())),
        *spellings,
    )


@cache
def _find_joined_names() -> dict[str, frozenset[str]]:
    """Return for each word the names of which it is a part in the caption ("surf board" is written ``surfboard``)."""
    names: dict[str, set[str]] = {}
    for parts, name in lemmas.SPELLINGS.items():
        for part in parts.split():
            names.setdefault(part, set()).add(name)
    return {part: frozenset(joined) for part, joined in names.items()}


@cache
def _find_written_forms() -> dict[str, frozenset[str]]:
    """Return for each word the words of all prepositions that the parser may write when it reads that word."""
    written = {
        "in": {"wear"},
        "on": {"wear"},
        "of": {"on", "in"},
        "side": set(NOUN_PHRASES["sides"].split()),
    }
    first_words = ((pair.split()[0], text) for pair, text in PAIRS.items())
    for word, text in (*SPELLINGS.items(), *NOUN_PHRASES.items(), *first_words):
        written.setdefault(word, set()).update(text.split())
    return {word: frozenset(forms) for word, forms in written.items()}
