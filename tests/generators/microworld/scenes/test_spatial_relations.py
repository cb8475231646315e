"""Relations of small layouts; the expected relations were derived manually."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.scene import DrawnObject
from compeval.generators.microworld.scenes.spatial_relations import (
    Layout,
    Link,
    find_ambiguities,
    find_relations,
    measure_visible_fraction,
)
from compeval.generators.microworld.world import CONVERSE, RELATIONS
from tests.close import assert_close

GROUND = Link("on", None)


def make_object(name, x, y, width, height, depth=0.5):
    """Return an object whose noun is its id without the number."""
    return DrawnObject(
        name, name.rstrip("0123456789"), "red", "plain", "medium", Box(x, y, width, height), depth
    )


def make_layout(*objects, **links):
    return Layout(objects, {item.id: links.get(item.id, GROUND) for item in objects})


def find_forward_relations(scene):
    """Return the relations in one direction of each converse pair."""
    forward_relations = ("on", "above", "left of", "in front of", "in", "wearing", "next to")
    return {
        (a, r, b)
        for a, r, b in find_relations(scene)
        if r in forward_relations and (r != "next to" or a < b)
    }


def test_every_relation_of_the_world_has_its_converse():
    assert set(CONVERSE) == set(RELATIONS)
    assert all(CONVERSE[CONVERSE[relation]] == relation for relation in RELATIONS)


def test_on_implies_above_and_is_not_transitive():
    # A cup (bottom at 180) on a drum (180 to 280) on a table (280 to 460).
    scene = make_layout(
        make_object("table", 100, 280, 300, 180, 0.5),
        make_object("drum", 150, 180, 110, 100, 0.49),
        make_object("cup", 180, 120, 60, 60, 0.48),
        drum=Link("on", "table"),
        cup=Link("on", "drum"),
    )
    assert find_forward_relations(scene) == {
        ("drum", "on", "table"),
        ("drum", "above", "table"),
        ("cup", "on", "drum"),
        ("cup", "above", "drum"),
        ("cup", "above", "table"),
    }
    assert ("table", "supporting", "drum") in find_relations(scene)
    assert ("table", "below", "cup") in find_relations(scene)
    assert find_ambiguities(scene) == []


def test_contents_of_a_bowl_are_in_the_bowl_and_above_the_table():
    scene = make_layout(
        make_object("table", 100, 280, 300, 180, 0.5),
        make_object("bowl", 150, 200, 160, 94, 0.49),
        make_object("apple", 190, 160, 60, 70, 0.48),
        bowl=Link("on", "table"),
        apple=Link("in", "bowl"),
    )
    assert find_forward_relations(scene) == {
        ("bowl", "on", "table"),
        ("bowl", "above", "table"),
        ("apple", "in", "bowl"),
        ("apple", "above", "table"),
    }
    assert ("bowl", "containing", "apple") in find_relations(scene)


def test_a_worn_hat_is_on_and_above_its_wearer():
    scene = make_layout(
        make_object("cat", 100, 200, 170, 180, 0.5),
        make_object("hat", 120, 175, 100, 62, 0.49),
        hat=Link("worn by", "cat"),
    )
    assert set(find_relations(scene)) == {
        ("cat", "wearing", "hat"),
        ("hat", "worn by", "cat"),
        ("hat", "on", "cat"),
        ("cat", "supporting", "hat"),
        ("hat", "above", "cat"),
        ("cat", "below", "hat"),
    }


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        # 0.7 of the smaller width, 100.
        (
            70,
            {("ball1", "left of", "ball2"), ("ball1", "next to", "ball2")},
        ),
        (140, {("ball1", "left of", "ball2")}),
    ],
)
def test_next_to_needs_a_small_gap(gap, expected):
    scene = make_layout(
        make_object("ball1", 100, 300, 100, 100), make_object("ball2", 200 + gap, 260, 140, 140)
    )
    assert find_forward_relations(scene) == expected
    assert find_ambiguities(scene) == []


def test_next_to_needs_about_the_same_height():
    # The kite (30 to 130) ends above the house's roof at 200.
    scene = Layout(
        (make_object("kite", 100, 30, 70, 100), make_object("house", 190, 200, 200, 180)),
        {"house": GROUND},
    )
    assert find_forward_relations(scene) == {("kite", "left of", "house")}


def test_above_needs_only_horizontal_overlap():
    scene = Layout(
        (make_object("kite", 150, 30, 70, 100), make_object("house", 100, 200, 200, 180)),
        {"house": GROUND},
    )
    assert find_forward_relations(scene) == {("kite", "above", "house")}
    assert find_ambiguities(scene) == []


def test_in_front_of_is_nearer_and_covers():
    scene = make_layout(
        make_object("ball", 150, 300, 100, 100, 0.4), make_object("house", 100, 180, 200, 180, 0.6)
    )
    assert find_forward_relations(scene) == {("ball", "in front of", "house")}
    assert find_ambiguities(scene) == []


PARTIAL_OVERLAP, NEITHER_NEAR_NOR_FAR = "partial horizontal overlap", "neither near nor far"
AMBIGUITIES = {
    (
        ("ball", 0, 300, 100, 100),
        ("cup", 60, 300, 100, 100),
    ): PARTIAL_OVERLAP,  # 40 of 100 pixels overlap
    (("ball", 0, 300, 100, 100), ("cup", 104, 300, 100, 100)): PARTIAL_OVERLAP,  # a gap of 4 pixels
    (
        ("ball", 0, 300, 100, 100),
        ("cup", 200, 300, 100, 100),
    ): NEITHER_NEAR_NOR_FAR,  # a gap of 1.0 widths
    (
        ("ball", 0, 300, 100, 100),
        ("cup", 120, 370, 100, 100),
    ): NEITHER_NEAR_NOR_FAR,  # 0.3 of the height is shared
    (
        ("ball", 0, 100, 100, 100),
        ("cup", 10, 300, 100, 100),
    ): "one may be higher or only farther away",
    (("ball", 0, 300, 90, 90), ("house", 0, 200, 200, 180)): "equal distance",
    (
        ("kite", 20, 300, 90, 90, 0.3),
        ("house", 0, 200, 200, 180),
    ): "the distance of a hanging object cannot be seen",
    (("ball1", 0, 300, 90, 90, 0.3), ("ball2", 10, 250, 90, 90)): "overlapping objects of one noun",
    (
        ("table", 0, 300, 250, 140, 0.3),
        ("cup", 50, 250, 90, 90),
    ): "the object behind seems to be on or in the other",
    # The apple stands between the trunk and the left end of the crown: boxes overlap, silhouettes do not.
    (("apple", 2, 330, 50, 50, 0.3), ("tree", 0, 200, 150, 160)): "too little covered",
}


@pytest.mark.parametrize(("items", "reason"), AMBIGUITIES.items())
def test_ambiguities(items, reason):
    first, second = (make_object(*item) for item in items)
    scene = Layout(
        (first, second), {item.id: GROUND for item in (first, second) if item.noun != "kite"}
    )
    assert find_ambiguities(scene) == [f"{first.id}, {second.id}: {reason}"]


def test_a_mostly_covered_object_is_hidden():
    scene = make_layout(
        make_object("box", 100, 210, 130, 110, 0.4), make_object("apple", 110, 200, 90, 94, 0.6)
    )
    assert "apple: hidden" in find_ambiguities(scene)


def test_measure_visible_fraction_counts_silhouettes():
    # The nearer box hides the lower half of the ball, a disc, with all of its own width.
    scene = make_layout(
        make_object("ball", 100, 100, 100, 100, 0.6), make_object("truck", 0, 150, 300, 158, 0.4)
    )
    assert_close(measure_visible_fraction(scene, scene.objects[0]), 0.5, within=0.06)
    assert measure_visible_fraction(scene, scene.objects[1]) == 1.0


boxes = st.builds(
    lambda x, y, width, height: Box(x, y, width, height),
    *(st.integers(0, 400), st.integers(0, 400), st.integers(20, 200), st.integers(20, 200)),
)


@st.composite
def layouts(draw):
    """Generate objects at any position; each stands on the ground, hangs, or is attached to an earlier object."""
    nouns = draw(
        st.lists(st.sampled_from(["cup", "box", "table", "hat", "cat"]), min_size=2, max_size=5)
    )
    objects, links = [], {}
    for index, noun in enumerate(nouns):
        name = f"{noun}{index}"
        parent = draw(st.sampled_from([None, *objects]))
        kind = draw(st.sampled_from(["on", "in", "worn by"])) if parent else "on"
        if parent or draw(st.booleans()):
            links[name] = Link(kind, parent and parent.id)
        objects.append(
            DrawnObject(name, noun, "red", "plain", "small", draw(boxes), draw(st.floats(0, 1)))
        )
    return Layout(tuple(objects), links)


@given(layouts())
def test_relations_are_closed_and_consistent(scene):
    triples = find_relations(scene)
    assert len(set(triples)) == len(triples)
    for first, relation, second in triples:
        assert first != second
        assert (second, CONVERSE[relation], first) in triples
        if relation != "next to":
            assert (second, relation, first) not in triples
        if relation in ("on", "worn by"):
            assert (first, "above", second) in triples
        if relation == "next to":
            assert (first, "left of", second) in triples or (first, "right of", second) in triples
