from collections import Counter
from itertools import combinations

import pytest

from compeval.base.schemas.corpus_names import CORPORA
from compeval.generators.microworld.captions.wording import SYNONYMS, pluralise
from compeval.generators.microworld.corpora import sample_caption
from compeval.generators.microworld.rendering.pictures import RENDERINGS
from compeval.generators.microworld.scenes.held_out import (
    ATTRIBUTES,
    NAMED_SIZES,
    choose_held_out,
    list_attributes,
)
from compeval.generators.microworld.scenes.splits import sample_training_scene, training_ids
from compeval.generators.microworld.world import ALL_NOUNS, CONVERSE
from tests.close import assert_close

NUM_EXAMPLES = 100
"""Number of examples per corpus."""


def list_words(name):
    """Return a noun or attribute with all synonyms and plurals."""
    words = (name, *SYNONYMS.get(name, ()))
    return {*words, *map(pluralise, words)}


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_image_or_caption_has_held_out_content(corpus):
    rules = choose_held_out(0, corpus)
    forbidden = set().union(*map(list_words, rules.nouns | rules.attributes))
    for image_id in training_ids(list(CORPORA).index(corpus), NUM_EXAMPLES):
        scene = sample_training_scene(0, corpus, image_id)
        nouns = {item.id: item.noun for item in scene.objects}
        assert (
            not {(nouns[a], relation, nouns[b]) for a, relation, b in scene.relations}
            & rules.triples
        )
        for item in scene.objects:
            assert item.noun not in rules.nouns
            assert not set(list_attributes(item)) & rules.attributes
            assert not {(attribute, item.noun) for attribute in list_attributes(item)} & rules.pairs
        caption, _ = sample_caption(0, scene, 0)
        assert not set(caption.lower().rstrip(".").replace(",", "").split()) & forbidden


@pytest.mark.parametrize("corpus", CORPORA)
def test_shares(corpus):
    rules = choose_held_out(0, corpus)
    assert len(rules.nouns) == 2
    assert len(rules.attributes) == 1
    # 72 nouns x 12 attributes and sizes remain, and the two states of nine nouns.
    assert_close(len(rules.pairs) / (72 * 12 + 18), 0.2, within=0.02)
    assert all((b, CONVERSE[relation], a) in rules.triples for a, relation, b in rules.triples)
    directed = Counter(relation for _, relation, _ in rules.triples)
    assert directed["left of"] == directed["right of"]
    for first, second in combinations(ALL_NOUNS, 2):
        # One direction remains.
        assert not {(first, "left of", second), (first, "right of", second)} <= rules.triples


@pytest.mark.parametrize("corpus", CORPORA)
def test_every_noun_and_attribute_keeps_partners(corpus):
    rules = choose_held_out(0, corpus)
    for noun in set(ALL_NOUNS) - rules.nouns:
        assert sum(rules.forbids(noun, attribute) for attribute in ATTRIBUTES) <= 4
        assert not all(rules.forbids(noun, size) for size in NAMED_SIZES)
        assert not RENDERINGS[noun].states or not all(
            rules.forbids(noun, state) for state in RENDERINGS[noun].states
        )
    for attribute in set(ATTRIBUTES) - rules.attributes:
        assert sum(rules.forbids(noun, attribute) for noun in ALL_NOUNS) <= 17


def test_on_is_held_out_with_above():
    for corpus in CORPORA:
        triples = choose_held_out(0, corpus).triples
        carried = {
            (a, b)
            for c in CORPORA
            for a, relation, b in choose_held_out(0, c).triples
            if relation == "on"
        }
        assert all(
            (a, "on", b) in triples
            for a, relation, b in triples
            if relation == "above" and (a, b) in carried
        )


def test_corpora_hold_out_different_content():
    for first_corpus, second_corpus in combinations(CORPORA, 2):
        first, second = choose_held_out(0, first_corpus), choose_held_out(0, second_corpus)
        assert not first.nouns & second.nouns
        assert not first.attributes & second.attributes
        assert not first.pairs & second.pairs
        assert len(first.triples & second.triples) < 0.02 * len(first.triples)


def test_depends_on_the_seed():
    assert choose_held_out(0, "laion").to_json() != choose_held_out(1, "laion").to_json()


def test_unknown_corpus():
    with pytest.raises(ValueError, match="Unknown corpus 'coco', expected cc12m, yfcc, laion"):
        choose_held_out(0, "coco")
