"""Inflection of any word, also of words that lemminflect cannot inflect."""

import pytest

from compeval.generators.language.inflection import (
    inflect_adjective,
    inflect_verb,
    lemmatise_noun,
    pluralise,
)


@pytest.mark.parametrize(
    ("verb", "tag", "inflected"),
    [("sit on", "VBZ", "sits on"), ("", "VBG", ""), (" on", "VBZ", " on"), ("日本", "VB", "日本")],
)
def test_inflect_verb(verb, tag, inflected) -> None:
    assert inflect_verb(verb, tag) == inflected


def test_the_empty_adjective_has_no_degrees() -> None:
    assert inflect_adjective("", "JJR") is None
    assert inflect_adjective("big", "JJR") == "bigger"


@pytest.mark.parametrize(
    ("name", "singular"),
    [("Traffic Lights", "traffic light"), ("xs", "x"), ("s", "s"), ("", ""), ("\ud800s", "\ud800")],
)
def test_lemmatise_noun(name, singular) -> None:
    assert lemmatise_noun(name) == singular


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("tree", "trees"),
        ("bus", "buses"),
        ("glass", "glasses"),
        ("tiara", "tiaras"),
        ("gas", "gases"),
        ("man", "men"),
    ]
    + [
        (plural, plural)
        for plural in (
            "trees",
            "trunks",
            "traffic lights",
            "men",
            "children",
            "feet",
            "chest of drawers",
        )
    ],
)
def test_a_plural_is_not_inflected_again(noun, plural) -> None:
    assert pluralise(noun) == plural
