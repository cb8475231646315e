"""Captions, compared with sets of wordings that are written out by hand."""

import re
from itertools import chain
from random import Random

import pytest

from compeval.generators.microworld.captions.content import (
    IMAGE_KINDS,
    REGION_KINDS,
    TRAINING_KINDS,
    Content,
    SceneFacts,
    choose_content,
)
from compeval.generators.microworld.captions.wording import (
    SYNONYMS,
    add_article,
    pluralise,
    write_content,
    write_image_captions,
    write_region_phrase,
    write_training_caption,
)
from compeval.generators.microworld.scenes.sampler import sample_scene
from compeval.generators.microworld.world import COLORS, NOUNS, PATTERNS, RELATIONS, SIZES

HAT, BIRD = "hat1", "bird1"
FACTS = SceneFacts(
    {HAT: "hat", BIRD: "bird", "bird2": "bird"},
    {HAT: ("red",), BIRD: ("small", "orange"), "bird2": ("orange", "striped")},
    ((BIRD, "wearing", HAT), (HAT, "worn by", BIRD)),
)


def wordings(content, richness=0.0, tries=600):
    return {write_content(FACTS, content, Random(seed), richness=richness) for seed in range(tries)}


def test_one_object():
    assert wordings(Content((HAT,))) == {
        "red hat",
        "a red hat",
        "the red hat",
        "the hat is red",
        "a hat that is red",
        "there is a red hat",
    }


def test_two_attributes_and_vowels():
    texts = wordings(Content((BIRD,)))
    assert {
        "an orange bird",
        "a small orange bird",
        "the bird is small and orange",
        "a small bird that is orange",
    } <= texts
    assert {"a tiny bird", "a little orange bird"} <= texts  # synonyms
    assert not any("a orange" in text or "an small" in text for text in texts)


def test_a_relation():
    assert wordings(Content((BIRD, HAT), ((BIRD, "wearing", HAT),))) == {
        f"{start}{rest}"
        for start, rests in {
            "": ("bird wearing a hat", "bird wearing the hat", "there is a bird wearing a hat"),
            "there is ": ("a bird wearing the hat",),
            "a bird ": (
                *(
                    "wearing a hat",
                    "wearing the hat",
                    "that is wearing a hat",
                    "that is wearing the hat",
                ),
                *(
                    "that wears a hat",
                    "that wears the hat",
                    "is wearing a hat",
                    "is wearing the hat",
                ),
                *("wears a hat", "wears the hat"),
            ),
            "the bird ": ("is wearing a hat", "wears a hat"),
        }.items()
        for rest in rests
    }


def test_with_phrases():
    texts = wordings(Content((HAT, BIRD), ((HAT, "worn by", BIRD),)))
    assert {
        "a hat worn by a bird",
        "a hat that is worn by a bird",
        "a bird with a hat on",
        "the bird has a hat on",
    } <= texts


def test_people_are_not_called_it():
    nouns = {"boy1": "boy", HAT: "hat", "cup1": "cup"}
    facts = SceneFacts(nouns, dict.fromkeys(nouns, ()), ())
    for relation, expected in (("next to", False), ("left of", False), ("worn by", True)):
        content = Content((HAT, "boy1"), ((HAT, relation, "boy1"),))
        texts = {write_content(facts, content, Random(seed), richness=0) for seed in range(600)}
        assert any(" with a hat" in text for text in texts) == expected
        assert not any(re.search(r"\bits?\b", text) for text in texts)
    content = Content((HAT, "cup1"), ((HAT, "next to", "cup1"),))
    texts = {write_content(facts, content, Random(seed), richness=0) for seed in range(600)}
    assert "a cup with a hat next to it" in texts


def test_twins_are_described_by_shared_attributes():
    assert wordings(Content((BIRD, "bird2"))) == {"two orange birds", "there are two orange birds"}


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("box", "boxes"),
        ("bus", "buses"),
        ("bench", "benches"),
        ("fish", "fish"),
        ("lorry", "lorries"),
    ],
)
def test_plurals(noun, expected):
    assert pluralise(noun) == expected


def test_articles_of_every_word():
    attributes = (*COLORS, *PATTERNS, *SIZES)
    words = [noun for cluster in NOUNS.values() for noun in cluster] + [
        *attributes,
        *chain(*SYNONYMS.values()),
    ]
    assert {text for text in words if add_article(text) == f"an {text}"} == {
        *("apple", "egg", "elephant", "umbrella", "orange", "automobile", "auto"),
    }


def samples(wordings_of, kinds, count=150):
    for image_id in range(1, count):
        scene = sample_scene(3, image_id, width=640, height=480, n_objects=2 + image_id % 3)
        rng = Random(image_id)
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=bool(image_id % 2))
        content = choose_content(facts, kinds, rng)
        yield facts, content, wordings_of(facts, content, rng)


CAPTIONS = [
    *samples(write_region_phrase, REGION_KINDS),
    *samples(write_training_caption, TRAINING_KINDS),
    *samples(
        lambda facts, content, rng: write_content(facts, content, rng, richness=0.8), IMAGE_KINDS
    ),
]


def test_neither_aro_nor_crepe_templates():
    relations = "|".join(phrase for entry in RELATIONS.values() for phrase in entry.phrases)
    looks = "|".join((*COLORS, *PATTERNS, *SIZES, "little", "tiny", "big", "dotted", "checked"))
    for _, _, text in CAPTIONS:
        assert not re.search(
            rf"\bthe (\w+ ){{1,4}}is ({relations}) the (?!left|right)", text.lower()
        ), text
        assert ". " not in text
        assert not re.search(rf"\b({looks}) and ({looks}) \w", text.lower()), text


def test_english_is_well_formed():
    for _, _, text in CAPTIONS:
        assert "  " not in text
        assert text == text.strip()
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", text.lower()), text
        assert not re.search(r"\b(a|an|the) (a|an|the)\b", text.lower()), text


def test_sizes_are_named_only_in_whole_views():
    sizes = {"small", "large", *SYNONYMS["small"], *SYNONYMS["large"]}
    texts = {
        facts.attributes[name][:1]
        for facts, _, text in CAPTIONS
        for name in facts.nouns
        if set(text.split()) & sizes
    }
    assert texts
    for facts, _, text in CAPTIONS:
        if not any(set(SIZES) & set(attributes) for attributes in facts.attributes.values()):
            assert not set(text.lower().strip(".").split()) & sizes


def test_content_is_among_the_facts():
    for facts, content, _ in CAPTIONS:
        assert content is not None
        assert set(content.objects) <= facts.nouns.keys()
        assert set(content.relations) <= set(facts.relations)


def test_no_facts_no_content():
    assert choose_content(SceneFacts({}, {}, ()), IMAGE_KINDS, Random(0)) is None


def test_image_captions_are_different_sentences():
    scene = sample_scene(3, 4, width=640, height=480, n_objects=4)
    facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
    captions = write_image_captions(facts, Random(0))
    assert len(set(captions)) == 5
    assert all(text[0].isupper() and text.endswith(".") for text in captions)
