"""Annotations of microworld scenes in the file formats of Visual Genome v1.4, GQA and Karpathy's COCO captions.

Real annotations are incomplete, and that is where false negatives come from. So of the clear truth each object, each
attribute and each relation is written with probability ``recall``, decided by a hash of the fact itself: what a lower
recall keeps, a higher one keeps too. A relation and its converse are one fact. Attributes go with their object,
relations with both of theirs, and a region with all the facts that its phrase states.
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

from generators.microworld.captions.content import REGION_KINDS, Content, Facts, choose, sayable_attributes
from generators.microworld.captions.views import is_whole, region_box
from generators.microworld.captions.wording import PHRASINGS, image_captions, region_phrase
from generators.microworld.scene import Scene, Thing
from generators.microworld.scenes.spatial_relations import CONVERSE, Triple
from generators.microworld.world import SIZES
from generators.schemas.scene_graph import Box

FACTS_PER_IMAGE = 1000
"""Ids of objects, relationships and regions are the image id times this, plus a number."""
REGIONS = 14
"""Regions drawn per image; those with a fact that is not annotated are dropped."""
SHOUTED = 0.3
"""Share of predicates in capitals, as Visual Genome has them."""
SENSES = {"table": "table.n.02", "kite": "kite.n.03", "banana": "banana.n.02", "balloon": "balloon.n.02"}
"""WordNet senses of the nouns whose first is another."""
PREDICATE_SENSES = {
    "on": "along.r.01",
    "above": "above.r.02",
    "below": "under.r.07",
    "in front of": "in_front.r.01",
    "behind": "behind.r.01",
    "in": "in.r.01",
    "containing": "contain.v.02",
    "supporting": "support.v.04",
    "next to": "next.r.01",
    "wearing": "wear.v.01",
    "worn by": "wear.v.01",
}
GQA_NAMES = {"left of": "to the left of", "right of": "to the right of"}
"""GQA's names where they differ from ours."""


@dataclass(frozen=True)
class Annotation:
    """What the annotators saw of a scene."""

    scene: Scene
    seed: int
    recall: float

    def keeps(self, *fact: str) -> bool:
        """Whether a fact is annotated: ("cup1",), ("cup1", "red"), ("cup1", "on", "table1")."""
        key = f"{self.seed}:{self.scene.image_id}:{fact}".encode()
        return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) < self.recall * 2**64

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.scene.things if self.keeps(thing.id))

    @cached_property
    def facts(self) -> Facts:
        names = {thing.id for thing in self.things}
        return Facts(
            {thing.id: thing.noun for thing in self.things},
            {
                thing.id: tuple(text for text in sayable_attributes(thing) if self.keeps(thing.id, text))
                for thing in self.things
            },
            tuple(
                triple
                for triple in self.scene.relations
                if triple[0] in names and triple[2] in names and self.keeps(*_fact_of(triple))
            ),
        )

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """What annotators wrote about parts of the image; no phrase twice."""
        everything = Facts.of(self.scene, [thing.id for thing in self.scene.things], sizes=False)
        regions: dict[str, Region] = {}
        for number in range(REGIONS):
            rng = Random(f"{self.seed}:{self.scene.image_id}:region:{number}")
            content = choose(everything, REGION_KINDS, rng)
            assert content, "every thing has a colour"
            box = region_box(self.scene, content.things, rng)
            if facts := self._facts_about(content, sizes=is_whole(self.scene, box)):
                phrase = region_phrase(facts, content, rng)
                regions.setdefault(phrase, Region(self._id(number), phrase, box))
        return tuple(regions.values())

    def _facts_about(self, content: Content, *, sizes: bool) -> Facts | None:
        """The annotated facts about a content's things, None where they do not cover it."""
        facts = self.facts
        if not (set(content.things) <= facts.nouns.keys() and set(content.relations) <= set(facts.relations)):
            return None
        attributes = {
            name: tuple(text for text in facts.attributes[name] if sizes or text not in SIZES)
            for name in content.things
        }
        if len(content.things) == 1 and not attributes[content.things[0]]:
            return None
        return Facts({name: facts.nouns[name] for name in content.things}, attributes, content.relations)

    def objects(self) -> Iterator[dict[str, Any]]:
        for thing in self.things:
            yield {
                "synsets": [_sense_of(thing.noun)],
                "h": round(thing.box.height),
                "object_id": self.object_ids[thing.id],
                "names": [thing.noun],
                "w": round(thing.box.width),
                "y": round(thing.box.y),
                "x": round(thing.box.x),
            }

    def objects_with_attributes(self) -> Iterator[dict[str, Any]]:
        """As Visual Genome does, without the key where there is none."""
        for thing, entry in zip(self.things, self.objects(), strict=True):
            attributes = self.facts.attributes[thing.id]
            yield entry | ({"attributes": list(attributes)} if attributes else {})

    def relationships(self) -> Iterator[dict[str, Any]]:
        entries = {entry["object_id"]: entry for entry in self.objects()}
        for number, (subject, relation, target) in enumerate(self.facts.relations):
            rng = Random(f"{self.seed}:{self.scene.image_id}:{subject}:{relation}:{target}")
            predicate = rng.choice(PHRASINGS[relation]) if rng.random() < 0.25 else relation
            senses = PREDICATE_SENSES.get(relation)
            yield {
                "predicate": predicate.upper() if rng.random() < SHOUTED else predicate,
                "object": _with_name(entries[self.object_ids[target]]),
                "relationship_id": self._id(number),
                "synsets": [senses] if senses else [],
                "subject": _with_name(entries[self.object_ids[subject]]),
            }

    def gqa(self) -> dict[str, Any]:
        """One image of GQA's scene graph file."""
        return {
            "width": self.scene.width,
            "height": self.scene.height,
            "objects": {
                str(entry["object_id"]): {
                    "name": thing.noun,
                    "h": entry["h"],
                    "relations": [
                        {"object": str(self.object_ids[target]), "name": GQA_NAMES.get(relation, relation)}
                        for subject, relation, target in self.facts.relations
                        if subject == thing.id
                    ],
                    "w": entry["w"],
                    "attributes": list(self.facts.attributes[thing.id]),
                    "y": entry["y"],
                    "x": entry["x"],
                }
                for thing, entry in zip(self.things, self.objects(), strict=True)
            },
        }

    @cached_property
    def object_ids(self) -> dict[str, int]:
        """The same for every recall."""
        return {thing.id: self._id(number) for number, thing in enumerate(self.scene.things)}

    def _id(self, number: int) -> int:
        return self.scene.image_id * FACTS_PER_IMAGE + number


