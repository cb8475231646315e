"""The oracle: is a caption true of a completely known micro-world scene?

It reads the *text* with a closed-vocabulary grammar of its own (tokens, lexicon, grammar), resolves references
(discourse) and verifies the resulting discourse representation structures in the scene (drs, model). It shares no code
with the generators of captions and foils, so that it can judge them: a hard negative is genuine if :func:`is_true`
returns False.

Meaning: a caption asserts that there are distinct objects, one for each that it mentions, with all the attributes and
relations that it mentions. An ambiguous caption is true if any of its readings is. A noun, adjective or relation that
the world cannot draw is true of no object; any other text that is not plain English about the scene raises
:class:`UnreadableError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

from evaluators.validity.oracle.discourse import representations
from evaluators.validity.oracle.drs import DRS
from evaluators.validity.oracle.grammar import Grammar
from evaluators.validity.oracle.model import SceneModel
from evaluators.validity.oracle.syntax import Statement
from evaluators.validity.oracle.tokens import Word, sentences

__all__ = ["Reading", "UnreadableError", "is_true", "read"]

MAX_READINGS = 500
"""A caption with more readings counts as unreadable."""


class UnreadableError(ValueError):
    """The oracle cannot read a caption; the message names the word and its position."""


class Reading(NamedTuple):
    """The distinct meanings of a caption, the most likely attachment first.

    ``undrawable``: the nouns, adjectives and relation phrases that no object of any scene satisfies, of the meaning
    that has the fewest.
    """

    representations: tuple[DRS, ...]
    undrawable: tuple[str, ...]


def is_true(caption: str, scene: Mapping[str, Any]) -> bool:
    """True if some reading of ``caption`` holds in ``scene``. Raises UnreadableError.

    ``scene`` is the JSON form of a complete scene: ``width``, ``things`` (id, noun, color, pattern, size, box) and
    ``relations``, every [subject id, relation, object id] that is true.
    """
    return any(map(SceneModel(scene).satisfies, read(caption).representations))


@lru_cache(maxsize=2**16)
def read(caption: str) -> Reading:
    """The caption's meaning, independent of any scene. Raises UnreadableError."""
    words_by_sentence = sentences(caption)
    if not words_by_sentence:
        raise UnreadableError(f"Cannot read {caption!r}: it has no words.")
    texts = product(*(_statements(words, caption) for words in words_by_sentence))
    meanings = list(islice((drs for text in texts for drs in representations(text)), MAX_READINGS + 1))
    if not meanings:
        raise UnreadableError(f"Cannot read {caption!r}: a pronoun has no possible antecedent.")
    if len(meanings) > MAX_READINGS:
        raise UnreadableError(f"Cannot read {caption!r}: it has more than {MAX_READINGS} readings.")
    distinct = tuple(dict.fromkeys(meanings))
    undrawable = min((list(dict.fromkeys(drs.undrawable())) for drs in distinct), key=len)
    return Reading(distinct, tuple(sorted(undrawable, key=caption.lower().find)))


def _statements(words: tuple[Word, ...], caption: str) -> tuple[tuple[Statement, ...], ...]:
    readings, furthest = _parsed(tuple(word.text for word in words))
    if readings:
        return readings
    if furthest < len(words):
        where = f"{words[furthest].text!r} at character {words[furthest].offset}"
    else:
        where = "the end of a sentence"
    raise UnreadableError(f"Cannot read {caption!r}: stuck at {where}.")


@lru_cache(maxsize=2**16)
def _parsed(words: tuple[str, ...]) -> tuple[tuple[tuple[Statement, ...], ...], int]:
    """The readings of a sentence, and the position of the word that cannot be read."""
    grammar = Grammar(words)
    return grammar.readings(), grammar.furthest
