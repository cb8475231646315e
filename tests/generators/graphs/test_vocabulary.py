"""The vocabulary of a source, and its nouns by their distance in WordNet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.graphs.vocabulary import MAX_STEPS, Vocabulary
from compeval.generators.language.wordnet import are_related, hypernym_distance
from compeval.generators.microworld.world import NOUNS

WORDS = [noun for cluster in NOUNS.values() for noun in cluster]
WORDS += ["man", "tree", "window", "street", "dog", "sky", "shirt", "grass", "leg", "sidewalk"]
VOCABULARY = Vocabulary(
    nouns={noun: count % 5 + 1 for count, noun in enumerate(sorted(set(WORDS)))}
)


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
    graph = SceneGraph(
        (SceneObject("1", "cups", ("red",)), SceneObject("2", "cup")), (Relation("1", "on", "2"),)
    )
    vocabulary = Vocabulary.of([graph, graph], min_count=2)
    assert (vocabulary.nouns, vocabulary.attributes) == ({"cup": 4}, {"red": 2})
    assert vocabulary.predicates_by_relation == {"on": ["on"]}


def test_nouns_are_divided_into_families_of_hypernyms(monkeypatch: pytest.MonkeyPatch) -> None:
    """In WordNet 3.0, three nouns meet at placental mammal, and two more at vertebrate; cake is in another file."""
    monkeypatch.setattr("compeval.generators.graphs.vocabulary.MIN_FAMILY", 3)
    vocabulary = Vocabulary(
        nouns=dict.fromkeys(["cat", "horse", "rabbit", "bird", "fish", "cake"], 1)
    )
    families = {tuple(family) for family in vocabulary.families.values()}
    assert families == {("cat", "horse", "rabbit"), ("bird", "fish"), ("cake",)}


def test_a_noun_is_not_in_the_family_of_its_hyponyms(monkeypatch: pytest.MonkeyPatch) -> None:
    """If "dog" were in the family of two dogs, it would have no foils: each of them is a dog."""
    monkeypatch.setattr("compeval.generators.graphs.vocabulary.MIN_FAMILY", 2)
    vocabulary = Vocabulary(nouns=dict.fromkeys(["dog", "poodle", "corgi", "cat"], 1))
    assert vocabulary.families["corgi"] == ["corgi", "poodle"]
    assert vocabulary.families["dog"] == ["cat", "dog"]


@given(st.sets(st.sampled_from(sorted(set(WORDS)))))
def test_every_noun_is_in_one_family(nouns: set[str]) -> None:
    families = Vocabulary(nouns=dict.fromkeys(sorted(nouns), 1)).families
    assert families.keys() == nouns
    for noun, family in families.items():
        assert noun in family
        assert all(families[other] == family for other in family)
