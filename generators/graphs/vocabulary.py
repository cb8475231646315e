"""The words of a source's graphs. Foils are preferably taken from these words, because models may have seen them in
training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from generators.language.inflection import lemmatise_noun
from generators.language.lexicon import relations
from generators.language.wordnet import is_in_wordnet, is_visible
from generators.schemas.scene_graph import SceneGraph


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
        nouns, attributes, predicates = (Counter[str]() for _ in range(3))
        for graph in graphs:
            nouns.update(lemmatise_noun(item.name) for item in graph.objects)
            attributes.update(text for item in graph.objects for text in item.attributes)
            predicates.update(edge.predicate for edge in graph.relations)
        relations = Counter[str]()
        for predicate, count in predicates.items():
            relations[relation_key(predicate)] += count
        visible = Counter({word: count for word, count in nouns.items() if is_in_wordnet(word) and is_visible(word)})
        counters = (visible, attributes, relations, predicates)
        return cls(*({word: n for word, n in sorted(counter.items()) if n >= min_count} for counter in counters))


def relation_key(predicate: str) -> str:
    """Return the key under which a predicate is counted: its group of synonyms, or the lemma of its verb."""
    sense = relations.find_sense(predicate)
    return sense.group if sense else relations.verb_lemma(predicate)
