"""The oracle decides if a caption is true of a micro-world scene, whose objects and relations are completely known.

It parses the *text* with a closed-vocabulary grammar (tokens, lexicon, grammar), resolves references (discourse) and
checks the resulting discourse representation structures against the scene (drs, model). It shares no code with the
generators of captions and hard negatives, so that it can judge their output: a hard negative is genuine if
:func:`is_true` returns False.

A caption asserts that the scene has distinct objects, one per object that the caption mentions, with all attributes and
relations that it mentions. An ambiguous caption is true if any of its readings is true. A noun, adjective or relation
that the micro-world cannot draw is true of no object. Any other text that is not plain English about the scene raises
:class:`UnreadableError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

from compeval.evaluators.validity.oracle.discourse import resolve_references
from compeval.evaluators.validity.oracle.drs import DRS
from compeval.evaluators.validity.oracle.grammar import Grammar
from compeval.evaluators.validity.oracle.model import SceneModel
from compeval.evaluators.validity.oracle.syntax import Statement
from compeval.evaluators.validity.oracle.tokens import Word, split_sentences

__all__ = ["ParsedCaption", "UnreadableError", "is_true", "parse_caption"]

MAX_READINGS = 500
"""A caption with more readings counts as unreadable."""


class UnreadableError(ValueError):
    """Raised for a caption that the oracle cannot parse. The message names the first word that does not fit."""


class ParsedCaption(NamedTuple):
    """The distinct readings of a caption, the most likely reading first.

    ``undrawable``: the nouns, adjectives and relation phrases that no object of any scene satisfies, in the reading
    that has the fewest such words.
    """

    readings: tuple[DRS, ...]
    undrawable: tuple[str, ...]


def is_true(caption: str, scene: Mapping[str, Any]) -> bool:
    """Return True if some reading of ``caption`` holds in ``scene``. Raises UnreadableError.

    ``scene`` is the JSON form of a complete scene: ``width``, ``things`` (id, noun, color, pattern, size, box, and
    state where the noun has states) and ``relations`` (every [subject id, relation, object id] that holds).
    """
    return any(map(SceneModel(scene).satisfies, parse_caption(caption).readings))


@lru_cache(maxsize=2**16)
def parse_caption(caption: str) -> ParsedCaption:
    """Return the readings of a caption, independent of any scene. Raises UnreadableError."""
    words_by_sentence = split_sentences(caption)
    if not words_by_sentence:
        raise UnreadableError(f"Cannot read {caption!r}: it has no words.")
    texts = product(*(_parse_sentence(words, caption) for words in words_by_sentence))
    readings = list(
        islice((drs for text in texts for drs in resolve_references(text)), MAX_READINGS + 1)
    )
    if not readings:
        raise UnreadableError(f"Cannot read {caption!r}: a pronoun has no possible antecedent.")
    if len(readings) > MAX_READINGS:
        raise UnreadableError(f"Cannot read {caption!r}: it has more than {MAX_READINGS} readings.")
    distinct = tuple(dict.fromkeys(readings))
    undrawable = min((list(dict.fromkeys(drs.undrawable())) for drs in distinct), key=len)
    return ParsedCaption(distinct, tuple(sorted(undrawable, key=caption.lower().find)))


def _parse_sentence(words: tuple[Word, ...], caption: str) -> tuple[tuple[Statement, ...], ...]:
    """Return the parses of a sentence. Raises UnreadableError if there are none."""
    parses, furthest = _run_grammar(tuple(word.text for word in words))
    if parses:
        return parses
    if furthest < len(words):
        where = f"{words[furthest].text!r} at character {words[furthest].offset}"
    else:
        where = "the end of a sentence"
    raise UnreadableError(f"Cannot read {caption!r}: stuck at {where}.")


@lru_cache(maxsize=2**16)
def _run_grammar(words: tuple[str, ...]) -> tuple[tuple[tuple[Statement, ...], ...], int]:
    """Return the parses of a sentence and the index of the last word that the grammar reached."""
    grammar = Grammar(words)
    return grammar.parse(), grammar.furthest
