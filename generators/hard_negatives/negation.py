"""HN-Neg: captions that deny one atom, or all, of what is there.

Source: CREPE (arXiv:2212.07796), section 4.2 and appendix A.4. The paper's checks against G (no other black dog on a
building, no second pair of the same objects, no other object with the same attributes and relations) are one proof
here: whatever the caption's other words may mean in the image, the graph has what is denied
(generators/graphs/entailment.py).
Unlike the published set, a denial keeps the caption's case and punctuation, and does not assert what it denies.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from generators.captioner.captioner import Wording
from generators.graphs.entailment import Negated, proves_false
from generators.graphs.facts import ImageFacts
from generators.graphs.walks import redundant
from generators.hard_negatives.foils import Foil, HardNegative
from generators.schemas.scene_graph import SceneGraph


def negation_negatives(graph: SceneGraph, image: ImageFacts, wording: Wording, rng: Random) -> Iterator[HardNegative]:
    """Every denial of the caption that the image's graph proves false, in random order, each caption once."""
    denials = wording.deny()
    choices: list[Negated | None] = [*(None for _ in denials), *negations(graph)]
    rng.shuffle(choices)
    said = {wording.caption}
    for negated in choices:
        if negated is None:
            caption, foil = denials.pop(), Foil("negation", "", "not")
        elif proves_false(image, graph, negated):
            caption = wording.negate(negated)
            foil = Foil("negation", negated.text, f"{'no' if negated.kind == 'object' else 'not'} {negated.text}")
        else:
            continue
        if caption is not None and caption not in said:
            said.add(caption)
            yield HardNegative(caption, (foil,))


def negations(graph: SceneGraph) -> Iterator[Negated]:
    """Every atom of the graph, denied, where the rest still says something and tells its objects apart."""
    for item in graph.objects:
        yield from _speakable(graph, Negated("object", item.id, item.name))
        for text in item.attributes:
            yield from _speakable(graph, Negated("attribute", item.id, text))
    for edge in graph.relations:
        yield Negated("relation", edge.subject, edge.predicate, edge)


def _speakable(graph: SceneGraph, negated: Negated) -> Iterator[Negated]:
    rest = negated.rest(graph)
    if rest.objects and not redundant(rest):
        yield negated
