"""Rendering: drawings match their metadata, and a nearest-hue rule recognises their colours."""

import colorsys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import skia

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.gallery import make_contact_sheet, render_noun
from compeval.generators.microworld.rendering.brush import Brush
from compeval.generators.microworld.rendering.drawing import DRAWINGS, FOLDER
from compeval.generators.microworld.rendering.pictures import POSES, RENDERINGS, find_pose
from compeval.generators.microworld.rendering.renderer import (
    BACKGROUNDS,
    HORIZON,
    draw_object,
    render,
)
from compeval.generators.microworld.scene import DrawnObject, Scene
from compeval.generators.microworld.world import ALL_NOUNS, COLORS, NOUNS, PATTERNS
from tests.close import assert_close

PICTURES = [
    name
    for noun in ALL_NOUNS
    for rendering in RENDERINGS[noun].pictures
    for name in rendering.values()
]
"""The drawings of nouns in all renderings, states and poses."""
CONTAINERS = [name for name in PICTURES if DRAWINGS[name].inside]
CARRIERS = [name for name in PICTURES if DRAWINGS[name].top]
MARGIN = 30


def make_object(noun, box, color="red", pattern="plain", depth=1.0, id=None):
    return DrawnObject(id or noun, noun, color, pattern, "medium", box, depth)


def make_picture(picture, box, color="red", pattern="plain"):
    return DrawnObject(picture, picture, color, pattern, "medium", box, 1.0, drawing=picture)


def render_single(noun, height, color="red", pattern="plain"):
    """Return the RGBA image of one object and the width of its box in pixels.

    MARGIN transparent pixels surround the box.
    """
    width = height * DRAWINGS[noun].aspect
    pixels = np.zeros((height + 2 * MARGIN, round(width) + 2 * MARGIN, 4), np.uint8)
    canvas = skia.Surface(pixels, skia.kRGBA_8888_ColorType).getCanvas()
    draw_object(canvas, make_picture(noun, Box(MARGIN, MARGIN, width, height), color, pattern))
    return pixels, width


def render_front(noun, height):
    """Return the opacity of a container's front layer inside its box."""
    shape = DRAWINGS[noun]
    pixels = np.zeros((height, round(height * shape.aspect), 4), np.uint8)
    canvas = skia.Surface(pixels, skia.kRGBA_8888_ColorType).getCanvas()
    canvas.scale(height / 100, height / 100)
    shape.front(Brush(canvas, "red", "plain"))
    return pixels[..., 3]


def find_color_name(rgb):
    """Return the colour of world.COLORS with the nearest hue, or white or black if the saturation is low."""
    hue, saturation, value = colorsys.rgb_to_hsv(*(np.asarray(rgb) / 255))
    if saturation < 0.2:
        return "white" if value > 0.5 else "black"

    def measure_distance(name):
        named_hue = colorsys.rgb_to_hsv(
            *(int(COLORS[name][i : i + 2], 16) / 255 for i in (1, 3, 5))
        )[0]
        return abs((hue - named_hue + 0.5) % 1 - 0.5)

    return min((name for name in COLORS if name not in ("white", "black")), key=measure_distance)


def test_every_drawing_belongs_to_a_noun_and_every_noun_has_two_renderings():
    assert sorted(path.stem for path in FOLDER.glob("*.svg")) == sorted(PICTURES)
    assert all(len(renderings.pictures) >= 2 for renderings in RENDERINGS.values())


def test_training_and_unseen_renderings_are_disjoint():
    for renderings in RENDERINGS.values():
        seen, unseen = renderings.numbers(unseen=False), renderings.numbers(unseen=True)
        assert not set(seen) & set(unseen)
        assert sorted((*seen, *unseen)) == list(range(len(renderings.pictures)))


def test_a_pose_belongs_to_its_rendering():
    assert find_pose("man-2", "holding") == "man-2-holding"
    assert find_pose("man", "pouring") is None
    assert RENDERINGS["lamp"].pictures[1] == {"unlit": "lamp-2", "lit": "lamp-2-lit"}


