"""The relations of a caption that a parser attaches to the wrong object, and those that the caption really adds.

A parser errs where several nouns precede a relation: in "a clock is on a tower and a flag is above the tower", it may
read a clock on a flag, and a clock above the tower. Such a caption is still faithful to its graph. A caption with
swapped objects ("a dog on a table. a cat is next to the table" of a cat on a table and a dog next to it) is not, and no
rule here accepts a caption together with the caption in which two objects are swapped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Parse, Relation, SceneGraph
from compeval.generators.graphs.entailment import entails
from compeval.generators.language.lexicon.relations import verb_lemma

_COORDINATED = re.compile(r"\band (?:is |are )?$")


class _Place(NamedTuple):
    """The text of the sentence before a relation, and the objects that it names, in order."""

    before: str
    named: tuple[str, ...]


class Reading:
    """A caption's scene graph, read as a graph with these ids. ``ids`` are the graph's ids of the caption's objects."""

    def __init__(self, parse: Parse, graph: SceneGraph, ids: Mapping[str, str]) -> None:
        self.parse = parse
        self.graph = graph
        self.ids = ids

    def is_true(self) -> bool:
        """Return True if the graph implies all relations of the caption that the parser did not misread.

        The relation "with" is ignored: "a dog with a cat on a table" may say nothing about the two.
        """
        rest = [edge for edge in self._stated if edge not in self._implied]
        return all(
            self._misses_nearest(edge) or self._is_distributed(edge) or self._is_chained(edge)
            for edge in rest
        )

    @cached_property
    def _stated(self) -> list[Relation]:
        return [edge for edge in self.parse.graph.relations if edge.predicate != "with"]

    @cached_property
    def _implied(self) -> list[Relation]:
        return [edge for edge in self._stated if self._is_implied(edge)]

    def _is_implied(self, edge: Relation) -> bool:
        renamed = Relation(self.ids[edge.subject], edge.predicate, self.ids[edge.object])
        return is_restated(self.graph, renamed)

    def _find_place(self, edge: Relation) -> _Place:
        keys = edge.predicate, edge.subject, edge.object
        end = next((item.start for item in self.parse.mentions if item.atom_key[1:] == keys), 0)
        before = self.parse.caption[:end].rpartition(". ")[2]
        objects = (item for item in self.parse.mentions if item.kind == "object")
        named = sorted(
            (item.start, item.object) for item in objects if end - len(before) <= item.start < end
        )
        return _Place(before, tuple(key for _, key in named))

    def _misses_nearest(self, edge: Relation) -> bool:
        """Return True if the last object before the relation has it: "a dog and a girl wearing a coat"."""
        nearest = self._find_place(edge).named[-1:]
        return any(self._is_implied(replace(edge, subject=key)) for key in nearest)

    def _is_distributed(self, edge: Relation) -> bool:
        """Return True if a true relation was also read for the subject of the next clause.

        An example is the clock on a flag in "a clock is on a tower and a flag is above the tower".
        """
        others = [item for item in self._implied if replace(item, object=edge.object) == edge]
        next_clauses = (
            item for item in self._stated if self._find_place(item).named[-1:] == (edge.object,)
        )
        return bool(others) and any(
            self._is_implied(replace(item, subject=edge.object)) for item in next_clauses
        )

    def _is_chained(self, edge: Relation) -> bool:
        """Return True if the relation has the wrong end of a true one: Y for X in "X is behind Y and on Z".

        If X and Y can be exchanged in the true relation ("a cat next to a dog on a table"), the caption may state the
        swapped graph; then only "and" before the relation shows that X is meant.
        """
        place = self._find_place(edge)
        return any(
            self._is_implied(variant)
            for link in self._implied
            if _COORDINATED.search(place.before) or not entails([link], _reverse(link))
            for right, wrong in ((link.subject, link.object), (link.object, link.subject))
            if right in place.named
            for variant in _replace_end(edge, wrong, right)
        )


def is_restated(graph: SceneGraph, edge: Relation) -> bool:
    """Return True if a graph implies a relation, or has its ends and its verb ("partly covering" for "cover")."""
    same_ends = (
        other
        for other in graph.relations
        if (other.subject, other.object) == (edge.subject, edge.object)
    )
    return entails(graph.relations, edge) or any(
        verb_lemma(other.predicate.split()[-1]) == verb_lemma(edge.predicate) for other in same_ends
    )


def _reverse(edge: Relation) -> Relation:
    return Relation(edge.object, edge.predicate, edge.subject)


def _replace_end(edge: Relation, old: str, new: str) -> Iterator[Relation]:
    if edge.subject == old:
        yield replace(edge, subject=new)
    if edge.object == old:
        yield replace(edge, object=new)
