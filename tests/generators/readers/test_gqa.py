"""GQA's graphs in the same schema."""

import json
from pathlib import Path

import pytest

from generators.readers.gqa import read
from generators.readers.visual_genome import FlawError
from generators.schemas.scene_graph import Box, Relation, SceneObject

CAT = {
    "name": "Cat",
    "x": 0,
    "y": 1,
    "w": 5,
    "h": 6,
    "attributes": ["red", "red"],
    "relations": [{"name": "ON", "object": "12"}],
}
MAT = {"name": "mat", "x": 0, "y": 5, "w": 10, "h": 5, "attributes": [], "relations": []}


def write(folder: Path, **objects) -> Path:
    (folder / "sceneGraphs.json").write_text(json.dumps({"3": {"width": 10, "height": 10, "objects": objects}}))
    return folder / "sceneGraphs.json"


def test_reads_objects_attributes_and_relations(tmp_path) -> None:
    (image,) = read(write(tmp_path, **{"11": CAT, "12": MAT}), tmp_path)
    assert image.graph.objects == (
        SceneObject("11", "cat", ("red",), Box(0, 1, 5, 6)),
        SceneObject("12", "mat", (), Box(0, 5, 10, 5)),
    )
    assert image.graph.relations == (Relation("11", "on", "12"),)
    assert image.regions == ()
    (tmp_path / "3.jpg").touch()
    assert image.path == tmp_path / "3.jpg"


def test_relation_to_an_unknown_object(tmp_path) -> None:
    with pytest.raises(FlawError, match=r"image 3, object 11: its relation's object 12 is no object of the image"):
        list(read(write(tmp_path, **{"11": CAT}), tmp_path))


def test_real_graphs(real_data) -> None:
    file = real_data / "gqa" / "sceneGraphs.debug.json"
    raw = json.loads(file.read_text())
    images = list(read(file, real_data))
    assert [image.image_id for image in images] == ["2315892", "2336498", "2354786", "2375429"]
    for image in images:
        things = raw[image.image_id]["objects"].values()
        assert len(image.graph.objects) == len(things)
        assert len(image.graph.relations) == sum(len(thing["relations"]) for thing in things)
