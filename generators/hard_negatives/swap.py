"""HN-Swap: captions with the same words, attached to the wrong objects.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4, all five cases: (1) the two objects of a relation; (2)
two attributes of two objects; (3) two unrelated objects; (4) one attribute moved to another object; (5) for four atoms,
any permutation of atoms of one type. Each is an edit of the subgraph. Differs from it in: the image's graph must prove
the whole edited graph false (graphs/facts.py), not only lack the new attribute; and a swap has exactly the words of the
caption, so no second "the cup" for an object that is mentioned twice and no "an" for "a".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from random import Random

from generators.captioner import template
from generators.captioner.captioner import EditableCaption
from generators.graphs.facts import ImageFacts
from generators.graphs.walks import redundant
from generators.hard_negatives.hard_negative import Foil, HardNegative, distinct
from generators.language.grammar import same_kind
from generators.language.texts import same_words
from generators.schemas.scene_graph import SceneGraph

Edit = tuple[SceneGraph, Foil]


def swap_negatives(
    graph: SceneGraph, image: ImageFacts, caption: EditableCaption, rng: Random
) -> Iterator[HardNegative]:
    """Yield every swap that the image's graph proves false, in random order, each caption once."""
    edits = list(swaps(graph))
    rng.shuffle(edits)
    false = ((edited, foil) for edited, foil in edits if not redundant(edited) and image.is_false(edited))
    captions = ((caption.edit(edited), foil) for edited, foil in false)
    return distinct(((text, foil) for text, foil in captions if text and same_words(text, caption.text)), caption.text)


def swaps(graph: SceneGraph) -> Iterator[Edit]:
    """Yield every edit of appendix A.4, each distinct graph once."""
    seen = {graph.signature}
    for edited, foil in _all_swaps(graph):
        if edited.signature not in seen:
            seen.add(edited.signature)
            yield edited, foil


def _all_swaps(graph: SceneGraph) -> Iterator[Edit]:
    if graph.complexity == template.SIZE:
        yield from permute_objects(graph)
        yield from permute_attributes(graph)
        yield from permute_relations(graph)
    yield from swap_objects(graph)
    yield from swap_attributes(graph)
    yield from move_attributes(graph)


def swap_objects(graph: SceneGraph) -> Iterator[Edit]:
    """Two objects swap places, related (case 1) or not (case 3); attributes stay in place."""
    for one, other in combinations(graph.objects, 2):
        if one.name != other.name:
            yield _with_names(graph, {one.id: other.name, other.id: one.name})


def swap_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """Two attributes of two objects swap places (case 2).

    No object gets two attributes of one kind: "a red and blue cup" is unlike any true caption.
    """
    for one, other in combinations(graph.objects, 2):
        for mine in one.attributes:
            for theirs in other.attributes:
                my_rest = [text for text in one.attributes if text != mine]
                their_rest = [text for text in other.attributes if text != theirs]
                if mine != theirs and not _has_kind(theirs, my_rest) and not _has_kind(mine, their_rest):
                    attributes = {one.id: (*my_rest, theirs), other.id: (*their_rest, mine)}
                    yield _with_attributes(graph, attributes), Foil("swap", mine, theirs)


def move_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """One attribute moves to an object without an attribute of its kind (case 4)."""
    for one, other in permutations(graph.objects, 2):
        for text in one.attributes:
            if not _has_kind(text, other.attributes):
                rest = tuple(mine for mine in one.attributes if mine != text)
                attributes = {one.id: rest, other.id: (*other.attributes, text)}
                yield _with_attributes(graph, attributes), Foil("swap", f"{text} {one.name}", f"{text} {other.name}")


def _has_kind(text: str, attributes: Sequence[str]) -> bool:
    return any(text == other or same_kind(text, other) for other in attributes)


def permute_objects(graph: SceneGraph) -> Iterator[Edit]:
    """The object names in every order (case 5)."""
    for order in permutations(item.name for item in graph.objects):
        yield _with_names(graph, {item.id: name for item, name in zip(graph.objects, order, strict=True)})


def permute_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """The attributes in every order over the same positions (case 5)."""
    owners = [item.id for item in graph.objects for _ in item.attributes]
    texts = [text for item in graph.objects for text in item.attributes]
    for order in permutations(texts):
        attributes: dict[str, tuple[str, ...]] = {}
        for owner, text in zip(owners, order, strict=True):
            attributes[owner] = (*attributes.get(owner, ()), text)
        if not any(_has_kind(one, [other]) for own in attributes.values() for one, other in combinations(own, 2)):
            yield _with_attributes(graph, attributes), Foil("swap", ", ".join(texts), ", ".join(order))


def permute_relations(graph: SceneGraph) -> Iterator[Edit]:
    """The predicates in every order (case 5)."""
    texts = [edge.predicate for edge in graph.relations]
    for order in permutations(texts):
        edges = (replace(edge, predicate=text) for edge, text in zip(graph.relations, order, strict=True))
        yield replace(graph, relations=tuple(edges)), Foil("swap", ", ".join(texts), ", ".join(order))


def _with_names(graph: SceneGraph, names: Mapping[str, str]) -> Edit:
    renamed = [item for item in graph.objects if names.get(item.id, item.name) != item.name]
    foil = Foil("swap", ", ".join(item.name for item in renamed), ", ".join(names[item.id] for item in renamed))
    objects = (replace(item, name=names.get(item.id, item.name)) for item in graph.objects)
    return replace(graph, objects=tuple(objects)), foil


def _with_attributes(graph: SceneGraph, attributes: Mapping[str, tuple[str, ...]]) -> SceneGraph:
    objects = (replace(item, attributes=attributes.get(item.id, item.attributes)) for item in graph.objects)
    return replace(graph, objects=tuple(objects))
