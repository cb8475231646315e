"""SVG files are read as a person means them, and anything that cannot be painted is an error."""

import numpy as np
import pytest
import skia

from compeval.generators.microworld.rendering.brush import Brush
from compeval.generators.microworld.rendering.drawing import (
    DRAWINGS,
    FOLDER,
    Opening,
    Surface,
    read_drawing,
)

FILES = sorted(FOLDER.rglob("*.svg"))
WITHOUT_IMAGES = [path for path in FILES if "<image" not in path.read_text(encoding="utf-8")]
"""Skia's own SVG reader loads no other file."""


def svg(body, attributes=""):
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" fill="none" {attributes}>{body}</svg>'


def read(folder, body, attributes=""):
    path = folder / "thing.svg"
    path.write_text(svg(body, attributes), encoding="utf-8")
    return read_drawing(path)


def painted(painter, color="blue", pattern="plain", size=(100, 100)):
    """RGBA of one layer, one pixel a unit."""
    pixels = np.zeros((size[1], size[0], 4), np.uint8)
    painter(Brush(skia.Surface(pixels, skia.kRGBA_8888_ColorType).getCanvas(), color, pattern))
    return pixels


def test_fields_are_attributes_of_the_root(tmp_path):
    drawing = read(
        tmp_path,
        "",
        'data-top="0.1 0.9 0.2" data-inside="0.1,0.4 0.8,0.9" data-head="0 1 0" '
        'data-hangs="true" data-pattern-period="17"',
    )
    assert drawing.aspect == 1
    assert drawing.top == Surface(left=0.1, right=0.9, y=0.2)
    assert drawing.inside == Opening(left=0.1, top=0.4, right=0.8, bottom=0.9)
    assert drawing.head == Surface(0, 1, 0)
    assert drawing.hangs
    assert drawing.pattern_period == 17


def test_fields_default_to_a_standing_object_without_surfaces(tmp_path):
    drawing = read(tmp_path, "")
    assert (drawing.top, drawing.inside, drawing.head, drawing.back, drawing.hangs) == (
        None,
        None,
        None,
        None,
        False,
    )
    assert drawing.pattern_period == 24


def test_the_class_decides_whose_colour_it_is(tmp_path):
    drawing = read(
        tmp_path,
        '<rect class="trim unlit" fill="#ff0000" x="0" y="0" width="40" height="100"/>'
        '<rect class="trim fixed unlit" fill="#ff0000" x="60" y="0" width="40" height="100"/>',
    )
    pixels = painted(drawing.front, "blue")
    assert pixels[50, 20].tolist() == [0x27, 0x67, 0xC9, 255]  # world.COLORS["blue"]
    assert pixels[50, 80].tolist() == [255, 0, 0, 255]
    assert pixels[50, 50].tolist() == [0, 0, 0, 0]


def test_a_coat_has_the_pattern_and_a_trim_has_not(tmp_path):
    areas = '<rect class="{}" fill="#ff0000" x="0" y="0" width="100" height="100"/>'
    coat, trim = (read(tmp_path, areas.format(name)).front for name in ("coat", "trim"))
    assert (painted(coat, pattern="plain") == painted(trim, pattern="plain")).all()
    assert (painted(trim, pattern="striped") == painted(trim, pattern="plain")).all()
    assert (painted(coat, pattern="striped") != painted(coat, pattern="plain")).mean() > 0.2


def test_an_element_without_class_is_painted_as_it_is(tmp_path):
    drawing = read(
        tmp_path,
        '<rect fill="#00ff00" x="0" y="0" width="50" height="100"/>'
        '<path stroke="#0000ff" stroke-width="10" d="M75 0 L75 100"/>'
        '<rect fill="#ffffff" opacity="0.2" x="0" y="0" width="50" height="50"/>',
    )
    pixels = painted(drawing.front)
    assert pixels[75, 25].tolist() == [0, 255, 0, 255]
    assert pixels[50, 75].tolist() == [0, 0, 255, 255]
    assert pixels[25, 25].tolist() == [51, 255, 51, 255]  # 0.2 * 255


def test_style_is_read_like_attributes_and_commands_may_be_relative(tmp_path):
    """Drawing programs save styles and relative commands."""
    plain = read(tmp_path, '<path fill="#00ff00" opacity="0.5" d="M10 10 L90 10 L90 80 Z"/>')
    saved = read(
        tmp_path,
        '<defs id="defs1"/><path style="fill:#00ff00;stroke:none; opacity:0.5" d="m 10,10 h 80 v 70 z"/>'
        '<named:view xmlns:named="http://example.org/editor" zoom="2"/>',
    )
    assert (painted(plain.front) == painted(saved.front)).all()


@pytest.mark.parametrize(
    "transform",
    [
        "translate(20 30) scale(0.5)",
        "translate(20,30) scale(0.5, 0.5)",
        "matrix(0.5 0 0 0.5 20 30)",
    ],
)
def test_transforms(tmp_path, transform):
    part = read(
        tmp_path, f'<g transform="{transform}"><rect fill="#ff0000" width="100" height="100"/></g>'
    )
    rows, columns = np.nonzero(painted(part.front)[..., 3])
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (20, 69, 30, 79)


