"""What each training corpus never shows or says, so that seen compounds, unseen compounds and unseen atoms exist.

Left out of a corpus: two nouns, one colour or pattern, a fifth of the (attribute, noun) pairs, and about a sixth of
the (noun, relation, noun) triples, with their converses and with what they imply. No two corpora leave out the same
noun, attribute or pair, and hardly the same triple: the same caption is seen for one corpus and unseen for another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from random import Random
from typing import Any

from generators.microworld.scene import Thing
from generators.microworld.scenes.affordances import CARRIERS, CONTAINERS, FLOATING, PORTABLE, WEARERS, meet
from generators.microworld.scenes.spatial_relations import CONVERSE, Triple
from generators.microworld.world import ALL_NOUNS, COLORS, NOUNS, PATTERNS, SIZES
from generators.schemas.corpus_names import CORPORA

LOOKS = (*COLORS, *(pattern for pattern in PATTERNS if pattern != "plain"))
"""Attributes that a corpus may leave out altogether."""
SAID_SIZES = tuple(size for size in SIZES if size != "medium")
INDISPENSABLE = ("hat", "table", "cat")
"""Nouns that too many relations need."""
PAIR_SHARE = 5
"""Every fifth (attribute, noun) pair is left out."""
TRIPLE_SHARE = 6
"""Every sixth (noun, relation, noun) triple is left out."""


@dataclass(frozen=True)
class LeftOut:
    """Nouns, attributes, (attribute, noun) pairs and (noun, relation, noun) triples; converses are included."""

    nouns: frozenset[str]
    attributes: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    triples: frozenset[Triple]

    def forbids(self, noun: str, *attributes: str) -> bool:
        """Whether a thing with these attributes may not appear."""
        return noun in self.nouns or any(
            attribute in self.attributes or (attribute, noun) in self.pairs for attribute in attributes
        )

    def found_in(self, things: Iterable[Thing], relations: Iterable[Triple]) -> list[str]:
        """What of it a scene's things and complete relations show, in words; empty when the corpus may show it."""
        nouns = {thing.id: thing.noun for thing in things}
        seen = [" ".join((*look_of(thing), thing.noun)) for thing in things if self._forbids_thing(thing)]
        named = ((nouns[first], relation, nouns[second]) for first, relation, second in relations)
        return seen + [" ".join(triple) for triple in named if triple in self.triples]

    def _forbids_thing(self, thing: Thing) -> bool:
        return self.forbids(thing.noun, *look_of(thing))

    def to_json(self) -> dict[str, Any]:
        return {
            "nouns": sorted(self.nouns),
            "attributes": sorted(self.attributes),
            "pairs": [list(pair) for pair in sorted(self.pairs)],
            "triples": [list(triple) for triple in sorted(self.triples)],
        }


def look_of(thing: Thing) -> tuple[str, str, str]:
    """A thing's attributes in the order in which English says them."""
    return thing.size, thing.color, thing.pattern


@lru_cache
def left_out(seed: int, corpus: str) -> LeftOut:
    """What a corpus leaves out, the same for the same seed; raises ValueError for an unknown corpus."""
    if corpus not in CORPORA:
        raise ValueError(f"unknown corpus {corpus!r}: expected one of {', '.join(CORPORA)}")
    index = list(CORPORA).index(corpus)
    rng = Random(f"{seed}:left_out")
    nouns = _nouns_of_distinct_clusters(rng, 2 * len(CORPORA))[2 * index : 2 * index + 2]
    attribute = rng.sample(LOOKS, len(CORPORA))[index]
    # A grid with every fifth diagonal taken: each noun and each attribute loses its fair share, none loses all.
    # Sizes stand side by side at the end, so that no noun loses both.
    attributes = [*rng.sample(LOOKS, len(LOOKS)), *SAID_SIZES]
    pairs = {
        (name, noun)
        for (row, noun), (column, name) in product(
            enumerate(rng.sample(ALL_NOUNS, len(ALL_NOUNS))), enumerate(attributes)
        )
        if (row + column) % PAIR_SHARE == index and name != attribute and noun not in nouns
    }
    triples = {triple for triple in _triples(seed, index) if triple[0] not in nouns and triple[2] not in nouns}
    converses = {(second, CONVERSE[relation], first) for first, relation, second in triples}
    return LeftOut(frozenset(nouns), frozenset({attribute}), frozenset(pairs), frozenset(triples | converses))


def _nouns_of_distinct_clusters(rng: Random, count: int) -> list[str]:
    clusters = rng.sample(sorted(NOUNS), count)
    return [rng.choice([noun for noun in NOUNS[cluster] if noun not in INDISPENSABLE]) for cluster in clusters]


def _triples(seed: int, index: int) -> Iterator[Triple]:
    """In one direction of each converse pair. ``on`` implies above, so it goes with it; ``worn by`` implies both."""

    def drawn(every: int, *key: str) -> bool:
        return _lot(seed, *key) % every == index

    for first, second in combinations(ALL_NOUNS, 2):
        if meet(first, second):
            for relation in ("left of", "in front of"):
                if drawn(TRIPLE_SHARE // 2, first, relation, second):
                    swap = _lot(seed, second, relation, first) % 2
                    yield (second, relation, first) if swap else (first, relation, second)
            if drawn(TRIPLE_SHARE, first, "next to", second):
                yield first, "next to", second
    for first, second in permutations(ALL_NOUNS, 2):
        if not meet(first, second) or first not in (*PORTABLE, *FLOATING):
            continue
        if first == "hat" and second in WEARERS:
            if WEARERS.index(second) == index:
                yield from ((first, relation, second) for relation in ("above", "on", "worn by"))
            continue
        above = drawn(TRIPLE_SHARE, first, "above", second)
        if above:
            yield first, "above", second
        if second in CARRIERS and first in PORTABLE and (above or drawn(2 * TRIPLE_SHARE, first, "on", second)):
            yield first, "on", second
        if second in CONTAINERS and first in PORTABLE and drawn(TRIPLE_SHARE, first, "in", second):
            yield first, "in", second


def _lot(seed: int, *key: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest())
