from itertools import islice
from pathlib import Path
from random import Random

import pytest

from generators.captioner.captioner import GrammarCaption, GrammarCaptioner, NoCaption, Request
from generators.captioner.prompted import ParsedCaption, PromptedCaptioner, messages, normalised, prompt, read_shots
from generators.graphs.entailment import Negated, entails, proves_false
from generators.graphs.facts import image_facts
from generators.graphs.vocabulary import Vocabulary
from generators.hard_negatives.atom import atom_negatives, is_known
from generators.hard_negatives.negation import negation_negatives
from generators.hard_negatives.swap import swap_negatives, swaps
from generators.llm.client import Cache, Endpoint
from generators.parser.rule_parser import RuleParser
from generators.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject

SHOTS = read_shots(Path(__file__).parents[3] / "sample/words/shots.yaml")
CUP = SceneObject("1", "cup", ("red",), Box(0, 0, 10, 10))
TABLE = SceneObject("2", "table", ("wooden",), Box(0, 10, 30, 30))
BOWL = SceneObject("3", "bowl", ("blue",), Box(15, 0, 10, 10))
ON = Relation("1", "on", "2")
GRAPH = SceneGraph((CUP, TABLE), (ON,))
IMAGE = SceneGraph((CUP, TABLE, BOWL), (ON, Relation("3", "on", "2"), Relation("3", "next to", "1")))


@pytest.fixture(scope="module")
def captioner() -> PromptedCaptioner:
    return PromptedCaptioner(Endpoint("model"), SHOTS, Cache([]), RuleParser())


def captioned(graph: SceneGraph, seed: str = "0") -> GrammarCaption:
    (found,) = GrammarCaptioner().captions([Request(graph, seed)])
    assert isinstance(found, GrammarCaption)
    return found


def test_provenance_names_template_and_grammar() -> None:
    assert captioned(SceneGraph((CUP, SceneObject("2", "table")), (ON,))).captioner == "template"
    assert captioned(GRAPH).captioner == "grammar"


def test_what_the_template_cannot_express_has_no_caption() -> None:
    pair = SceneObject("1", "man"), SceneObject("2", "hat")
    graph = SceneGraph(pair, (Relation("1", "wearing", "2"), Relation("1", "under", "2")))
    assert list(GrammarCaptioner().captions([Request(graph, "0")])) == [NoCaption("no place in the template")]


# Swaps (A.4)


def test_all_cases_of_a4() -> None:
    found = {foil[1:] for _, foil in swaps(SceneGraph((CUP, TABLE, SceneObject("3", "cat")), (ON,)))}
    assert ("cup, table", "table, cup") in found  # the objects of a relation
    assert ("cup, cat", "cat, cup") in found  # objects that no relation joins
    assert ("red", "wooden") in found  # attributes of two objects
    assert ("red cup", "red cat") in found  # one attribute moved


def test_four_atoms_may_be_permuted() -> None:
    three = SceneGraph((SceneObject("1", "dog"), SceneObject("2", "bed"), SceneObject("3", "nightstand")), (ON,))
    graphs = [edited for edited, _ in swaps(three)]
    assert len(graphs) == 5  # 3! - 1 orders of the names
    assert ["nightstand", "dog", "bed"] in [[item.name for item in edited.objects] for edited in graphs]


def test_no_object_gets_two_attributes_of_a_kind() -> None:
    graph = SceneGraph((CUP, SceneObject("2", "bus", ("blue", "large"))))
    moved = [edited for edited, foil in swaps(graph) if foil.original == "red cup"]
    assert moved == []


def test_swaps_are_false_and_have_the_same_words() -> None:
    table = SceneObject("2", "table", ("blue",))
    graph = SceneGraph((CUP, table), (ON,))
    found = swap_negatives(graph, image_facts(graph), captioned(graph), Random(0))
    assert captioned(graph).text == "there is a red cup on a blue table"
    assert {negative.caption for negative in found} == {
        "there is a red table on a blue cup",
        "there is a blue cup on a red table",
    }


def test_a_swap_that_may_be_true_is_left_out() -> None:
    kites = SceneObject("1", "kite", ("red",)), SceneObject("2", "bird", ("small",))
    graph = SceneGraph(kites)
    # Nothing says that the kite is large or the bird blue: "a small kite and a red bird" may be true.
    assert list(swap_negatives(graph, image_facts(graph), captioned(SceneGraph((*kites, TABLE))), Random(0))) == []


# Negations (A.4)


def test_no_negation_where_another_object_makes_it_true() -> None:
    black, white = SceneObject("1", "dog", ("black",)), SceneObject("2", "dog", ("white",))
    building = SceneObject("3", "building")
    on, also_on = Relation("1", "on", "3"), Relation("2", "on", "3")
    graph = SceneGraph((black, building), (on,))
    denied = Negated("attribute", "1", "black")
    assert proves_false(image_facts(graph), graph, denied)
    assert not proves_false(image_facts(SceneGraph((black, white, building), (on, also_on))), graph, denied)
    # A white dog that is not said to be on the building may be there.
    assert not proves_false(image_facts(SceneGraph((black, white, building), (on,))), graph, denied)


def test_no_negated_relation_where_another_pair_may_lack_it() -> None:
    graph = SceneGraph((CUP, SceneObject("2", "table")), (ON,))
    denied = Negated("relation", "1", "on", ON)
    assert proves_false(image_facts(graph), graph, denied)
    other = SceneObject("4", "cup", ("red",))
    assert not proves_false(image_facts(SceneGraph((*graph.objects, other), (ON,))), graph, denied)


