"""Captions that the oracle can and cannot parse, and properties of its verdicts that hold in every scene."""

import csv
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.evaluators.validity.oracle import UnreadableError, is_true, parse_caption
from compeval.evaluators.validity.oracle.drs import Relation
from compeval.evaluators.validity.oracle.lexicon import (
    ATTRIBUTES,
    KNOWN,
    NOUNS,
    PREPOSITIONS,
    PRESENT_VERBS,
)
from compeval.generators.microworld import world

COLORS = ("red", "green", "blue")
KINDS = ("ball", "cup", "table", "cat")
PAIRS = {"on": "supporting", "left of": "right of", "next to": "next to", "in front of": "behind"}


@st.composite
def scenes(draw: st.DrawFn, max_objects: int = 4) -> dict:
    """Draw a scene of a few objects and arbitrary relations. The converse of each relation is added."""
    objects = [
        {
            "id": str(index),
            "noun": draw(st.sampled_from(KINDS)),
            "color": draw(st.sampled_from(COLORS)),
            "pattern": draw(st.sampled_from(("plain", "striped"))),
            "size": draw(st.sampled_from(("small", "medium", "large"))),
            "box": [draw(st.integers(0, 600)), 0, 20, 20],
        }
        for index in range(draw(st.integers(1, max_objects)))
    ]
    relations = []
    for first, second in combinations(range(len(objects)), 2):
        for relation in draw(st.sets(st.sampled_from(sorted(PAIRS)))):
            relations += [
                [str(first), relation, str(second)],
                [str(second), PAIRS[relation], str(first)],
            ]
    return {"width": 640, "height": 480, "things": objects, "relations": relations}


noun_phrases = st.builds(
    lambda article, color, noun: f"{article} {color} {noun}".replace("  ", " "),
    st.sampled_from(("a", "the", "another")),
    st.sampled_from(("", *COLORS)),
    st.sampled_from(KINDS),
)
relations = st.sampled_from(
    ("on", "to the left of", "next to", "partly hidden by", "with", "supporting")
)
clauses = st.builds(
    lambda subject, relation, target: f"{subject} {relation} {target}",
    noun_phrases,
    relations,
    noun_phrases,
)
affirmative = st.lists(st.one_of(noun_phrases, clauses), min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from((", and ".join(parts), ". ".join(parts), " while ".join(parts)))
)


@given(scenes(), st.sampled_from(KINDS), st.sampled_from(COLORS))
def test_an_attribute_is_true_exactly_if_an_object_of_the_noun_has_it(
    scene: dict, noun: str, color: str
) -> None:
    has_it = any((item["noun"], item["color"]) == (noun, color) for item in scene["things"])
    for caption in (
        f"a {color} {noun}",
        f"there is a {noun} that is {color}",
        f"The {noun} is {color}.",
    ):
        assert is_true(caption, scene) is has_it
    assert is_true(f"there is no {color} {noun}", scene) is not has_it


@given(scenes(max_objects=5), affirmative)
def test_adding_an_object_leaves_affirmative_captions_true(scene: dict, caption: str) -> None:
    remaining_ids = {item["id"] for item in scene["things"][:-1]}
    smaller = scene | {
        "things": scene["things"][:-1],
        "relations": [
            triple for triple in scene["relations"] if {triple[0], triple[2]} <= remaining_ids
        ],
    }
    assert is_true(caption, scene) or not is_true(caption, smaller)


@given(scenes(), clauses.filter(lambda clause: "another" not in clause))
def test_a_denial_is_the_opposite_of_an_unambiguous_clause(scene: dict, clause: str) -> None:
    assert len(parse_caption(clause).readings) == 1
    assert is_true(f"It is not the case that {clause}", scene) is not is_true(clause, scene)


@given(scenes())
def test_order_of_objects_does_not_matter(scene: dict) -> None:
    reversed_scene = scene | {
        "things": scene["things"][::-1],
        "relations": scene["relations"][::-1],
    }
    for caption in ("a ball next to a cup on a table", "two cups", "a cat not on a table"):
        assert is_true(caption, scene) is is_true(caption, reversed_scene)


