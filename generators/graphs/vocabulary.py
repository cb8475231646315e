"""The words that a source knows: foils are taken from them first, so that a model can have seen them in training."""

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
    """How often a source's graphs use each noun, attribute, and relation (by its group, or the verb's own words).

    ``predicates`` are the relations as the graphs write them.
    """

    nouns: Mapping[str, int] = field(default_factory=dict)
    attributes: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, int] = field(default_factory=dict)
    predicates: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: Iterable[SceneGraph], at_least: int = 1) -> Vocabulary:
        """The words that occur ``at_least`` so often; nouns in the singular, and only those of WordNet."""
        nouns, attributes, relations, predicates = (Counter[str]() for _ in range(4))
        for graph in graphs:
            nouns.update(noun_lemma(item.name) for item in graph.objects)
            attributes.update(text for item in graph.objects for text in item.attributes)
            relations.update(relation_key(edge.predicate) for edge in graph.relations)
            predicates.update(edge.predicate for edge in graph.relations)
        known = [
            {word: count for word, count in sorted(words.items()) if count >= at_least}
            for words in (nouns, attributes, relations, predicates)
        ]
        return cls({word: count for word, count in known[0].items() if is_entry(word) and is_visible(word)}, *known[1:])


def relation_key(predicate: str) -> str:
    """Under what a predicate is counted: its group of synonyms, else its verb's lemma."""
    sense = relations.sense(predicate)
    return sense.group if sense else relations.verb_lemma(predicate)
