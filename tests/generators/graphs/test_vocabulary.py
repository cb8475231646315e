"""The vocabulary of a source, and its nouns by their distance in WordNet."""

import pytest

from generators.graphs.vocabulary import MAX_STEPS, Vocabulary
from generators.language.wordnet import are_related, hypernym_distance
from generators.microworld.world import NOUNS
from generators.schemas.scene_graph import Relation, SceneGraph, SceneObject

WORDS = [noun for cluster in NOUNS.values() for noun in cluster]
WORDS += ["man", "tree", "window", "street", "dog", "sky", "shirt", "grass", "leg", "sidewalk"]
VOCABULARY = Vocabulary(nouns={noun: count % 5 + 1 for count, noun in enumerate(sorted(set(WORDS)))})


@pytest.mark.parametrize("noun", ["cup", "man", "street", "sidewalk", "dog", "xyzzy"])
def test_nouns_are_found_by_their_distance(noun: str) -> None:
    for distance in range(MAX_STEPS + 1):
        expected = [
            (-count, other)
            for other, count in VOCABULARY.nouns.items()
            if (steps := hypernym_distance(noun, other)) is not None
            and steps <= distance
            and not are_related(noun, other)
        ]
        assert VOCABULARY.find_nouns(noun, distance) == [other for _, other in sorted(expected)]


def test_forms_of_a_noun_are_counted_together() -> None:
    graph = SceneGraph((SceneObject("1", "cups", ("red",)), SceneObject("2", "cup")), (Relation("1", "on", "2"),))
    vocabulary = Vocabulary.of([graph, graph], min_count=2)
    assert (vocabulary.nouns, vocabulary.attributes) == ({"cup": 4}, {"red": 2})
    assert vocabulary.predicates_by_relation == {"on": ["on"]}
