"""Negations of CREPE's appendix A.4 and balanced ones: a scene by hand, and properties of random subgraphs."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import assume, given, settings

from generators.captioner.captioner import GrammarCaption, GrammarCaptioner, Request
from generators.captioner.prompted import ParsedCaption
from generators.graphs.entailment import Negated, counterpart, proves_false
from generators.graphs.facts import image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.graphs.walks import redundant
from generators.hard_negatives.negation import BalancedSet, balanced_negation, negatable_atoms, negation_negatives
from generators.schemas.scene_graph import Atom, Mention, Relation, SceneGraph, SceneObject
from tests.generators.captioner.test_realiser import subgraphs

NEGATION = re.compile(r"\b(?:no|not)\b")


def captioned(graph: SceneGraph, seed: str = "0") -> GrammarCaption:
    (caption,) = GrammarCaptioner().captions([Request(graph, seed)])
    assert isinstance(caption, GrammarCaption)
    return caption


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_every_atom_can_be_negated_and_the_rest_is_asserted(graph: SceneGraph) -> None:
    kinds = Counter(negated.kind for negated in negatable_atoms(graph))
    assert kinds["relation"] == len(graph.relations)
    for negated in negatable_atoms(graph):
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
def test_a_negation_differs_from_the_caption_and_keeps_its_style(graph: SceneGraph) -> None:
    caption = captioned(graph)
    found = list(negation_negatives(graph, image_facts(graph), caption, Random(0)))
    captions = [negative.caption for negative in found]
    assert len({caption.text, *captions}) == len(captions) + 1
    assert not NEGATION.search(caption.text)
    for negative in found:
        assert len(NEGATION.findall(negative.caption)) >= 1
        assert negative.caption == " ".join(negative.caption.lower().split())
        assert not negative.caption.endswith(".")
        assert [foil.type for foil in negative.foils] == ["negation"]
    whole = [negative.caption for negative in found if not negative.foils[0].original]
    assert set(whole) == set(caption.negate_all())


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_atoms_that_another_object_may_make_true_are_not_negated(graph: SceneGraph) -> None:
    """A second graph beside the first, with each object's look once more: it may lack whatever is negated."""
    atoms = [negated for negated in negatable_atoms(graph) if negated.kind != "object"]
    assume(atoms)
    doubles = tuple(SceneObject(f"{item.id}+", item.name, (), item.box) for item in graph.objects)
    facts = image_facts(SceneGraph((*graph.objects, *(SceneObject(d.id, d.name) for d in doubles)), graph.relations))
    assert not any(proves_false(facts, graph, negated) for negated in atoms)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negatives_are_those_that_the_image_proves_false(graph: SceneGraph) -> None:
    caption, facts = captioned(graph), image_facts(graph)
    provable = {caption.negate(negated) for negated in negatable_atoms(graph) if proves_false(facts, graph, negated)}
    found = {item.caption for item in negation_negatives(graph, facts, caption, Random(1)) if item.foils[0].original}
    assert found == provable - {caption.text}


# Balanced

CUP, TABLE = SceneObject("1", "cup", ("red", "small")), SceneObject("2", "table", ("blue",))
ON = Relation("1", "on", "2")
SCENE = SceneGraph((CUP, TABLE), (ON,))
ELSEWHERE = SceneGraph(
    (SceneObject("3", "bowl", ("green", "large")), SceneObject("4", "lamp")), (Relation("3", "below", "4"),)
)
VOCABULARY = Vocabulary.of([SCENE, ELSEWHERE])


def balanced(seed: int, graph: SceneGraph = SCENE, told: Sequence[SceneGraph] = ()) -> BalancedSet:
    found = balanced_negation(graph, image_facts(graph).with_texts(told), captioned(graph), VOCABULARY, Random(seed))
    assert found is not None
    return found


