"""Choose the nouns, attributes and combinations that each training corpus holds out.

CREPE's splits need test captions with seen compounds, unseen compounds and unseen atoms. Each corpus therefore never
shows or names two nouns, one colour or pattern, a fifth of the (attribute, noun) pairs, and about a sixth of the (noun,
relation, noun) triples, including their converses and the triples that they imply. Two corpora never hold out the same
noun, attribute or pair, and rarely the same triple, so most captions are seen in some corpora and unseen in others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, permutations, product
from random import Random
from typing import Any

from compeval.base.schemas.corpus_names import CORPORA
from compeval.generators.microworld.rendering.pictures import RENDERINGS
from compeval.generators.microworld.scene import DrawnObject, Triple
from compeval.generators.microworld.scenes.affordances import (
    CARRIERS,
    CONTAINERS,
    HANGING,
    PORTABLE,
    WEARERS,
    WORN,
    list_actions,
    share_theme,
)
from compeval.generators.microworld.world import (
    ALL_NOUNS,
    COLORS,
    CONVERSE,
    NOUNS,
    PATTERNS,
    SIZES,
    STATES,
)

ATTRIBUTES = (*COLORS, *(pattern for pattern in PATTERNS if pattern != "plain"))
"""Attributes that a corpus can hold out for all nouns."""
ALL_STATES = frozenset(chain.from_iterable(STATES))
NAMED_SIZES = tuple(size for size in SIZES if size != "medium")
REQUIRED_NOUNS = ("hat", "table", "cat", "man", "woman", "boy")
"""Nouns that are never held out, because many relations need them."""
PAIR_INTERVAL = 5
"""Every fifth (attribute, noun) pair is held out."""
TRIPLE_INTERVAL = 6
"""Every sixth (noun, relation, noun) triple is held out."""


@dataclass(frozen=True)
class HeldOut:
    """Held-out nouns, attributes, (attribute, noun) pairs and (noun, relation, noun) triples, including converses."""

    nouns: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    triples: frozenset[Triple] = frozenset()

    @classmethod
    def all_nouns_except(cls, nouns: Collection[str], attributes: Collection[str] = ()) -> HeldOut:
        """Hold out all nouns but the given nouns, and all given attributes."""
        return cls(frozenset(ALL_NOUNS) - frozenset(nouns), frozenset(attributes))

    def forbids(self, noun: str, *attributes: str) -> bool:
        """Return True if an object with this noun and these attributes is held out."""
        return noun in self.nouns or any(
            attribute in self.attributes or (attribute, noun) in self.pairs
            for attribute in attributes
        )

    def find_violations(
        self, objects: Iterable[DrawnObject], relations: Iterable[Triple]
    ) -> list[str]:
        """Describe every held-out object and relation of a scene."""
        objects = list(objects)
        nouns = {item.id: item.noun for item in objects}
        descriptions = [
            " ".join((*list_attributes(item), item.noun))
            for item in objects
            if self.forbids(item.noun, *list_attributes(item))
        ]
        triples = ((nouns[first], relation, nouns[second]) for first, relation, second in relations)
        return descriptions + [" ".join(triple) for triple in triples if triple in self.triples]

    def to_json(self) -> dict[str, Any]:
        """Return the content of a corpus' left_out.json."""
        return {
            "nouns": sorted(self.nouns),
            "attributes": sorted(self.attributes),
            "pairs": [list(pair) for pair in sorted(self.pairs)],
            "triples": [list(triple) for triple in sorted(self.triples)],
        }


def list_attributes(item: DrawnObject) -> tuple[str, ...]:
    """Return size, state (if the noun has states), colour and pattern, in English word order."""
    return (item.size, *((item.state,) if item.state else ()), item.color, item.pattern)


@lru_cache
def choose_held_out(seed: int, corpus: str) -> HeldOut:
    """Return the rules of a corpus. Raises ValueError if the corpus is unknown."""
    if corpus not in CORPORA:
        raise ValueError(f"Unknown corpus {corpus!r}, expected {', '.join(CORPORA)}.")
    index = list(CORPORA).index(corpus)
    rng = Random(f"{seed}:left_out")
    nouns = _sample_nouns_of_distinct_clusters(rng, 2 * len(CORPORA))[2 * index : 2 * index + 2]
    attribute = rng.sample(ATTRIBUTES, len(CORPORA))[index]
    # Every fifth diagonal of a grid of nouns and attributes is held out, so every noun and attribute loses about a
    # fifth of its pairs. The two sizes and the two states of a pair are adjacent columns, so no noun loses both.
    attributes = [
        *rng.sample(ATTRIBUTES, len(ATTRIBUTES)),
        *NAMED_SIZES,
        *chain.from_iterable(STATES),
    ]
    pairs = {
        (name, noun)
        for (row, noun), (column, name) in product(
            enumerate(rng.sample(ALL_NOUNS, len(ALL_NOUNS))), enumerate(attributes)
        )
        if (row + column) % PAIR_INTERVAL == index and name != attribute and noun not in nouns
        if name not in ALL_STATES or name in RENDERINGS[noun].states
    }
    triples = {
        triple
        for triple in _choose_triples(seed, index)
        if triple[0] not in nouns and triple[2] not in nouns
    }
    converses = {(second, CONVERSE[relation], first) for first, relation, second in triples}
    return HeldOut(
        frozenset(nouns), frozenset({attribute}), frozenset(pairs), frozenset(triples | converses)
    )


def _sample_nouns_of_distinct_clusters(rng: Random, count: int) -> list[str]:
    options = {
        name: [noun for noun in NOUNS[name] if noun not in REQUIRED_NOUNS] for name in sorted(NOUNS)
    }
    clusters = rng.sample([name for name, nouns in options.items() if nouns], count)
    return [rng.choice(options[cluster]) for cluster in clusters]


def _choose_triples(seed: int, index: int) -> Iterator[Triple]:
    """Yield the held-out triples without their converses, but with the triples that they imply.

    ``on`` implies ``above``; ``worn by`` and ``riding`` imply ``on`` and ``above``; ``eating`` implies ``holding``. An
    implying relation is held out with what it implies.
    """

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
        if not share_theme(first, second):
            continue
        yield from _choose_actions(first, second, is_selected)
        if first not in (*PORTABLE, *HANGING):
            continue
        if first in WORN and second in WEARERS:
            if (WEARERS.index(second) + WORN.index(first)) % TRIPLE_INTERVAL == index:
                yield from ((first, relation, second) for relation in ("above", "on", "worn by"))
            continue
        above = is_selected(TRIPLE_INTERVAL, first, "above", second)
        if above:
            yield first, "above", second
        on = above or is_selected(2 * TRIPLE_INTERVAL, first, "on", second)
        if second in CARRIERS and first in PORTABLE and on:
            yield first, "on", second
        if (
            second in CONTAINERS
            and first in PORTABLE
            and is_selected(TRIPLE_INTERVAL, first, "in", second)
        ):
            yield first, "in", second


def _choose_actions(agent: str, target: str, is_selected: Callable[..., bool]) -> Iterator[Triple]:
    """Yield the held-out actions of two nouns, with the relations that they imply."""
    for action in list_actions(agent, target):
        if is_selected(TRIPLE_INTERVAL, agent, action, target):
            yield agent, action, target
            if action == "riding":
                yield from ((agent, relation, target) for relation in ("above", "on"))
            elif action == "pouring into":
                yield agent, "above", target
            elif action == "holding" and "eating" in list_actions(agent, target):
                yield agent, "eating", target


def _hash(seed: int, *key: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest())
