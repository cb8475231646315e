"""Mining of ARO's swapped captions: two objects, or two attributes, change places in a templated caption.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.1 and appendix A.1. Each object covers at least a quarter
of the image's width and height.

``rules: paper`` follows these steps and drops the symmetric relations that the paper names. By default (``ours``), the
following pairs are dropped as well, which the published sets keep.

- Symmetric relations, from a longer list than the authors' (generators/language/lexicon/not_asymmetric.yaml). "standing
  by" is kept, although the list contains it: the paper's macro accuracy is the mean over the 45 relations of Table 2.
- Objects that one name may describe ("man" and "person"), and captions that an image has twice.
- Pairs whose swapped caption may also be true. It may be true of the same two objects (a ball that is both red and
  blue), or of other objects with the same names.

The annotations are incomplete, so a relation of our lexicon is possible unless the boxes or other annotations exclude
it; another one ("watching") only if the graph states it. Neither a relation nor an attribute is possible if the source
never uses it with the noun ("an open cat"), unless the image states the other one of two attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from operator import eq
from typing import NamedTuple

from compeval.base.pipeline.params import OURS, PAPER
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.graphs.facts import Entity, ImageFacts, collect_facts
from compeval.generators.language.lexicon import attributes, nouns, relations

MIN_SHARE = 0.25
"""Minimum width and height of an object, as a share of the image's (appendix A.1, step 2)."""

IN_TABLE_2 = frozenset({"standing by"})
"""Relations of Table 2 that the list of symmetric relations contains."""

SURFACES = frozenset(
    {
        "coating",
        "exterior",
        "facade",
        "finish",
        "paint",
        "siding",
        "surface",
        "varnish",
        "wallpaper",
    }
)
"""Nouns whose attributes also describe the object that they cover: white paint on a building is a white building."""


class SwappedPair(NamedTuple):
    """A true and a false caption of one box."""

    image: AnnotatedImage
    box: Box
    true: str
    false: str
    category: str
    """The relation, or the two attributes in the order of the true caption."""


@dataclass(frozen=True)
class AttestedPairs:
    """Combinations of words that occur anywhere in the annotations of a source."""

    attributes: frozenset[tuple[str, str]]
    """(attribute, noun)"""
    subjects: frozenset[tuple[str, str]]
    """(noun, relation)"""
    objects: frozenset[tuple[str, str]]
    """(relation, noun)"""

    @classmethod
    def from_graphs(cls, graphs: Iterable[SceneGraph]) -> AttestedPairs:
        """Collect the combinations of all graphs."""
        attributes = set()
        subjects = set()
        objects = set()
        for graph in graphs:
            for item in graph.objects:
                attributes.update((attribute, item.name) for attribute in item.attributes)
            for edge in graph.relations:
                subjects.add((graph.by_id[edge.subject].name, edge.predicate))
                objects.add((edge.predicate, graph.by_id[edge.object].name))
        return cls(frozenset(attributes), frozenset(subjects), frozenset(objects))


def select_large_objects(image: AnnotatedImage) -> list[SceneObject]:
    """Return the objects that are at least ``MIN_SHARE`` of the image wide and high."""
    return [
        item
        for item in image.graph.objects
        if item.box
        and item.box.width >= MIN_SHARE * image.width
        and item.box.height >= MIN_SHARE * image.height
    ]


def may_share_a_name(first: SceneObject, second: SceneObject) -> bool:
    """Return True if one name may describe both objects (man, person), so that a swap changes nothing."""
    return first.name == second.name or nouns.may_name_same_object(first.name, second.name)


class Checks(NamedTuple):
    """Conditions by which pairs are dropped; ``proves``: also drop those whose swapped caption may be true."""

    have_one_category: Callable[[SceneObject, SceneObject], bool]
    is_symmetric: Callable[[str], bool]
    are_one_attribute: Callable[[str, str], bool]
    proves: bool


SYMMETRIC = frozenset({"near", "next to"})
"""The symmetric relations that the paper names, as examples (appendix A.1, step 6)."""


CHECKS = {
    OURS: Checks(
        may_share_a_name,
        lambda relation: relation not in IN_TABLE_2 and not relations.is_asymmetric(relation),
        attributes.may_hold_together,
        proves=True,
    ),
    PAPER: Checks(
        lambda first, second: first.name == second.name,
        SYMMETRIC.__contains__,
        eq,
        proves=False,
    ),
}
"""By the value of ``rules``. The paper names two symmetric relations, as examples (appendix A.1, step 6); the authors'
notebook excludes 157."""


def write_relation_caption(subject: str, relation: str, object: str) -> str:
    """Fill in the template of VG-Relation (appendix A.1, step 5)."""
    return f"the {subject} is {relation} the {object}"


def write_attribute_caption(
    attribute: str, noun: str, other_attribute: str, other_noun: str
) -> str:
    """Fill in the template of VG-Attribution (appendix A.1, step 5)."""
    return f"the {attribute} {noun} and the {other_attribute} {other_noun}"


