import json
from pathlib import Path
from random import Random

import pytest

from compeval.base.readers import gqa, visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.annotate import (
    CAPTION_FILES,
    VISUAL_GENOME_FILES,
    Annotation,
    annotate,
    write_annotations,
)
from compeval.generators.microworld.captions.content import list_said_relations
from compeval.generators.microworld.captions.views import sample_region, shows_sizes
from compeval.generators.microworld.scenes.splits import sample_test_scene
from compeval.generators.microworld.world import CONVERSE, SIZES
from tests.close import assert_close

SCENES = [sample_test_scene(5, image_id) for image_id in range(1, 21)]
PEOPLE = {"man", "woman", "boy"}
COMPLETE = annotate(SCENES, 5, 1.0)


def keys(records):
    return {frozenset(record) for record in records}


def within(records, name):
    return [entry for record in records for entry in record[name]]


@pytest.mark.parametrize(
    ("file", "inner"),
    [
        ("image_data", None),
        ("objects", "objects"),
        ("attributes", "attributes"),
        ("relationships", "relationships"),
        ("region_descriptions", "regions"),
    ],
)
def test_visual_genome_keys(real_data, file, inner):
    real = json.loads(
        (real_data / "visual_genome" / "v1.2.0" / f"{file}.json").read_text(encoding="utf-8")
    )
    ours = COMPLETE[f"{file}.json"]
    assert keys(ours) == keys(real)
    if inner:
        assert keys(within(ours, inner)) <= keys(within(real, inner))
    if inner == "relationships":
        for side in ("subject", "object"):
            assert keys(edge[side] for edge in within(ours, inner)) == keys(
                edge[side] for edge in within(real, inner)
            )


def test_gqa_keys(real_data):
    real = json.loads((real_data / "gqa" / "sceneGraphs.debug.json").read_text(encoding="utf-8"))
    ours = COMPLETE["sceneGraphs.json"]
    assert keys(ours.values()) <= keys(real.values())
    objects = [
        [item for graph in graphs.values() for item in graph["objects"].values()]
        for graphs in (ours, real)
    ]
    assert keys(objects[0]) == keys(objects[1])
    assert keys(within(objects[0], "relations")) == keys(within(objects[1], "relations"))
    assert {"to the left of", "to the right of"} <= {
        edge["name"] for edge in within(objects[0], "relations")
    }


def test_karpathy_keys(real_data):
    real = json.loads((real_data / "aro" / "coco_karpathy_test.json").read_text(encoding="utf-8"))
    for name in CAPTION_FILES:
        assert keys(COMPLETE[name]) == keys(real)
        assert all(len(row["caption"]) == 5 for row in COMPLETE[name])


def test_each_image_has_captions_in_one_file():
    coco, flickr = ([Path(row["image"]).stem for row in COMPLETE[name]] for name in CAPTION_FILES)
    assert sorted(coco + flickr, key=int) == [str(scene.image_id) for scene in SCENES]
    assert all(int(image_id) % 4 == 0 for image_id in flickr)


def test_scene_graphs_agree_with_the_other_files():
    for graph, objects, relationships in zip(
        *(COMPLETE[f"{name}.json"] for name in ("scene_graphs", "objects", "relationships")),
        strict=True,
    ):
        assert graph.keys() == {"image_id", "objects", "relationships"}
        assert [item["object_id"] for item in graph["objects"]] == [
            item["object_id"] for item in objects["objects"]
        ]
        ids = {item["object_id"] for item in graph["objects"]}
        for edge, source in zip(
            graph["relationships"], relationships["relationships"], strict=True
        ):
            assert {edge["subject_id"], edge["object_id"]} <= ids
            assert edge["subject_id"] == source["subject"]["object_id"]


def test_recall_1_is_the_whole_truth():
    for scene in SCENES:
        facts = Annotation(scene, 5, 1.0).facts
        assert facts.nouns == {item.id: item.noun for item in scene.objects}
        nouns = facts.nouns
        # A worn hat is not annotated as "on".
        for first, relation, second in set(scene.relations) - set(facts.relations):
            assert relation in ("on", "supporting"), nouns[first]
            reasons = ("worn by", "riding") if relation == "on" else ("wearing", "ridden by")
            assert {(first, reason, second) for reason in reasons} & set(facts.relations)
        for item in scene.objects:
            unsaid = {"medium", "plain", ""}
            size = item.size if item.id in scene.comparable else ""
            look = set() if item.noun in PEOPLE else {item.color, item.pattern}
            assert set(facts.attributes[item.id]) == ({size, item.state} | look) - unsaid


