from collections import Counter
from itertools import combinations

import pytest

from generators.microworld.build import describe, training_scene
from generators.microworld.captions.wording import SYNONYMS, plural
from generators.microworld.scenes.held_out import ALL_NOUNS, LOOKS, SAID_SIZES, left_out, look_of
from generators.microworld.scenes.sampler import training_ids
from generators.microworld.scenes.spatial_relations import CONVERSE
from generators.schemas.corpus_names import CORPORA

EXAMPLES = 100
"""Of each corpus."""


def words_of(name):
    """All the ways to say a noun or an attribute."""
    words = (name, *SYNONYMS.get(name, ()))
    return {*words, *map(plural, words)}


@pytest.mark.parametrize("corpus", CORPORA)
def test_nothing_left_out_is_in_pictures_or_captions(corpus):
    rules = left_out(0, corpus)
    unsayable = set().union(*map(words_of, rules.nouns | rules.attributes))
    for image_id in training_ids(list(CORPORA).index(corpus), EXAMPLES):
        scene = training_scene(0, corpus, image_id)
        nouns = {thing.id: thing.noun for thing in scene.things}
        assert not {(nouns[a], relation, nouns[b]) for a, relation, b in scene.relations} & rules.triples
        for thing in scene.things:
            assert thing.noun not in rules.nouns
            assert not set(look_of(thing)) & rules.attributes
            assert not {(attribute, thing.noun) for attribute in look_of(thing)} & rules.pairs
        caption, _ = describe(0, scene, 0)
        assert not set(caption.lower().rstrip(".").replace(",", "").split()) & unsayable


@pytest.mark.parametrize("corpus", CORPORA)
def test_shares(corpus):
    rules = left_out(0, corpus)
    assert len(rules.nouns) == 2
    assert len(rules.attributes) == 1
    # 38 nouns x 12 attributes and sizes remain.
    assert len(rules.pairs) / (38 * 12) == pytest.approx(0.2, abs=0.02)
    assert all((b, CONVERSE[relation], a) in rules.triples for a, relation, b in rules.triples)
    directed = Counter(relation for _, relation, _ in rules.triples)
    assert directed["left of"] == directed["right of"]
    for first, second in combinations(ALL_NOUNS, 2):
        assert not {(first, "left of", second), (first, "right of", second)} <= rules.triples  # one way is left


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_noun_and_attribute_keeps_company(corpus):
    rules = left_out(0, corpus)
    for noun in set(ALL_NOUNS) - rules.nouns:
        assert sum(rules.forbids(noun, attribute) for attribute in LOOKS) <= 4
        assert not all(rules.forbids(noun, size) for size in SAID_SIZES)
    for attribute in set(LOOKS) - rules.attributes:
        assert sum(rules.forbids(noun, attribute) for noun in ALL_NOUNS) <= 10


def test_on_is_left_out_with_above():
    for corpus in CORPORA:
        triples = left_out(0, corpus).triples
        carried = {(a, b) for c in CORPORA for a, relation, b in left_out(0, c).triples if relation == "on"}
        assert all((a, "on", b) in triples for a, relation, b in triples if relation == "above" and (a, b) in carried)


def test_corpora_leave_out_different_things():
    for one, other in combinations(CORPORA, 2):
        first, second = left_out(0, one), left_out(0, other)
        assert not first.nouns & second.nouns
        assert not first.attributes & second.attributes
        assert not first.pairs & second.pairs
        assert len(first.triples & second.triples) < 0.02 * len(first.triples)


def test_depends_on_the_seed():
    assert left_out(0, "laion").to_json() != left_out(1, "laion").to_json()


def test_unknown_corpus():
    with pytest.raises(ValueError, match="unknown corpus 'coco': expected one of cc12m, yfcc, laion"):
        left_out(0, "coco")
