"""Negations of CREPE's appendix A.4 and balanced negations, on a hand-written scene and random subgraphs."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

from hypothesis import assume, given, settings

from compeval.base.schemas.scene_graph import Atom, Mention, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.graphs.entailment import Negated, find_counterpart, proves_false
from compeval.generators.graphs.facts import collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.graphs.walks import is_redundant
from compeval.generators.hard_negatives.crepe.atom import AtomFoils
from compeval.generators.hard_negatives.crepe.negation import (
    BalancedSet,
    find_negatable_atoms,
    make_balanced_set,
    make_negation_negatives,
)
from compeval.generators.hard_negatives.hard_negative import HardNegative
from tests.generators.captioner.test_captioner import find_false_negations, write_grammar_caption
from tests.generators.captioner.test_realiser import subgraphs

NEGATION = re.compile(r"\b(?:no|not)\b")
FUNCTION_WORDS = re.compile(
    r"\b(?:an?|the|there|is|are|also|visible|that|and|not?|of|to|with|in|has|have|does|do)\b"
)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_every_atom_can_be_negated_and_the_others_are_asserted(graph: SceneGraph) -> None:
    kinds = Counter(negated.kind for negated in find_negatable_atoms(graph))
    assert kinds["relation"] == len(graph.relations)
    for negated in find_negatable_atoms(graph):
        rest = negated.remove_from(graph)
        removed = Counter(graph.atoms) - Counter(rest.atoms)
        assert removed[Atom(negated.kind, negated.text)] == 1
        if negated.kind == "object":
            item = graph.by_id[negated.object]
            num_relations = sum(
                negated.object in (edge.subject, edge.object) for edge in graph.relations
            )
            assert removed.total() == 1 + len(item.attributes) + num_relations
        else:
            assert removed.total() == 1
        assert rest.objects
        assert not is_redundant(rest)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negation_differs_from_the_caption_and_keeps_its_style(graph: SceneGraph) -> None:
    caption = write_grammar_caption(graph)
    atoms = find_false_negations(graph, collect_facts(graph))
    negatives = list(make_negation_negatives(atoms, caption, Random(0)))
    captions = [negative.caption for negative in negatives]
    assert len({caption.text, *captions}) == len(captions) + 1
    assert not NEGATION.search(caption.text)
    for negative in negatives:
        assert len(NEGATION.findall(negative.caption)) >= 1
        assert negative.caption == " ".join(negative.caption.lower().split())
        assert not negative.caption.endswith(".")
        assert [foil.type for foil in negative.foils] == ["negation"]
    (whole,) = [negative.caption for negative in negatives if not negative.foils[0].original]
    assert whole in caption.negate_all()


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_atoms_that_another_object_may_make_true_are_not_negated(graph: SceneGraph) -> None:
    """The image has a second object without attributes for each object.

    The second object may lack the negated atom, so that the negation may be true.
    """
    atoms = [negated for negated in find_negatable_atoms(graph) if negated.kind != "object"]
    assume(atoms)
    doubles = tuple(SceneObject(f"{item.id}+", item.name, (), item.box) for item in graph.objects)
    facts = collect_facts(
        SceneGraph((*graph.objects, *(SceneObject(d.id, d.name) for d in doubles)), graph.relations)
    )
    assert not any(proves_false(facts, graph, negated) for negated in atoms)


@settings(max_examples=30, deadline=None)
@given(subgraphs())
def test_negatives_are_all_negations_that_the_image_proves_false(graph: SceneGraph) -> None:
    caption, facts = write_grammar_caption(graph), collect_facts(graph)
    provable = {
        caption.negate(negated)
        for negated in find_negatable_atoms(graph)
        if proves_false(facts, graph, negated)
    }
    negatives = make_negation_negatives(find_false_negations(graph, facts), caption, Random(1))
    captions = {item.caption for item in negatives if item.foils[0].original}
    assert captions == provable - {caption.text}


# Balanced

CUP, TABLE = SceneObject("1", "cup", ("red", "small")), SceneObject("2", "table", ("striped",))
ON, ABOVE = Relation("1", "on", "2"), Relation("1", "above", "2")
SCENE = SceneGraph((CUP, TABLE), (ABOVE,))
OTHER_SCENE = SceneGraph(
    (SceneObject("3", "bowl", ("green", "large")), SceneObject("4", "lamp", ("spotted",))),
    (Relation("3", "below", "4"),),
)
VOCABULARY = Vocabulary.of([SCENE, OTHER_SCENE])


SLOTS = {"red": "green", "small": "large", "striped": "spotted", "above": "below"}
"""The atoms of the scene on which no other atom depends, and their only contraries."""


def draw_balanced_set(
    seed: int, graph: SceneGraph = SCENE, texts: Sequence[SceneGraph] = ()
) -> BalancedSet:
    facts = collect_facts(graph).with_texts(texts)
    atoms = AtomFoils(graph, facts, write_grammar_caption(graph), VOCABULARY)
    balanced_set = make_balanced_set(atoms, Random(seed))
    assert balanced_set is not None
    return balanced_set


def list_captions(balanced_set: BalancedSet) -> list[str]:
    return [balanced_set.caption, *(negative.caption for negative in balanced_set.negatives)]


def list_content_words(caption: str) -> list[str]:
    """Return the words of a caption that occur in the names, attributes and relations of the scenes."""
    words = {
        word for scene in (SCENE, OTHER_SCENE) for atom in scene.atoms for word in atom.text.split()
    }
    return sorted(set(re.findall(r"\w+", caption)) & words)


def list_foils(balanced_set: BalancedSet) -> set[tuple[str, str]]:
    return {
        (foil.original, foil.replacement) for item in balanced_set.negatives for foil in item.foils
    }


def list_contraries(balanced_set: BalancedSet) -> set[str]:
    """Return the words that the true caption denies."""
    return {new for old, new in list_foils(balanced_set) if old in (f"not {new}", f"no {new}")}


def list_denied(balanced_set: BalancedSet) -> list[frozenset[str]]:
    """Return the words that each caption denies, the true caption first."""
    true = frozenset(list_contraries(balanced_set))
    return [true, *(true ^ _list_changed(negative) for negative in balanced_set.negatives)]


def _list_changed(negative: HardNegative) -> set[str]:
    """Return the words that only one of the true caption and a negative denies."""
    return {min(foil.original, foil.replacement, key=len) for foil in negative.foils}


def test_captions_of_a_balanced_set_by_hand():
    """The scene without "striped" has exactly three atoms that can be denied."""
    graph = SceneGraph((CUP, SceneObject("2", "table")), (ABOVE,))
    sets = {
        balanced_set.caption: balanced_set
        for balanced_set in (draw_balanced_set(seed, graph) for seed in range(60))
    }
    assert set(sets) == {
        "there is a small cup above a table. the cup is not green",
        "there is a red cup above a table. the cup is not large",
        "there is a small red cup and a table. the cup is not below the table",
        "there is a cup above a table. the cup is not green and is not large",
        "there is a small cup and a table. the cup is not green and is not below the table",
        "there is a red cup and a table. the cup is not large and is not below the table",
    }
    balanced_set = sets["there is a small cup above a table. the cup is not green"]
    assert balanced_set.asserted == SceneGraph(
        (SceneObject("1", "cup", ("small",)), graph.objects[1]), (ABOVE,)
    )
    assert {item.caption: [foil[1:] for foil in item.foils] for item in balanced_set.negatives} == {
        "there is a green cup above a table. the cup is not small": [
            ("not green", "green"),
            ("small", "not small"),
        ],
        "there is a small green cup and a table. the cup is not above the table": [
            ("not green", "green"),
            ("above", "not above"),
        ],
        "there is a cup above a table. the cup is not green and is not small": [
            ("small", "not small")
        ],
        "there is a small cup and a table. the cup is not green and is not above the table": [
            ("above", "not above")
        ],
        "there is a green cup and a table. the cup is not small and is not above the table": [
            ("not green", "green"),
            ("small", "not small"),
            ("above", "not above"),
        ],
    }


def test_the_captions_of_a_balanced_set_deny_one_or_two_of_three_atoms_and_have_the_same_content_words():
    counts = Counter[int]()
    for seed in range(60):
        balanced_set = draw_balanced_set(seed)
        assert (
            len({tuple(list_content_words(caption)) for caption in list_captions(balanced_set)})
            == 1
        )
        denied = list_denied(balanced_set)
        slots = set().union(*denied)
        assert {
            frozenset(pattern) for size in (1, 2) for pattern in combinations(slots, size)
        } == set(denied)
        assert [len(NEGATION.findall(caption)) for caption in list_captions(balanced_set)] == list(
            map(len, denied)
        )
        replaced = [word for word, contrary in SLOTS.items() if contrary in denied[0]]
        assert Counter(SCENE.atoms) - Counter(balanced_set.asserted.atoms) == Counter(
            Atom("relation" if word == "above" else "attribute", word) for word in replaced
        )
        assert len(replaced) == len(denied[0])
        counts[len(denied[0])] += 1
    assert min(counts[1], counts[2]) > 18  # expected: 30, with a standard deviation of 4


def test_true_captions_do_not_deny_attributes_of_region_phrases():
    """A text calls an object that may be the cup "green"."""
    text = SceneGraph((SceneObject("2", "mug", ("green",)),))
    denied, denied_with_text = (
        set().union(*(list_contraries(draw_balanced_set(seed, texts=texts)) for seed in range(20)))
        for texts in ([], [text])
    )
    assert "green" in denied
    assert "green" not in denied_with_text


def test_an_object_with_attributes_or_relations_is_not_denied():
    lamp = SceneObject("3", "lamp")
    graph = SceneGraph((CUP, TABLE, lamp), (ABOVE,))
    denied = set().union(
        *(set().union(*list_denied(draw_balanced_set(seed, graph))) for seed in range(40))
    )
    assert "lamp" in denied
    assert denied.isdisjoint({"cup", "table"})


def test_without_three_atoms_there_is_no_balanced_set():
    graph = SceneGraph((replace(CUP, attributes=("red",)), replace(TABLE, attributes=())), (ABOVE,))
    atoms = AtomFoils(graph, collect_facts(graph), write_grammar_caption(graph), VOCABULARY)
    assert make_balanced_set(atoms, Random(0)) is None


def test_an_atom_that_another_object_may_lack_is_not_denied():
    """A second cup need not be red or small, if the caption does not say that the cup is above the table."""
    image = replace(SCENE, objects=(*SCENE.objects, SceneObject("3", "cup", ("white",))))
    graph = SceneGraph((CUP, replace(TABLE, attributes=())), (ABOVE,))
    atoms = AtomFoils(graph, collect_facts(image), write_grammar_caption(graph), VOCABULARY)
    assert all(make_balanced_set(atoms, Random(seed)) is None for seed in range(12))


def test_contraries_that_the_caption_excludes_are_not_denied():
    """A cup that is on a table is never below it, so that "not below the table" adds no information."""
    both = replace(SCENE, relations=(ABOVE, ON))
    for seed in range(30):
        assert "below" not in list_contraries(draw_balanced_set(seed, both))


def test_atoms_that_are_never_a_contrary_are_not_denied():
    """ "on" has no converse in the lexicon, and a noun without a family has no contrary."""
    graph = SceneGraph((CUP, TABLE, SceneObject("3", "street")), (ON, ABOVE))
    denied = set().union(
        *(set().union(*list_denied(draw_balanced_set(seed, graph))) for seed in range(20))
    )
    assert denied <= {*SLOTS, *SLOTS.values()}


def test_the_more_frequent_of_two_converses_is_denied_in_a_part_of_the_captions():
    """ "above" occurs three times as often as "below", so that it has a contrary in a third of the draws."""
    vocabulary = Vocabulary.of([SCENE, SCENE, SCENE, OTHER_SCENE])
    atoms = AtomFoils(SCENE, collect_facts(SCENE), write_grammar_caption(SCENE), vocabulary)
    (mention,) = [mention for mention in atoms.mentions if mention.kind == "relation"]
    edits = [list(atoms.draw_balanced_edits(mention, 1, Random(seed))) for seed in range(300)]
    draws = [tuple(foil.replacement for foil, _ in drawn) for drawn in edits]
    assert set(draws) == {(), ("below",)}
    assert 70 < draws.count(("below",)) < 130  # expected: 100, with a standard deviation of 8


@settings(max_examples=25, deadline=None)
@given(subgraphs())
def test_captions_are_unique_and_foils_name_the_six_patterns(graph: SceneGraph):
    vocabulary = Vocabulary.of([graph, OTHER_SCENE])
    atoms = AtomFoils(graph, collect_facts(graph), write_grammar_caption(graph), vocabulary)
    balanced_set = make_balanced_set(atoms, Random(0))
    if balanced_set is None:
        return
    captions = list_captions(balanced_set)
    assert len(set(captions)) == 6
    assert (
        len(
            {frozenset(re.findall(r"\w+", FUNCTION_WORDS.sub("", caption))) for caption in captions}
        )
        == 1
    )
    num_denied = len(graph.atoms) - len(balanced_set.asserted.atoms)
    assert Counter(len(NEGATION.findall(caption)) for caption in captions) == {1: 3, 2: 3}
    assert len(NEGATION.findall(balanced_set.caption)) == num_denied
    assert sorted(len(item.foils) for item in balanced_set.negatives) == [1, 1, 2, 2, 3]
    assert balanced_set == make_balanced_set(atoms, Random(0))


def test_counterpart_has_the_same_position():
    edited = SceneGraph(
        (replace(CUP, attributes=("green", "small")), replace(TABLE, name="bowl")),
        (replace(ABOVE, predicate="below"),),
    )
    assert find_counterpart(Negated("attribute", "1", "red"), SCENE, edited).text == "green"
    assert find_counterpart(Negated("object", "2", "table"), SCENE, edited).text == "bowl"
    below = find_counterpart(Negated("relation", "1", "above", ABOVE), SCENE, edited)
    assert (below.text, below.relation) == ("below", edited.relations[0])


def test_parsed_caption_negates_the_edited_word():
    caption = "a red cup on a table"
    graph = SceneGraph((SceneObject("1", "cup", ("red",)), SceneObject("2", "table")), (ON,))
    mentions = (
        Mention("attribute", "red", 2, 5, "JJ", "1"),
        Mention("object", "cup", 6, 9, "NN", "1"),
        Mention("relation", "on", 10, 12, "IN", "1", "2"),
        Mention("object", "table", 15, 20, "NN", "2"),
    )
    parsed = ParsedCaption(graph, caption, mentions, "model")
    green = replace(
        graph, objects=(replace(graph.objects[0], attributes=("green",)), graph.objects[1])
    )
    under = replace(graph, relations=(replace(ON, predicate="under"),))
    assert (
        parsed.negate(Negated("attribute", "1", "red"), edited=green)
        == "a cup on a table. the cup is not green"
    )
    assert parsed.negate(
        Negated("attribute", "1", "red"), Negated("relation", "1", "on", ON), edited=green
    ) == ("a cup not on a table. the cup is not green")
    assert (
        parsed.negate(Negated("relation", "1", "on", ON), edited=green)
        == "a green cup not on a table"
    )
    assert (
        parsed.negate(Negated("relation", "1", "on", ON), edited=under)
        == "a red cup not under a table"
    )
    assert parsed.negate_all() == [
        "it is not true that there is a red cup on a table",
        "there is no red cup on a table",
    ]
