"""Random walks by CREPE's appendix A.3 and its published files (``rules: paper``).

Source: CREPE (arXiv:2212.07796), appendix A.3. A walk starts at a random object and adds compounds with at least one
new atom. After a relation it continues from the new object, otherwise from the same object. When the connected
component is exhausted, it continues in another one.
The paper does not say how compounds are drawn. The columns ``n_objects``, ``n_relations``, ``n_attributes`` and
``n_connected_components`` of the published files do; three of four captions of 8 and of 12 atoms are a tree of related
objects and a single object:

- Relations to new objects come first, drawn uniformly among those at the current object, then at the others of this
  component.
- When none of them fits, the walk adds a relation between two of its objects, with the probability CLOSING_SHARE if
  there is one, or an attribute, with the probability ATTRIBUTE_SHARE, or goes on in another component. No caption of
  four atoms has an attribute.
- It starts and goes on at an object with a relation, as long as one fits.

Objects may repeat a name (the template writes "another"). A walk sees the whole graph only if ``visible`` (walks.py) is
1.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from compeval.base.schemas.scene_graph import Relation, SceneGraph
from compeval.generators.graphs.walks import (
    GrowingSubgraph,
    find_components,
    load_abstract_modifiers,
    select_atoms,
)

CLOSING_SHARE = 0.3
ATTRIBUTE_SHARE = 0.25
"""With these shares, walks over Visual Genome have as many relations and attributes as the published captions
(``python -m bench.fidelity``)."""
MIN_SIZE_WITH_ATTRIBUTES = 5
RELATED_SIZE = 2
"""Atoms that a relation to a new object adds."""


def select_annotated(graph: SceneGraph) -> SceneGraph:
    """Return the graph without objects that have no box, abstract modifiers, and repeated or reflexive relations."""
    return select_atoms(graph, keeps_attribute=lambda text: text not in load_abstract_modifiers())


class _UniformWalk(GrowingSubgraph):
    def list_relations(self, here: str, *, new: bool) -> list[Relation]:
        """Return the relations at an object that fit: those to ``new`` objects, or other ones of the walk's objects."""
        if self.missing < (RELATED_SIZE if new else 1):
            return []
        edges = (edge for edge in self.edges[here] if edge not in self.relations)
        return [
            edge for edge in edges if new != (self.attributes.keys() >= {edge.subject, edge.object})
        ]

    def list_attributes(self, here: str) -> list[str]:
        """Return the attributes of an object that are new."""
        return [
            text for text in self.graph.by_id[here].attributes if text not in self.attributes[here]
        ]

    def choose_start(self, components: Mapping[str, frozenset[str]], rng: Random) -> str | None:
        """Return a random object of another component, one with a relation if it fits, or None."""
        unvisited = [
            key for key in components if self.attributes.keys().isdisjoint(components[key])
        ]
        related = [key for key in unvisited if self.edges[key] and self.missing > RELATED_SIZE]
        return rng.choice(related or unvisited) if unvisited else None


def draw_uniform_walk(graph: SceneGraph, size: int, rng: Random) -> SceneGraph | None:
    """Return a random walk of exactly ``size`` atoms, or None if the walk ends with fewer atoms."""
    walk = _UniformWalk(graph, size)
    components = find_components(graph)
    here: str | None = None
    while walk.missing:
        visited = [key for key in walk.attributes if here is not None and key in components[here]]
        related = [key for key in visited if walk.list_relations(key, new=True)]
        if related:
            here = here if here in related else rng.choice(related)
            here = walk.add_relation(here, rng.choice(walk.list_relations(here, new=True)))
            continue
        start = walk.choose_start(components, rng)
        closing = [edge for key in visited for edge in walk.list_relations(key, new=False)]
        described = (
            list(filter(walk.list_attributes, visited)) if size >= MIN_SIZE_WITH_ATTRIBUTES else []
        )
        if closing and (start is None or rng.random() < CLOSING_SHARE):
            walk.relations.append(rng.choice(closing))
        elif described and (start is None or rng.random() < ATTRIBUTE_SHARE):
            here = here if here in described else rng.choice(described)
            walk.attributes[here].append(rng.choice(walk.list_attributes(here)))
        elif start is not None:
            here = start
            walk.attributes[here] = []
        else:
            return None
    return walk.build()