def test_of_people_neither_colour_nor_pattern_is_annotated_and_of_no_object_a_size() -> None:
    scenes = [sample_test_scene(0, image_id) for image_id in range(1, 61)]
    files = annotate(scenes, 0, 1.0)
    items = within(files["attributes.json"], "attributes")
    attributes = {item["names"][0]: set() for item in items}
    for item in items:
        attributes[item["names"][0]] |= set(item.get("attributes", ()))
    assert PEOPLE & attributes.keys()
    assert not any(attributes[noun] for noun in PEOPLE & attributes.keys())
    assert not set(SIZES) & set().union(*attributes.values())
    assert {"red", "striped", "broken"} <= set().union(*attributes.values())
    gqa_objects = [
        item for graph in files["sceneGraphs.json"].values() for item in graph["objects"].values()
    ]
    assert not any(item["attributes"] for item in gqa_objects if item["name"] in PEOPLE)


def test_recall_0_annotates_nothing():
    files = annotate(SCENES, 5, 0.0)
    assert within(files["objects.json"], "objects") == []
    assert within(files["region_descriptions.json"], "regions") == []
    assert all(files[name] == COMPLETE[name] for name in CAPTION_FILES)


def test_facts_at_a_lower_recall_are_a_subset():
    facts = {
        recall: [Annotation(scene, 5, recall).facts for scene in SCENES] for recall in (0.5, 0.9)
    }
    for low, high in zip(facts[0.5], facts[0.9], strict=True):
        assert low.nouns.items() <= high.nouns.items()
        assert set(low.relations) <= set(high.relations)
        assert all(set(low.attributes[name]) <= set(high.attributes[name]) for name in low.nouns)


def test_recall_is_the_share_of_facts_kept():
    annotation = Annotation(SCENES[0], 5, 0.9)
    kept = sum(annotation.contains("cup1", str(number)) for number in range(1000))
    assert_close(kept, 900, within=30)  # three standard deviations: 3 * sqrt(1000 * 0.9 * 0.1) = 28


def test_a_relation_and_its_converse_are_one_fact():
    for scene in SCENES:
        relations = Annotation(scene, 5, 0.5).facts.relations
        assert all((b, CONVERSE[relation], a) in relations for a, relation, b in relations)


def test_regions():
    for scene in SCENES:
        regions = Annotation(scene, 5, 1.0).regions
        assert len(regions) >= 5
        for key in ("phrase", "region_id"):
            assert len({region[key] for region in regions}) == len(regions)
        for region in regions:
            phrase, box = region["phrase"], Box(*(region[side] for side in Box._fields))
            assert phrase == phrase.lower()
            assert all(isinstance(value, int) and value >= 0 for value in box)
            assert box.x + box.width <= scene.width
            assert box.y + box.height <= scene.height
            assert 0.5 <= box.width / box.height <= 2
            assert shows_sizes(scene, box) or not set(phrase.split()) & {
                *SIZES,
                "tiny",
                "little",
                "big",
            }


def test_a_region_contains_its_objects():
    for scene in SCENES:
        for item in scene.objects:
            box = sample_region(scene, [item.id], Random(item.id))
            assert box.x <= item.box.x + 1
            assert box.x + box.width >= item.box.x + item.box.width - 1
            assert box.y <= item.box.y + 1
            assert box.y + box.height >= item.box.y + item.box.height - 1


def test_predicates_vary_in_form_and_case():
    predicates = {
        edge["predicate"] for edge in within(COMPLETE["relationships.json"], "relationships")
    }
    assert {"next to", "NEXT TO", "left of", "to the left of"} <= predicates


def test_the_readers_of_real_data_read_it(tmp_path):
    write_annotations(COMPLETE, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        *VISUAL_GENOME_FILES,
        *CAPTION_FILES,
        "sceneGraphs.json",
    }
    images = list(visual_genome.read(tmp_path, Flaws()))
    assert [image.image_id for image in images] == [str(scene.image_id) for scene in SCENES]
    for image, scene in zip(images, SCENES, strict=True):
        assert sorted(item.name for item in image.graph.objects) == sorted(
            item.noun for item in scene.objects
        )
        assert len(image.graph.relations) == len(list_said_relations(scene))
    for image, scene in zip(
        gqa.read(tmp_path / "sceneGraphs.json", tmp_path, Flaws()), SCENES, strict=True
    ):
        assert len(image.graph.relations) == len(list_said_relations(scene))


def test_recall_outside_0_to_1():
    with pytest.raises(ValueError, match=r"microworld\.annotation_recall: 90, expected 0 to 1"):
        annotate(SCENES, 5, 90)
