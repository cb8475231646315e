"""Random walks over a scene graph: subgraphs of exactly n atoms, each with the crop that shows it.

Source: CREPE (arXiv:2212.07796), section 3.3 and appendix A.3. A walk starts at a random object and adds compounds that
have at least one new atom. After a relation it continues from the new object, otherwise from the same one; when no
compound is left around the objects of the component it jumps to an object of another component. Walks that end short
are discarded.

Where the paper is silent:

* A component is exhausted when nothing in it fits any more: with one atom to go, no relation to a new object does.
* Attributes and relations are drawn with equal probability, then one of their kind; the other end of a relation is
  drawn before its predicate. Uniform draws over compounds would favour the relations of crowded images.
* A compound that restates the subgraph is not new: "a is left of b" rules out "b is right of a", and "a is on b" and
  "a is above b" rule out each other. Two objects are related in one direction only, and a second time only when nothing
  else is left. A "parked car" does not get "parked on a road", nor a "wooden table" the attribute "wood".
* "Redundant objects" are two objects of one name of which one has no attribute that the other lacks, or two of related
  names whose boxes nearly coincide: "a lamb and a lamb", "a lamb and a white lamb", "hair and black hair", "a man and a
  guy" in one place.
* Annotated objects and attributes that are not visible objects or attributes are omitted: "pluged", a "phone" office
  phone.
* Annotators describe a part of what they see: 26 attributes and 21 relations for 35 objects in Visual Genome. Their
  graphs have many components, and walks jump. A complete graph is one component, where no walk ever jumps. So each walk
  sees a share of the attributes and of the related pairs, drawn between ``visible`` and 1; with 1 this is A.3 itself.
* Each image has its own random stream for each n, so that an added image changes no walk of another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, reduce
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from generators.graphs.entailment import entails
from generators.language.grammar import is_descriptive, is_visible_object
from generators.language.inflection import noun_lemma
from generators.language.lexicon.attributes import may_mean_the_same
from generators.language.lexicon.nouns import may_name_the_same
from generators.language.lexicon.relations import verb_lemma
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

COMPLEXITIES = range(4, 13)
SAME_CROP_IOU = 0.75
"""Intersection over union at which two crops of one image and complexity count as one (A.3)."""
SAME_OBJECT_IOU = 0.5
"""Intersection over union at which two boxes with related names are one object, annotated twice."""

_WORDS = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


@cache
def abstract_modifiers() -> frozenset[str]:
    """Attribute words without visible content; abstract_modifiers.yaml lists them by the reason."""
    text = Path(__file__).with_name("abstract_modifiers.yaml").read_text("utf-8")
    return frozenset(word for words in yaml.safe_load(text).values() for word in words)


class Walk(NamedTuple):
    """A subgraph of an image's scene graph and the union of its objects' boxes."""

    graph: SceneGraph
    box: Box


def describable(graph: SceneGraph, sayable: Callable[[str], bool]) -> SceneGraph:
    """The part of a graph that a caption can describe.

    Omits objects without a box or with a name that is no visible object; abstract modifiers and attributes that do not
    describe objects; relations of an object to itself, repeated ones, and those whose predicate is not ``sayable``.
    """
    objects = tuple(
        SceneObject(item.id, item.name, tuple(dict.fromkeys(filter(_is_concrete, item.attributes))), item.box)
        for item in graph.objects
        if item.box is not None and _is_nameable(item.name)
    )
    ids = {item.id for item in objects}
    edges = (edge for edge in graph.relations if edge.subject != edge.object and {edge.subject, edge.object} <= ids)
    return SceneGraph(objects, tuple(dict.fromkeys(edge for edge in edges if sayable(edge.predicate))))


@cache
def _is_nameable(name: str) -> bool:
    modifiers = name.split()[:-1]
    return bool(_WORDS.fullmatch(name)) and abstract_modifiers().isdisjoint(modifiers) and is_visible_object(name)


@cache
def _is_concrete(attribute: str) -> bool:
    words = attribute.split()
    return bool(_WORDS.fullmatch(attribute)) and abstract_modifiers().isdisjoint(words) and is_descriptive(attribute)


def redundant(graph: SceneGraph) -> bool:
    """Whether name and attributes do not distinguish two objects of the graph, or two objects are one."""
    return any(_are_redundant(one, other) for one, other in combinations(graph.objects, 2))


def _are_redundant(one: SceneObject, other: SceneObject) -> bool:
    same_head, related = _compare_names(one.name, other.name)
    if related and one.box and other.box and one.box.intersection_over_union(other.box) >= SAME_OBJECT_IOU:
        return True
    mine, theirs = ({*item.name.split()[:-1], *item.attributes} for item in (one, other))
    return same_head and (mine <= theirs or theirs <= mine)


@lru_cache(maxsize=1 << 18)
def _compare_names(one: str, other: str) -> tuple[bool, bool]:
    """Whether two names end in the same noun, and whether they may name the same object."""
    mine, theirs = noun_lemma(one), noun_lemma(other)
    return mine.split()[-1] == theirs.split()[-1], may_name_the_same(mine, theirs)


def _restates(text: str, verbs: Iterable[str], attributes: Iterable[str]) -> bool:
    """Whether an attribute restates a relation of its object, or another attribute ("grey and gray")."""
    return verb_lemma(text) in verbs or any(
        may_mean_the_same(text, other) or not _lemmas(text).isdisjoint(_lemmas(other)) for other in attributes
    )


@cache
def _lemmas(text: str) -> frozenset[str]:
    """The lemmas of an attribute's words: "brick" and "made of bricks" have one in common."""
    return frozenset(noun_lemma(word) for word in text.split())


