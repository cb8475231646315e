"""Facts of WordNet 3.0, which were looked up in its files and are noted next to each test."""

from itertools import combinations

import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from compeval.generators.language import wordnet_database
from compeval.generators.language.wordnet import (
    VISIBLE,
    antonyms,
    are_related,
    grand_hypernym_siblings,
    hypernym_distance,
    is_color,
    is_part,
    is_visible,
    name_same_color,
    senses,
)
from compeval.generators.language.wordnet_database import LEXICOGRAPHER_FILES, wordnet
from compeval.generators.microworld.world import COLORS, NOUNS

ALL_NOUNS = [noun for cluster in NOUNS.values() for noun in cluster]


def test_version_and_lexicographer_files():
    assert wordnet().get_version() == "3.0"
    assert len(LEXICOGRAPHER_FILES) == 45  # lexnames(5WN): 00 adj.all to 44 adj.ppl
    assert wordnet().synset("dog.n.01").lexname() == "noun.animal"
    assert wordnet().synset("run.v.01").lexname() == "verb.motion"
    assert set(LEXICOGRAPHER_FILES) >= VISIBLE


def test_missing_wordnet_raises_an_error_with_the_remedies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet_database, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr(nltk, "download", lambda *_, **__: False)
    with pytest.raises(
        FileNotFoundError,
        match=r"WordNet 3\.0 was not found(.|\n)*nltk\.downloader(.|\n)*wordnet-base",
    ):
        wordnet.__wrapped__()


def test_other_versions_raise_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(WordNetCorpusReader, "get_version", lambda _: "3.1")
    with pytest.raises(ValueError, match=r"WordNet 3\.1, expected 3\.0"):
        wordnet.__wrapped__()


def test_senses_are_usual_and_visible():
    # table.n.01 is of data; table.n.02 (25 times in SemCor) and table.n.03 (5) are furniture
    assert [sense.name() for sense in senses("table", "n")] == ["table.n.02", "table.n.03"]
    # kite.n.01 and .02 are cheques; the toy and the bird were never tagged
    assert [sense.name() for sense in senses("kite", "n")] == ["kite.n.03", "kite.n.04"]
    # bus.n.04, an old car, was never tagged, bus.n.01 twice
    assert [sense.name() for sense in senses("bus", "n")] == ["bus.n.01"]
    assert [sense.name() for sense in senses("garden bench", "n")] == [
        sense.name() for sense in senses("bench", "n")
    ]
    assert senses("qwertyish", "n") == ()


def test_usual_sense_decides_visibility():
    assert is_visible("table")
    assert not is_visible("means")  # ways 50 times, instruments 11 times


@pytest.mark.parametrize(
    ("first", "second", "pos", "related"),
    [
        ("couch", "sofa", "n", True),  # sofa.n.01: sofa, couch, lounge
        ("dog", "animal", "n", True),  # dog.n.01 < canine < carnivore < ... < animal
        *(("poodle", "dog", "n", True), ("dining table", "table", "n", True)),
        *(("dog", "cat", "n", False), ("bus", "car", "n", False), ("table", "chair", "n", False)),
        *(
            ("tiny", "small", "a", True),
            ("big", "large", "a", True),
            ("large", "small", "a", False),
        ),
    ],
)
def test_words_are_related_to_synonyms_hypernyms_hyponyms_and_similar_adjectives(
    first, second, pos, related
):
    assert are_related(first, second, pos) is related
    assert are_related(second, first, pos) is related


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        ("bumper", "car", True),
        ("wheel", "car", True),  # a car has car wheels
        ("hand", "man", True),  # a person has body parts
        *(("car", "wheel", False), ("cup", "table", False)),
    ],
)
def test_parts_of_hypernyms_are_parts(part: str, whole: str, expected: bool):
    assert is_part(part, whole) is expected


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("pear", "apple", 1),  # both edible fruit
        ("cat", "dog", 2),  # feline, canine < carnivore
        ("bottle", "cup", 2),  # vessel, cup < container
        *(("cat", "cat", 0), ("cat", "qwertyish", None)),
    ],
)
def test_hypernym_distance_is_the_number_of_steps_to_the_shared_hypernym(first, second, distance):
    assert hypernym_distance(first, second) == distance


def test_grand_hypernym_siblings_are_unrelated():
    siblings = grand_hypernym_siblings("dog")
    assert {"cat", "fox", "bear", "wolf"} <= set(siblings)
    assert not {"dog", "poodle", "animal", "canine", "domestic dog"} & set(siblings)
    assert "Bear" not in siblings


def test_antonyms_are_direct_first_then_indirect():
    assert antonyms("small", "a")[:2] == ("large", "big")
    assert "huge" in antonyms("small", "a")  # similar to large
    assert antonyms("tiny", "a")[:2] == ("large", "big")  # tiny is similar to small
    assert antonyms("wet", "a")[0] == "dry"
    assert antonyms("push", "v")[0] == "pull"


def test_colours_and_shades_are_recognised_by_their_nouns():
    assert all(is_color(word) for word in (*COLORS, "dark green", "off-white"))
    assert not any(is_color(word) for word in ("wooden", "large", "striped", "table"))
    # crimson.n.01 < red.n.01 < chromatic_color.n.01 < color.n.01; white.n.02 < achromatic_color.n.01 < color.n.01
    assert name_same_color("crimson", "red")
    assert name_same_color("dark green", "green")
    assert not any(name_same_color(one, other) for one, other in combinations(COLORS, 2))


def test_microworld_nouns_are_unrelated_except_two_pairs():
    """The toy "kite" and the bird "kite" are the same word, and one sense of "boy" is a man."""
    related_pairs = {pair for pair in combinations(ALL_NOUNS, 2) if are_related(*pair)}
    assert related_pairs == {("bird", "kite"), ("man", "boy")}
