"""Random walks over a scene graph: subgraphs of exactly n atoms, each with the crop that shows them.

Source: CREPE (arXiv:2212.07796), section 3.3 and appendix A.3. A walk starts at a random object and adds compounds that
have at least one new atom. After a relation the walk continues from the new object, otherwise from the same object.
When no compound is left in the connected component, the walk jumps to an object of another component. Walks that end
with fewer than n atoms are discarded.

Where the paper is silent:

- A component is exhausted when no compound in it fits: if one atom is missing, a relation to a new object does not fit.
- Attributes and relations are drawn with equal probability. For a relation, the object at its other end is drawn before
  its predicate. Uniform draws over compounds would favour the relations of crowded images.
- A compound that restates the subgraph is not new: "a is left of b" rules out "b is right of a", and "a is on b" and "a
  is above b" rule out each other. Two objects are related in one direction only, and get a second relation only when
  nothing else is left. A "parked car" does not get "parked on a road", and a "wooden table" does not get the attribute
  "wood".
- Two objects are "redundant" if they have one name and one of them has no attribute that the other lacks ("a lamb and a
  white lamb", "hair and black hair"), or if they have related names and their boxes nearly coincide ("a man and a
  guy").
- Annotated objects and attributes that are not visible are omitted, such as the object "pluged" and the attribute
  "phone".
- Annotators describe only a part of an image: 26 attributes and 21 relations for 35 objects in Visual Genome. Their
  graphs have many components, so that walks jump. A complete graph has one component, in which a walk never jumps.
  Therefore each walk uses a random share of the attributes and related pairs, drawn between ``visible`` and 1. With
  ``visible`` = 1, the procedure is that of A.3.
- Each image has its own random stream for each n, so that adding an image does not change the walks of other images.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, lru_cache, reduce
from itertools import combinations
from random import Random
from typing import NamedTuple

from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.generators.graphs.entailment import entails
from compeval.generators.language.grammar import is_descriptive, is_visible_object
from compeval.generators.language.inflection import lemmatise_noun
from compeval.generators.language.lexicon import load_lexicon
from compeval.generators.language.lexicon.attributes import may_hold_together
from compeval.generators.language.lexicon.nouns import may_name_same_object
from compeval.generators.language.lexicon.relations import verb_lemma

COMPLEXITIES = range(4, 13)
SAME_CROP_IOU = 0.75
"""From this intersection over union, two crops of one image and complexity count as the same (section 4.2)."""
SAME_CROP = "crop overlaps an earlier one"
"""Reason in the counts of walks."""
SAME_OBJECT_IOU = 0.5
"""Two boxes with related names count as one object, annotated twice, from this intersection over union."""

_WORDS = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


@cache
def load_abstract_modifiers() -> frozenset[str]:
    """Return the attributes without visible content; abstract_modifiers.yaml gives the reason for each."""
    return frozenset(
        word for words in load_lexicon("abstract_modifiers").values() for word in words
    )


class Walk(NamedTuple):
    """A subgraph of an image's scene graph and the union of its objects' boxes."""

    graph: SceneGraph
    box: Box


def select_describable(graph: SceneGraph, is_supported: Callable[[str], bool]) -> SceneGraph:
    """Return the part of a graph that a caption can describe.

    The result omits objects without a box and objects that are not visible; abstract attributes and attributes that do
    not describe objects; and relations of an object to itself, duplicate relations, and relations whose predicate is
    not supported.
    """
    return select_atoms(graph, _is_nameable, _is_concrete, is_supported)


def select_atoms(
    graph: SceneGraph,
    keeps_name: Callable[[str], bool] = lambda name: True,
    keeps_attribute: Callable[[str], bool] = lambda attribute: True,
    keeps_predicate: Callable[[str], bool] = lambda predicate: True,
) -> SceneGraph:
    """Return the graph without duplicates, without other texts, objects without a box, and reflexive relations."""
    objects = tuple(
        replace(item, attributes=tuple(dict.fromkeys(filter(keeps_attribute, item.attributes))))
        for item in graph.objects
        if item.box is not None and keeps_name(item.name)
    )
    ids = {item.id for item in objects}
    edges = (
        edge
        for edge in graph.relations
        if edge.subject != edge.object and {edge.subject, edge.object} <= ids
    )
    return SceneGraph(
        objects, tuple(dict.fromkeys(edge for edge in edges if keeps_predicate(edge.predicate)))
    )


@cache
def _is_nameable(name: str) -> bool:
    modifiers = name.split()[:-1]
    return (
        bool(_WORDS.fullmatch(name))
        and load_abstract_modifiers().isdisjoint(modifiers)
        and is_visible_object(name)
    )


@cache
def _is_concrete(attribute: str) -> bool:
    is_abstract = not load_abstract_modifiers().isdisjoint(attribute.split())
    return bool(_WORDS.fullmatch(attribute)) and not is_abstract and is_descriptive(attribute)


def is_redundant(graph: SceneGraph) -> bool:
    """Return True if two objects of the graph have indistinguishable names and attributes, or are the same object."""
    return any(_are_redundant(first, second) for first, second in combinations(graph.objects, 2))


def _are_redundant(first: SceneObject, second: SceneObject) -> bool:
    have_same_noun, are_related = _compare_names(first.name, second.name)
    if (
        are_related
        and first.box
        and second.box
        and first.box.intersection_over_union(second.box) >= SAME_OBJECT_IOU
    ):
        return True
    first_words, second_words = (
        {*item.name.split()[:-1], *item.attributes} for item in (first, second)
    )
    return have_same_noun and (first_words <= second_words or second_words <= first_words)


@lru_cache(maxsize=1 << 16)
def _compare_names(first: str, second: str) -> tuple[bool, bool]:
    """Return two booleans: the names end in the same noun, and they may name the same object."""
    first_lemma = lemmatise_noun(first)
    second_lemma = lemmatise_noun(second)
    return first_lemma.split()[-1] == second_lemma.split()[-1], may_name_same_object(
        first_lemma, second_lemma
    )


def _is_restated(text: str, verbs: Iterable[str], attributes: Iterable[str]) -> bool:
    """Return True if an attribute restates a relation of its object, or another attribute ("grey" and "gray")."""
    return verb_lemma(text) in verbs or any(
        may_hold_together(text, other)
        or not _lemmatise_words(text).isdisjoint(_lemmatise_words(other))
        for other in attributes
    )


@cache
def _lemmatise_words(text: str) -> frozenset[str]:
    """Return the lemmas of an attribute's words: "brick" and "made of bricks" share one."""
    return frozenset(lemmatise_noun(word) for word in text.split())


