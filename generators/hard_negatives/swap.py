"""HN-Swap: captions that say the same words of the wrong objects.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4, all five cases: the objects of a relation; two
attributes of two objects that neither shares; two objects that no relation joins; one attribute moved to an object that
lacks it; for four atoms, any permutation of atoms of one type. Each is an edit of the subgraph. Stricter than
the paper, which asks that G lack the new attribute: G must prove the whole statement false
(generators/graphs/facts.py). And
a swap has the caption's words, each as often, so that order alone tells them apart: no second "the cup" where the
caption comes back to another object, no "an" for "a".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from random import Random

from generators.captioner import template
from generators.captioner.captioner import Wording
from generators.graphs.facts import ImageFacts
from generators.graphs.walks import redundant
from generators.hard_negatives.foils import Foil, HardNegative
from generators.language.grammar import same_kind
from generators.language.texts import same_words
from generators.schemas.scene_graph import SceneGraph, SceneObject

Edit = tuple[SceneGraph, Foil]


def swap_negatives(graph: SceneGraph, image: ImageFacts, wording: Wording, rng: Random) -> Iterator[HardNegative]:
    """Every swap of the caption that the image's graph proves false, in random order, each caption once."""
    edits = list(swaps(graph))
    rng.shuffle(edits)
    said = {wording.caption}
    for edited, foil in edits:
        if redundant(edited) or not image.is_false(edited):
            continue
        caption = wording.say(edited)
        if caption is not None and caption not in said and same_words(caption, wording.caption):
            said.add(caption)
            yield HardNegative(caption, (foil,))


def swaps(graph: SceneGraph) -> Iterator[Edit]:
    """Every edit of A.4, each distinct graph once."""
    seen = {graph.signature}
    for edited, foil in _all_swaps(graph):
        if edited.signature not in seen:
            seen.add(edited.signature)
            yield edited, foil


def _all_swaps(graph: SceneGraph) -> Iterator[Edit]:
    if graph.complexity == template.SIZE:
        yield from permuted_objects(graph)
        yield from permuted_attributes(graph)
        yield from permuted_relations(graph)
    yield from exchanged_objects(graph)
    yield from exchanged_attributes(graph)
    yield from moved_attributes(graph)


def exchanged_objects(graph: SceneGraph) -> Iterator[Edit]:
    """Two objects change places, whether a relation joins them (case 1) or not (case 3); attributes stay in place."""
    for one, other in combinations(graph.objects, 2):
        if one.name != other.name:
            yield _renamed(graph, {one.id: other.name, other.id: one.name})


def exchanged_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """Two attributes of two objects change places, where neither has the other's (case 2).

    No object gets two attributes of a kind: "a red and blue cup", unlike any true caption, would give itself away.
    """
    for one, other in combinations(graph.objects, 2):
        for mine in one.attributes:
            for theirs in other.attributes:
                mine_left = [text for text in one.attributes if text != mine]
                theirs_left = [text for text in other.attributes if text != theirs]
                if _has_kind(theirs, mine_left) or _has_kind(mine, theirs_left) or mine == theirs:
                    continue
                changed = {one.id: (*mine_left, theirs), other.id: (*theirs_left, mine)}
                yield _redressed(graph, changed), Foil("swap", mine, theirs)


def moved_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """One attribute goes over to an object that has none of the kind (case 4)."""
    for one, other in permutations(graph.objects, 2):
        for text in one.attributes:
            if not _has_kind(text, other.attributes):
                kept = tuple(mine for mine in one.attributes if mine != text)
                changed = {one.id: kept, other.id: (*other.attributes, text)}
                yield _redressed(graph, changed), Foil("swap", f"{text} {one.name}", f"{text} {other.name}")


def _has_kind(text: str, attributes: Sequence[str]) -> bool:
    return any(text == other or same_kind(text, other) for other in attributes)


def permuted_objects(graph: SceneGraph) -> Iterator[Edit]:
    """The objects in every order (case 5)."""
    keys = [item.id for item in graph.objects]
    for order in permutations(item.name for item in graph.objects):
        yield _renamed(graph, dict(zip(keys, order, strict=True)))


def permuted_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """The attributes in every order, over the same places (case 5)."""
    places = [item.id for item in graph.objects for _ in item.attributes]
    texts = [text for item in graph.objects for text in item.attributes]
    for order in permutations(texts):
        changed: dict[str, tuple[str, ...]] = {}
        for key, text in zip(places, order, strict=True):
            changed[key] = (*changed.get(key, ()), text)
        if not any(_has_kind(one, [other]) for given in changed.values() for one, other in combinations(given, 2)):
            yield _redressed(graph, changed), Foil("swap", ", ".join(texts), ", ".join(order))


def permuted_relations(graph: SceneGraph) -> Iterator[Edit]:
    """The predicates in every order (case 5)."""
    texts = [edge.predicate for edge in graph.relations]
    for order in permutations(texts):
        relations = tuple(replace(edge, predicate=text) for edge, text in zip(graph.relations, order, strict=True))
        yield SceneGraph(graph.objects, relations), Foil("swap", ", ".join(texts), ", ".join(order))


def _renamed(graph: SceneGraph, names: Mapping[str, str]) -> Edit:
    objects = tuple(
        SceneObject(item.id, names.get(item.id, item.name), item.attributes, item.box) for item in graph.objects
    )
    before = [item.name for item in graph.objects if names.get(item.id, item.name) != item.name]
    after = [names[item.id] for item in graph.objects if names.get(item.id, item.name) != item.name]
    return SceneGraph(objects, graph.relations), Foil("swap", ", ".join(before), ", ".join(after))


def _redressed(graph: SceneGraph, changed: Mapping[str, Sequence[str]]) -> SceneGraph:
    objects = tuple(
        SceneObject(item.id, item.name, tuple(changed.get(item.id, item.attributes)), item.box)
        for item in graph.objects
    )
    return SceneGraph(objects, graph.relations)
