"""The atoms that rows list, against the atoms that the oracle reads in their captions."""

from pathlib import Path

import pytest

from compeval.evaluators.validity.genuine_share import summarise_listed_atoms
from compeval.evaluators.validity.listed_atoms import (
    compare_listed_atoms,
    find_difference,
    measure_listed_atoms,
    read_relation,
)
from tests.rows import toy_dataset


def read_atoms(text: str) -> list[tuple[str, str]]:
    """Return the atoms of a text like "object: ball; attribute: red"."""
    return [(kind, value) for kind, _, value in (part.partition(": ") for part in text.split("; "))]


@pytest.mark.parametrize(
    ("caption", "atoms"),
    [
        ("a red ball", "object: ball; attribute: red"),
        ("two red balls", "object: ball; attribute: 2; attribute: red"),
        (
            "two red balls on a table",
            "object: ball; object: table; attribute: 2; attribute: red; relation: on",
        ),
        ("a ball resting on top of a box", "object: ball; object: box; relation: rest on top of"),
        ("a ball is placed on a box", "object: ball; object: box; relation: place on"),
        (
            "a truck with a cactus to its left",
            "object: truck; object: cactus; relation: to the left of",
        ),
        ("a man with a hat on", "object: man; object: hat; relation: wear"),
        ("a hat worn by a man", "object: man; object: hat; relation: wear"),
        ("a hat worn by a man", "object: man; object: hat; relation: worn by"),
        ("a ball partly hidden by a box", "object: ball; object: box; relation: hide"),
        ("a ball partly hidden by a box", "object: ball; object: box; relation: partly hidden by"),
        ("a pitcher pours into a cup", "object: pitcher; object: cup; relation: pour into"),
        ("a ball is not red", "object: ball"),
        ("a cat without a hat", "object: cat"),
        ("there is a ball. there is no red box", "object: ball"),
    ],
)
def test_listed_atoms_that_the_caption_asserts(caption: str, atoms: str):
    assert find_difference(caption, read_atoms(atoms)) == ""


@pytest.mark.parametrize(
    ("caption", "atoms", "why"),
    [
        (
            "a truck with a cactus to its left",
            "object: truck; object: cactus; relation: with",
            "not listed: relation left of; "
            "not asserted: relation containing | holding | next to | supporting | wearing",
        ),
        (
            "a purple spotted ball",
            "object: purple; object: ball; attribute: spotted",
            "not listed: attribute purple; not asserted: object purple",
        ),
        (
            "a red ball",
            "object: ball; attribute: red; attribute: red",
            "not asserted: attribute red",
        ),
        ("a ball that is not red", "object: ball; attribute: red", "not asserted: attribute red"),
        (
            "a ball on a box",
            "object: ball; object: box; relation: flying over",
            "not listed: relation on | worn by; not asserted: relation flying over",
        ),
    ],
)
def test_differences(caption: str, atoms: str, why: str):
    assert find_difference(caption, read_atoms(atoms)) == why


def test_relations_without_a_meaning_in_the_vocabulary():
    assert read_relation("right of") == read_relation("to the right of") == "right of"
    assert read_relation("directly above") == read_relation("over") == "above"
    assert read_relation("flying over") is None


def test_share_and_failures():
    rows = [
        {
            "caption": "a red ball",
            "atoms": [{"kind": "object", "text": "ball"}, {"kind": "attribute", "text": "red"}],
        },
        {"caption": "a red ball", "atoms": [{"kind": "object", "text": "ball"}]},
        {"caption": "ball the on", "atoms": []},
    ]
    listed = compare_listed_atoms(rows)
    assert (listed.rows, listed.share) == (3, 1 / 3)
    assert listed.failures[0] == ("a red ball", "not listed: attribute red")
    assert listed.failures[1][1].startswith("Cannot read")
    summary = summarise_listed_atoms({"raw": listed, "hnatom": compare_listed_atoms([])})
    assert summary["listed_atoms"] == [
        {"type": "raw", "rows": 3, "share": 1 / 3},
        {"type": "hnatom", "rows": 0, "share": None},
    ]
    assert summary["misread"]["raw"][0] == {"of": "a red ball", "why": "not listed: attribute red"}
    assert list(summary["misread"]) == ["raw"]


def test_all_configs_of_a_dataset(tmp_path: Path):
    toy_dataset(tmp_path, rows=2)
    assert {kind: item.rows for kind, item in measure_listed_atoms(tmp_path / "crepe").items()} == {
        "hnatom": 2,
        "raw": 3,
    }


def test_one_reading_of_an_ambiguous_caption_must_have_the_listed_atoms():
    """The ball may be in the boat and in the bucket, or there is a ball in a boat, and a bucket."""
    atoms = [("object", "ball"), ("object", "boat"), ("object", "bucket"), ("relation", "in")]
    assert find_difference("ball in boat and a bucket", atoms) == ""
    assert find_difference("ball in boat and a bucket", [*atoms, ("relation", "in")]) == ""
    assert "relation" in find_difference("ball in boat and a bucket", atoms[:3])
