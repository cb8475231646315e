"""Every word that generators/parser/parser.py can make of one word of a caption: what keeps the seen analysis exact.

An atom's text is made of lemmas and forms of single tokens (generators/parser/lemmas.py), of phrasal prepositions in
their written form, and of few words that the parser adds ("man in a shirt" is wear, an owner is have).
"""

from __future__ import annotations

from functools import cache

from generators.parser import lemmas as parser_lemmas
from generators.parser.phrases import _FIXED, _PLACES, ONE_FORM

ALWAYS = frozenset({"have"})
"""The parser may add these to any caption: possession needs no word of its own ("the dog house's roof")."""

_ADDED = {
    "in": {"wear"},
    "of": {"on", "in"},
    "side": set(_PLACES["sides"].split()),
    **{word: {form} for word, form in ONE_FORM.items()},
}


def words(token: str) -> frozenset[str]:
    """All words that a lower-case token, or what spaCy cuts it into, can become in an atom of any kind."""
    found: set[str] = set()
    for part in (token, *pieces().get(token, ())):
        found |= parser_lemmas.forms(part) | {parser_lemmas.verb(part)} | _written().get(part, frozenset())
    return frozenset(found)


@cache
def pieces() -> dict[str, tuple[str, ...]]:
    """Words that spaCy's English tokeniser cuts without a mark between the parts: cannot, dont, gonna."""
    from spacy.lang.en import English
    from spacy.symbols import ORTH

    exceptions = English.Defaults.tokenizer_exceptions or {}
    return {key.lower(): tuple(part[ORTH].lower() for part in parts) for key, parts in exceptions.items()}


@cache
def _written() -> dict[str, frozenset[str]]:
    """The words of the written forms of the phrasal prepositions that a word can be part of."""
    written: dict[str, set[str]] = {word: set(added) for word, added in _ADDED.items()}
    for key, phrase in (*_PLACES.items(), *((pair[0], phrase) for pair, phrase in _FIXED.items())):
        written.setdefault(key, set()).update(phrase.split())
    return {word: frozenset(added) for word, added in written.items()}