@pytest.mark.parametrize(
    ("caption", "where"),
    [
        ("ball the on red", "'the' at character 5"),
        ("a ball a cup", "'a' at character 7"),
        ("a ball on", "the end of a sentence"),
        ("a cup. the the ball is red", "'the' at character 11"),
        ("a ball table", "'table' at character 7"),
        ("a red and ball", "'ball' at character 10"),
        ("a ball or a cup", "'or' at character 7"),
        ("every ball is red", "'every' at character 0"),
        ("red", "the end of a sentence"),
        ("alpha beta gamma delta epsilon", "'beta' at character 6"),
        ("a balls", "'balls' at character 2"),
        ("two ball", "'ball' at character 4"),
        ("There is no ball is on a table", "'is' at character 17"),
        ("ball not has stripes", "'has' at character 9"),
        ("it is red", "a pronoun has no possible antecedent"),
        ("a ball. . a cup", "the end of a sentence"),
        ("  ", "it has no words"),
    ],
)
def test_error_names_the_position_that_cannot_be_parsed(caption: str, where: str) -> None:
    with pytest.raises(UnreadableError, match="Cannot read") as error:
        parse_caption(caption)
    assert where in str(error.value)
    with pytest.raises(UnreadableError):
        is_true(caption, {"width": 1, "things": [], "relations": []})


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("a red ball on a table", ()),
        ("a robot under a furry ball", ("robot", "furry")),
        ("a soccer ball", ("soccer",)),
        ("a teddy bear", ("teddy", "bear")),
        ("armored personnel carrier", ("armored", "personnel", "carrier")),
        ("a cat licking a boat", ("licking",)),
        ("a cat riding a boat", ()),
        ("a cat chases a bird", ("chases",)),
        ("a ball across a table", ("across",)),
        ("a cup tied to a balloon", ("tied to",)),
        ("there is no pink ball", ("pink",)),
        ("an orange on a table", ("orange",)),
        ("the table is large and orange", ()),
    ],
)
def test_undrawable_words(caption: str, words: tuple[str, ...]) -> None:
    assert parse_caption(caption).undrawable == words


@pytest.mark.parametrize(
    ("caption", "count"),
    [
        ("a ball on a table", 1),
        ("a ball on a table next to a cup", 2),
        # Catalan numbers: with three phrases, 5 ways that do not cross.
        ("a ball on a table next to a cup under a lamp", 5),
        ("a ball on a table that is red", 1),
        ("there is a cup on a table. next to it is a lamp", 2),
        ("a ball that is not red and striped", 2),
        ("a table with a lamp on it", 1),
        ("a red ball and a blue ball. the ball is on a table", 2),
        ("a red ball and a blue ball. the blue ball is on a table", 1),
    ],
)
def test_ambiguity(caption: str, count: int) -> None:
    assert len(parse_caption(caption).readings) == count


def test_the_first_reading_attaches_to_the_nearest_noun() -> None:
    # Referents: ball 0, table 1, cup 2. The table (first reading) or the ball (second reading) is next to the cup.
    pairs = [
        {(item.subjects, item.objects) for item in drs.conditions if isinstance(item, Relation)}
        for drs in parse_caption("a ball on a table next to a cup").readings
    ]
    assert pairs == [{((0,), (1,)), ((1,), (2,))}, {((0,), (1,)), ((0,), (2,))}]


def test_lexicon_covers_everything_that_the_micro_world_can_draw() -> None:
    kinds = {kind for noun in NOUNS.values() for kind in noun.kinds}
    assert kinds == {noun for nouns in world.NOUNS.values() for noun in nouns}
    for slot, values in (
        ("color", world.COLORS),
        ("pattern", world.PATTERNS),
        ("size", world.SIZES),
    ):
        assert {
            value for item in ATTRIBUTES.values() if item.slot == slot for value in item.values
        } == {*values}
    expressible = {
        relation
        for entries in PREPOSITIONS.values()
        for _, relations in entries
        for relation in relations
    }
    expressible |= {
        relation for verb in PRESENT_VERBS.values() for relation in verb.active | verb.passive
    }
    assert expressible - {"far from"} == {*world.RELATIONS}
    assert KNOWN.issuperset(NOUNS)


@pytest.mark.parametrize("relation", sorted(world.RELATIONS))
def test_every_relation_can_be_expressed_by_its_id(relation: str) -> None:
    objects = [
        {
            "id": name,
            "noun": name,
            "color": "red",
            "pattern": "plain",
            "size": "small",
            "box": [0, 0, 9, 9],
        }
        for name in ("cat", "hat")
    ]
    scene = {"width": 9, "things": objects, "relations": [["cat", relation, "hat"]]}
    assert is_true(f"a cat {relation} a hat", scene)
    assert not is_true(f"a hat {relation} a cat", scene | {"relations": []})
    assert not is_true(f"a cat that is not {relation} a hat", scene)


def test_real_captions_are_parsed_or_raise_unreadable_error(real_data: Path) -> None:
    readable = []
    for kind in ("atom", "swap", "negate"):
        file = (
            real_data
            / "crepe"
            / "prod_hard_negatives"
            / kind
            / f"prod_vg_hard_negs_{kind}_complexity_4.csv"
        )
        with file.open(encoding="utf-8") as lines:
            captions = [row["caption"] for row in csv.DictReader(lines)][:100]
        for caption in captions:
            try:
                readable.append(bool(parse_caption(caption).readings))
            except UnreadableError:
                readable.append(False)
    # The grammar covers English in general, not only the generators' captions, so most human-annotated captions parse.
    assert sum(readable) > 0.7 * len(readable)


def test_shares_no_code_with_generators() -> None:
    listing = "[name for name in sys.modules if name.startswith('compeval.generators')]"
    probe = f"import sys, compeval.evaluators.validity.oracle; print({listing})"
    result = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
