"""VG-Relation and VG-Attribution, mined from GQA's scene graphs.

    python -m generators.aro        # with the stage `aro`: aro/vg_relation, aro/vg_attribution

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.1 and appendix A.1. A row is the smallest box around two
objects that each take a quarter of the image's width and height or more, a true caption, and the caption with the two
objects (or their attributes) swapped; chance is 1/2. Differs from the published sets in what is left out:

- symmetric relations by a list with reasons (generators/language/lexicon/not_asymmetric.yaml), which goes further than
  theirs;
- rows whose swapped caption may be true as well: of the pair itself (a red ball and a blue box, where the ball is also
  blue and the box also red; a building and its paint), or of other things with the same names. The published sets keep
  those.

What may be true is decided from the annotations, which are incomplete: a place that they neither state nor exclude is
possible, and so is an attribute, unless the source never gives such a noun that attribute ("an open cat").
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any, NamedTuple

from generators.graphs.facts import Entity, ImageFacts, image_facts
from generators.language.lexicon import attributes, nouns, relations
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.rows import CHOICE_SCHEMA
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from generators.storage import dataset, stage
from generators.storage.atomic import write_json
from generators.storage.crops import Crop, crop_id
from generators.storage.params import block

LEAST_SHARE = 0.25
"""Of the image's width, and of its height, that an object takes (appendix A.1, step 2)."""

SURFACES = frozenset({"coating", "exterior", "facade", "finish", "paint", "siding", "surface", "varnish", "wallpaper"})
"""What they look like, the thing that they are on looks like: peeling paint on a white building, and white paint on a
peeling one."""


class Pair(NamedTuple):
    """Two captions of one box; ``category`` is the relation, or the attributes in the order of the true caption."""

    image: AnnotatedImage
    box: Box
    true: str
    false: str
    category: str

    def row(self, categories: Sequence[dict[str, str]], provenance: dict[str, Any]) -> dict[str, Any]:
        """As a row of CHOICE_SCHEMA."""
        return {
            "image": Crop(self.image.path, self.box),
            "crop_id": crop_id(self.image.path, self.box),
            "image_id": self.image.image_id,
            **self.box._asdict(),
            "caption": self.true,
            "hard_negatives": [self.false],
            "categories": list(categories),
            "provenance": provenance,
        }


@dataclass(frozen=True)
class Said:
    """What a whole source says of nouns: (attribute, noun), (noun, relation) and (relation, noun) pairs."""

    attributes: frozenset[tuple[str, str]]
    subjects: frozenset[tuple[str, str]]
    objects: frozenset[tuple[str, str]]

    @classmethod
    def by(cls, graphs: Iterable[SceneGraph]) -> Said:
        described, subjects, objects = set(), set(), set()
        for graph in graphs:
            for item in graph.objects:
                described.update((attribute, item.name) for attribute in item.attributes)
            for edge in graph.relations:
                subjects.add((graph.by_id[edge.subject].name, edge.predicate))
                objects.add((edge.predicate, graph.by_id[edge.object].name))
        return cls(frozenset(described), frozenset(subjects), frozenset(objects))


def large_objects(image: AnnotatedImage) -> list[SceneObject]:
    """The objects that can be recognised: a quarter of the image's width and of its height, or more."""
    return [
        item
        for item in image.graph.objects
        if item.box and item.box.width >= LEAST_SHARE * image.width and item.box.height >= LEAST_SHARE * image.height
    ]


def are_kindred(first: SceneObject, second: SceneObject) -> bool:
    """Whether one name could stand for both, so that a swap changes nothing (man, person)."""
    return first.name == second.name or nouns.may_name_the_same(first.name, second.name)


def relation_caption(subject: str, relation: str, object: str) -> str:
    """The template of appendix A.1, step 5."""
    return f"the {subject} is {relation} the {object}"


def attribute_caption(attribute: str, noun: str, other_attribute: str, other_noun: str) -> str:
    """The template of appendix A.1, step 5."""
    return f"the {attribute} {noun} and the {other_attribute} {other_noun}"


def relation_pairs(image: AnnotatedImage, said: Said, dropped: Counter[str]) -> Iterator[Pair]:
    """VG-Relation's rows of one image, in the order of its relations."""
    large = {item.id: item for item in large_objects(image)}
    facts = image_facts(image.graph)
    seen: set[str] = set()
    for edge in image.graph.relations:
        if edge.subject not in large or edge.object not in large:
            dropped["an object is small"] += 1
            continue
        subject, object_ = large[edge.subject], large[edge.object]
        true = relation_caption(subject.name, edge.predicate, object_.name)
        if are_kindred(subject, object_):
            dropped["objects of one category"] += 1
        elif not relations.is_asymmetric(edge.predicate):
            dropped["symmetric relation"] += 1
        elif _may_be_turned(edge, subject, object_, facts, said):
            dropped["the swapped caption may be true"] += 1
        elif true in seen:
            dropped["caption occurs twice in the image"] += 1
        else:
            seen.add(true)
            box = _box_around(subject, object_)
            false = relation_caption(object_.name, edge.predicate, subject.name)
            yield Pair(image, box, true, false, edge.predicate)