def test_rotation_about_a_point(tmp_path):
    part = read(
        tmp_path,
        '<rect fill="#ff0000" x="50" y="40" width="40" height="20" transform="rotate(90 50 50)"/>',
    )
    rows, columns = np.nonzero(painted(part.front)[..., 3] > 127)
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (40, 59, 50, 89)


def test_a_hole_in_a_path(tmp_path):
    ring = read(
        tmp_path,
        '<path fill="#ff0000" fill-rule="evenodd" '
        'd="M0 0 H100 V100 H0 Z M70 50 A20 20 0 1 1 30 50 A20 20 0 0 1 70 50 Z"/>',
    )
    opacity = painted(ring.front)[..., 3]
    assert (
        opacity[50, 50],
        opacity[50, 25],
        opacity[50, 75],
        opacity[65, 50],
        opacity[75, 50],
    ) == (
        0,
        255,
        255,
        0,
        255,
    )


def test_a_coat_without_fill_is_a_ring(tmp_path):
    """From radius 20 to radius 40."""
    drawing = read(
        tmp_path, '<circle class="coat" stroke="#ff0000" cx="50" cy="50" r="30" stroke-width="20"/>'
    )
    opacity = painted(drawing.front)[50, :, 3]
    assert (opacity[[12, 27, 73, 87]] == 255).all()
    assert (opacity[[5, 35, 50, 65, 95]] == 0).all()


def test_the_group_named_back_is_a_layer_of_its_own(tmp_path):
    drawing = read(
        tmp_path,
        '<g id="back"><rect fill="#ff0000" width="100" height="50"/></g>'
        '<rect fill="#00ff00" y="50" width="100" height="50"/>',
    )
    assert painted(drawing.back)[..., 3].sum(1).nonzero()[0].tolist() == list(range(50))
    assert painted(drawing.front)[..., 3].sum(1).nonzero()[0].tolist() == list(range(50, 100))


def test_an_image_is_another_drawing_in_the_same_colour(tmp_path):
    (tmp_path / "small.svg").write_text(
        svg('<rect class="trim unlit" fill="#ff0000" width="100" height="100"/>'), encoding="utf-8"
    )
    drawing = read(tmp_path, '<image href="small.svg" x="40" y="20" width="50" height="50"/>')
    pixels = painted(drawing.front, "green")
    assert pixels[45, 65].tolist() == [0x2E, 0x9E, 0x4F, 255]  # world.COLORS["green"]
    assert pixels[80, 65, 3] == pixels[45, 30, 3] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (svg('<text x="1" y="1">cup</text>'), "cup.svg: <text>: expected path, circle"),
        (svg('<path class="cote" d="M0 0 Z"/>'), "cup.svg: class 'cote': expected coat, trim"),
        (svg('<path fill="#ff0000"/>'), "cup.svg: attribute 'd' is missing"),
        (svg('<path fill="red" d="M0 0 Z"/>'), "cup.svg: colour 'red': expected #rrggbb or none"),
        (
            svg('<path transform="skewX(9)" d="M0 0 Z"/>'),
            r"cup.svg: transform 'skewX\(9\)': expected",
        ),
        (
            svg("").replace("0 0 100 100", "0 0 64 64"),
            "cup.svg: viewBox is '0 0 64 64': expected '0 0 WIDTH 100'",
        ),
        ("<!DOCTYPE svg [<!ENTITY a 'a'>]>" + svg("&a;"), "cup.svg: document types and entities"),
    ],
)
def test_what_cannot_be_painted_is_an_error(tmp_path, text, message):
    path = tmp_path / "cup.svg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_drawing(path)


@pytest.mark.parametrize("path", WITHOUT_IMAGES, ids=lambda path: path.stem)
def test_a_file_is_a_picture_of_its_noun(path):
    """Another SVG reader sees nearly the same outlines, and red where the object has its own colour."""
    drawing = DRAWINGS[path.stem.replace("_", " ")]
    size = (round(100 * drawing.aspect), 100)
    seen = np.zeros((size[1], size[0], 4), np.uint8)
    picture = skia.SVGDOM.MakeFromStream(skia.MemoryStream(path.read_bytes(), True))
    picture.setContainerSize(skia.Size(*size))
    picture.render(skia.Surface(seen, skia.kRGBA_8888_ColorType).getCanvas())

    layers = [
        painted(layer, "red", "plain", size) for layer in (drawing.back, drawing.front) if layer
    ]
    opaque = np.max([layer[..., 3] for layer in layers], axis=0) > 127
    assert (opaque == (seen[..., 3] > 127)).mean() > 0.97  # rings have no outline in the file
    front = layers[-1][..., 3] == 255
    assert np.abs(layers[-1][front].astype(int) - seen[front]).mean() < 25
