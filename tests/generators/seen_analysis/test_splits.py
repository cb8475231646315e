"""Filters, normalisation, spelling and the three splits of the systematicity test set."""

import pytest

from compeval.base.readers.corpora import list_shards, read_captions
from compeval.base.schemas.scene_graph import Atom, Box, Compound, Relation, SceneGraph, SceneObject
from compeval.generators.seen_analysis.spelling import Speller
from compeval.generators.seen_analysis.splits import (
    REASONS,
    Funnel,
    choose_split,
    find_caption_fault,
    find_crop_fault,
    normalize_caption,
)


@pytest.mark.parametrize(
    ("box", "fault"),
    [
        (Box(0, 0, 200, 200), None),  # 40,000 pixels of 400,000 are exactly 10 %
        (Box(0, 0, 200, 199.4), "crop under 40,000 pixels"),  # 199.4 rounds to 199
        (Box(0, 0, 200, 199.6), None),  # 199.6 rounds to 200
        (Box(0.4, 0.4, 200.4, 200.4), None),  # corners 0 and round(200.8) = 201
        (Box(10, 10, 300, 150), None),  # exactly 2.0
        (Box(10, 10, 301, 150), "crop width/height outside 0.5 to 2.0"),
        (Box(10, 10, 150, 300), None),  # exactly 0.5
        (Box(10, 10, 150, 301), "crop width/height outside 0.5 to 2.0"),
        (Box(0, 0, 0.2, 0.2), "crop under 40,000 pixels"),  # rounds to an empty box
    ],
)
def test_crop_fault(box, fault) -> None:
    assert find_crop_fault(box, 800, 500) == fault


def test_a_crop_under_a_tenth_of_a_large_image() -> None:
    assert find_crop_fault(Box(0, 0, 200, 200), 801, 500) == "crop under 10 % of the image"


CAT = SceneObject("1", "cat", ("red",))


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (SceneGraph((SceneObject("1", "cat"),)), "caption with fewer than 2 atoms"),
        (
            SceneGraph((SceneObject("1", "cat"), SceneObject("2", "dog"))),
            "caption without a compound",
        ),
        (SceneGraph((CAT,)), None),
        (
            SceneGraph(
                (SceneObject("1", "cat"), SceneObject("2", "dog")), (Relation("1", "on", "2"),)
            ),
            None,
        ),
    ],
)
def test_caption_fault(graph, fault) -> None:
    assert find_caption_fault(graph) == fault


def test_funnel_counts_every_reason() -> None:
    funnel = Funnel()
    assert [
        funnel.count(reason) for reason in (None, REASONS[1], None, REASONS[1], REASONS[6])
    ] == [1, 0, 1, 0, 0]
    counts = funnel.to_json()
    assert (counts["regions"], counts[REASONS[1]], counts[REASONS[6]], counts["kept"]) == (
        5,
        2,
        1,
        2,
    )
    assert list(counts) == ["regions", *REASONS, "kept"]


RED, CAT_ATOM = Atom("attribute", "red"), Atom("object", "cat")
RED_CAT, BIG_CAT = Compound("ao", "cat", None, "red"), Compound("ao", "cat", None, "big")


@pytest.mark.parametrize(
    ("seen_atoms", "seen_compounds", "expected"),
    [
        ({RED, CAT_ATOM}, {RED_CAT, BIG_CAT}, "sc"),
        ({RED, CAT_ATOM}, {BIG_CAT}, "uc"),
        ({CAT_ATOM}, {BIG_CAT}, "ua"),
        ({CAT_ATOM}, {RED_CAT}, "ua"),  # impossible in one corpus; the unseen atom decides
    ],
)
def test_split(seen_atoms, seen_compounds, expected) -> None:
    assert choose_split([RED, CAT_ATOM], [RED_CAT], seen_atoms, seen_compounds) == expected


def test_one_unseen_compound_is_enough_for_uc() -> None:
    assert choose_split([CAT_ATOM], [RED_CAT, BIG_CAT], {CAT_ATOM}, {RED_CAT}) == "uc"


def test_normalize_caption() -> None:
    assert (
        normalize_caption("  The  man's T-shirt\n, which is RED . ")
        == "the man's t-shirt, which is red"
    )
    assert normalize_caption(" .") == ""
    assert normalize_caption("A cat on the SOFA .", keep_mark=True) == "a cat on the sofa."
    assert normalize_caption("a cat,", keep_mark=True) == "a cat"
    assert normalize_caption(" .", keep_mark=True) == ""


@pytest.fixture(scope="module")
def speller() -> Speller:
    return Speller()


@pytest.mark.parametrize(
    ("phrase", "corrected"),
    [
        ("a buiding behind the pedestrain", "a building behind the pedestrian"),
        ("lamp infront of a tshirt", "lamp in front of a t-shirt"),
        ("Shirt by Adidass", "Shirt by Adidass"),  # a name
        # Compounds of known words.
        (
            "a nightstand and a skatepark",
            "a nightstand and a skatepark",
        ),
        # Inflection, hyphen, digit, short.
        (
            "snowboarders' x-rayz 4th cpu",
            "snowboarders' x-rayz 4th cpu",
        ),
        ("a curpet", "a curpet"),  # carpet or curvet is possible
        ("z" * 20_000, "z" * 20_000),
    ],
)
def test_speller(speller, phrase, corrected) -> None:
    assert speller.correct(phrase) == corrected


def test_the_speller_changes_few_real_captions(speller, real_data) -> None:
    """At most 20 of 1,000 human captions are changed."""
    (shard,) = list_shards(str(real_data / "factual" / "dev.csv"))
    phrases = list(read_captions(shard, "caption"))
    changed = [phrase for phrase in phrases if speller.correct(phrase) != phrase]
    assert 0 < len(changed) <= 20
