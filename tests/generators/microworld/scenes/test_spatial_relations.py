"""Hand-built layouts with hand-worked relations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.microworld.scene import Thing
from generators.microworld.scenes.spatial_relations import (
    CONVERSE,
    Layout,
    Link,
    borderline,
    relations_of,
    visible_share,
)
from generators.microworld.world import RELATIONS
from generators.schemas.scene_graph import Box

GROUND = Link("on", None)


def thing(name, x, y, width, height, depth=0.5):
    """A thing whose noun is its id without the number."""
    return Thing(name, name.rstrip("0123456789"), "red", "plain", "medium", Box(x, y, width, height), depth)


def layout(*things, **links):
    return Layout(things, {thing.id: links.get(thing.id, GROUND) for thing in things})


def forward(scene):
    """The relations in one direction of each converse pair."""
    kept = ("on", "above", "left of", "in front of", "in", "wearing", "next to")
    return {(a, r, b) for a, r, b in relations_of(scene) if r in kept and (r != "next to" or a < b)}


def test_every_relation_of_the_world_has_its_converse():
    assert set(CONVERSE) == set(RELATIONS)
    assert all(CONVERSE[CONVERSE[relation]] == relation for relation in RELATIONS)


def test_on_implies_above_and_is_not_transitive():
    # A cup (bottom at 180) on a drum (180 to 280) on a table (280 to 460).
    scene = layout(
        thing("table", 100, 280, 300, 180, 0.5),
        thing("drum", 150, 180, 110, 100, 0.49),
        thing("cup", 180, 120, 60, 60, 0.48),
        drum=Link("on", "table"),
        cup=Link("on", "drum"),
    )
    assert forward(scene) == {
        ("drum", "on", "table"),
        ("drum", "above", "table"),
        ("cup", "on", "drum"),
        ("cup", "above", "drum"),
        ("cup", "above", "table"),
    }
    assert ("table", "supporting", "drum") in relations_of(scene)
    assert ("table", "below", "cup") in relations_of(scene)
    assert borderline(scene) == []


def test_what_a_bowl_holds_is_in_it_and_above_what_the_bowl_stands_on():
    scene = layout(
        thing("table", 100, 280, 300, 180, 0.5),
        thing("bowl", 150, 200, 160, 94, 0.49),
        thing("apple", 190, 160, 60, 70, 0.48),
        bowl=Link("on", "table"),
        apple=Link("in", "bowl"),
    )
    assert forward(scene) == {
        ("bowl", "on", "table"),
        ("bowl", "above", "table"),
        ("apple", "in", "bowl"),
        ("apple", "above", "table"),
    }
    assert ("bowl", "containing", "apple") in relations_of(scene)


def test_a_worn_hat_is_on_and_above_its_wearer():
    scene = layout(
        thing("cat", 100, 200, 170, 180, 0.5), thing("hat", 120, 175, 100, 62, 0.49), hat=Link("worn by", "cat")
    )
    assert set(relations_of(scene)) == {
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
        (70, {("ball1", "left of", "ball2"), ("ball1", "next to", "ball2")}),  # 0.7 of the smaller width, 100
        (140, {("ball1", "left of", "ball2")}),
    ],
)
def test_next_to_needs_a_small_gap(gap, expected):
    scene = layout(thing("ball1", 100, 300, 100, 100), thing("ball2", 200 + gap, 260, 140, 140))
    assert forward(scene) == expected
    assert borderline(scene) == []


def test_next_to_needs_about_the_same_height():
    # The kite (30 to 130) ends above the house's roof at 200.
    scene = Layout((thing("kite", 100, 30, 70, 100), thing("house", 190, 200, 200, 180)), {"house": GROUND})
    assert forward(scene) == {("kite", "left of", "house")}


def test_above_needs_horizontal_overlap_only():
    scene = Layout((thing("kite", 150, 30, 70, 100), thing("house", 100, 200, 200, 180)), {"house": GROUND})
    assert forward(scene) == {("kite", "above", "house")}
    assert borderline(scene) == []


def test_in_front_of_is_nearer_and_covering():
    scene = layout(thing("ball", 150, 300, 100, 100, 0.4), thing("house", 100, 180, 200, 180, 0.6))
    assert forward(scene) == {("ball", "in front of", "house")}
    assert borderline(scene) == []


@pytest.mark.parametrize(
    ("scene", "doubt"),
    [
        (
            layout(thing("ball", 0, 300, 100, 100), thing("cup", 60, 300, 100, 100)),
            "half beside each other",
        ),  # 40 of 100
        (layout(thing("ball", 0, 300, 100, 100), thing("cup", 104, 300, 100, 100)), "half beside each other"),  # gap 4
        (layout(thing("ball", 0, 300, 100, 100), thing("cup", 200, 300, 100, 100)), "neither near nor far"),  # gap 1.0
        (
            layout(thing("ball", 0, 300, 100, 100), thing("cup", 120, 370, 100, 100)),
            "neither near nor far",
        ),  # share 0.3
        (layout(thing("ball", 0, 100, 100, 100), thing("cup", 10, 300, 100, 100)), "what is farther away looks higher"),
        (layout(thing("ball", 0, 300, 90, 90), thing("house", 0, 200, 200, 180)), "equally far away"),
        (
            Layout((thing("kite", 20, 300, 90, 90, 0.3), thing("house", 0, 200, 200, 180)), {"house": GROUND}),
            "nobody sees how far away a thing in the air is",
        ),
        (
            layout(thing("ball1", 0, 300, 90, 90, 0.3), thing("ball2", 10, 250, 90, 90)),
            "nobody sees which part is whose",
        ),
        (
            layout(thing("table", 0, 300, 250, 140, 0.3), thing("cup", 50, 250, 90, 90)),
            "what is behind looks as if it stood on top or inside",
        ),
        # The apple stands between the trunk and the left end of the crown: boxes overlap, silhouettes do not.
        (layout(thing("apple", 2, 330, 50, 50, 0.3), thing("tree", 0, 200, 150, 160)), "hardly covering"),
    ],
)
def test_a_matter_of_opinion(scene, doubt):
    first, second = (item.id for item in scene.things)
    assert borderline(scene) == [f"{first}, {second}: {doubt}"]


def test_a_thing_that_is_mostly_covered_is_hidden():
    scene = layout(thing("box", 100, 210, 130, 110, 0.4), thing("apple", 110, 200, 90, 94, 0.6))
    assert "apple: hidden" in borderline(scene)


def test_visible_share_counts_silhouettes():
    # The nearer box hides the lower half of the ball, a disc, with all of its own width.
    scene = layout(thing("ball", 100, 100, 100, 100, 0.6), thing("truck", 0, 150, 300, 158, 0.4))
    assert visible_share(scene, scene.things[0]) == pytest.approx(0.5, abs=0.06)
    assert visible_share(scene, scene.things[1]) == 1.0


boxes = st.builds(
    lambda x, y, width, height: Box(x, y, width, height),
    *(st.integers(0, 400), st.integers(0, 400), st.integers(20, 200), st.integers(20, 200)),
)


@st.composite
def layouts(draw):
    """Things anywhere; each stands on the ground, hangs, or is carried by an earlier one."""
    nouns = draw(st.lists(st.sampled_from(["cup", "box", "table", "hat", "cat"]), min_size=2, max_size=5))
    things, links = [], {}
    for index, noun in enumerate(nouns):
        name = f"{noun}{index}"
        parent = draw(st.sampled_from([None, *things]))
        how = draw(st.sampled_from(["on", "in", "worn by"])) if parent else "on"
        if parent or draw(st.booleans()):
            links[name] = Link(how, parent and parent.id)
        things.append(Thing(name, noun, "red", "plain", "small", draw(boxes), draw(st.floats(0, 1))))
    return Layout(tuple(things), links)


@given(layouts())
def test_relations_are_closed_and_consistent(scene):
    triples = relations_of(scene)
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
