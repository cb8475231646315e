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

from generators.microworld.captions.content import (
    REGION_KINDS,
    Content,
    SceneFacts,
    choose_content,
    list_named_attributes,
    list_said_relations,
)
from generators.microworld.captions.views import sample_region, shows_sizes
from generators.microworld.captions.wording import write_image_captions, write_region_phrase
from generators.microworld.scene import DrawnObject, Scene, Triple
from generators.microworld.world import CONVERSE, NOUN_TABLE, RELATIONS, SIZES
from generators.schemas.scene_graph import Box

FACTS_PER_IMAGE = 1000
"""The id of an object, relationship or region is the image id times this number, plus an index."""
REGIONS = 14
"""Regions sampled per image, before regions with facts that are not annotated are removed."""
UPPER_CASE = 0.3
"""Fraction of predicates in upper case, as in Visual Genome."""
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
        ids = {item.id for item in self.objects}
        return SceneFacts(
            {item.id: item.noun for item in self.objects},
            {
                item.id: tuple(
                    name
                    for name in list_named_attributes(item, sizes=item.id in self.scene.comparable)
                    if self.contains(item.id, name)
                )
                for item in self.objects
            },
            tuple(
                triple
                for triple in list_said_relations(self.scene)
                if triple[0] in ids and triple[2] in ids and self.contains(*_fact_of(triple))
            ),
        )

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Descriptions of parts of the image, with distinct phrases."""
        all_facts = SceneFacts.of(self.scene, [item.id for item in self.scene.objects], sizes=False)
        regions: dict[str, Region] = {}
        for number in range(REGIONS):
            rng = Random(f"{self.seed}:{self.scene.image_id}:region:{number}")
            content = choose_content(all_facts, REGION_KINDS, rng)
            assert content, "a scene has an object"
            box = sample_region(self.scene, content.objects, rng)
            if facts := self._select_facts(content, sizes=shows_sizes(self.scene, box)):
                phrase = write_region_phrase(facts, content, rng)
                regions.setdefault(phrase, Region(self._id(number), phrase, box))
        return tuple(regions.values())

    def _select_facts(self, content: Content, *, sizes: bool) -> SceneFacts | None:
        """Return the annotated facts about the objects of ``content``; None if a stated fact is not annotated."""
        facts = self.facts
        if not (set(content.objects) <= facts.nouns.keys() and set(content.relations) <= set(facts.relations)):
            return None
        attributes = {
            name: tuple(text for text in facts.attributes[name] if sizes or text not in SIZES)
            for name in content.objects
        }
        if len(content.objects) == 1 and not attributes[content.objects[0]]:
            return None
        return SceneFacts({name: facts.nouns[name] for name in content.objects}, attributes, content.relations)

    def object_entries(self) -> Iterator[dict[str, Any]]:
        for item in self.objects:
            yield {
                "synsets": [NOUN_TABLE[item.noun].sense],
                "h": round(item.box.height),
                "object_id": self.object_ids[item.id],
                "names": [item.noun],
                "w": round(item.box.width),
                "y": round(item.box.y),
                "x": round(item.box.x),
            }

    def attribute_entries(self) -> Iterator[dict[str, Any]]:
        """Yield objects with their attributes; an object without attributes has no such key, as in Visual Genome."""
        for item, entry in zip(self.objects, self.object_entries(), strict=True):
            attributes = self._list_attributes(item)
            yield entry | ({"attributes": attributes} if attributes else {})

    def _list_attributes(self, item: DrawnObject) -> list[str]:
        """Return the annotated attributes without sizes, which a crop of the object does not show."""
        return [text for text in self.facts.attributes[item.id] if text not in SIZES]

    def relationship_entries(self) -> Iterator[dict[str, Any]]:
        entries = {entry["object_id"]: entry for entry in self.object_entries()}
        for number, (subject, relation, target) in enumerate(self.facts.relations):
            rng = Random(f"{self.seed}:{self.scene.image_id}:{subject}:{relation}:{target}")
            predicate = rng.choice(RELATIONS[relation].phrases) if rng.random() < 0.25 else relation
            yield {
                "predicate": predicate.upper() if rng.random() < UPPER_CASE else predicate,
                "object": _with_name(entries[self.object_ids[target]]),
                "relationship_id": self._id(number),
                "synsets": [*filter(None, [RELATIONS[relation].sense])],
                "subject": _with_name(entries[self.object_ids[subject]]),
            }

    def gqa(self) -> dict[str, Any]:
        """Return the value of one image in GQA's scene graph file."""
        return {
            "width": self.scene.width,
            "height": self.scene.height,
            "objects": {
                str(entry["object_id"]): {
                    "name": item.noun,
                    "h": entry["h"],
                    "relations": [
                        {"object": str(self.object_ids[target]), "name": GQA_NAMES.get(relation, relation)}
                        for subject, relation, target in self.facts.relations
                        if subject == item.id
                    ],
                    "w": entry["w"],
                    "attributes": self._list_attributes(item),
                    "y": entry["y"],
                    "x": entry["x"],
                }
                for item, entry in zip(self.objects, self.object_entries(), strict=True)
            },
        }

    @cached_property
    def object_ids(self) -> dict[str, int]:
        """The ids in the files; they do not depend on the recall."""
        return {item.id: self._id(number) for number, item in enumerate(self.scene.objects)}

    def _id(self, number: int) -> int:
        return self.scene.image_id * FACTS_PER_IMAGE + number