@pytest.mark.parametrize("noun", PICTURES)
def test_metadata_is_in_the_box(noun):
    shape = DRAWINGS[noun]
    assert shape.aspect > 0
    for name in ("top", "inside", "head"):
        assert all(0 <= value <= 1 for value in getattr(shape, name) or ()), name
    for start, end, *_ in filter(None, (shape.top, shape.head)):
        assert start < end
    assert (shape.inside is None) or (
        shape.inside[0] < shape.inside[2] and shape.inside[1] < shape.inside[3]
    )
    name = noun.split("-")[0]
    containers = {"cup", "bucket", "bowl", "basket", "boat"} | (
        {"box", "suitcase"} if shape.state == "open" else set()
    )
    assert (shape.inside is None) == (name not in containers)
    assert (shape.head is None) == (
        name not in (*NOUNS["animal"], *NOUNS["person"]) or name == "rabbit"
    )
    assert shape.scale > 0.3
    for point in filter(None, (shape.saddle, shape.seat, shape.hand, shape.tip)):
        assert all(-0.05 <= value <= 1.05 for value in point)


@pytest.mark.parametrize("noun", PICTURES)
def test_box_is_the_drawn_extent(noun):
    pixels, width = render_single(noun, 300)
    rows, columns = np.nonzero(pixels[..., 3] > 64)
    extent = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    expected = [MARGIN, MARGIN, MARGIN + width, MARGIN + 300]
    assert_close(extent, expected, within=0.02 * max(width, 300))


@pytest.mark.parametrize("noun", PICTURES)
def test_mean_colour_is_the_named_one(noun):
    for color in COLORS:
        for pattern in PATTERNS:
            pixels, _ = render_single(noun, 40, color, pattern)
            mean = pixels[pixels[..., 3] == 255][:, :3].mean(0)
            assert find_color_name(mean) == color, (color, pattern, mean)


@pytest.mark.parametrize("noun", PICTURES)
def test_patterns_show_at_twenty_pixels(noun):
    """Any two patterns of an object differ by at least 5 of 255 levels per pixel; in a person's poses, by 3."""
    minimum = 3 if noun.endswith(POSES) else 5
    for color in COLORS:
        images = {
            pattern: render_single(noun, 20, color, pattern)[0].astype(int) for pattern in PATTERNS
        }
        solid = images["plain"][..., 3] == 255
        for first, second in combinations(PATTERNS, 2):
            assert np.abs(images[first] - images[second])[solid][:, :3].mean() > minimum, (
                color,
                first,
                second,
            )


def test_nouns_differ_from_each_other():
    images = {
        noun: render_noun(noun, "green", "plain", "studio", 32).astype(int) for noun in ALL_NOUNS
    }
    for first, second in combinations(ALL_NOUNS, 2):
        assert np.abs(images[first] - images[second]).mean() > 6, (first, second)


@pytest.mark.parametrize("noun", CONTAINERS)
def test_front_hides_what_is_inside(noun):
    left, top, right, bottom = DRAWINGS[noun].inside
    opacity = render_front(noun, 200)
    height, width = opacity.shape
    hidden = opacity[
        round(top * height) : round(bottom * height), round(left * width) : round(right * width)
    ]
    assert (hidden == 255).mean() > 0.999


@pytest.mark.parametrize("noun", CARRIERS)
def test_the_top_surface_is_opaque(noun):
    """The drawing is opaque just below the surface, except between the merlons of the tower."""
    left, right, y = DRAWINGS[noun].top
    pixels, width = render_single(noun, 200)
    row = pixels[
        MARGIN + round(y * 200) + 4, MARGIN + round(left * width) : MARGIN + round(right * width), 3
    ]
    assert (row > 200).mean() > (0.65 if noun.startswith("tower") else 0.99)


@pytest.mark.parametrize("ball_depth", [0.0, 2.0])
def test_contents_are_painted_between_back_and_front(ball_depth):
    box = make_object("box", Box(100, 200, 240, 200), "blue")
    ball = make_object("ball", Box(170, 220, 100, 100), "red", depth=ball_depth)
    image = render(Scene(0, 640, 480, "studio", (box, ball), (("ball", "in", "box"),)), (640, 480))
    # Above the front's edge at 200 + 0.43 * 200 = 286.
    assert find_color_name(image[270, 200]) == "red"
    assert find_color_name(image[310, 200]) == "blue"  # below it