class GrowingSubgraph:
    """The subgraph of a walk.

    ``attributes`` maps the ids of the objects, in the order of their addition, to their attributes.
    """

    def __init__(self, graph: SceneGraph, size: int) -> None:
        self.graph = graph
        self.size = size
        self.attributes: dict[str, list[str]] = {}
        self.relations: list[Relation] = []
        self.edges: dict[str, list[Relation]] = {item.id: [] for item in graph.objects}
        for edge in graph.relations:
            self.edges[edge.subject].append(edge)
            self.edges[edge.object].append(edge)

    @property
    def missing(self) -> int:
        """The number of atoms that are still to be added."""
        return (
            self.size
            - len(self.attributes)
            - sum(map(len, self.attributes.values()))
            - len(self.relations)
        )

    def add_relation(self, here: str, edge: Relation) -> str:
        """Add a relation and return the object to continue from: the other end if it is new, otherwise ``here``."""
        self.relations.append(edge)
        other_end = edge.object if edge.subject == here else edge.subject
        if other_end in self.attributes:
            return here
        self.attributes[other_end] = []
        return other_end

    def build(self) -> SceneGraph:
        nodes = ((self.graph.by_id[key], texts) for key, texts in self.attributes.items())
        objects = (SceneObject(item.id, item.name, tuple(texts), item.box) for item, texts in nodes)
        return SceneGraph(tuple(objects), tuple(self.relations))


class _Walker(GrowingSubgraph):
    """A walk by our rules. ``component`` are its objects in the component that it is in."""

    def __init__(self, graph: SceneGraph, size: int, rng: Random) -> None:
        super().__init__(graph, size)
        self.rng = rng
        self.component: list[str] = []

    def run(self) -> SceneGraph | None:
        """Return the subgraph of exactly ``size`` atoms, or None if the walk ends with fewer atoms."""
        here = self.jump()
        while here is not None and self.missing:
            here = self.step(here) or self.jump()
        return None if here is None else self.build()

    def jump(self) -> str | None:
        """Add a random object of an unvisited component and return it, or return None if there is no such component."""
        components = find_components(self.graph)
        unvisited = [
            key
            for key, component in components.items()
            if self.attributes.keys().isdisjoint(component)
        ]
        if not unvisited:
            return None
        here = self.rng.choice(unvisited)
        self.attributes[here] = []
        self.component = [here]
        return here

    def step(self, here: str) -> str | None:
        """Add a compound at ``here`` or elsewhere in the component.

        Returns the object to continue from, or None if no compound fits.
        """
        others = [key for key in self.component if key != here]
        self.rng.shuffle(others)
        for repeat in (False, True):
            for key in (here, *others):
                if (reached := self.add_at(key, repeat=repeat)) is not None:
                    return reached
        return None

    def add_at(self, here: str, *, repeat: bool) -> str | None:
        """Add a random compound of ``here`` and return the object to continue from, or None if no compound fits.

        With ``repeat``, only second relations between related objects are added.
        """
        verbs = {_lemmatise_first_word(edge) for edge in self.relations if edge.subject == here}
        present = self.attributes[here]
        texts = [
            text
            for text in self.graph.by_id[here].attributes
            if not _is_restated(text, verbs, present)
        ]
        edges = self.find_new_relations(here, repeat=repeat)
        if texts and not repeat and (not edges or self.rng.random() < 0.5):
            present.append(self.rng.choice(texts))
            return here
        if not edges:
            return None
        other_end = self.rng.choice(sorted(edges))
        reached = self.add_relation(here, self.rng.choice(edges[other_end]))
        if reached != here:
            self.component.append(reached)
        return reached

    def find_new_relations(self, here: str, *, repeat: bool) -> dict[str, list[Relation]]:
        """Return the relations at ``here`` that fit and are new, by the object at their other end."""
        related = {(edge.subject, edge.object) for edge in self.relations}
        missing = self.missing
        by_end: dict[str, list[Relation]] = {}
        for edge in self.edges[here]:
            other_end = edge.object if edge.subject == here else edge.subject
            is_repeated = (edge.subject, edge.object) in related
            fits = missing >= (1 if other_end in self.attributes else 2)
            if not fits or is_repeated != repeat or (edge.object, edge.subject) in related:
                continue
            attributes = self.attributes.get(edge.subject)
            if attributes and _lemmatise_first_word(edge) in map(verb_lemma, attributes):
                continue
            if is_repeated and (
                entails(self.relations, edge) or any(entails([edge], old) for old in self.relations)
            ):
                continue
            by_end.setdefault(other_end, []).append(edge)
        return by_end