@dataclass(frozen=True, slots=True)
class Region:
    """A described region of an image."""

    region_id: int
    phrase: str
    box: Box


def annotate(scenes: Iterable[Scene], seed: int, recall: float) -> dict[str, Any]:
    """Return file name -> JSON content: six Visual Genome files, GQA's scene graphs and Karpathy's captions.

    The captions describe the complete scenes at every recall. Raises ValueError if the recall is not between 0 and 1.
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"params.yaml, microworld.annotation_recall: {recall}, expected 0 to 1.")
    files: dict[str, Any] = {name: [] for name in (*VISUAL_GENOME_FILES, *CAPTION_FILES)} | {"sceneGraphs.json": {}}
    for scene in scenes:
        annotation = Annotation(scene, seed, recall)
        for name, entry in _visual_genome(annotation).items():
            files[name].append(entry)
        files["sceneGraphs.json"][str(scene.image_id)] = annotation.gqa()
        files[caption_file(scene.image_id)].append(make_caption_row(scene, seed))
    return files


VISUAL_GENOME_FILES = (
    "image_data.json",
    "objects.json",
    "attributes.json",
    "relationships.json",
    "region_descriptions.json",
    "scene_graphs.json",
)
CAPTION_FILES = ("coco_karpathy_test.json", "flickr30k_test.json")
FLICKR_EVERY = 4
"""Every fourth image is Flickr30k's, the others are COCO's."""


def _visual_genome(annotation: Annotation) -> dict[str, dict[str, Any]]:
    """Return the entry of one image in each of the six files."""
    scene, image_id = annotation.scene, annotation.scene.image_id
    described, relationships = list(annotation.attribute_entries()), list(annotation.relationship_entries())
    entries = (
        {
            "width": scene.width,
            "url": image_path(image_id),
            "height": scene.height,
            "image_id": image_id,
            "coco_id": None,
            "flickr_id": None,
        },
        {"image_id": image_id, "objects": list(annotation.object_entries())},
        {"image_id": image_id, "attributes": described},
        {"relationships": relationships, "image_id": image_id},
        {"regions": [_region_entry(region, image_id) for region in annotation.regions], "id": image_id},
        {
            "image_id": image_id,
            "objects": described,
            "relationships": [
                {
                    "predicate": edge["predicate"],
                    "object_id": edge["object"]["object_id"],
                    "relationship_id": edge["relationship_id"],
                    "synsets": edge["synsets"],
                    "subject_id": edge["subject"]["object_id"],
                }
                for edge in relationships
            ],
        },
    )
    return dict(zip(VISUAL_GENOME_FILES, entries, strict=True))


def make_caption_row(scene: Scene, seed: int) -> dict[str, Any]:
    """Return a row of the caption file, with up to five captions."""
    facts = SceneFacts.of(scene, [item.id for item in scene.objects], sizes=True)
    captions = write_image_captions(facts, Random(f"{seed}:{scene.image_id}:captions"))
    return {"image": image_path(scene.image_id), "caption": captions}


def caption_file(image_id: int) -> str:
    """Return the file of CAPTION_FILES that contains the captions of an image."""
    return CAPTION_FILES[image_id % FLICKR_EVERY == 0]


def image_path(image_id: int) -> str:
    return f"VG_100K/{image_id}.jpg"


def write_annotations(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _fact_of(triple: Triple) -> Triple:
    """Return the relation or its converse; the result is the same for both."""
    first, relation, second = triple
    return min(triple, (second, CONVERSE[relation], first))


def _region_entry(region: Region, image_id: int) -> dict[str, Any]:
    return {
        "region_id": region.region_id,
        "width": region.box.width,
        "height": region.box.height,
        "image_id": image_id,
        "phrase": region.phrase,
        "y": region.box.y,
        "x": region.box.x,
    }


def _with_name(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an object in the format of relationships.json, which has one name instead of a list of names."""
    return {
        ("name" if key == "names" else key): (value[0] if key == "names" else value) for key, value in entry.items()
    }
