"""The searches for proofs, compared with definitions that enumerate every reading of a statement."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compeval.base.schemas.scene_graph import Relation, SceneGraph, SceneObject
from compeval.generators.graphs.assignments import SearchLimitError
from compeval.generators.graphs.entailment import Negated, entails, proves_false
from compeval.generators.graphs.facts import Entity, ImageFacts, collect_facts
from compeval.generators.hard_negatives.crepe.negation import find_negatable_atoms

NAMES = ["cup", "mug", "table", "dog"]
TEXTS = ["red", "blue", "small", "large"]
PREDICATES = ["on", "above", "below", "next to", "holding"]


@st.composite
def scenes(draw: st.DrawFn, max_objects: int = 4) -> SceneGraph:
    texts = st.lists(st.sampled_from(TEXTS), max_size=2, unique=True).map(tuple)
    named = draw(
        st.lists(st.tuples(st.sampled_from(NAMES), texts), min_size=1, max_size=max_objects)
    )
    objects = tuple(SceneObject(str(number), *item) for number, item in enumerate(named))
    ids = st.sampled_from([item.id for item in objects])
    edges = st.lists(
        st.builds(Relation, ids, st.sampled_from(PREDICATES), ids), max_size=3, unique=True
    )
    return SceneGraph(objects, tuple(edge for edge in draw(edges) if edge.subject != edge.object))


def enumerate_readings(facts: ImageFacts, statement: SceneGraph) -> Iterator[Mapping[str, Entity]]:
    for entities in permutations(facts.entities, len(statement.objects)):
        reading = {
            item.id: entity for item, entity in zip(statement.objects, entities, strict=True)
        }
        if all(reading[item.id].matches(item) for item in statement.objects) and not any(
            facts.excludes_relation(reading[edge.subject], edge.predicate, reading[edge.object])
            for edge in statement.relations
        ):
            yield reading


def holds_in(
    facts: ImageFacts, graph: SceneGraph, negated: Negated, reading: Mapping[str, Entity]
) -> bool:
    """Return True if the facts assert the negated atom in a reading of the rest."""

    def is_asserted(edge: Relation, ends: Mapping[str, Entity]) -> bool:
        relations = [
            Relation(*pair[:1], text, *pair[1:])
            for pair, texts in facts.predicates.items()
            for text in texts
        ]
        return entails(
            relations, Relation(ends[edge.subject].id, edge.predicate, ends[edge.object].id)
        )

    if negated.kind == "attribute":
        return negated.text in reading[negated.object].attributes
    if negated.relation is not None:
        return is_asserted(negated.relation, reading)
    item = graph.by_id[negated.object]
    edges = [edge for edge in graph.relations if item.id in (edge.subject, edge.object)]
    return any(
        item.name in entity.names
        and set(item.attributes) <= set(entity.attributes)
        and all(is_asserted(edge, {**reading, item.id: entity}) for edge in edges)
        for entity in facts.entities
        if entity not in reading.values()
    )


@given(scenes(max_objects=5), scenes())
def test_a_statement_without_a_reading_is_false(image: SceneGraph, statement: SceneGraph) -> None:
    facts = collect_facts(image)
    assert facts.is_false(statement) == (next(enumerate_readings(facts, statement), None) is None)


@given(scenes(max_objects=5), st.randoms(use_true_random=False))
def test_a_negation_is_false_if_every_reading_of_the_rest_has_the_atom(
    image: SceneGraph, rng: Random
) -> None:
    facts = collect_facts(image)
    objects = tuple(rng.sample(image.objects, rng.randint(1, len(image.objects))))
    ids = {item.id for item in objects}
    graph = SceneGraph(
        objects, tuple(edge for edge in image.relations if {edge.subject, edge.object} <= ids)
    )
    for atom in find_negatable_atoms(graph):
        readings = enumerate_readings(facts, atom.remove_from(graph))
        assert proves_false(facts, graph, atom) == all(
            holds_in(facts, graph, atom, reading) for reading in readings
        )


@given(scenes(max_objects=5), scenes(max_objects=3))
def test_a_caption_adds_facts_of_entities_that_are_the_same_in_every_reading(
    image: SceneGraph, caption: SceneGraph
) -> None:
    facts = collect_facts(image)
    named = [
        item
        for item in caption.objects
        if not any(entity.matches(item) for entity in facts.entities)
    ]
    added = ImageFacts(
        (*facts.entities, *(Entity(f"caption:{item.id}", (item.name,)) for item in named)),
        facts.predicates,
    )
    readings = list(enumerate_readings(added, caption))
    certain = {
        item.id: readings[0][item.id].id
        for item in caption.objects
        if readings and len({reading[item.id].id for reading in readings}) == 1
    }
    extended = facts.with_caption(caption)
    for item in caption.objects:
        if item.id in certain:
            assert set(item.attributes) <= set(extended.by_id[certain[item.id]].attributes)
    before = sum(len(entity.attributes) for entity in added.entities)
    new = {
        (certain[item.id], text)
        for item in caption.objects
        if item.id in certain
        for text in item.attributes
    }
    known = {(entity.id, text) for entity in added.entities for text in entity.attributes}
    assert sum(len(entity.attributes) for entity in extended.entities) == before + len(new - known)


def test_a_crowded_scene_is_decided_or_given_up() -> None:
    """15 windows, 10 trees and 12 persons have 32 million readings of a caption with seven of them."""
    counts = {"window": 15, "tree": 10, "person": 12}
    crowd = [
        SceneObject(f"{name}{number}", name)
        for name, count in counts.items()
        for number in range(count)
    ]
    facts = collect_facts(SceneGraph((SceneObject("sign", "sign", ("red",)), *crowd)))
    named = [
        SceneObject(f"s{number}", name)
        for number, name in enumerate(["window", "tree", "person"] * 2 + ["tree"])
    ]
    graph = SceneGraph((*named, SceneObject("s", "sign", ("red",))))
    assert not facts.is_false(graph)
    # The only sign is red in each of the readings: the search looks for a sign that is not red, and there is none.
    assert proves_false(facts, graph, Negated("attribute", "s", "red"))
    # A window is left over in every reading.
    assert proves_false(facts, graph, Negated("object", "s0", "window"))
    # Eleven trees have no reading, but 36 million partial ones.
    with pytest.raises(SearchLimitError):
        facts.is_false(SceneGraph(tuple(SceneObject(f"s{number}", "tree") for number in range(11))))
