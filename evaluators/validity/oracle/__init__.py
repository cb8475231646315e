"""The oracle: is a caption true of a completely known microworld scene?

It reads the *text* with a closed-vocabulary grammar of its own (tokens, lexicon, grammar), settles what its words
refer to (discourse) and looks for the things it speaks of in the scene (logic). It shares no code with what makes
captions and foils, so that it can judge them: the share of hard negatives that are genuine is the share for which
:func:`is_true` says no.

Meaning: a caption says that there are distinct things, one for each that it mentions, with all stated looks and
relations. An ambiguous caption is true if any of its readings is: a negative is only genuine if no reading saves it.
A noun, adjective or relation that the world cannot draw reads as one that no thing has (``undrawable_words`` lists
them); any other text that is not plain English about the scene raises :class:`Unreadable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Any, NamedTuple

from evaluators.validity.oracle.discourse import claims
from evaluators.validity.oracle.grammar import Grammar
from evaluators.validity.oracle.logic import Box, World, undrawable
from evaluators.validity.oracle.syntax import Statement
from evaluators.validity.oracle.tokens import Word, sentences

__all__ = ["Reading", "Unreadable", "is_true", "read", "readings", "undrawable_words"]

MOST_READINGS = 500
"""A caption with more ways to read it is as good as unreadable."""


class Unreadable(ValueError):  # noqa: N818 (says what the caption is)
    """The oracle cannot read a caption; the message names the word and where it stands."""


class Reading(NamedTuple):
    """All that a caption can mean: its distinct claims, the likeliest attachment first, and the undrawable words of the
    claim that has fewest of them."""

    claims: tuple[Box, ...]
    undrawable: tuple[str, ...]


def is_true(caption: str, scene: Mapping[str, Any]) -> bool:
    """Whether some reading of ``caption`` holds in ``scene``.

    ``scene`` is the JSON form of a complete scene: ``width``, ``things`` (id, noun, color, pattern, size, box) and
    ``relations``, every [subject id, relation, object id] that is true. Raises Unreadable.
    """
    world = World(scene)
    return any(world.holds(claim) for claim in read(caption).claims)


def readings(caption: str) -> tuple[Box, ...]:
    """Every distinct claim that the caption can be read as, the likeliest first. Raises Unreadable."""
    return read(caption).claims


def undrawable_words(caption: str) -> tuple[str, ...]:
    """Its nouns, adjectives and relation phrases that no thing of any scene can have. Raises Unreadable."""
    return read(caption).undrawable


@lru_cache(maxsize=2**16)
def read(caption: str) -> Reading:
    """The caption's meaning, independent of any scene. Raises Unreadable."""
    spoken = sentences(caption)
    if not spoken:
        raise Unreadable(f"Cannot read {caption!r}: it has no words.")
    texts = product(*(_statements(words, caption) for words in spoken))
    every = list(islice((claim for text in texts for claim in claims(text)), MOST_READINGS + 1))
    if not every:
        raise Unreadable(f"Cannot read {caption!r}: a pronoun has nothing that it could mean.")
    if len(every) > MOST_READINGS:
        raise Unreadable(f"Cannot read {caption!r}: it has more than {MOST_READINGS} readings.")
    distinct = tuple(dict.fromkeys(every))
    words = min((list(dict.fromkeys(undrawable(claim))) for claim in distinct), key=len)
    return Reading(distinct, tuple(sorted(words, key=caption.lower().find)))


def _statements(words: tuple[Word, ...], caption: str) -> tuple[tuple[Statement, ...], ...]:
    found, furthest = _parsed(tuple(word.text for word in words))
    if found:
        return found
    if furthest < len(words):
        where = f"{words[furthest].text!r} at character {words[furthest].offset}"
    else:
        where = "the end of a sentence"
    raise Unreadable(f"Cannot read {caption!r}: stuck at {where}.")


@lru_cache(maxsize=2**16)
def _parsed(words: tuple[str, ...]) -> tuple[tuple[tuple[Statement, ...], ...], int]:
    """The readings of a sentence, and the position of the word that could not be read."""
    grammar = Grammar(words)
    return grammar.readings(), grammar.furthest