@pytest.mark.parametrize("hat_depth", [0.0, 2.0])
def test_hat_is_painted_over_the_wearer(hat_depth):
    cat = make_object("cat", Box(100, 100, 188, 200), "blue")
    hat = make_object("hat", Box(130, 80, 96, 60), "red", depth=hat_depth)
    image = render(
        Scene(0, 640, 480, "studio", (hat, cat), (("cat", "wearing", "hat"),)), (640, 480)
    )
    assert find_color_name(image[134, 178]) == "red"  # the brim, over the cat's forehead


def test_a_mirrored_object_is_painted_the_other_way_round():
    horse = make_picture("horse", Box(40, 40, 196, 150))
    images = [
        render(Scene(0, 320, 240, "studio", (item,), ()), (320, 240))[60:80].astype(int)
        for item in (horse, replace(horse, mirrored=True))
    ]
    head = [np.abs(image - image[0, 5]).sum(2).argmax(1).mean() for image in images]
    # The head is at the left, or at the right of the box's centre at 40 + 98.
    assert head[0] < 138 < head[1]


def test_light_changes_all_colours_alike():
    day = make_scene()
    dim = replace(day, light="dim")  # multiplies by #e2 / 255 = 0.886
    size = (64, 48)
    # Pixels are rounded twice.
    assert_close(render(dim, size), render(day, size) * 0.886, within=1.5)


def test_near_objects_cover_far_ones():
    near = make_object("ball", Box(100, 100, 100, 100), "red", depth=0)
    far = make_object("apple", Box(150, 100, 96, 100), "blue")
    for objects in ((near, far), (far, near)):
        image = render(Scene(0, 320, 240, "studio", objects, ()), (320, 240))
        assert find_color_name(image[150, 185]) == "red"


def make_scene():
    table = make_object("table", Box(60, 150, 256, 160), "orange", depth=2)
    vase = make_object("vase", Box(120, 90, 62, 100), "purple", "checkered")
    cat = make_object("cat", Box(380, 240, 188, 200), "yellow", "striped")
    kite = make_object("kite", Box(400, 20, 108, 150), "red", "spotted")
    return Scene(7, 640, 480, "meadow", (table, vase, cat, kite), (("vase", "on", "table"),))


def test_a_view_equals_a_part_of_the_whole_image():
    """A quarter of the scene at 160 x 120 is the upper left quarter of the scene at 320 x 240, edges included."""
    whole = render(make_scene(), (320, 240))[:120, :160].astype(int)
    part = render(make_scene(), (160, 120), view=Box(0, 0, 320, 240)).astype(int)
    assert np.abs(whole - part).max() <= 2


def test_only_standing_objects_have_a_shadow():
    """A car above the horizon is in the air. A car below the horizon or on another object darkens the area below it."""
    size, empty = (640, 480), render(Scene(0, 640, 480, "room", (), ()), (640, 480)).astype(int)

    assert HORIZON * size[1] == 240

    def measure_shadow(y, relations=()):
        car = make_object("car", Box(200, y, 200, 100))
        image = render(Scene(0, *size, "room", (car,), relations), size).astype(int)
        return (empty - image)[y + 104, 300].sum()  # between the wheels, just under the box

    assert measure_shadow(80) == 0
    assert measure_shadow(300) > 20
    assert measure_shadow(80, (("car", "on", "table"),)) > 20


@pytest.mark.parametrize("background", BACKGROUNDS)
def test_backgrounds_are_pale_and_unlike_the_colours(background):
    image = render(Scene(0, 640, 480, background, (), ()), (64, 48)).reshape(-1, 3).astype(int)
    palette = np.array([[int(code[i : i + 2], 16) for i in (1, 3, 5)] for code in COLORS.values()])
    assert np.linalg.norm(image[:, None] - palette[None], axis=-1).min() > 25
    assert image.mean(1).min() > 140
    assert (image.max(1) - image.min(1)).max() < 60


def test_contact_sheet_places_tiles_in_rows():
    tiles = [(str(index), np.full((20, 30, 3), index, np.uint8)) for index in range(5)]
    sheet = make_contact_sheet(tiles, columns=2)
    # cells of 30 + 6 by 20 + 18 + 6 pixels, after a margin of 6: tile 3 is the second of the second row
    assert sheet.shape == (3 * 44 + 6, 2 * 36 + 6, 3)
    assert (sheet[6 + 44 : 6 + 44 + 20, 6 + 36 : 6 + 36 + 30] == 3).all()