class _Walker:
    """The growing subgraph of one walk; ``attributes`` has its objects in the order in which they were added."""

    def __init__(self, graph: SceneGraph, size: int, rng: Random) -> None:
        self.graph, self.size, self.rng = graph, size, rng
        self.attributes: dict[str, list[str]] = {}
        self.relations: list[Relation] = []
        self.component: list[str] = []
        self.edges: dict[str, list[Relation]] = {item.id: [] for item in graph.objects}
        for edge in graph.relations:
            self.edges[edge.subject].append(edge)
            self.edges[edge.object].append(edge)

    @property
    def missing(self) -> int:
        """The number of atoms that are still to be added."""
        return self.size - len(self.attributes) - sum(map(len, self.attributes.values())) - len(self.relations)

    def run(self) -> SceneGraph | None:
        """The subgraph of exactly ``size`` atoms, or None if the walk ends short."""
        here = self.jump()
        while here is not None and self.missing:
            here = self.step(here) or self.jump()
        if here is None:
            return None
        items = ((self.graph.by_id[key], tuple(texts)) for key, texts in self.attributes.items())
        objects = tuple(SceneObject(item.id, item.name, texts, item.box) for item, texts in items)
        return SceneGraph(objects, tuple(self.relations))

    def jump(self) -> str | None:
        """Add a random object of a component that the walk has not visited; None if there is none."""
        components = _components(self.graph)
        fresh = [key for key, component in components.items() if self.attributes.keys().isdisjoint(component)]
        if not fresh:
            return None
        here = self.rng.choice(fresh)
        self.attributes[here] = []
        self.component = [here]
        return here

    def step(self, here: str) -> str | None:
        """Add a compound at ``here``, else at another object of this component; returns the object to continue from."""
        others = [key for key in self.component if key != here]
        self.rng.shuffle(others)
        for repeat in (False, True):
            for key in (here, *others):
                if (reached := self.add_at(key, repeat=repeat)) is not None:
                    return reached
        return None

    def add_at(self, here: str, *, repeat: bool) -> str | None:
        """Add a random compound of ``here``; with ``repeat``, a second relation between related objects."""
        verbs = {_verb(edge) for edge in self.relations if edge.subject == here}
        present = self.attributes[here]
        texts = [text for text in self.graph.by_id[here].attributes if not _restates(text, verbs, present)]
        edges = self.new_relations(here, repeat=repeat)
        if texts and not repeat and (not edges or self.rng.random() < 0.5):
            present.append(self.rng.choice(texts))
            return here
        if not edges:
            return None
        far = self.rng.choice(sorted(edges))
        self.relations.append(self.rng.choice(edges[far]))
        if far in self.attributes:
            return here
        self.attributes[far] = []
        self.component.append(far)
        return far

    def new_relations(self, here: str, *, repeat: bool) -> dict[str, list[Relation]]:
        """Relations at ``here`` that fit and state something new, by the object at the other end."""
        related = {(edge.subject, edge.object) for edge in self.relations}
        by_end: dict[str, list[Relation]] = {}
        for edge in self.edges[here]:
            far = edge.object if edge.subject == here else edge.subject
            again = (edge.subject, edge.object) in related
            fits = self.missing >= (1 if far in self.attributes else 2)
            if not fits or again != repeat or (edge.object, edge.subject) in related:
                continue
            if _verb(edge) in map(verb_lemma, self.attributes.get(edge.subject, ())):
                continue
            if again and (entails(self.relations, edge) or any(entails([edge], old) for old in self.relations)):
                continue
            by_end.setdefault(far, []).append(edge)
        return by_end


