"""A denial in the true caption too: on a hand-made scene, and as properties of random subgraphs."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given, settings

from generators.captioner.captioner import GrammarCaptioner, RealisedWording, Request
from generators.captioner.prompted import ParsedWording
from generators.graphs.entailment import Negated, counterpart
from generators.graphs.facts import image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.balanced_negation import Balanced, balanced_negation
from generators.schemas.scene_graph import Mention, Relation, SceneGraph, SceneObject
from tests.generators.captioner.test_realiser import subgraphs

DENIAL = re.compile(r"\b(?:no|not)\b")
CUP, TABLE = SceneObject("1", "cup", ("red", "small")), SceneObject("2", "table", ("blue",))
ON = Relation("1", "on", "2")
SCENE = SceneGraph((CUP, TABLE), (ON,))
ELSEWHERE = SceneGraph(
    (SceneObject("3", "bowl", ("green", "large")), SceneObject("4", "lamp")), (Relation("3", "below", "4"),)
)
VOCABULARY = Vocabulary.of([SCENE, ELSEWHERE])


def worded(graph: SceneGraph, seed: str = "0") -> RealisedWording:
    (wording,) = GrammarCaptioner().word([Request(graph, seed)])
    assert isinstance(wording, RealisedWording)
    return wording


def balanced(seed: int, graph: SceneGraph = SCENE, told: Sequence[SceneGraph] = ()) -> Balanced:
    found = balanced_negation(graph, image_facts(graph).with_texts(told), worded(graph), VOCABULARY, Random(seed))
    assert found is not None
    return found


def test_truths_deny_what_the_scene_contradicts_and_negatives_what_is_there():
    """The scene's own atoms: cup, red, small, table, blue, on. Of the other scene: green, large, below."""
    denied = set()
    for seed in range(40):
        found = balanced(seed)
        denied.add(found.negatives[0].foils[0].original)
        assert {negative.foils[0].replacement for negative in found.negatives} <= {
            *("not red", "not small", "not blue", "not on", "no cup", "no table", "not"),
        }
        false = ("the cup is not red", "the cup is not small", "the table is not blue", "is not on the table")
        assert not found.caption.endswith(false)
        assert sum(negative.caption.endswith(false) for negative in found.negatives) >= 3
    assert {"not green", "not large", "not below", "not"} <= denied


def test_no_truth_denies_what_a_text_about_the_image_names():
    """Of the other scene's words a text names the bowl and says "green" of things called like the cup and the table."""
    text = SceneGraph(
        (SceneObject("1", "bowl"), SceneObject("2", "mug", ("green",)), SceneObject("3", "table", ("green",)))
    )
    rows = [[balanced(seed, told=told).negatives[0].foils[0].original for seed in range(20)] for told in ([], [text])]
    assert {"no bowl", "not green"} <= set(rows[0])
    assert not {"no bowl", "not green"} & set(rows[1])


def test_a_whole_caption_is_not_denied_part_by_part():
    """ "no red cup and no table" is false if either is there, so its like is no true caption of the template's."""
    apart = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table", ("blue",))))
    truths = {found.negatives[0].foils[0].original for seed in range(30) if (found := balanced(seed, apart))}
    assert "not" not in truths


def test_what_the_caption_itself_rules_out_is_not_denied():
    """Of a cup on a table "not below the table" goes without saying; left of it, too, it would be no news."""
    both = replace(SCENE, relations=(ON, Relation("1", "above", "2")))
    for seed in range(30):
        assert balanced(seed, both).negatives[0].foils[0].original != "not below"


@settings(max_examples=25, deadline=None)
@given(subgraphs())
def test_each_caption_holds_a_denial_and_none_is_said_twice(graph: SceneGraph):
    found = balanced_negation(graph, image_facts(graph), worded(graph), Vocabulary.of([graph, ELSEWHERE]), Random(0))
    if found is None:
        return
    captions = [found.caption, *(negative.caption for negative in found.negatives)]
    assert len(set(captions)) == len(captions)
    assert all(DENIAL.search(caption) for caption in captions)
    assert found == balanced_negation(
        graph, image_facts(graph), worded(graph), Vocabulary.of([graph, ELSEWHERE]), Random(0)
    )


def test_counterparts_stand_in_the_same_place():
    edited = SceneGraph(
        (replace(CUP, attributes=("green", "small")), replace(TABLE, name="bowl")), (replace(ON, predicate="below"),)
    )
    assert counterpart(Negated("attribute", "1", "red"), SCENE, edited).text == "green"
    assert counterpart(Negated("object", "2", "table"), SCENE, edited).text == "bowl"
    below = counterpart(Negated("relation", "1", "on", ON), SCENE, edited)
    assert (below.text, below.relation) == ("below", edited.relations[0])


def test_a_language_models_caption_denies_the_edited_word():
    caption = "a red cup on a table"
    graph = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table")), (ON,))
    mentions = (
        Mention("attribute", "red", 2, 5, "JJ", "1"),
        Mention("object", "cup", 6, 9, "NN", "1"),
        Mention("relation", "on", 10, 12, "IN", "1", "2"),
        Mention("object", "table", 15, 20, "NN", "2"),
    )
    wording = ParsedWording(graph, caption, mentions)
    green = replace(graph, objects=(replace(graph.objects[0], attributes=("green",)), graph.objects[1]))
    under = replace(graph, relations=(replace(ON, predicate="under"),))
    assert wording.negate(Negated("attribute", "1", "red"), green) == "a cup on a table. the cup is not green"
    assert wording.negate(Negated("relation", "1", "on", ON), under) == "a red cup not under a table"
    assert wording.deny(green) == ["it is not true that there is a green cup on a table"]