def _lemmatise_first_word(edge: Relation) -> str:
    """Return the lemma of the first word of a relation, even if it is not a verb."""
    return verb_lemma(edge.predicate.split()[0])


def find_components(graph: SceneGraph) -> dict[str, frozenset[str]]:
    """Return the connected component of each object."""
    components = {item.id: frozenset({item.id}) for item in graph.objects}
    for edge in graph.relations:
        if components[edge.subject] is not components[edge.object]:
            joint = components[edge.subject] | components[edge.object]
            components |= dict.fromkeys(joint, joint)
    return components


def random_walk(graph: SceneGraph, size: int, rng: Random) -> SceneGraph | None:
    """Return a random walk of exactly ``size`` atoms, or None if the walk ends with fewer atoms (A.3)."""
    return _Walker(graph, size, rng).run()


def sample_walks(
    graph: SceneGraph,
    size: int,
    *,
    key: str,
    visible: float,
    attempts: int,
    limit: int,
    fault: Callable[[Walk], str | None],
    dropped: Counter[str],
    draw: Callable[[SceneGraph, int, Random], SceneGraph | None] = random_walk,
    repeats_object: Callable[[SceneGraph], bool] = is_redundant,
) -> Iterator[Walk]:
    """Yield up to ``limit`` walks of ``size`` atoms in one image, with different crops and without a ``fault``.

    ``graph`` is the result of :func:`select_describable`. All random draws depend on ``key``, which identifies the seed
    and the image. ``dropped`` counts the failed attempts by reason. ``draw`` draws a walk, and ``repeats_object``
    returns True if it has redundant objects.
    """
    rng = Random(f"{key}:{size}")
    if graph.complexity < size:
        dropped["graph has too few atoms"] += 1
        return
    boxes: list[Box] = []
    for _ in range(attempts):
        if len(boxes) == limit:
            return
        subgraph = draw(_drop_at_random(graph, rng.uniform(visible, 1.0), rng), size, rng)
        if subgraph is None or repeats_object(subgraph):
            dropped["redundant objects" if subgraph else "walk ended short"] += 1
            continue
        walk = Walk(
            subgraph, reduce(Box.union, [item.box for item in subgraph.objects if item.box])
        )
        if reason := SAME_CROP if is_same_crop(walk.box, boxes) else fault(walk):
            dropped[reason] += 1
        else:
            boxes.append(walk.box)
            yield walk


def is_same_crop(box: Box, others: Iterable[Box]) -> bool:
    """Return True if a crop counts as the same as one of the others, which are of the same image and complexity."""
    return any(box.intersection_over_union(other) >= SAME_CROP_IOU for other in others)


def _drop_at_random(graph: SceneGraph, share: float, rng: Random) -> SceneGraph:
    """Return the graph with a random share of its attributes and of its related pairs."""
    objects = tuple(
        SceneObject(
            item.id,
            item.name,
            tuple(text for text in item.attributes if rng.random() < share),
            item.box,
        )
        for item in graph.objects
    )
    pairs = dict.fromkeys(frozenset((edge.subject, edge.object)) for edge in graph.relations)
    kept_pairs = {pair for pair in pairs if rng.random() < share}
    relations = tuple(
        edge for edge in graph.relations if frozenset((edge.subject, edge.object)) in kept_pairs
    )
    return SceneGraph(objects, relations)
