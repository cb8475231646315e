"""Reading all versions of Visual Genome, and the messages for flawed records."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import pytest
import yaml

from compeval.base.readers.records import Flaws
from compeval.base.readers.visual_genome import read
from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, Relation, SceneObject

VERSIONS = ["v1.0.0", "v1.2.0"]
FILES = ["image_data", "objects", "attributes", "relationships", "region_descriptions"]


def read_with_flaws(folder: Path) -> tuple[list[AnnotatedImage], Flaws]:
    flaws = Flaws()
    return list(read(folder, flaws)), flaws


def read_flawless(folder: Path) -> list[AnnotatedImage]:
    """Return the images of a source; there must be no flaws."""
    images, flaws = read_with_flaws(folder)
    assert not flaws.counts
    return images


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def count_raw(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    """Return image id -> numbers of objects, attributes, relations and regions, counted in the JSON files.

    Records with the same box and a common name are one object.
    """
    counts = {}
    files = [
        load(folder, name)
        for name in ("objects", "attributes", "relationships", "region_descriptions")
    ]
    for objects, attribute_records, edges, regions in zip(*files, strict=True):
        graph = networkx.Graph()
        for t in objects["objects"]:
            networkx.add_path(graph, [(name.lower(), box(t)) for name in t["names"]])
        merged = {key: min(part) for part in networkx.connected_components(graph) for key in part}
        described = [
            (merged[name(t), box(t)], t.get("attributes", []))
            for t in attribute_records["attributes"]
        ]
        attributes = {(node, text.lower()) for node, texts in described for text in texts}
        relations = {
            (
                *(merged[name(e[role]), box(e[role])] for role in ("subject", "object")),
                e["predicate"].lower(),
            )
            for e in edges["relationships"]
        }
        sizes = map(len, (set(merged.values()), attributes, relations, regions["regions"]))
        counts[str(regions["id"])] = tuple(sizes)
    return counts


def name(t: dict[str, Any]) -> str:
    return t["name"].lower() if "name" in t else (t.get("names") or t["object_names"])[0].lower()


def box(t: dict[str, Any]) -> tuple[int, ...]:
    return t["x"], t["y"], t["w"], t["h"]


@pytest.mark.parametrize("version", VERSIONS)
def test_counts_of_real_files_equal_a_count_of_the_raw_json(real_data, version) -> None:
    folder = real_data / "visual_genome" / version
    counts = {
        image.image_id: (
            len(image.graph.objects),
            sum(len(item.attributes) for item in image.graph.objects),
            len(image.graph.relations),
            len(image.regions),
        )
        for image in read_flawless(folder)
    }
    assert counts == count_raw(folder)
    assert list(counts) == ["1", "2", "3", "4", "5"]


def test_versions_differ_in_counts_but_not_in_shared_regions(real_data) -> None:
    old, new = (
        {i.image_id: i for i in read_flawless(real_data / "visual_genome" / version)}
        for version in VERSIONS
    )
    assert [len(image.regions) for image in old.values()] == [265, 256, 259, 258, 250]
    assert [len(image.regions) for image in new.values()] == [262, 256, 255, 257, 248]
    for image_id in old:
        before, after = (
            {r.region_id: (r.phrase, r.box) for r in i[image_id].regions} for i in (old, new)
        )
        assert [key for key in before.keys() & after.keys() if before[key] != after[key]] == []


def test_real_facts_of_both_versions(real_data) -> None:
    for version in VERSIONS:
        first, *_ = read_flawless(real_data / "visual_genome" / version)
        clock = next(item for item in first.graph.objects if item.name == "clock")
        assert (clock.attributes, clock.box) == (("green", "tall"), Box(421, 91, 79, 339))
        named = {
            (first.graph.by_id[e.subject].name, e.predicate, first.graph.by_id[e.object].name)
            for e in first.graph.relations
        }
        assert ("shade", "on", "street") in named  # v1.2 writes "ON"


Source = dict[str, list[dict[str, Any]]]


def make_source() -> Source:
    """Return an image in the format of v1.2: a red couch (also called futon) next to a lamp."""
    text = Path(__file__).with_name("visual_genome.yaml").read_text("utf-8")
    return json.loads(json.dumps(yaml.safe_load(text)))  # a copy without shared objects


def write(folder: Path, files: Source) -> Path:
    for name, records in files.items():
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    return folder


def convert_to_scene_graphs(files: Source) -> Source:
    """Return the same source in the format of v1.4."""
    objects = [dict(item) for item in files.pop("attributes")[0]["attributes"]]
    edges = [
        edge
        | {"subject_id": edge["subject"]["object_id"], "object_id": edge["object"]["object_id"]}
        for edge in files.pop("relationships")[0]["relationships"]
    ]
    for edge in edges:
        del edge["subject"], edge["object"]
    del files["objects"]
    return files | {"scene_graphs": [{"image_id": 7, "objects": objects, "relationships": edges}]}


@pytest.mark.parametrize("version", [lambda files: files, convert_to_scene_graphs])
def test_cleans_and_deduplicates(tmp_path, version) -> None:
    (image,) = read_flawless(write(tmp_path, version(make_source())))
    couch, lamp = (
        SceneObject("1", "couch", ("red",), Box(0, 0, 50, 40)),
        SceneObject("2", "lamp", (), Box(60, 10, 20, 30)),
    )
    assert image.graph.objects == (couch, lamp)
    assert image.graph.relations == (Relation("1", "next to", "2"),)
    assert image.regions == (Region("9", "A couch", Box(0, 0, 50, 40)),)
    assert image.other_names == {"1": ("futon",)}


def test_facts_repeat_an_object_for_every_name(tmp_path) -> None:
    (image,) = read_flawless(write(tmp_path, make_source()))
    facts = image.facts()
    objects = [(item.name, item.attributes) for item in facts.objects]
    assert objects == [("couch", ("red",)), ("futon", ("red",)), ("lamp", ())]
    assert [item.subject for item in facts.compounds if item.kind == "oro"] == ["couch", "futon"]


def test_images_are_sorted_by_id(tmp_path) -> None:
    files = make_source()
    for records in files.values():
        (record,) = records
        key = "image_id" if "image_id" in record else "id"
        records[:] = [record | {key: image_id} for image_id in (10, 9, 100)]
    for record in files["region_descriptions"]:
        record["regions"] = []  # region ids must be unique
    assert [image.image_id for image in read_flawless(write(tmp_path, files))] == ["9", "10", "100"]


def test_the_image_file_is_searched_for_on_access(tmp_path) -> None:
    (image,) = read_flawless(write(tmp_path, make_source()))
    with pytest.raises(
        FileNotFoundError, match=r"image 7: 7\.jpg not found in .*VG_100K, .*VG_100K_2"
    ):
        _ = image.path
    (tmp_path / "VG_100K_2").mkdir()
    (tmp_path / "VG_100K_2" / "7.jpg").touch()
    assert image.path == tmp_path / "VG_100K_2" / "7.jpg"


BOX, OUTSIDE, DUPLICATE, MALFORMED = (
    "zero-size box",
    "box outside the image",
    "duplicate id",
    "malformed record",
)
REGIONS, REMOVED = "region_descriptions", object()
# The kind of the flaw, the file and its record that is changed, the changed values, and what the message says.
CHANGES: list[tuple[str, str, int, dict[str, Any], str]] = [
    (BOX, REGIONS, 0, {"width": 0}, "region 9: zero-size box, width 0 and height 40"),
    (
        OUTSIDE,
        REGIONS,
        0,
        {"x": 100},
        "region 9: box outside the image, corners 100,0 to 150,40 in 100x80",
    ),
    (OUTSIDE, "objects", 1, {"x": -3}, "object 2: box outside the image, corners -3,10 to 17,40"),
    (DUPLICATE, "objects", 1, {"object_id": 1}, "object 1: duplicate id"),
    (DUPLICATE, "relationships", 1, {"relationship_id": 5}, "relationship 5: duplicate id"),
    ("empty name", "objects", 1, {"names": [" "]}, "object 2: empty name"),
    ("empty predicate", "relationships", 0, {"predicate": ""}, "relationship 5: empty predicate"),
    (MALFORMED, REGIONS, 0, {"phrase": None}, "region 9: phrase None, expected a string"),
    (
        MALFORMED,
        "objects",
        1,
        {"x": "12"},
        "object 2: box ['12', 10, 20, 30], expected four numbers",
    ),
    (
        MALFORMED,
        "attributes",
        0,
        {"attributes": "red"},
        "object 1: got 'red', expected a list of strings",
    ),
    (
        MALFORMED,
        REGIONS,
        0,
        {"phrase": REMOVED},
        "region 9: missing key 'phrase'; it has 'region_id', 'x'",
    ),
    (MALFORMED, "objects", 0, {"w": REMOVED}, "object 1: missing key 'w' or 'width'"),
    (MALFORMED, "objects", 0, {"object_id": REMOVED}, "object: missing key 'object_id' or 'id'"),
    (
        MALFORMED,
        "relationships",
        0,
        {"predicate": REMOVED},
        "relationship 5: missing key 'predicate'",
    ),
    (
        MALFORMED,
        "relationships",
        0,
        {"subject": REMOVED},
        "relationship 5: missing key 'subject_id' or 'subject'",
    ),
]


@pytest.mark.parametrize(
    ("kind", "name", "index", "values", "message"), CHANGES, ids=[item[-1] for item in CHANGES]
)
def test_a_flaw_is_counted_with_a_message_and_the_other_records_are_read(
    tmp_path, kind, name, index, values, message
) -> None:
    files = make_source()
    record = files[name][0]["regions" if name == REGIONS else name][index]
    changed = {key: value for key, value in (record | values).items() if value is not REMOVED}
    record.clear()
    record.update(changed)
    check_flaw(tmp_path, files, kind, f"{name}.json, image 7, {message}")


def check_flaw(folder: Path, files: Source, kind: str, message: str) -> None:
    (image,), flaws = read_with_flaws(write(folder, files))
    assert flaws.counts[kind] >= 1
    assert flaws.first[kind].startswith(f"{folder}/{message}")
    if kind == MALFORMED:
        assert dict(flaws.counts) == {MALFORMED: 1}
        assert {item.name for item in image.graph.objects} == {"couch", "lamp"}


DAMAGES: dict[str, tuple[str, Callable[[Source], Any]]] = {
    "objects.json, image 7: no record of this image": (
        "no record",
        lambda files: files["objects"].clear(),
    ),
    "region_descriptions.json, image 7, region 9: duplicate id": (
        DUPLICATE,
        lambda files: files[REGIONS][0]["regions"].append(files[REGIONS][0]["regions"][0]),
    ),
    "objects.json, image 7, object: got None, expected an object with 'object_id' or 'id'": (
        MALFORMED,
        lambda files: files["objects"][0]["objects"].append(None),
    ),
    "relationships.json, image 7: relationships 5, expected a list": (
        MALFORMED,
        lambda files: files["relationships"][0].update(relationships=5),
    ),
    "objects.json, record 1: missing key 'image_id' or 'id'; it has 'objects'": (
        MALFORMED,
        lambda files: files["objects"].append({"objects": []}),
    ),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_missing_or_malformed_record_is_counted_and_the_other_records_are_read(
    tmp_path, message
) -> None:
    kind, damage = DAMAGES[message]
    files = make_source()
    damage(files)
    check_flaw(tmp_path, files, kind, message)


def test_an_image_without_a_size_is_skipped(tmp_path) -> None:
    files = make_source()
    for records in files.values():
        records += [json.loads(json.dumps(records[0])) for _ in range(2)]
        for image_id, record in zip((7, 8, 9), records, strict=True):
            record["image_id"] = image_id
            for region in record.get("regions", ()):
                region["region_id"] = image_id
    files["image_data"][1]["width"] = "wide"
    del files["image_data"][2]
    (image,), flaws = read_with_flaws(write(tmp_path, files))
    assert image.image_id == "7"
    assert flaws.first == {
        "malformed record": f"{tmp_path}/image_data.json, image 8: width 'wide', expected a positive number.",
        "no record": f"{tmp_path}/image_data.json, image 9: no record of this image.",
    }


def test_a_second_record_of_an_image_is_skipped(tmp_path) -> None:
    files = make_source()
    files["objects"].append({"image_id": 7, "objects": []})
    (image,), flaws = read_with_flaws(write(tmp_path, files))
    assert len(image.graph.objects) == 2
    assert flaws.first == {"duplicate id": f"{tmp_path}/objects.json, image 7: duplicate id."}


def test_a_region_id_of_another_image_is_a_duplicate(tmp_path) -> None:
    files = make_source()
    for records in files.values():
        records.append(json.loads(json.dumps(records[0])))
        records[1].update({key: 8 for key in ("image_id", "id") if key in records[1]})
    images, flaws = read_with_flaws(write(tmp_path, files))
    assert [len(image.regions) for image in images] == [1, 0]
    assert flaws.first == {
        "duplicate id": f"{tmp_path}/region_descriptions.json, image 8, region 9: duplicate id."
    }


def read_single_image(folder: Path, files: Source) -> AnnotatedImage:
    (image,), _ = read_with_flaws(write(folder, files))
    return image


def test_boxes_are_clipped_or_removed(tmp_path) -> None:
    files = make_source()
    files["objects"][0]["objects"][0].update(x=-3, w=60)  # corners -3,0 to 57,40
    files["objects"][0]["objects"][1].update(h=0)
    files["region_descriptions"][0]["regions"][0].update(x=-1)  # corners -1,0 to 49,40
    image = read_single_image(tmp_path, files)
    assert [item.box for item in image.graph.objects] == [Box(0, 0, 57, 40), None]
    assert [region.box for region in image.regions] == [Box(0, 0, 49, 40)]


def test_relationship_of_an_unknown_object_in_scene_graphs(tmp_path) -> None:
    files = convert_to_scene_graphs(make_source())
    files["scene_graphs"][0]["relationships"][1]["object_id"] = 99
    (image,), flaws = read_with_flaws(write(tmp_path, files))
    assert re.search(
        "relationship 6: the object 99 is not an object of the image", flaws.first["unknown object"]
    )
    assert len(image.graph.relations) == 1


def test_broken_json_and_missing_file(tmp_path) -> None:
    write(tmp_path, make_source())
    text = (tmp_path / "objects.json").read_text(encoding="utf-8")
    (tmp_path / "objects.json").write_text(text[:-5], encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"objects\.json: broken JSON after 0 records .* Download it again"
    ):
        read_flawless(tmp_path)
    (tmp_path / "objects.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"objects\.json: not found"):
        read_flawless(tmp_path)


def test_files_in_different_orders(tmp_path, real_data) -> None:
    folder = real_data / "visual_genome" / "v1.2.0"
    for number, name in enumerate(FILES):
        records = load(folder, name)
        (tmp_path / f"{name}.json").write_text(
            json.dumps([*records[number:], *records[:number]]), encoding="utf-8"
        )
    shuffled = read_flawless(tmp_path)
    assert [image.image_id for image in shuffled] == ["1", "2", "3", "4", "5"]
    in_order = read_flawless(folder)
    assert [replace(image, files=()) for image in shuffled] == [
        replace(image, files=()) for image in in_order
    ]


def test_real_regions_without_graphs(real_data, tmp_path) -> None:
    """Images 6 to 16 of v1.2; their objects, attributes and relationships are not available here."""
    folder = real_data / "benchmarks" / "visual_genome"
    for name in ("objects", "attributes", "relationships"):
        (tmp_path / f"{name}.json").write_text("[]", encoding="utf-8")
    for name in ("image_data", "region_descriptions"):
        (tmp_path / f"{name}.json").symlink_to(folder / f"{name}.json")
    images, flaws = read_with_flaws(tmp_path)
    raw = {
        str(record["id"]): len(record["regions"]) for record in load(folder, "region_descriptions")
    }
    assert {image.image_id: len(image.regions) for image in images} == raw
    assert dict(flaws.counts) == {"no record": 3 * len(raw)}


def test_objects_of_v1_0_are_identified_by_name_and_box(tmp_path) -> None:
    """In v1.0, every record that mentions an object has a new id for it."""
    files = make_source()
    files["attributes"][0]["attributes"][0]["object_id"] = 55
    futon = {"id": 56, "name": "futon", "x": 0, "y": 0, "w": 50, "h": 40}
    files["relationships"][0]["relationships"][0]["subject"] = futon
    image = read_single_image(tmp_path, files)
    assert [item.id for item in image.graph.objects] == ["1", "2"]
    assert image.graph.objects[0].attributes == ("red",)
    assert image.graph.relations == (Relation("1", "next to", "2"),)


def test_a_record_with_the_names_of_two_objects_merges_them(tmp_path) -> None:
    files = make_source()
    objects = files["objects"][0]["objects"]
    objects += [
        objects[1] | {"object_id": n, "names": names}
        for n, names in ((3, ["light"]), (4, ["lamp", "light"]))
    ]
    image = read_single_image(tmp_path, files)
    assert [(item.id, item.name) for item in image.graph.objects] == [("1", "couch"), ("2", "lamp")]
    assert image.other_names == {"1": ("futon",), "2": ("light",)}


def test_an_object_that_only_a_relationship_mentions_is_added(tmp_path) -> None:
    files = make_source()
    files["relationships"][0]["relationships"][0]["subject"] = {
        "id": 56,
        "name": "cat",
        "x": 0,
        "y": 0,
        "w": 9,
        "h": 9,
    }
    image = read_single_image(tmp_path, files)
    assert [item.name for item in image.graph.objects] == ["couch", "lamp", "cat"]
    assert image.graph.relations[0] == Relation("56", "next to", "2")