def test_negatives_of_a_caption_differ_from_it_and_from_each_other() -> None:
    for negatives in (
        negation_negatives(GRAPH, image_facts(IMAGE), captioned(GRAPH), Random(1)),
        atom_negatives(GRAPH, image_facts(IMAGE), captioned(GRAPH), Vocabulary.of([IMAGE]), Random(1)),
    ):
        captions = [negative.caption for negative in negatives]
        assert len(captions) >= 5
        assert len({*captions, captioned(GRAPH).text}) == len(captions) + 1


def test_atom_foils_change_an_object_wherever_it_is_named() -> None:
    graph = SceneGraph((CUP, TABLE, SceneObject("3", "apple", ("green",))), (ON, Relation("3", "next to", "1")))
    vocabulary = Vocabulary.of([IMAGE, SceneGraph((SceneObject("1", "vase"), SceneObject("2", "pear")))])
    found = list(atom_negatives(graph, image_facts(graph), captioned(graph, "2"), vocabulary, Random(0)))
    assert not [item for item in found if item.foils[0].original == "cup" and " cup" in item.caption]
    known = [is_known(item.foils[0], vocabulary) for item in found]
    assert known == sorted(known, reverse=True)


def test_entailment_of_relations() -> None:
    assert entails([ON], Relation("2", "below", "1"))
    assert entails([ON], Relation("1", "above", "2"))
    assert not entails([Relation("1", "above", "2")], ON)
    assert entails([Relation("1", "flying", "2")], Relation("1", "fly", "2"))


# The language-model captioner


def test_prompt_is_that_of_a3() -> None:
    windows = (
        SceneObject("1", "window", ("large",)),
        SceneObject("2", "window"),
        SceneObject("3", "house", ("old", "red")),
    )
    graph = SceneGraph(windows, (Relation("1", "on", "3"), Relation("2", "next to", "1")))
    assert prompt(graph) == "large window1, window2, old red house\nwindow1 on house\nwindow2 next to window1"
    roles = [message["role"] for message in messages(graph, SHOTS)]
    assert roles == ["system", *["user", "assistant"] * 5, "user"]


def test_five_shots_of_each_complexity() -> None:
    assert {size: len(shots) for size, shots in SHOTS.items()} == dict.fromkeys(range(5, 13), 5)
    for size, shots in SHOTS.items():
        assert [shot.graph.complexity for shot in shots] == [size] * 5
        assert all(shot.caption == normalised(shot.caption) for shot in shots)


def test_the_check_accepts_nearly_all_shots(captioner: PromptedCaptioner) -> None:
    found = [captioner.checked(shot.graph, shot.caption) for shots in SHOTS.values() for shot in shots]
    assert sum(isinstance(item, ParsedCaption) for item in found) >= 36


@pytest.mark.parametrize(
    ("caption", "verdict"),
    [
        ("a red cup on a wooden table", None),
        ("a crimson cup sits atop a wooden table", None),
        ("a cup on a wooden table", "omits an attribute"),
        ("a red cup", "omits an object"),
        ("a red cup on a large wooden table", "adds an attribute"),
        ("a red cup and a cat on a wooden table", "adds an object"),
        ("a red cup and a wooden table", "omits a relation"),
        ("a wooden cup on a red table", "says the atoms of the wrong objects"),
        ("a wooden table on a red cup", "says the atoms of the wrong objects"),
    ],
)
def test_faithfulness(captioner: PromptedCaptioner, caption: str, verdict: str | None) -> None:
    found = captioner.checked(GRAPH, caption)
    assert (found.reason if isinstance(found, NoCaption) else None) == verdict


def test_answers_are_put_in_the_style_of_all_captions() -> None:
    assert normalised(' "A red cup\non a table." ') == "a red cup on a table"


def test_a_parsed_caption_is_edited_in_place(captioner: PromptedCaptioner) -> None:
    found = captioner.checked(GRAPH, "a red cup is on a wooden table")
    assert isinstance(found, ParsedCaption)
    exchanged = SceneGraph((SceneObject("1", "umbrella", ("red",)), TABLE), (ON,))
    assert found.edit(exchanged) == "a red umbrella is on a wooden table"
    assert found.edit(SceneGraph((SceneObject("1", "cup"), TABLE), (ON,))) is None
    assert found.negate(Negated("relation", "1", "on", ON)) == "a red cup is not on a wooden table"
    assert found.negate(Negated("attribute", "1", "red")) == "a cup is on a wooden table. the cup is not red"
    assert found.negate_all() == ["it is not true that a red cup is on a wooden table"]
    swapped = islice(swap_negatives(GRAPH, image_facts(GRAPH), found, Random(0)), 5)
    assert "a red table is on a wooden cup" in {negative.caption for negative in swapped}


def test_an_uncached_graph_has_no_caption_and_four_atoms_take_the_template(captioner: PromptedCaptioner) -> None:
    four = SceneGraph((CUP, SceneObject("2", "table")), (ON,))
    refused, templated = captioner.captions([Request(GRAPH, "0"), Request(four, "0")])
    assert refused == NoCaption("no cached answer")
    assert not isinstance(templated, NoCaption)
    assert (templated.text, templated.captioner) == ("red cup on table", "template")
