"""Annotate micro-world scenes in the file formats of Visual Genome v1.4, GQA and Karpathy's COCO captions.

Real annotations are incomplete, so a hard negative can be true of its image. To measure this effect, only a part of the
facts is annotated: each object, attribute and relation with the probability ``recall``. A hash of the fact decides, so
the facts that are annotated at one recall are also annotated at every higher recall. A relation and its converse are
one fact. An attribute is annotated only with its object, a relation only with both objects, and a region phrase only
with all facts that it states.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from compeval.generators.microworld.captions.content import (
    REGION_KINDS,
    Content,
    SceneFacts,
    choose_content,
)
from compeval.generators.microworld.captions.views import sample_region, shows_sizes
from compeval.generators.microworld.captions.wording import (
    write_image_captions,
    write_region_phrase,
)
from compeval.generators.microworld.scene import DrawnObject, Scene, Triple
from compeval.generators.microworld.world import CONVERSE, NOUN_TABLE, RELATIONS, SIZES

FACTS_PER_IMAGE = 1000
"""The id of an object, relationship or region is the image id times this number, plus an index."""
REGIONS = 14
"""Regions sampled per image, before regions with facts that are not annotated are removed."""
UPPER_CASE = 0.3
"""Fraction of predicates in upper case, as in Visual Genome."""
VISUAL_GENOME_FILES = (
    *("image_data.json", "objects.json", "attributes.json", "relationships.json"),
    *("region_descriptions.json", "scene_graphs.json"),
)
CAPTION_FILES = ("coco_karpathy_test.json", "flickr30k_test.json")
FLICKR_EVERY = 4
"""Every fourth image is Flickr30k's, the others are COCO's."""
GQA_NAMES = {"left of": "to the left of", "right of": "to the right of"}
"""GQA's names of relations that differ from the micro-world's names."""


@dataclass(frozen=True)
class Annotation:
    """The annotated part of a scene."""

    scene: Scene
    seed: int
    recall: float

    def contains(self, *fact: str) -> bool:
        """Return True if a fact is annotated, such as ("cup1",), ("cup1", "red") or ("cup1", "on", "table1")."""
        key = f"{self.seed}:{self.scene.image_id}:{fact}".encode()
        return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) < self.recall * 2**64

    @cached_property
    def objects(self) -> tuple[DrawnObject, ...]:
        return tuple(item for item in self.scene.objects if self.contains(item.id))

    @cached_property
    def facts(self) -> SceneFacts:
        facts = SceneFacts.of(self.scene, {item.id for item in self.objects}, sizes=True)
        attributes = {
            name: tuple(text for text in texts if self.contains(name, text))
            for name, texts in facts.attributes.items()
        }
        relations = tuple(triple for triple in facts.relations if self.contains(*_fact_of(triple)))
        return SceneFacts(facts.nouns, attributes, relations)

    @cached_property
    def regions(self) -> list[dict[str, Any]]:
        """Descriptions of parts of the image, with distinct phrases, in the format of region_descriptions.json."""
        image_id = self.scene.image_id
        all_facts = SceneFacts.of(self.scene, [item.id for item in self.scene.objects], sizes=False)
        regions: dict[str, dict[str, Any]] = {}
        for number in range(REGIONS):
            rng = Random(f"{self.seed}:{image_id}:region:{number}")
            content = choose_content(all_facts, REGION_KINDS, rng)
            assert content, "a scene has an object"
            box = sample_region(self.scene, content.objects, rng)
            if facts := self._select_facts(content, sizes=shows_sizes(self.scene, box)):
                phrase = write_region_phrase(facts, content, rng)
                region = {"region_id": self._id(number), "width": box.width, "height": box.height}
                region |= {"image_id": image_id, "phrase": phrase, "y": box.y, "x": box.x}
                regions.setdefault(phrase, region)
        return list(regions.values())

    def _select_facts(self, content: Content, *, sizes: bool) -> SceneFacts | None:
        """Return the annotated facts about the objects of ``content``; None if a stated fact is not annotated."""
        facts = self.facts
        if not (
            set(content.objects) <= facts.nouns.keys()
            and set(content.relations) <= set(facts.relations)
        ):
            return None
        attributes = {
            name: tuple(text for text in facts.attributes[name] if sizes or text not in SIZES)
            for name in content.objects
        }
        if len(content.objects) == 1 and not attributes[content.objects[0]]:
            return None
        return SceneFacts(
            {name: facts.nouns[name] for name in content.objects}, attributes, content.relations
        )

    def _make_object(self, item: DrawnObject, names: dict[str, Any]) -> dict[str, Any]:
        """Return an object in Visual Genome's format; ``names`` has the key "names" or "name", depending on the
        file."""
        x, y, width, height = map(round, item.box)
        synsets = [NOUN_TABLE[item.noun].sense]
        object_id = self.object_ids[item.id]
        return {
            "synsets": synsets,
            "h": height,
            "object_id": object_id,
            **names,
            "w": width,
            "y": y,
            "x": x,
        }

    def _list_attributes(self, item: DrawnObject) -> list[str]:
        """Return the annotated attributes without sizes, which a crop of the object does not show."""
        return [text for text in self.facts.attributes[item.id] if text not in SIZES]

    def _list_relationships(self) -> Iterator[dict[str, Any]]:
        objects = {item.id: self._make_object(item, {"name": item.noun}) for item in self.objects}
        for number, (subject, relation, target) in enumerate(self.facts.relations):
            rng = Random(f"{self.seed}:{self.scene.image_id}:{subject}:{relation}:{target}")
            entry = RELATIONS[relation]
            predicate = rng.choice(entry.phrases) if rng.random() < 0.25 else relation
            yield {
                "predicate": predicate.upper() if rng.random() < UPPER_CASE else predicate,
                "object": objects[target],
                "relationship_id": self._id(number),
                "synsets": [entry.sense] if entry.sense else [],
                "subject": objects[subject],
            }

    def visual_genome(self) -> dict[str, dict[str, Any]]:
        """Return file name -> entry of the image, for the six files of Visual Genome.

        An object without attributes has no such key in attributes.json, as in Visual Genome.
        """
        scene = self.scene
        image_id = self.scene.image_id
        objects = [self._make_object(item, {"names": [item.noun]}) for item in self.objects]
        described = [
            entry
            | ({"attributes": attributes} if (attributes := self._list_attributes(item)) else {})
            for item, entry in zip(self.objects, objects, strict=True)
        ]
        relationships = list(self._list_relationships())
        ids = {"image_id": image_id, "coco_id": None, "flickr_id": None}
        edges = [
            {
                "predicate": edge["predicate"],
                "object_id": edge["object"]["object_id"],
                "relationship_id": edge["relationship_id"],
                "synsets": edge["synsets"],
                "subject_id": edge["subject"]["object_id"],
            }
            for edge in relationships
        ]
        return {
            "image_data.json": {
                "width": scene.width,
                "url": image_path(image_id),
                "height": scene.height,
                **ids,
            },
            "objects.json": {"image_id": image_id, "objects": objects},
            "attributes.json": {"image_id": image_id, "attributes": described},
            "relationships.json": {"relationships": relationships, "image_id": image_id},
            "region_descriptions.json": {"regions": self.regions, "id": image_id},
            "scene_graphs.json": {
                "image_id": image_id,
                "objects": described,
                "relationships": edges,
            },
        }

    def gqa(self) -> dict[str, Any]:
        """Return the value of one image in GQA's scene graph file."""
        objects: dict[str, dict[str, Any]] = {}
        for item in self.objects:
            x, y, width, height = map(round, item.box)
            relations = [
                {"object": str(self.object_ids[target]), "name": GQA_NAMES.get(relation, relation)}
                for subject, relation, target in self.facts.relations
                if subject == item.id
            ]
            entry = {"name": item.noun, "h": height, "relations": relations, "w": width}
            attributes = self._list_attributes(item)
            objects[str(self.object_ids[item.id])] = entry | {
                "attributes": attributes,
                "y": y,
                "x": x,
            }
        return {"width": self.scene.width, "height": self.scene.height, "objects": objects}

    @cached_property
    def object_ids(self) -> dict[str, int]:
        """The ids in the files; they do not depend on the recall."""
        return {item.id: self._id(number) for number, item in enumerate(self.scene.objects)}

    def _id(self, number: int) -> int:
        return self.scene.image_id * FACTS_PER_IMAGE + number