def _may_be_turned(edge: Relation, subject: SceneObject, object: SceneObject, facts: ImageFacts, said: Said) -> bool:
    """Whether two things with the names of the object and the subject may stand in the relation that way round."""
    turned = (object.name, edge.predicate) in said.subjects and (edge.predicate, subject.name) in said.objects
    located = relations.sense(edge.predicate) is not None
    return turned and any(
        edge.predicate in facts.predicates.get((first.id, second.id), ())
        or (located and not facts.excludes_relation(first, edge.predicate, second))
        for first, second in permutations(facts.entities, 2)
        if first.is_called(object.name) and second.is_called(subject.name)
    )


def attribute_pairs(image: AnnotatedImage, said: Said, dropped: Counter[str]) -> Iterator[Pair]:
    """VG-Attribution's rows of one image: each two objects with each two of their attributes."""
    facts = image_facts(image.graph)
    seen: set[str] = set()
    for first, second in combinations(large_objects(image), 2):
        if are_kindred(first, second):
            dropped["objects of one category"] += 1
            continue
        if _is_surface_of(first, second, image.graph) or _is_surface_of(second, first, image.graph):
            dropped["one is the other's surface"] += 1
            continue
        for one, other in product(first.attributes, second.attributes):
            true = attribute_caption(one, first.name, other, second.name)
            if attributes.may_mean_the_same(one, other):
                dropped["one attribute"] += 1
            elif _may_be_exchanged((one, first), (other, second), facts, said):
                dropped["the swapped caption may be true"] += 1
            elif true in seen:
                dropped["caption occurs twice in the image"] += 1
            else:
                seen.add(true)
                false = attribute_caption(other, first.name, one, second.name)
                yield Pair(image, _box_around(first, second), true, false, f"{one}, {other}")


def _is_surface_of(surface: SceneObject, item: SceneObject, graph: SceneGraph) -> bool:
    """Whether one is a surface by its name and the graph relates it to the other."""
    between = {surface.id, item.id}
    return surface.name in SURFACES and any({edge.subject, edge.object} == between for edge in graph.relations)


def _may_be_exchanged(
    first: tuple[str, SceneObject], second: tuple[str, SceneObject], facts: ImageFacts, said: Said
) -> bool:
    """Whether there may be a first entity with the second's attribute and a second one with the first's.

    That the source never gives a noun an attribute is not enough to exclude it where the graph states the other half.
    """
    (one, item), (other, other_item) = first, second
    halves = (other, item.name), (one, other_item.name)

    def possible(attribute: str, noun: str) -> list[tuple[Entity, bool]]:
        claim = SceneObject("", noun, (attribute,))
        return [(entity, attribute in entity.attributes) for entity in facts.entities if entity.matches(claim)]

    usual = [half in said.attributes for half in halves]
    return any(
        entity.id != other.id and (usual[0] or other_stated) and (usual[1] or stated)
        for (entity, stated), (other, other_stated) in product(*(possible(*half) for half in halves))
    )


def _box_around(first: SceneObject, second: SceneObject) -> Box:
    assert first.box is not None
    assert second.box is not None
    return first.box.union(second.box)


def categories(config: str, pair: Pair) -> list[dict[str, str]]:
    """What results on a row are broken down by."""
    if config == "vg_attribution":
        return [{"by": "attribute pair", "name": pair.category}]
    return [
        {"by": "relation", "name": pair.category},
        {"by": "kind of relation", "name": relations.kind_of_relation(pair.category)},
    ]


Miner = Callable[[AnnotatedImage, Said, Counter[str]], Iterator[Pair]]
MINERS: dict[str, Miner] = {"vg_relation": relation_pairs, "vg_attribution": attribute_pairs}


def mine(config: str, images: Iterable[AnnotatedImage], dropped: Counter[str]) -> Iterator[Pair]:
    """The pairs of a config in the order of the images, which are read twice; ``dropped`` counts the others."""
    said = Said.by(image.graph for image in images)
    return (pair for image in images for pair in MINERS[config](image, said, dropped))


def main(annotations: Path = Path("annotations/gqa.parquet"), output: Path = Path()) -> None:
    """Build VG-Relation and VG-Attribution in the folder OUTPUT from the file ANNOTATIONS."""
    images = Annotations(annotations)
    provenance = {"source": block("source"), "captioner": "template", "seed": 0}
    pixels = dataset.pixels_asked()
    funnels: dict[str, dict[str, int]] = {}
    for config in MINERS:
        dropped = Counter[str]()
        rows = (pair.row(categories(config, pair), provenance) for pair in mine(config, images, dropped))
        counts = dataset.write_config(output / "aro", config, {"test": rows}, CHOICE_SCHEMA, pixels)
        funnels[f"{config}: pairs of objects"] = dict(sorted(dropped.items())) | {"kept": counts["test"]}
    funnels["Flawed records of the source"] = json.loads(annotations.with_suffix(".json").read_text())["flaws"]
    write_json(output / "stats/aro/mined.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
