"""HN-Neg without the giveaway: the true caption carries a denial, too, and only the picture tells which is true.

Ours. In CREPE's HN-Neg (arXiv:2212.07796, section 4.2) whatever holds "not" or "no" is the negative: a reader without
eyes gets all of it right. Here each of the six captions denies exactly one thing. A negative denies an atom that is
there ("the vase is not green"). The true caption denies, in an atom's place, what that atom rules out ("the vase is not
blue", of a green one): its green goes unsaid, as in a negative, so it asserts n - 1 atoms and denies a contrary of the
n-th. Which atom it is about is drawn from those that a negative could be about, and its caption is worded by the
same forms, so that kind, number and place of the denials are distributed alike; and what is denied is drawn by the
frequency of words in the source (generators/hard_negatives/atom.py).

What may be denied truthfully is not what a graph is silent about, but what it contradicts: another value of a kind of
attribute that the thing is annotated with, a relation that excludes the one annotated, and, objects being taken as
complete as everywhere (generators/graphs/facts.py), a thing of which none of the name or its kin is annotated, or
named by one of the image's region phrases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import NamedTuple

from generators.captioner import template
from generators.captioner.captioner import Wording
from generators.graphs.entailment import Negated, counterpart, proves_false
from generators.graphs.facts import ImageFacts, image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.atom import Edit, first_mentions, foil_edits
from generators.hard_negatives.foils import Foil, HardNegative
from generators.hard_negatives.negation import negations
from generators.schemas.scene_graph import Mention, SceneGraph


class Denial(NamedTuple):
    """A caption that denies one thing; ``text`` is that denial ("not green", "no cup")."""

    caption: str
    text: str


class Place(NamedTuple):
    """An atom, or the whole caption in one form: ``false`` denies it, ``true`` what it rules out."""

    false: Denial
    true: Denial


class Balanced(NamedTuple):
    """A true caption with a denial in it, and all its negatives; each foil names both denials."""

    caption: str
    negatives: tuple[HardNegative, ...]


def balanced_negation(
    graph: SceneGraph, image: ImageFacts, wording: Wording, vocabulary: Vocabulary, rng: Random
) -> Balanced | None:
    """The true caption and every negative, in random order; None where no atom can be denied both ways."""
    places = list({place.false.caption: place for place in _places(graph, image, wording, vocabulary, rng)}.values())
    if not places:
        return None
    truth = rng.choice(places).true
    denials = [place.false for place in rng.sample(places, len(places)) if place.false.caption != truth.caption]
    foils = [Foil("negation", truth.text, denial.text) for denial in denials]
    return Balanced(
        truth.caption,
        tuple(HardNegative(denial.caption, (foil,)) for denial, foil in zip(denials, foils, strict=True)),
    )


def _places(
    graph: SceneGraph, image: ImageFacts, wording: Wording, vocabulary: Vocabulary, rng: Random
) -> Iterator[Place]:
    mentions = {_atom(mention): mention for mention in first_mentions(wording.mentions)}
    everything: list[Edit] = []
    for negated in negations(graph):
        mention = mentions.get(
            (negated.kind, negated.text, negated.object, negated.relation and negated.relation.object)
        )
        if mention is None:
            continue
        edits = foil_edits(mention, graph, image, wording, vocabulary, rng)
        everything += edits[:1]
        place = _atom_place(graph, wording, negated, edits)
        if place is not None and proves_false(image, graph, negated):
            yield place
    if everything and not _denied_in_parts(graph):
        _, edited = rng.choice(everything)
        for false, true in zip(wording.deny(), wording.deny(edited), strict=False):
            yield Place(Denial(false, "not"), Denial(true, "not"))


def _denied_in_parts(graph: SceneGraph) -> bool:
    """Whether the template denies the graph part by part: "no cup on table and no vase" is false if one is there."""
    related = {end for edge in graph.relations for end in (edge.subject, edge.object)}
    parts = bool(related) + sum(item.id not in related for item in graph.objects)
    return graph.complexity == template.SIZE and parts > 1


def _atom(mention: Mention) -> tuple[str, str, str, str | None]:
    return mention.kind, mention.text, mention.object, mention.target


def _atom_place(graph: SceneGraph, wording: Wording, negated: Negated, edits: list[Edit]) -> Place | None:
    """The atom denied, and the first of its foils that the rest of the caption leaves open."""
    rest = image_facts(_without_boxes(negated.rest(graph)))
    false = wording.negate(negated)
    for foil, edited in edits:
        if negated.kind != "object" and rest.is_false(_claim(counterpart(negated, graph, edited), edited)):
            continue  # "left of a table and not right of it" is true whatever the picture shows
        true = wording.negate(negated, edited)
        if false is not None and true is not None:
            return Place(
                Denial(false, _denied(negated.kind, negated.text)), Denial(true, _denied(foil.type, foil.replacement))
            )
    return None


def _denied(kind: str, text: str) -> str:
    return f"{'no' if kind == 'object' else 'not'} {text}"


def _claim(negated: Negated, graph: SceneGraph) -> SceneGraph:
    """What an attribute or relation alone says: "a blue vase", "a cup under a table"."""
    edge = negated.relation
    if edge is None:
        return SceneGraph((replace(graph.by_id[negated.object], attributes=(negated.text,), box=None),))
    ends = (graph.by_id[edge.subject], graph.by_id[edge.object])
    return SceneGraph(tuple(replace(end, attributes=(), box=None) for end in ends), (edge,))


def _without_boxes(graph: SceneGraph) -> SceneGraph:
    return SceneGraph(tuple(replace(item, box=None) for item in graph.objects), graph.relations)
