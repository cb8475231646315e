from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.rendering.drawing import DRAWINGS
from compeval.generators.microworld.rendering.pictures import measure_base
from compeval.generators.microworld.rendering.renderer import BACKGROUNDS, LIGHTS
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.scenes.affordances import (
    HANGING,
    SIZE_FACTOR,
    SIZE_JITTER,
    THEMES,
    TYPICAL_SIDE,
    list_actions,
    share_theme,
)
from compeval.generators.microworld.scenes.object_sampler import make_zipf_weights
from compeval.generators.microworld.scenes.sampler import GROUND, sample_scene, sample_surroundings
from compeval.generators.microworld.scenes.spatial_relations import (
    Layout,
    Link,
    find_ambiguities,
    find_relations,
)
from compeval.generators.microworld.scenes.splits import (
    TEST_IDS,
    sample_test_scene,
    sample_training_scene,
    training_ids,
)
from compeval.generators.microworld.world import ALL_NOUNS, CONVERSE
from tests.close import assert_close


def make_scene(image_id, n_objects=3, width=640, height=480):
    return sample_scene(7, image_id, width=width, height=height, n_objects=n_objects)


SCENES = [make_scene(image_id, 1 + image_id % 6) for image_id in range(1, 61)]


LINKS = (
    "worn by",
    "riding",
    "pouring into",
    "eaten by",
    "held by",
    "pulled by",
    "pushed by",
    "in",
    "on",
)


def make_layout(scene):
    """Reconstruct the links from the relations. An object that is neither carried nor hanging stands on the ground."""
    links = {}
    for item in scene.objects:
        parents = {
            relation: parent for child, relation, parent in scene.relations if child == item.id
        }
        # a worn hat is also on its wearer, a rider on the horse, and what is eaten is held
        for relation in LINKS:
            if relation in parents:
                links[item.id] = Link(relation, parents[relation])
                break
        else:
            in_the_air = item.box.y + item.box.height < GROUND[0] * scene.height - 1
            if item.noun not in HANGING and not (item.noun == "bird" and in_the_air):
                links[item.id] = Link("on", None)
    return Layout(scene.objects, links)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: str(scene.image_id))
def test_relations_are_clear_and_complete(scene):
    layout = make_layout(scene)
    assert find_relations(layout) == scene.relations
    # Positions are rounded to 0.1 pixels after the check, so an ambiguity can depend on the last digit.
    assert [
        reason
        for reason in find_ambiguities(layout)
        if "hidden" not in reason and "covered" not in reason
    ] == []
    assert all((b, CONVERSE[relation], a) in scene.relations for a, relation, b in scene.relations)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: str(scene.image_id))
def test_objects_are_inside_the_image_and_have_their_size(scene):
    for item in scene.objects:
        box = item.box
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= scene.width
        assert box.y + box.height <= scene.height
        drawing = DRAWINGS[item.picture]
        base = box.height / drawing.scale * measure_base(item.picture) ** 0.5
        assert_close(box.width / box.height, drawing.aspect, within=0.02 * drawing.aspect)
        factor = base / TYPICAL_SIDE[item.noun]
        expected = SIZE_FACTOR[item.size]
        assert_close(factor, expected, within=(SIZE_JITTER + 0.01) * expected)


def test_a_group_that_is_wider_than_the_image_is_not_placed():
    """A large boy who pulls a large sleigh needs 750 pixels; these scenes are 480 wide."""
    for image_id in (9, 22, 25):
        scene = sample_scene(3, image_id, width=480, height=640, n_objects=4)
        assert all(0 <= item.box.x <= scene.width - item.box.width for item in scene.objects)


def test_sizes_do_not_overlap():
    small, medium, large = SIZE_FACTOR.values()
    assert medium * (1 - SIZE_JITTER) > 1.3 * small * (1 + SIZE_JITTER)
    assert large * (1 - SIZE_JITTER) > 1.3 * medium * (1 + SIZE_JITTER)


def test_objects_of_one_noun_differ_in_colour_or_pattern():
    for scene in SCENES:
        appearances = [(item.noun, item.color, item.pattern) for item in scene.objects]
        assert len(set(appearances)) == len(appearances)


