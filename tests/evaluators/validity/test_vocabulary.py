"""The oracle's vocabulary has every word of the micro-world, although it shares no code with it."""

import yaml

from compeval.evaluators.validity.oracle import lexicon
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