def _verb(edge: Relation) -> str:
    """The lemma of the first word of a relation, verb or not."""
    return verb_lemma(edge.predicate.split()[0])


def _components(graph: SceneGraph) -> dict[str, frozenset[str]]:
    """Each object's connected component."""
    components = {item.id: frozenset({item.id}) for item in graph.objects}
    for edge in graph.relations:
        if components[edge.subject] is not components[edge.object]:
            joint = components[edge.subject] | components[edge.object]
            components |= dict.fromkeys(joint, joint)
    return components


def walk(graph: SceneGraph, size: int, rng: Random) -> SceneGraph | None:
    """One random walk of exactly ``size`` atoms, or None if it ends short (A.3)."""
    return _Walker(graph, size, rng).run()


def walks(
    graph: SceneGraph,
    size: int,
    *,
    key: str,
    visible: float,
    attempts: int,
    limit: int,
    fault: Callable[[Box], str | None],
    dropped: Counter[str],
) -> Iterator[Walk]:
    """Up to ``limit`` walks of ``size`` atoms in one image, with different crops that have no ``fault``.

    ``graph`` is :func:`describable`; ``key`` identifies image and seed, and decides all draws. ``dropped`` counts the
    failed attempts by reason.
    """
    rng = Random(f"{key}:{size}")
    if graph.complexity < size:
        dropped["graph has too few atoms"] += 1
        return
    boxes: list[Box] = []
    for _ in range(attempts):
        if len(boxes) == limit:
            return
        subgraph = walk(_thinned(graph, rng.uniform(visible, 1.0), rng), size, rng)
        if subgraph is None:
            dropped["walk ended short"] += 1
            continue
        if redundant(subgraph):
            dropped["redundant objects"] += 1
            continue
        box = reduce(Box.union, [item.box for item in subgraph.objects if item.box])
        if reason := fault(box):
            dropped[reason] += 1
        elif any(box.intersection_over_union(other) >= SAME_CROP_IOU for other in boxes):
            dropped["crop overlaps an earlier one"] += 1
        else:
            boxes.append(box)
            yield Walk(subgraph, box)


def _thinned(graph: SceneGraph, share: float, rng: Random) -> SceneGraph:
    """The graph with a random share of its attributes and of its related pairs."""
    objects = tuple(
        SceneObject(item.id, item.name, tuple(text for text in item.attributes if rng.random() < share), item.box)
        for item in graph.objects
    )
    pairs = dict.fromkeys(frozenset((edge.subject, edge.object)) for edge in graph.relations)
    seen = {pair for pair in pairs if rng.random() < share}
    relations = tuple(edge for edge in graph.relations if frozenset((edge.subject, edge.object)) in seen)
    return SceneGraph(objects, relations)