def test_a_scene_depends_only_on_seed_and_id():
    Random(0).random()
    assert make_scene(5) == make_scene(5)
    assert make_scene(5) != make_scene(6)
    assert sample_scene(8, 5, width=640, height=480, n_objects=3) != make_scene(5)


def test_every_relation_occurs():
    scenes = (sample_test_scene(0, image_id) for image_id in TEST_IDS)
    missing = set(CONVERSE)
    while missing:
        missing -= {relation for _, relation, _ in next(scenes).relations}


def test_only_people_act_and_only_on_what_the_table_allows():
    for scene in (sample_test_scene(1, image_id) for image_id in TEST_IDS[:150]):
        nouns = {item.id: item.noun for item in scene.objects}
        for subject, relation, target in scene.relations:
            if relation in ("holding", "eating", "pulling", "pushing", "riding", "pouring into"):
                actions = list_actions(nouns[subject], nouns[target])
                assert relation in actions or (relation, "eating") == ("holding", actions[-1])


def test_background_and_light_are_independent_of_the_objects():
    """They do not change with the objects, and all backgrounds are equally frequent with each theme."""
    scenes = [sample_scene(3, 8, width=640, height=480, n_objects=count) for count in (1, 2, 3)]
    assert len({(scene.background, scene.light) for scene in scenes}) == 1
    surroundings = Counter(sample_surroundings(0, image_id) for image_id in TEST_IDS[:24_000])
    assert len(surroundings) == len(BACKGROUNDS) * len(LIGHTS)
    # 24 combinations; 5 standard deviations.
    assert all(abs(count - 1000) < 160 for count in surroundings.values())


def test_unseen_renderings_occur_in_test_scenes_only():
    unseen = [sample_test_scene(0, image_id, 1.0) for image_id in TEST_IDS[:40]]
    seen = [sample_test_scene(0, image_id, 0.0) for image_id in TEST_IDS[:40]]
    training = [sample_training_scene(0, "laion", image_id) for image_id in training_ids(2, 40)]
    shown = {item.picture for scene in (*seen, *training) for item in scene.objects}
    assert all(item.unseen for scene in unseen for item in scene.objects)
    assert not any(item.unseen for scene in (*seen, *training) for item in scene.objects)
    assert not shown & {item.picture for scene in unseen for item in scene.objects}


def test_sizes_are_comparable_only_beside_the_opposite_size():
    ball = DrawnObject("ball1", "ball", "red", "plain", "small", Box(0, 0, 9, 9), 0.0)
    others = [replace(ball, id="ball2", size=size) for size in ("large", "medium")]
    cup = replace(ball, id="cup1", noun="cup", size="large")
    large, medium = (Scene(0, 9, 9, "studio", (ball, other, cup), ()) for other in others)
    assert large.comparable == {"ball1", "ball2"}
    assert medium.comparable == frozenset()


def test_training_and_test_ids_are_disjoint():
    ranges = [training_ids(index, 6000) for index in range(3)]
    assert all(not set(ids) & set(TEST_IDS[:10_000]) for ids in ranges)
    assert all(ids.start not in TEST_IDS and ids.stop - 1 not in TEST_IDS for ids in ranges)
    assert len(set().union(*ranges)) == 18_000


def test_every_noun_is_in_a_theme():
    assert {noun for nouns in THEMES.values() for noun in nouns} == set(ALL_NOUNS)
    assert share_theme("car", "house")
    assert all(
        6 <= sum(share_theme(noun, other) for other in ALL_NOUNS) - 1 <= 40 for noun in ALL_NOUNS
    )
    assert not share_theme("car", "bowl")


def test_zipf_weights_fall_to_about_a_half():
    weights = make_zipf_weights(0, "laion")
    nouns = sorted((weights[noun] for noun in ALL_NOUNS), reverse=True)
    assert nouns[0] == 1
    assert 0.48 < nouns[-1] < 0.50  # (1 + 73 / 7.4) ** -0.3 = 0.489
    assert weights != make_zipf_weights(0, "yfcc")
