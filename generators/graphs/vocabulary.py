"""The words of a source's graphs: foils are taken from them first, so that a model can have seen them in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from generators.language.inflection import noun_lemma
from generators.language.lexicon import relations
from generators.language.wordnet import is_entry, is_visible
from generators.schemas.scene_graph import SceneGraph


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """How often a source's graphs use each noun, attribute, and relation (by :func:`relation_key`).

    ``predicates`` are the relations as the graphs write them.
    """

    nouns: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: Iterable[SceneGraph], at_least: int = 1) -> Vocabulary:
        """The words that occur ``at_least`` times; nouns in the singular, and only visible ones in WordNet."""
        nouns, attributes, predicates = (Counter[str]() for _ in range(3))
        for graph in graphs:
            nouns.update(noun_lemma(item.name) for item in graph.objects)
            attributes.update(text for item in graph.objects for text in item.attributes)
            predicates.update(edge.predicate for edge in graph.relations)
        relations = Counter[str]()
        for predicate, count in predicates.items():
            relations[relation_key(predicate)] += count
        visible = Counter({word: count for word, count in nouns.items() if is_entry(word) and is_visible(word)})
        counters = (visible, attributes, relations, predicates)
        return cls(*({word: n for word, n in sorted(counter.items()) if n >= at_least} for counter in counters))


def relation_key(predicate: str) -> str:
    """The entry under which a predicate is counted: its group of synonyms, else the lemma of its verb."""
    sense = relations.sense(predicate)
    return sense.group if sense else relations.verb_lemma(predicate)