@dataclass(frozen=True, slots=True)
class Region:
    region_id: int
    phrase: str
    box: Box


def annotate(scenes: Iterable[Scene], seed: int, recall: float) -> dict[str, Any]:
    """File name -> JSON content: six Visual Genome files, GQA's scene graphs and Karpathy's captions (these are of the
    complete scenes at any recall). Raises ValueError for a recall outside 0 to 1."""
    if not 0 <= recall <= 1:
        raise ValueError(f"annotation_recall is {recall}: expected 0 to 1 (params.yaml, microworld)")
    files: dict[str, Any] = {name: [] for name in (*VISUAL_GENOME_FILES, *CAPTION_FILES)} | {"sceneGraphs.json": {}}
    for scene in scenes:
        annotation = Annotation(scene, seed, recall)
        for name, entry in _visual_genome(annotation).items():
            files[name].append(entry)
        files["sceneGraphs.json"][str(scene.image_id)] = annotation.gqa()
        files[caption_file(scene.image_id)].append(karpathy(scene, seed))
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
"""Every so many images are Flickr30k's, the others COCO's."""


def _visual_genome(annotation: Annotation) -> dict[str, dict[str, Any]]:
    """One image's entry in each of the six files."""
    scene, image_id = annotation.scene, annotation.scene.image_id
    described, relationships = list(annotation.objects_with_attributes()), list(annotation.relationships())
    entries = (
        {
            "width": scene.width,
            "url": image_path(image_id),
            "height": scene.height,
            "image_id": image_id,
            "coco_id": None,
            "flickr_id": None,
        },
        {"image_id": image_id, "objects": list(annotation.objects())},
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


def karpathy(scene: Scene, seed: int) -> dict[str, Any]:
    """One row of the caption file: five captions where the scene gives so many."""
    facts = Facts.of(scene, [thing.id for thing in scene.things], sizes=True)
    captions = image_captions(facts, Random(f"{seed}:{scene.image_id}:captions"))
    return {"image": image_path(scene.image_id), "caption": captions}


def caption_file(image_id: int) -> str:
    """The one of CAPTION_FILES that has an image's captions."""
    return CAPTION_FILES[image_id % FLICKR_EVERY == 0]


def image_path(image_id: int) -> str:
    return f"VG_100K/{image_id}.jpg"


def write(files: dict[str, Any], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, separators=(",", ":")) + "\n")


def _fact_of(triple: Triple) -> Triple:
    """The one of a relation and its converse that stands for both."""
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
    """An object as relationships.json names it: one name instead of a list."""
    return {
        ("name" if key == "names" else key): (value[0] if key == "names" else value) for key, value in entry.items()
    }


def _sense_of(noun: str) -> str:
    return SENSES.get(noun, f"{noun}.n.01")
