"""What each training corpus holds out, so that seen compounds, unseen compounds and unseen atoms exist.

A corpus never shows or names: two nouns, one colour or pattern, a fifth of the (attribute, noun) pairs, and about a
sixth of the (noun, relation, noun) triples, with their converses and with what they imply. No two corpora hold out the
same noun, attribute or pair, and few hold out the same triple: a caption is seen in one corpus and unseen in another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product
from random import Random
from typing import Any

from generators.microworld.scene import DrawnObject, Triple
from generators.microworld.scenes.affordances import CARRIERS, CONTAINERS, HANGING, PORTABLE, WEARERS, share_theme
from generators.microworld.world import ALL_NOUNS, COLORS, CONVERSE, NOUNS, PATTERNS, SIZES
from generators.schemas.corpus_names import CORPORA

ATTRIBUTES = (*COLORS, *(pattern for pattern in PATTERNS if pattern != "plain"))
"""Attributes that a corpus may hold out altogether."""
NAMED_SIZES = tuple(size for size in SIZES if size != "medium")
REQUIRED_NOUNS = ("hat", "table", "cat")
"""Nouns that too many relations need."""
PAIR_INTERVAL = 5
"""Every fifth (attribute, noun) pair is held out."""
TRIPLE_INTERVAL = 6
"""Every sixth (noun, relation, noun) triple is held out."""


@dataclass(frozen=True)
class HeldOut:
    """Nouns, attributes, (attribute, noun) pairs and (noun, relation, noun) triples; converses are included."""

    nouns: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    triples: frozenset[Triple] = frozenset()

    def forbids(self, noun: str, *attributes: str) -> bool:
        """Return whether an object with these attributes is held out."""
        return noun in self.nouns or any(
            attribute in self.attributes or (attribute, noun) in self.pairs for attribute in attributes
        )

    def violations(self, objects: Iterable[DrawnObject], relations: Iterable[Triple]) -> list[str]:
        """Describe every held-out object and relation of a scene."""
        objects = list(objects)
        nouns = {item.id: item.noun for item in objects}
        described = [
            " ".join((*attributes_of(item), item.noun))
            for item in objects
            if self.forbids(item.noun, *attributes_of(item))
        ]
        triples = ((nouns[first], relation, nouns[second]) for first, relation, second in relations)
        return described + [" ".join(triple) for triple in triples if triple in self.triples]

    def to_json(self) -> dict[str, Any]:
        return {
            "nouns": sorted(self.nouns),
            "attributes": sorted(self.attributes),
            "pairs": [list(pair) for pair in sorted(self.pairs)],
            "triples": [list(triple) for triple in sorted(self.triples)],
        }


def attributes_of(item: DrawnObject) -> tuple[str, str, str]:
    """Return size, colour and pattern, the order in which English names them."""
    return item.size, item.color, item.pattern


@lru_cache
def choose_held_out(seed: int, corpus: str) -> HeldOut:
    """Return what a corpus holds out. Raises ValueError for an unknown corpus."""
    if corpus not in CORPORA:
        raise ValueError(f"unknown corpus {corpus!r}: expected one of {', '.join(CORPORA)}")
    index = list(CORPORA).index(corpus)
    rng = Random(f"{seed}:left_out")
    nouns = _nouns_of_distinct_clusters(rng, 2 * len(CORPORA))[2 * index : 2 * index + 2]
    attribute = rng.sample(ATTRIBUTES, len(CORPORA))[index]
    # A grid of which every fifth diagonal is held out: all nouns and all attributes lose about a fifth, and none loses
    # everything. The two sizes are neighbours at the end, so that no noun loses both.
    attributes = [*rng.sample(ATTRIBUTES, len(ATTRIBUTES)), *NAMED_SIZES]
    pairs = {
        (name, noun)
        for (row, noun), (column, name) in product(
            enumerate(rng.sample(ALL_NOUNS, len(ALL_NOUNS))), enumerate(attributes)
        )
        if (row + column) % PAIR_INTERVAL == index and name != attribute and noun not in nouns
    }
    triples = {triple for triple in _triples(seed, index) if triple[0] not in nouns and triple[2] not in nouns}
    converses = {(second, CONVERSE[relation], first) for first, relation, second in triples}
    return HeldOut(frozenset(nouns), frozenset({attribute}), frozenset(pairs), frozenset(triples | converses))


def _nouns_of_distinct_clusters(rng: Random, count: int) -> list[str]:
    clusters = rng.sample(sorted(NOUNS), count)
    return [rng.choice([noun for noun in NOUNS[cluster] if noun not in REQUIRED_NOUNS]) for cluster in clusters]


def _triples(seed: int, index: int) -> Iterator[Triple]:
    """Yield triples in one direction of each converse pair, with the relations that they imply: ``on`` implies
    ``above``, and ``worn by`` implies both."""

    def is_selected(interval: int, *key: str) -> bool:
        return _hash(seed, *key) % interval == index

    for first, second in combinations(ALL_NOUNS, 2):
        if share_theme(first, second):
            for relation in ("left of", "in front of"):
                if is_selected(TRIPLE_INTERVAL // 2, first, relation, second):
                    swap = _hash(seed, second, relation, first) % 2
                    yield (second, relation, first) if swap else (first, relation, second)
            if is_selected(TRIPLE_INTERVAL, first, "next to", second):
                yield first, "next to", second
    for first, second in permutations(ALL_NOUNS, 2):
        if not share_theme(first, second) or first not in (*PORTABLE, *HANGING):
            continue
        if first == "hat" and second in WEARERS:
            if WEARERS.index(second) == index:
                yield from ((first, relation, second) for relation in ("above", "on", "worn by"))
            continue
        above = is_selected(TRIPLE_INTERVAL, first, "above", second)
        if above:
            yield first, "above", second
        on = above or is_selected(2 * TRIPLE_INTERVAL, first, "on", second)
        if second in CARRIERS and first in PORTABLE and on:
            yield first, "on", second
        if second in CONTAINERS and first in PORTABLE and is_selected(TRIPLE_INTERVAL, first, "in", second):
            yield first, "in", second


def _hash(seed: int, *key: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest())
