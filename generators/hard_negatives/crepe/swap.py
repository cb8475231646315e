"""HN-Swap: captions with the same words, attached to the wrong objects.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4, with all five cases: (1) swap the two objects of a
relation; (2) swap two attributes of two objects; (3) swap two unrelated objects; (4) move one attribute to another
object; (5) for four atoms, permute the atoms of one type. Swapped objects keep the attributes of their position or
carry their own along, as in Table 2. Each case is an edit of the subgraph.
Differences from the paper: the image's graph must prove that the whole edited graph is false (graphs/facts.py); it is
not enough that the graph lacks the new attribute. A swap has exactly the words of the caption: a caption that would
need a second "the cup", or "an" for "a", is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, permutations
from random import Random

from compeval.base.schemas.scene_graph import SceneGraph, SceneObject
from compeval.base.texts import have_same_words
from compeval.generators.captioner import template
from compeval.generators.captioner.captioner import EditableCaption
from compeval.generators.graphs.walks import is_redundant
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.language.grammar import are_same_kind
from compeval.generators.language.lexicon.attributes import fits_any_object
from compeval.generators.language.lexicon.nouns import is_person
from compeval.generators.language.lexicon.relations import fits_any_objects, fits_any_order

Edit = tuple[SceneGraph, Foil]


def write_swaps(
    swaps: Sequence[Edit], false_swaps: Collection[Edit], caption: EditableCaption, rng: Random
) -> list[HardNegative]:
    """Return the captions of the false swaps that have exactly the words of ``caption``, in random order.

    Captions that also describe one of the other ``swaps`` are omitted, because it may be true.
    """
    negatives: dict[str, HardNegative] = {}
    others = {caption.text}
    false_graphs = {edited for edited, _ in false_swaps}
    for edited, foil in swaps:
        text = caption.edit(edited)
        if text is not None and edited not in false_graphs:
            others.add(text)
        elif text is not None and have_same_words(text, caption.text):
            negatives.setdefault(text, HardNegative(text, (foil,)))
    texts = [text for text in negatives if text not in others]
    return [negatives[text] for text in rng.sample(texts, len(texts))]


def make_swaps(graph: SceneGraph, *, strict: bool = True) -> Iterator[Edit]:
    """Yield all edits of appendix A.4 without graphs that are equal.

    With ``strict``, edits with redundant objects and with two attributes of one kind on an object are omitted, too. The
    paper has no such rule. Without it, two relations are swapped, too, as in the published files.
    """
    cases: list[Callable[[SceneGraph], Iterator[Edit]]] = [
        swap_objects,
        swap_described_objects,
        partial(swap_attributes, strict=strict),
        partial(move_attributes, strict=strict),
    ]
    if graph.complexity == template.COMPLEXITY:
        cases = [permute_objects, permute_attributes, permute_relations, *cases]
    elif not strict:
        cases.append(swap_relations)
    seen = {graph.signature}
    for edited, foil in chain.from_iterable(case(graph) for case in cases):
        if edited.signature not in seen:
            seen.add(edited.signature)
            if not (strict and is_redundant(edited)):
                yield edited, foil


def make_orbits(graph: SceneGraph, rng: Random) -> Iterator[tuple[Edit, ...]]:
    """Yield the five other orders of each three names, for objects of three different names; attributes stay.

    The six captions of an orbit are alike: each differs from the other five in the same numbers of words. If the
    negatives were edits of the truth in different places, the truth would be their medoid. Trios of which the relations
    tell least come first, in random order.
    """
    trios = list(combinations(graph.objects, 3))
    for trio in sorted(
        rng.sample(trios, len(trios)), key=lambda trio: _count_predictable(graph, trio)
    ):
        names = [item.name for item in trio]
        orders = [order for order in permutations(names) if list(order) != names]
        if len(set(names)) == len(trio) and _are_exchangeable(graph, trio):
            yield tuple(
                _replace_names(
                    graph, {item.id: name for item, name in zip(trio, order, strict=True)}
                )
                for order in orders
            )


def _count_predictable(graph: SceneGraph, trio: Sequence[SceneObject]) -> int:
    """Return the number of relations of the trio that readers who do not see the image may guess.

    They know that a house is behind a bicycle.
    """
    ids = {item.id for item in trio}
    touching = [edge for edge in graph.relations if not ids.isdisjoint((edge.subject, edge.object))]
    return sum(not fits_any_order(edge.predicate) for edge in touching)


def _are_exchangeable(graph: SceneGraph, trio: Sequence[SceneObject]) -> bool:
    """Return True if readers who do not see the image cannot know which of the names belongs where.

    They know who wears a crown, that a kite is above a wagon, that a lamp can be lit and a box open, and that captions
    describe no "striped man".
    """
    attributes = [text for item in trio for text in item.attributes]
    ids = {item.id for item in trio}
    predicates = [
        edge.predicate
        for edge in graph.relations
        if not ids.isdisjoint((edge.subject, edge.object))
    ]
    num_persons = sum(is_person(item.name) for item in trio)
    return (
        all(map(fits_any_object, attributes))
        and all(map(fits_any_objects, predicates))
        and not (attributes and 0 < num_persons < len(trio))
    )


def swap_objects(graph: SceneGraph) -> Iterator[Edit]:
    """Swap two objects, related (case 1) or unrelated (case 3). Attributes keep their positions."""
    for first, second in combinations(graph.objects, 2):
        if first.name != second.name:
            yield _replace_names(graph, {first.id: second.name, second.id: first.name})


def swap_described_objects(graph: SceneGraph) -> Iterator[Edit]:
    """Swap two objects with their attributes: "television on top of yellow vase" (Table 2)."""
    for first, second in combinations(graph.objects, 2):
        if first.name != second.name and (first.attributes or second.attributes):
            renamed, foil = _replace_names(graph, {first.id: second.name, second.id: first.name})
            attributes = {first.id: second.attributes, second.id: first.attributes}
            yield _replace_attributes(renamed, attributes), foil


def swap_attributes(graph: SceneGraph, *, strict: bool = True) -> Iterator[Edit]:
    """Swap two attributes of two objects (case 2).

    With ``strict``, no object gets two attributes of one kind, because no true caption has "a red and blue cup".
    """
    for first, second in combinations(graph.objects, 2):
        for first_text in first.attributes:
            for second_text in second.attributes:
                first_rest = [text for text in first.attributes if text != first_text]
                second_rest = [text for text in second.attributes if text != second_text]
                is_taken = _has_kind(second_text, first_rest) or _has_kind(first_text, second_rest)
                if first_text != second_text and not (strict and is_taken):
                    attributes = {
                        first.id: (*first_rest, second_text),
                        second.id: (*second_rest, first_text),
                    }
                    yield (
                        _replace_attributes(graph, attributes),
                        Foil("swap", first_text, second_text),
                    )


def move_attributes(graph: SceneGraph, *, strict: bool = True) -> Iterator[Edit]:
    """Move one attribute to an object; with ``strict``, to one without an attribute of its kind (case 4)."""
    for first, second in permutations(graph.objects, 2):
        for text in first.attributes:
            if text not in second.attributes and not (
                strict and _has_kind(text, second.attributes)
            ):
                rest = tuple(attribute for attribute in first.attributes if attribute != text)
                attributes = {first.id: rest, second.id: (*second.attributes, text)}
                yield (
                    _replace_attributes(graph, attributes),
                    Foil("swap", f"{text} {first.name}", f"{text} {second.name}"),
                )


def _has_kind(text: str, attributes: Sequence[str]) -> bool:
    return any(text == other or are_same_kind(text, other) for other in attributes)


def swap_relations(graph: SceneGraph) -> Iterator[Edit]:
    """Swap the predicates of two relations. A.4 has this for four atoms only; the published files have it for more."""
    for first, second in combinations(graph.relations, 2):
        if first.predicate != second.predicate:
            swapped = {first: second.predicate, second: first.predicate}
            edges = (
                replace(edge, predicate=swapped.get(edge, edge.predicate))
                for edge in graph.relations
            )
            yield (
                replace(graph, relations=tuple(edges)),
                Foil("swap", first.predicate, second.predicate),
            )


def permute_objects(graph: SceneGraph) -> Iterator[Edit]:
    """Put the object names in every order (case 5)."""
    for order in permutations(item.name for item in graph.objects):
        yield _replace_names(
            graph, {item.id: name for item, name in zip(graph.objects, order, strict=True)}
        )


def permute_attributes(graph: SceneGraph) -> Iterator[Edit]:
    """Put the attributes in every order, with the same number per object (case 5)."""
    owners = [item.id for item in graph.objects for _ in item.attributes]
    texts = [text for item in graph.objects for text in item.attributes]
    for order in permutations(texts):
        attributes: dict[str, tuple[str, ...]] = {}
        for owner, text in zip(owners, order, strict=True):
            attributes[owner] = (*attributes.get(owner, ()), text)
        if not any(
            _has_kind(first, [second])
            for object_attributes in attributes.values()
            for first, second in combinations(object_attributes, 2)
        ):
            yield (
                _replace_attributes(graph, attributes),
                Foil("swap", ", ".join(texts), ", ".join(order)),
            )


def permute_relations(graph: SceneGraph) -> Iterator[Edit]:
    """Put the predicates in every order (case 5)."""
    texts = [edge.predicate for edge in graph.relations]
    for order in permutations(texts):
        edges = (
            replace(edge, predicate=text) for edge, text in zip(graph.relations, order, strict=True)
        )
        yield (
            replace(graph, relations=tuple(edges)),
            Foil("swap", ", ".join(texts), ", ".join(order)),
        )


def _replace_names(graph: SceneGraph, names: Mapping[str, str]) -> Edit:
    renamed = [item for item in graph.objects if names.get(item.id, item.name) != item.name]
    foil = Foil(
        "swap",
        ", ".join(item.name for item in renamed),
        ", ".join(names[item.id] for item in renamed),
    )
    objects = (
        SceneObject(item.id, names.get(item.id, item.name), item.attributes, item.box)
        for item in graph.objects
    )
    return SceneGraph(tuple(objects), graph.relations), foil


def _replace_attributes(graph: SceneGraph, attributes: Mapping[str, tuple[str, ...]]) -> SceneGraph:
    objects = (
        SceneObject(item.id, item.name, attributes.get(item.id, item.attributes), item.box)
        for item in graph.objects
    )
    return SceneGraph(tuple(objects), graph.relations)
