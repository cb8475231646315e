"""Every kind of denial of CREPE's appendix A.4, as properties of random subgraphs of four to twelve atoms."""

import re
from collections import Counter
from random import Random

from hypothesis import assume, given, settings

from generators.captioner.captioner import GrammarCaptioner, RealisedWording, Request
from generators.graphs.entailment import proves_false
from generators.graphs.facts import image_facts
from generators.graphs.walks import redundant
from generators.hard_negatives.negation import negation_negatives, negations
from generators.schemas.scene_graph import Atom, SceneGraph, SceneObject
from tests.generators.captioner.test_realiser import subgraphs

DENIAL = re.compile(r"\b(?:no|not)\b")


def worded(graph: SceneGraph) -> RealisedWording:
    (wording,) = GrammarCaptioner().word([Request(graph, "0")])
    assert isinstance(wording, RealisedWording)
    return wording


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_every_atom_can_be_denied_and_the_rest_is_still_said(graph: SceneGraph) -> None:
    kinds = Counter(negated.kind for negated in negations(graph))
    assert kinds["relation"] == len(graph.relations)
    for negated in negations(graph):
        rest = negated.rest(graph)
        gone = Counter(graph.atoms) - Counter(rest.atoms)
        assert gone[Atom(negated.kind, negated.text)] == 1
        if negated.kind == "object":
            item = graph.by_id[negated.object]
            hanging = sum(negated.object in (edge.subject, edge.object) for edge in graph.relations)
            assert gone.total() == 1 + len(item.attributes) + hanging
        else:
            assert gone.total() == 1
        assert rest.objects
        assert not redundant(rest)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_a_denial_differs_from_the_caption_and_keeps_its_style(graph: SceneGraph) -> None:
    wording = worded(graph)
    found = list(negation_negatives(graph, image_facts(graph), wording, Random(0)))
    captions = [negative.caption for negative in found]
    assert len({wording.caption, *captions}) == len(captions) + 1
    assert not DENIAL.search(wording.caption)
    for negative in found:
        assert len(DENIAL.findall(negative.caption)) >= 1
        assert negative.caption == " ".join(negative.caption.lower().split())
        assert not negative.caption.endswith(".")
        assert [foil.type for foil in negative.foils] == ["negation"]
    whole = [negative.caption for negative in found if not negative.foils[0].original]
    assert set(whole) == set(wording.deny())


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_what_another_object_may_make_true_is_not_denied(graph: SceneGraph) -> None:
    """A second graph beside the first, with each object's look once more: it may lack whatever is denied."""
    denied = [negated for negated in negations(graph) if negated.kind != "object"]
    assume(denied)
    doubles = tuple(SceneObject(f"{item.id}+", item.name, (), item.box) for item in graph.objects)
    facts = image_facts(SceneGraph((*graph.objects, *(SceneObject(d.id, d.name) for d in doubles)), graph.relations))
    assert not any(proves_false(facts, graph, negated) for negated in denied)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negatives_are_those_that_the_image_proves_false(graph: SceneGraph) -> None:
    wording, facts = worded(graph), image_facts(graph)
    provable = {wording.negate(negated) for negated in negations(graph) if proves_false(facts, graph, negated)}
    found = {item.caption for item in negation_negatives(graph, facts, wording, Random(1)) if item.foils[0].original}
    assert found == provable - {wording.caption}