def mine_relation_pairs(
    image: AnnotatedImage, attested: AttestedPairs, dropped: Counter[str], rules: str = OURS
) -> Iterator[SwappedPair]:
    """Yield VG-Relation's pairs of an image in the order of its relations; count the others in ``dropped``."""
    checks = CHECKS[rules]
    large = {item.id: item for item in select_large_objects(image)}
    facts = collect_facts(image.graph)
    captions: set[str] = set()
    for edge in image.graph.relations:
        if edge.subject not in large or edge.object not in large:
            dropped["an object is small"] += 1
            continue
        subject = large[edge.subject]
        object_ = large[edge.object]
        true = write_relation_caption(subject.name, edge.predicate, object_.name)
        if checks.have_one_category(subject, object_):
            dropped["objects of one category"] += 1
        elif checks.is_symmetric(edge.predicate):
            dropped["symmetric relation"] += 1
        elif checks.proves and _may_hold_reversed(edge, subject, object_, facts, attested):
            dropped["the swapped caption may be true"] += 1
        elif checks.proves and true in captions:
            dropped["caption occurs twice in the image"] += 1
        else:
            captions.add(true)
            false = write_relation_caption(object_.name, edge.predicate, subject.name)
            yield SwappedPair(image, _join_boxes(subject, object_), true, false, edge.predicate)


def _may_hold_reversed(
    edge: Relation,
    subject: SceneObject,
    object: SceneObject,
    facts: ImageFacts,
    attested: AttestedPairs,
) -> bool:
    """Return True if an entity with the object's name may have the relation to an entity with the subject's name."""
    if (object.name, edge.predicate) not in attested.subjects or (
        edge.predicate,
        subject.name,
    ) not in attested.objects:
        return False
    is_spatial = relations.find_sense(edge.predicate) is not None
    return any(
        edge.predicate in facts.predicates.get((first.id, second.id), ())
        or (is_spatial and not facts.excludes_relation(first, edge.predicate, second))
        for first, second in permutations(facts.entities, 2)
        if first.may_have_name(object.name) and second.may_have_name(subject.name)
    )


def mine_attribute_pairs(
    image: AnnotatedImage, attested: AttestedPairs, dropped: Counter[str], rules: str = OURS
) -> Iterator[SwappedPair]:
    """Yield VG-Attribution's pairs of an image, for every two objects and every two of their attributes.

    Rejected pairs are counted in ``dropped``.
    """
    checks = CHECKS[rules]
    facts = collect_facts(image.graph)
    captions: set[str] = set()
    for first, second in combinations(select_large_objects(image), 2):
        if checks.have_one_category(first, second):
            dropped["objects of one category"] += 1
            continue
        if checks.proves and any(
            _is_surface_of(*pair, image.graph) for pair in permutations((first, second), 2)
        ):
            dropped["one is the other's surface"] += 1
            continue
        for attribute, other_attribute in product(first.attributes, second.attributes):
            true = write_attribute_caption(attribute, first.name, other_attribute, second.name)
            if checks.are_one_attribute(attribute, other_attribute):
                dropped["one attribute"] += 1
            elif checks.proves and _may_hold_exchanged(
                (attribute, first), (other_attribute, second), facts, attested
            ):
                dropped["the swapped caption may be true"] += 1
            elif checks.proves and true in captions:
                dropped["caption occurs twice in the image"] += 1
            else:
                captions.add(true)
                false = write_attribute_caption(other_attribute, first.name, attribute, second.name)
                category = f"{attribute}, {other_attribute}"
                yield SwappedPair(image, _join_boxes(first, second), true, false, category)


def _is_surface_of(surface: SceneObject, item: SceneObject, graph: SceneGraph) -> bool:
    """Return True if the first object is a surface by its name and the graph relates it to the second."""
    ids = {surface.id, item.id}
    return surface.name in SURFACES and any(
        {edge.subject, edge.object} == ids for edge in graph.relations
    )


def _may_hold_exchanged(
    first: tuple[str, SceneObject],
    second: tuple[str, SceneObject],
    facts: ImageFacts,
    attested: AttestedPairs,
) -> bool:
    """Return True if the image may contain both objects with their attributes exchanged.

    An attribute that the source never uses with a noun counts as impossible, unless the graph of this image states the
    other half of the exchange.
    """
    (attribute, item), (other_attribute, other_item) = first, second
    exchanged = (other_attribute, item.name), (attribute, other_item.name)

    def possible_entities(attribute: str, noun: str) -> list[tuple[Entity, bool]]:
        """Return the entities that may match, and for each whether the graph states the attribute."""
        wanted = SceneObject("", noun, (attribute,))
        return [
            (entity, attribute in entity.attributes)
            for entity in facts.entities
            if entity.matches(wanted)
        ]

    is_attested = [phrase in attested.attributes for phrase in exchanged]
    return any(
        entity.id != other.id
        and (is_attested[0] or other_is_stated)
        and (is_attested[1] or is_stated)
        for (entity, is_stated), (other, other_is_stated) in product(
            *(possible_entities(*each) for each in exchanged)
        )
    )


def _join_boxes(first: SceneObject, second: SceneObject) -> Box:
    assert first.box is not None
    assert second.box is not None
    return first.box.union(second.box)
