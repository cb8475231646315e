"""GQA's scene graphs as annotated images."""

import json
from pathlib import Path
from typing import Any

import pytest

from compeval.base.readers.gqa import read
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Relation, SceneObject

ON_MAT = {"name": "ON", "object": "12"}
CAT = {
    "name": "Cat",
    "x": 0,
    "y": 1,
    "w": 5,
    "h": 6,
    "attributes": ["red", "red"],
    "relations": [ON_MAT],
}
MAT = {"name": "mat", "x": 0, "y": 5, "w": 10, "h": 5, "attributes": [], "relations": []}


def write(path: Path, image_id: str = "3", **objects: Any) -> Path:
    path.write_text(
        json.dumps({image_id: {"width": 10, "height": 10, "objects": objects}}), encoding="utf-8"
    )
    return path


def read_with_flaws(path: Path, folder: Path = Path()) -> tuple[list[AnnotatedImage], Flaws]:
    flaws = Flaws()
    return list(read(path, folder, flaws)), flaws


def test_reads_objects_attributes_and_relations(tmp_path) -> None:
    (image,), flaws = read_with_flaws(
        write(tmp_path / "graphs.json", **{"11": CAT, "12": MAT}), tmp_path
    )
    assert image.graph.objects == (
        SceneObject("11", "cat", ("red",), Box(0, 1, 5, 6)),
        SceneObject("12", "mat", (), Box(0, 5, 10, 5)),
    )
    assert image.graph.relations == (Relation("11", "on", "12"),)
    assert image.regions == ()
    assert not flaws.counts


@pytest.mark.parametrize("folder", ["", "images", "VG_100K", "VG_100K_2"])
def test_images_are_in_gqas_folder_or_in_visual_genomes_two_folders(tmp_path, folder: str) -> None:
    (image,), _ = read_with_flaws(write(tmp_path / "graphs.json", **{"12": MAT}), tmp_path)
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "3.jpg").touch()
    assert image.path == tmp_path / folder / "3.jpg"


# The objects besides a cat that is on object 12, the kind of the flaw, and the message about it.
FLAWS = [
    (
        {},
        "unknown object",
        "image 3, relationship 11-0: the object 12 is not an object of the image.",
    ),
    (
        {"12": MAT, "13": [1]},
        "malformed record",
        "image 3, object: got [1], expected an object with 'object_id' or 'id'.",
    ),
    (
        {"12": MAT, "13": MAT | {"name": 7}},
        "malformed record",
        "image 3, object 13: got 7, expected a list of strings.",
    ),
    (
        {"12": MAT | {"relations": ["on"]}},
        "malformed record",
        "image 3, relationship: got 'on', expected an object with 'relationship_id' or 'id'.",
    ),
    (
        {"12": MAT | {"relations": [{"object": "11"}]}},
        "malformed record",
        "image 3, relationship 12-0: got None, expected a string.",
    ),
]


@pytest.mark.parametrize(("objects", "kind", "message"), FLAWS)
def test_a_flawed_record_is_counted_and_the_other_records_are_read(
    tmp_path, objects, kind, message
) -> None:
    path = write(tmp_path / "graphs.json", **{"11": CAT}, **objects)
    (image,), flaws = read_with_flaws(path)
    assert dict(flaws.counts) == {kind: 1}
    assert flaws.first == {kind: f"{path}, {message}"}
    assert image.graph.objects[0].name == "cat"
    assert len(image.graph.relations) == bool(objects)


def test_an_image_without_a_size_is_skipped(tmp_path) -> None:
    path = tmp_path / "graphs.json"
    good = {"width": 10, "height": 10, "objects": {"12": MAT}}
    path.write_text(
        json.dumps({"1": {"objects": {}}, "2": good, "4": good | {"objects": [1]}, "5": None}),
        encoding="utf-8",
    )
    images, flaws = read_with_flaws(path)
    assert [image.image_id for image in images] == ["2"]
    assert dict(flaws.counts) == {"malformed record": 3}
    assert (
        flaws.first["malformed record"]
        == f"{path}, image 1: missing key 'width'; it has 'objects'."
    )


def test_train_and_val_are_read_from_a_folder_and_sorted_by_id(tmp_path) -> None:
    write(tmp_path / "train_sceneGraphs.json", "20", **{"12": MAT})
    write(tmp_path / "val_sceneGraphs.json", "3", **{"12": MAT})
    write(tmp_path / "z_sceneGraphs.json", "3", **{"12": MAT})
    images, flaws = read_with_flaws(tmp_path)
    assert [image.image_id for image in images] == ["3", "20"]
    assert dict(flaws.counts) == {"duplicate id": 1}
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty: no \*sceneGraphs\*\.json in this folder"):
        read_with_flaws(tmp_path / "empty")


@pytest.mark.parametrize(
    ("file", "ids"),
    [
        ("gqa/sceneGraphs.debug.json", ["2315892", "2336498", "2354786", "2375429"]),
        ("benchmarks/gqa/train_sceneGraphs.json", None),
    ],
)
def test_real_graphs(real_data, file, ids) -> None:
    raw = json.loads((real_data / file).read_text(encoding="utf-8"))
    images, flaws = read_with_flaws(real_data / file)
    assert not set(flaws.counts) - {"box outside the image"}
    assert [image.image_id for image in images] == (ids or sorted(raw))
    for image in images:
        objects = raw[image.image_id]["objects"].values()
        assert len(image.graph.objects) == len(objects)
        assert len(image.graph.relations) == sum(len(item["relations"]) for item in objects)