def annotate(scenes: Iterable[Scene], seed: int, recall: float) -> dict[str, Any]:
    """Return file name -> JSON content: six Visual Genome files, GQA's scene graphs and Karpathy's captions.

    The captions describe the complete scenes at every recall. Raises ValueError if the recall is not between 0 and 1.
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"params.yaml, microworld.annotation_recall: {recall}, expected 0 to 1.")
    files: dict[str, Any] = {name: [] for name in (*VISUAL_GENOME_FILES, *CAPTION_FILES)} | {
        "sceneGraphs.json": {}
    }
    for scene in scenes:
        annotation = Annotation(scene, seed, recall)
        for name, entry in annotation.visual_genome().items():
            files[name].append(entry)
        files["sceneGraphs.json"][str(scene.image_id)] = annotation.gqa()
        facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
        captions = write_image_captions(facts, Random(f"{seed}:{scene.image_id}:captions"))
        row = {"image": image_path(scene.image_id), "caption": captions}
        files[CAPTION_FILES[scene.image_id % FLICKR_EVERY == 0]].append(row)
    return files


def image_path(image_id: int) -> str:
    return f"VG_100K/{image_id}.jpg"


def write_annotations(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_text(
            json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8"
        )


def _fact_of(triple: Triple) -> Triple:
    """Return the relation or its converse; the result is the same for both."""
    first, relation, second = triple
    return min(triple, (second, CONVERSE[relation], first))