def test_truths_negate_contraries_and_negatives_atoms_of_the_scene():
    """The scene's own atoms: cup, red, small, table, blue, on. Of the other scene: green, large, below."""
    negated = set()
    for seed in range(40):
        found = balanced(seed)
        negated.add(found.negatives[0].foils[0].original)
        assert {negative.foils[0].replacement for negative in found.negatives} <= {
            *("not red", "not small", "not blue", "not on", "no cup", "no table", "not"),
        }
        false = ("the cup is not red", "the cup is not small", "the table is not blue", "is not on the table")
        assert not found.caption.endswith(false)
        assert sum(negative.caption.endswith(false) for negative in found.negatives) >= 3
    assert {"not green", "not large", "not below", "not"} <= negated


def test_no_truth_negates_nouns_of_region_phrases():
    """Of the other scene's words a text names the bowl and says "green" of things called like the cup and the table."""
    text = SceneGraph(
        (SceneObject("1", "bowl"), SceneObject("2", "mug", ("green",)), SceneObject("3", "table", ("green",)))
    )
    rows = [[balanced(seed, told=told).negatives[0].foils[0].original for seed in range(20)] for told in ([], [text])]
    assert {"no bowl", "not green"} <= set(rows[0])
    assert not {"no bowl", "not green"} & set(rows[1])


def test_a_caption_that_is_negated_by_part_has_no_true_negation():
    """ "no red cup and no table" is false if either is there, so its like is no true caption of the template's."""
    apart = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table", ("blue",))))
    truths = {found.negatives[0].foils[0].original for seed in range(30) if (found := balanced(seed, apart))}
    assert "not" not in truths


def test_contraries_that_the_caption_rules_out_are_not_negated():
    """Of a cup on a table "not below the table" goes without saying; left of it, too, it would be no news."""
    both = replace(SCENE, relations=(ON, Relation("1", "above", "2")))
    for seed in range(30):
        assert balanced(seed, both).negatives[0].foils[0].original != "not below"


@settings(max_examples=25, deadline=None)
@given(subgraphs())
def test_each_caption_has_a_negation_and_no_caption_is_repeated(graph: SceneGraph):
    found = balanced_negation(graph, image_facts(graph), captioned(graph), Vocabulary.of([graph, ELSEWHERE]), Random(0))
    if found is None:
        return
    captions = [found.caption, *(negative.caption for negative in found.negatives)]
    assert len(set(captions)) == len(captions)
    assert all(NEGATION.search(caption) for caption in captions)
    assert found == balanced_negation(
        graph, image_facts(graph), captioned(graph), Vocabulary.of([graph, ELSEWHERE]), Random(0)
    )


def test_counterparts_stand_in_the_same_place():
    edited = SceneGraph(
        (replace(CUP, attributes=("green", "small")), replace(TABLE, name="bowl")), (replace(ON, predicate="below"),)
    )
    assert counterpart(Negated("attribute", "1", "red"), SCENE, edited).text == "green"
    assert counterpart(Negated("object", "2", "table"), SCENE, edited).text == "bowl"
    below = counterpart(Negated("relation", "1", "on", ON), SCENE, edited)
    assert (below.text, below.relation) == ("below", edited.relations[0])


def test_a_language_models_caption_negates_the_edited_word():
    caption = "a red cup on a table"
    graph = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table")), (ON,))
    mentions = (
        Mention("attribute", "red", 2, 5, "JJ", "1"),
        Mention("object", "cup", 6, 9, "NN", "1"),
        Mention("relation", "on", 10, 12, "IN", "1", "2"),
        Mention("object", "table", 15, 20, "NN", "2"),
    )
    parsed = ParsedCaption(graph, caption, mentions)
    green = replace(graph, objects=(replace(graph.objects[0], attributes=("green",)), graph.objects[1]))
    under = replace(graph, relations=(replace(ON, predicate="under"),))
    assert parsed.negate(Negated("attribute", "1", "red"), green) == "a cup on a table. the cup is not green"
    assert parsed.negate(Negated("relation", "1", "on", ON), under) == "a red cup not under a table"
    assert parsed.negate_all(green) == ["it is not true that there is a green cup on a table"]
