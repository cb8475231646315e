"""Random walks over a scene graph: subgraphs of exactly n atoms, each with the crop that shows it.

Source: CREPE (arXiv:2212.07796), section 3.3 and appendix A.3. A walk starts at a random object and adds compounds that
hold at least one new atom; after a relation it goes on from the object that came in, else from where it stands; when
nothing around the objects of the component is left it jumps to an object of another one. Walks that end short are
discarded.

Made precise here, where the paper is silent:

* A component is exhausted when nothing is left in it that fits: with one atom to go, no relation to a new object does.
* Attributes and relations are drawn alike often, then one of their kind; a relation's other end is drawn before its
  predicate. Uniform draws over compounds would favour the relations of crowded images.
* A compound that restates what the subgraph says is not new: "a is left of b" leaves no "b is right of a", and "a is on
  b" no "a is above b" nor the other way round. Two objects are related in one direction only, and a second time only
  when nothing else is left.
  Nor does a "parked car" get "parked on a road", or a "wooden table" the attribute "wood".
* "Redundant objects" are two of the same name of which one has no attribute that the other lacks, or two of kindred
  names whose boxes are nearly one: "a lamb and a lamb", "a lamb and a white lamb", "hair and black hair", "a man and a
  guy" on one spot.
* What annotators put down as objects and attributes that are none is left out: "pluged", a "phone" office phone.
* People tell some of what they see: 26 attributes and 21 relations for 35 objects in Visual Genome. Their graphs fall
  apart, and walks jump. A graph with everything in it is one component, where no walk ever jumps. So each walk sees a
  share of the attributes and of the related pairs, drawn between ``visible`` and 1; at 1 it is A.3 to the letter.
* Each image has its own random stream for each n, so that adding an image changes no other's walks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib import resources
from itertools import combinations
from random import Random
from typing import NamedTuple

import yaml

from generators.graphs.entailment import entails
from generators.language.grammar import is_quality, is_thing
from generators.language.inflection import noun_lemma
from generators.language.lexicon.attributes import may_mean_the_same
from generators.language.lexicon.nouns import may_name_the_same
from generators.language.lexicon.relations import verb_lemma
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

COMPLEXITIES = range(4, 13)
SAME_CROP = 0.75
"""Intersection over union from which two crops of one image and complexity are one (A.3)."""
SAME_THING = 0.5
"""Intersection over union from which two boxes of one name are one thing, annotated twice."""

_WORDS = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


@cache
def abstract_modifiers() -> frozenset[str]:
    """Attribute words without content; abstract_modifiers.yaml lists them by the reason to leave them out."""
    text = resources.files("generators.graphs").joinpath("abstract_modifiers.yaml").read_text("utf-8")
    return frozenset(word for words in yaml.safe_load(text).values() for word in words)


class Walk(NamedTuple):
    """A subgraph of an image's scene graph and the union of its objects' boxes."""

    graph: SceneGraph
    box: Box


def describable(graph: SceneGraph, sayable: Callable[[str], bool]) -> SceneGraph:
    """The part of a graph that a caption can be about.

    Goes without: objects that have no box or whose name is no thing to see; abstract modifiers and attributes that
    cannot be said of a thing; relations of an object to itself, repeated ones, and those whose predicate is not
    ``sayable``.
    """
    objects = tuple(
        SceneObject(item.id, item.name, tuple(dict.fromkeys(filter(_is_concrete, item.attributes))), item.box)
        for item in graph.objects
        if item.box is not None and _is_nameable(item.name)
    )
    kept = {item.id for item in objects}
    relations = dict.fromkeys(
        edge
        for edge in graph.relations
        if edge.subject != edge.object and {edge.subject, edge.object} <= kept and sayable(edge.predicate)
    )
    return SceneGraph(objects, tuple(relations))


@cache
def _is_nameable(name: str) -> bool:
    return bool(_WORDS.fullmatch(name)) and abstract_modifiers().isdisjoint(name.split()[:-1]) and is_thing(name)


@cache
def _is_concrete(attribute: str) -> bool:
    if not _WORDS.fullmatch(attribute) or not abstract_modifiers().isdisjoint(attribute.split()):
        return False
    return is_quality(attribute)


def redundant(graph: SceneGraph) -> bool:
    """Whether two objects of the graph cannot be told apart by name and attributes, or are one thing twice."""
    return any(_repeat(one, other) for one, other in combinations(graph.objects, 2))


def _repeat(one: SceneObject, other: SceneObject) -> bool:
    same_head, kindred = _kinship(one.name, other.name)
    if kindred and one.box and other.box and one.box.intersection_over_union(other.box) >= SAME_THING:
        return True
    if not same_head:
        return False
    mine, theirs = ({*item.name.split()[:-1], *item.attributes} for item in (one, other))
    return mine <= theirs or theirs <= mine


@lru_cache(maxsize=1 << 18)
def _kinship(one: str, other: str) -> tuple[bool, bool]:
    """Whether two names end in the same noun, and whether they may name the same thing."""
    mine, theirs = noun_lemma(one), noun_lemma(other)
    return mine.split()[-1] == theirs.split()[-1], may_name_the_same(mine, theirs)


def _restates(text: str, verbs: Iterable[str], attributes: Iterable[str]) -> bool:
    """Whether an attribute says no more than the relations of its object, or its other attributes: "grey and gray"."""
    return verb_lemma(text) in verbs or any(
        may_mean_the_same(text, other) or not _lemmas(text).isdisjoint(_lemmas(other)) for other in attributes
    )


@cache
def _lemmas(text: str) -> frozenset[str]:
    """The words of an attribute: "brick" and "made of bricks" have one in common."""
    return frozenset(noun_lemma(word) for word in text.split())


class _Walker:
    """The subgraph of one walk while it grows. ``order`` keeps the objects as they came in."""

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
    def left(self) -> int:
        """Atoms that are still to be added."""
        return self.size - len(self.attributes) - sum(map(len, self.attributes.values())) - len(self.relations)

    def run(self) -> SceneGraph | None:
        """The subgraph of exactly ``size`` atoms, or None when the walk ends short."""
        here = self.jump()
        while here is not None and self.left:
            here = self.step(here) or self.jump()
        if here is None:
            return None
        return SceneGraph(
            tuple(
                SceneObject(key, self.graph.by_id[key].name, tuple(values), self.graph.by_id[key].box)
                for key, values in self.attributes.items()
            ),
            tuple(self.relations),
        )

    def jump(self) -> str | None:
        """A random object of a component that the walk has not been in, or None."""
        components = _components(self.graph)
        fresh = [key for key, component in components.items() if self.attributes.keys().isdisjoint(component)]
        if not fresh:
            return None
        here = self.rng.choice(fresh)
        self.attributes[here] = []
        self.component = [here]
        return here

    def step(self, here: str) -> str | None:
        """Add a compound at ``here``, else at another object of this component; gives the object to go on from."""
        others = [key for key in self.component if key != here]
        self.rng.shuffle(others)
        for key in (here, *others):
            reached = self.add_at(key, repeat=False)
            if reached is not None:
                return reached
        for key in (here, *others):
            reached = self.add_at(key, repeat=True)
            if reached is not None:
                return reached
        return None

    def add_at(self, here: str, *, repeat: bool) -> str | None:
        """Add a random compound that ``here`` is part of; ``repeat`` asks for a second relation of related objects."""
        verbs = {_verb(edge) for edge in self.relations if edge.subject == here}
        known = self.attributes[here]
        texts = [text for text in self.graph.by_id[here].attributes if not _restates(text, verbs, known)]
        edges = self.new_relations(here, repeat=repeat)
        if texts and not repeat and (not edges or self.rng.random() < 0.5):
            self.attributes[here].append(self.rng.choice(texts))
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
        """Relations at ``here`` that fit and say something new, by the object at the other end."""
        related = {(edge.subject, edge.object) for edge in self.relations}
        found: dict[str, list[Relation]] = {}
        for edge in self.edges[here]:
            far = edge.object if edge.subject == here else edge.subject
            again = (edge.subject, edge.object) in related
            fits = self.left >= (1 if far in self.attributes else 2)
            if not fits or again != repeat or (edge.object, edge.subject) in related:
                continue
            if _verb(edge) in map(verb_lemma, self.attributes.get(edge.subject, ())):
                continue
            if again and (entails(self.relations, edge) or any(entails([edge], old) for old in self.relations)):
                continue
            found.setdefault(far, []).append(edge)
        return found


def _verb(edge: Relation) -> str:
    """The lemma of the first word of a relation, a verb or not."""
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
    """One random walk of exactly ``size`` atoms, or None when it ends short (A.3)."""
    return _Walker(graph, size, rng).run()


def walks(
    graph: SceneGraph,
    size: int,
    *,
    key: str,
    visible: float,
    attempts: int,
    keep: int,
    fault: Callable[[Box], str | None],
    dropped: Counter[str],
) -> Iterator[Walk]:
    """Up to ``keep`` walks of ``size`` atoms in one image whose crops differ and have no ``fault``.

    ``graph`` is what :func:`describable` left; ``key`` names the image and the seed, so it alone decides the draws.
    ``dropped`` counts the attempts that came to nothing, by reason.
    """
    rng = Random(f"{key}:{size}")
    if graph.complexity < size:
        dropped["graph has too few atoms"] += 1
        return
    boxes: list[Box] = []
    for _ in range(attempts):
        if len(boxes) == keep:
            return
        found = walk(_thinned(graph, rng.uniform(visible, 1.0), rng), size, rng)
        if found is None:
            dropped["walk ended short"] += 1
            continue
        if redundant(found):
            dropped["redundant objects"] += 1
            continue
        box = _union(found)
        if reason := fault(box):
            dropped[reason] += 1
        elif any(box.intersection_over_union(other) >= SAME_CROP for other in boxes):
            dropped["crop overlaps an earlier one"] += 1
        else:
            boxes.append(box)
            yield Walk(found, box)


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


def _union(graph: SceneGraph) -> Box:
    boxes = [item.box for item in graph.objects if item.box is not None]
    assert len(boxes) == len(graph.objects), "a described graph has a box for every object"
    box = boxes[0]
    for other in boxes[1:]:
        box = box.union(other)
    return box
