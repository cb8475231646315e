"""The oracle's vocabulary has every word of the micro-world, although it shares no code with it."""

import pytest
import yaml

from compeval.evaluators.validity.oracle import is_true, lexicon
from compeval.generators.microworld.world import (
    ALL_NOUNS,
    COLORS,
    PATTERNS,
    RELATIONS,
    SIZES,
    STATES,
)


def test_every_noun_and_attribute_of_the_world_is_in_the_vocabulary():
    assert {noun: lexicon.NOUNS[noun].kinds for noun in ALL_NOUNS} == {
        noun: {noun} for noun in ALL_NOUNS
    }
    slots = {
        "color": COLORS,
        "pattern": PATTERNS,
        "size": SIZES,
        "state": [state for pair in STATES for state in pair],
    }
    for slot, names in slots.items():
        for name in names:
            attribute = lexicon.ATTRIBUTES[name]
            assert (attribute.slot, attribute.values) == (slot, {name})


def test_every_relation_of_the_world_is_in_the_vocabulary():
    data = yaml.safe_load(
        (lexicon.Path(lexicon.__file__).with_name("vocabulary.yaml")).read_text(encoding="utf-8")
    )
    phrases = [
        key for name in ("prepositions", "participles", "finite_phrases") for key in data[name]
    ]
    verbs = [side for pair in data["verbs"].values() for side in pair]
    known = {relation.strip() for text in (*phrases, *verbs) for relation in text.split("|")}
    assert set(RELATIONS) <= known


PHRASES = [
    (relation, phrase)
    for relation, entry in RELATIONS.items()
    for phrase in (*entry.phrases, *entry.verbs)
]


@pytest.mark.parametrize(("relation", "phrase"), PHRASES, ids=[phrase for _, phrase in PHRASES])
def test_every_phrase_of_a_relation_is_read_as_this_relation(relation: str, phrase: str):
    """The caption is true in a scene with the relation, and false in the same scene without it."""
    first, second = "cup", "hat"
    is_verb = phrase in RELATIONS[relation].verbs
    caption = f"a {first} {phrase} a {second}" if is_verb else f"a {first} is {phrase} a {second}"
    boxes = ([100.0, 200.0, 40.0, 40.0], [400.0, 200.0, 40.0, 40.0])
    things = [
        {"id": noun, "noun": noun, "color": "red", "pattern": "plain", "size": "small", "box": box}
        for noun, box in zip((first, second), boxes, strict=True)
    ]
    scene = {"image_id": 1, "width": 640, "height": 480, "things": things}
    converse = [second, RELATIONS[relation].converse, first]
    assert is_true(caption, {**scene, "relations": [[first, relation, second], converse]})
    assert not is_true(caption, {**scene, "relations": []})
