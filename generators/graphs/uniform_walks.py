"""Random walks by CREPE's appendix A.3 (``rules: paper``): uniform draws over the objects and their compounds.

Source: CREPE (arXiv:2212.07796), section 3.3 (footnote 2) and appendix A.3. A walk starts at a random object and adds
compounds with at least one new atom. After a relation it continues from the new object, otherwise from the same object.
When the connected component is exhausted, it continues in another one.
Where the paper is silent: compounds are drawn uniformly, a compound that would exceed the number of atoms does not fit,
and an object without a fitting compound is left for another object of the walk in the same component. Footnote 2
excludes redundant objects and abstract modifiers: here, two objects with one name and the same attributes, and the
words of abstract_modifiers.yaml. A walk sees the whole graph only if ``visible`` (walks.py) is 1.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from compeval.base.schemas.scene_graph import Relation, SceneGraph
from compeval.generators.graphs.walks import (
    GrowingSubgraph,
    find_components,
    load_abstract_modifiers,
    select_atoms,
)


def select_annotated(graph: SceneGraph) -> SceneGraph:
    """Return the graph without objects that have no box, abstract modifiers, and repeated or reflexive relations."""
    return select_atoms(graph, keeps_attribute=lambda text: text not in load_abstract_modifiers())


def repeats_object(graph: SceneGraph) -> bool:
    """Return True if two objects have one name and the same attributes ("a lamb and a lamb")."""
    counts = Counter((item.name, frozenset(item.attributes)) for item in graph.objects)
    return max(counts.values(), default=0) > 1


class _UniformWalk(GrowingSubgraph):
    def list_compounds(self, here: str) -> list[str | Relation]:
        """Return the attributes and relations at an object that are new and fit."""
        texts = [
            text for text in self.graph.by_id[here].attributes if text not in self.attributes[here]
        ]
        edges = [
            edge
            for edge in self.edges[here]
            if edge not in self.relations
            and self.missing
            >= 1 + sum(end not in self.attributes for end in (edge.subject, edge.object))
        ]
        return [*texts, *edges]

    def add(self, here: str, compound: str | Relation) -> str:
        """Add a compound and return the object to continue from."""
        if isinstance(compound, str):
            self.attributes[here].append(compound)
            return here
        return self.add_relation(here, compound)


def draw_uniform_walk(graph: SceneGraph, size: int, rng: Random) -> SceneGraph | None:
    """Return a random walk of exactly ``size`` atoms, or None if the walk ends with fewer atoms."""
    walk, components = _UniformWalk(graph, size), find_components(graph)
    here: str | None = None
    while walk.missing:
        starts = [here] if here is not None and walk.list_compounds(here) else []
        if here is not None and not starts:
            starts = [
                key
                for key in walk.attributes
                if key in components[here] and walk.list_compounds(key)
            ]
        if starts:
            here = rng.choice(starts)
            here = walk.add(here, rng.choice(walk.list_compounds(here)))
            continue
        unvisited = [
            key for key in components if walk.attributes.keys().isdisjoint(components[key])
        ]
        if not unvisited:
            return None
        here = rng.choice(unvisited)
        walk.attributes[here] = []
    return walk.build()
