"""The words of a source's graphs. Foils are preferably taken from these words, because models may have seen them in
training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from compeval.base.schemas.scene_graph import SceneGraph
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import relations
from compeval.generators.language.wordnet import (
    ancestors,
    are_related,
    is_in_wordnet,
    is_visible,
    main_hypernym_path,
)

MAX_STEPS = 6
"""Maximum number of steps from a noun up to the hypernym that it shares with another noun."""
MIN_FAMILY = 10
"""Number of nouns below a hypernym that become a family: five foils, and those that an image has or may have."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The number of occurrences of each noun, attribute and relation in a source's graphs.

    The keys of ``relations`` are returned by :func:`relation_key`; ``predicates`` are the relations as written in the
    graphs.
    """

    nouns: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: Iterable[SceneGraph], min_count: int = 1) -> Vocabulary:
        """Return the words that occur at least ``min_count`` times.

        Nouns are in the singular; only visible nouns that WordNet has are included.
        """
        names, attributes, predicates = (Counter[str]() for _ in range(3))
        for graph in graphs:
            names.update(item.name for item in graph.objects)
            attributes.update(text for item in graph.objects for text in item.attributes)
            predicates.update(edge.predicate for edge in graph.relations)
        return cls.from_counts(names, attributes, predicates, min_count)

    @classmethod
    def from_counts(
        cls,
        names: Mapping[str, int],
        attributes: Mapping[str, int],
        predicates: Mapping[str, int],
        min_count: int = 1,
    ) -> Vocabulary:
        """Return the vocabulary of a source with these numbers of object names, attributes and predicates."""
        nouns = Counter[str]()
        relations = Counter[str]()
        for name, count in names.items():
            nouns[lemmatise_noun(name)] += count
        for predicate, count in predicates.items():
            relations[relation_key(predicate)] += count
        visible = Counter(
            {
                word: count
                for word, count in nouns.items()
                if is_in_wordnet(word) and is_visible(word)
            }
        )
        counters = (visible, attributes, relations, predicates)
        return cls(
            *(
                {word: n for word, n in sorted(counter.items()) if n >= min_count}
                for counter in counters
            )
        )

    @cached_property
    def predicates_by_relation(self) -> Mapping[str, Sequence[str]]:
        """The predicates of each key of ``relations``."""
        predicates: dict[str, list[str]] = {}
        for predicate in self.predicates:
            predicates.setdefault(relation_key(predicate), []).append(predicate)
        return predicates

    @cached_property
    def families(self) -> Mapping[str, Sequence[str]]:
        """The nouns of the same family, by noun. Every noun is in exactly one family.

        A family is formed at the lowest hypernym that has at least ``MIN_FAMILY`` nouns below it that are in no family
        yet. What is left of a lexicographer file (animals, artifacts, ...) is a family as well, and may be smaller.
        """
        nouns_by_synset: dict[str, list[str]] = {}
        paths = {noun: main_hypernym_path(noun) for noun in self.nouns}
        for noun, path in paths.items():
            # A noun is not in the family of its hyponyms.
            nouns_by_synset.setdefault(path[-2], []).append(noun)
        parents = {child: parent for path in paths.values() for parent, child in pairwise(path)}
        depths = {synset: depth for path in paths.values() for depth, synset in enumerate(path)}
        families: dict[str, Sequence[str]] = {}
        for synset in sorted(depths, key=lambda synset: (-depths[synset], synset)):
            nouns = sorted(nouns_by_synset.get(synset, ()))
            parent = parents.get(synset)
            if parent is None or len(nouns) >= MIN_FAMILY:
                families |= dict.fromkeys(nouns, nouns)
            else:
                nouns_by_synset.setdefault(parent, []).extend(nouns)
        return families

    @cached_property
    def _descendants(self) -> Mapping[str, Sequence[Sequence[str]]]:
        """The nouns below each synset, by the number of steps between them, up to ``MAX_STEPS``."""
        descendants: dict[str, list[list[str]]] = {}
        for noun in self.nouns:
            for sense, steps in ancestors(noun, "n").items():
                if steps <= MAX_STEPS:
                    descendants.setdefault(sense.name(), [[] for _ in range(MAX_STEPS + 1)])[
                        steps
                    ].append(noun)
        return descendants

    def find_nouns(self, noun: str, distance: int) -> Sequence[str]:
        """Return the unrelated nouns at a :func:`hypernym_distance` of ``distance`` or less, most frequent first."""
        near = {
            other
            for sense, steps in ancestors(noun, "n").items()
            if steps <= distance
            for others in self._descendants.get(sense.name(), ())[: distance + 1]
            for other in others
        }
        return sorted(
            (other for other in near if not are_related(noun, other)),
            key=lambda other: (-self.nouns[other], other),
        )


def relation_key(predicate: str) -> str:
    """Return the key under which a predicate is counted: its group of synonyms, or the lemma of its verb."""
    sense = relations.find_sense(predicate)
    return sense.group if sense else relations.verb_lemma(predicate)
