from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from compeval.base.schemas.scene_graph import Box, Mention, Parse, Relation, SceneGraph, SceneObject
from compeval.generators.captioner.captioner import (
    CaptionerByComplexity,
    EditableCaption,
    GrammarCaption,
    GrammarCaptioner,
    NoCaption,
    Request,
    TemplateCaptioner,
)
from compeval.generators.captioner.faithfulness import align_mentions
from compeval.generators.captioner.parsed_caption import ParsedCaption
from compeval.generators.captioner.prompted import (
    PromptedCaptioner,
    ask_captions,
    make_messages,
    make_prompt,
    normalise_answer,
    read_shots,
)
from compeval.generators.graphs.entailment import Negated, entails, proves_false
from compeval.generators.graphs.facts import ImageFacts, collect_facts
from compeval.generators.graphs.vocabulary import Vocabulary, relation_key
from compeval.generators.hard_negatives.crepe.atom import (
    AtomFoils,
    is_known,
    make_atom_negatives,
    make_one_attribute_negatives,
)
from compeval.generators.hard_negatives.crepe.negation import (
    find_negatable_atoms,
    make_negation_negatives,
)
from compeval.generators.hard_negatives.crepe.swap import make_swaps, write_swaps
from compeval.generators.hard_negatives.hard_negative import HardNegative
from compeval.generators.llm.client import KEY_VARIABLE, Cache, Endpoint
from compeval.generators.parser.rule_parser import RuleParser

SHOTS = read_shots(Path(__file__).parents[3] / "sample/words/shots.yaml")
CUP = SceneObject("1", "cup", ("red",), Box(0, 0, 10, 10))
TABLE = SceneObject("2", "table", ("wooden",), Box(0, 10, 30, 30))
BOWL = SceneObject("3", "bowl", ("blue",), Box(15, 0, 10, 10))
ON = Relation("1", "on", "2")
GRAPH = SceneGraph((CUP, TABLE), (ON,))
IMAGE = SceneGraph(
    (CUP, TABLE, BOWL), (ON, Relation("3", "on", "2"), Relation("3", "next to", "1"))
)


@pytest.fixture(scope="module")
def captioner() -> PromptedCaptioner:
    return PromptedCaptioner(Endpoint("model"), SHOTS, Cache([]), RuleParser())


def write_grammar_caption(graph: SceneGraph, seed: str = "0") -> GrammarCaption:
    return next(GrammarCaptioner().captions([Request(graph, seed)]))


def make_swap_negatives(graph: SceneGraph, caption: EditableCaption) -> list[HardNegative]:
    """Return the swaps that the facts of the graph prove false."""
    swaps, facts = list(make_swaps(graph)), collect_facts(graph)
    false_swaps = [swap for swap in swaps if facts.is_false(swap[0])]
    return write_swaps(swaps, false_swaps, caption, Random(0))


def find_false_negations(graph: SceneGraph, facts: ImageFacts) -> list[Negated]:
    return [atom for atom in find_negatable_atoms(graph) if proves_false(facts, graph, atom)]


def test_other_captions_of_a_graph_have_its_atoms() -> None:
    caption = write_grammar_caption(IMAGE)
    others = list(caption.reword())
    assert len({caption.text, *(other.text for other in others)}) > 2
    for other in others:
        assert other.graph == IMAGE
        assert {mention.atom_key for mention in other.mentions} == {
            mention.atom_key for mention in caption.mentions
        }


def test_four_atoms_have_a_captioner_of_their_own() -> None:
    four = SceneGraph((CUP, SceneObject("2", "table")), (ON,))
    requests = [Request(GRAPH, "0"), Request(four, "0"), Request(GRAPH, "1"), Request(four, "1")]
    captions = list(
        CaptionerByComplexity(TemplateCaptioner(), GrammarCaptioner()).captions(requests)
    )
    assert [
        (caption.captioner, caption.graph)
        for caption in captions
        if not isinstance(caption, NoCaption)
    ] == [
        ("grammar", GRAPH),
        ("template", four),
        ("grammar", GRAPH),
        ("template", four),
    ]


def test_graph_that_the_template_cannot_express_has_no_caption() -> None:
    pair = SceneObject("1", "man"), SceneObject("2", "hat")
    graph = SceneGraph(pair, (Relation("1", "wearing", "2"), Relation("1", "under", "2")))
    assert list(TemplateCaptioner().captions([Request(graph, "0")])) == [
        NoCaption("no place in the template")
    ]


# Swaps (A.4)


def test_swaps_cover_all_cases_of_a4() -> None:
    foils = {
        foil[1:] for _, foil in make_swaps(SceneGraph((CUP, TABLE, SceneObject("3", "cat")), (ON,)))
    }
    assert ("cup, table", "table, cup") in foils  # the objects of a relation
    assert ("cup, cat", "cat, cup") in foils  # objects that no relation joins
    assert ("red", "wooden") in foils  # attributes of two objects
    assert ("red cup", "red cat") in foils  # one attribute moved


def test_swaps_are_false_and_have_the_same_words() -> None:
    table = SceneObject("2", "table", ("blue",))
    graph = SceneGraph((CUP, table), (ON,))
    negatives = make_swap_negatives(graph, write_grammar_caption(graph))
    assert write_grammar_caption(graph).text == "there is a red cup on a blue table"
    assert {negative.caption for negative in negatives} == {
        "there is a red table on a blue cup",
        "there is a blue cup on a red table",
        "there is a blue table on a red cup",  # with their attributes, as in Table 2 of the paper
    }


# Negations (A.4)


def test_negatives_of_a_caption_differ_from_it_and_from_each_other() -> None:
    facts, caption = collect_facts(IMAGE), write_grammar_caption(GRAPH)
    for negatives in (
        make_negation_negatives(find_false_negations(GRAPH, facts), caption, Random(1)),
        make_atom_negatives(AtomFoils(GRAPH, facts, caption, Vocabulary.of([IMAGE])), Random(1)),
    ):
        captions = [negative.caption for negative in negatives]
        assert len(captions) >= 5
        assert len({*captions, write_grammar_caption(GRAPH).text}) == len(captions) + 1


def test_atom_foils_replace_an_object_at_every_mention() -> None:
    graph = SceneGraph(
        (CUP, TABLE, SceneObject("3", "apple", ("green",))), (ON, Relation("3", "next to", "1"))
    )
    vocabulary = Vocabulary.of(
        [IMAGE, SceneGraph((SceneObject("1", "vase"), SceneObject("2", "pear")))]
    )
    atoms = AtomFoils(graph, collect_facts(graph), write_grammar_caption(graph, "2"), vocabulary)
    negatives = list(make_atom_negatives(atoms, Random(0)))
    assert not [
        item for item in negatives if item.foils[0].original == "cup" and " cup" in item.caption
    ]
    known = [is_known(item.foils[0], vocabulary) for item in negatives]
    assert known == sorted(known, reverse=True)


def test_the_foils_of_a_relation_are_not_synonyms() -> None:
    predicates = (
        "on",
        "on top of",
        "under",
        "below",
        "beneath",
        "to the left of",
        "on the left side of",
    )
    pairs = (SceneObject("1", "cup"), SceneObject("2", "table"))
    vocabulary = Vocabulary.of(
        [SceneGraph(pairs, (Relation("1", text, "2"),)) for text in predicates]
    )
    graph = SceneGraph((CUP, TABLE), (ON,))
    atoms = AtomFoils(graph, collect_facts(graph), write_grammar_caption(graph), vocabulary)
    (mention,) = (mention for mention in atoms.mentions if mention.kind == "relation")
    for seed in range(10):
        keys = [
            relation_key(foil.replacement)
            for foil, _ in atoms.draw_near_and_distant(mention, Random(seed))[0]
        ]
        assert len(keys) == len(set(keys)) >= 2


def test_the_foils_of_one_attribute_replace_no_noun_or_relation() -> None:
    colors = SceneObject("9", "kettle", ("blue", "green", "black", "white", "yellow"))
    vocabulary = Vocabulary.of([IMAGE, SceneGraph((colors,))])
    atoms = AtomFoils(GRAPH, collect_facts(IMAGE), write_grammar_caption(GRAPH), vocabulary)
    for seed in range(10):
        negatives = make_one_attribute_negatives(atoms, 2, Random(seed))
        assert len(negatives) >= 2
        ((kind, _),) = {
            (foil.type, foil.original) for negative in negatives for foil in negative.foils
        }
        assert kind == "attribute"


def test_entailment_of_relations() -> None:
    assert entails([ON], Relation("2", "below", "1"))
    assert entails([ON], Relation("1", "above", "2"))
    assert not entails([Relation("1", "above", "2")], ON)
    assert entails([Relation("1", "flying", "2")], Relation("1", "fly", "2"))


# The language-model captioner


def test_prompt_has_the_format_of_a3() -> None:
    windows = (
        SceneObject("1", "window", ("large",)),
        SceneObject("2", "window"),
        SceneObject("3", "house", ("old", "red")),
    )
    graph = SceneGraph(windows, (Relation("1", "on", "3"), Relation("2", "next to", "1")))
    assert (
        make_prompt(graph)
        == "large window1, window2, old red house\nwindow1 on house\nwindow2 next to window1"
    )
    roles = [message["role"] for message in make_messages(graph, SHOTS)]
    assert roles == ["system", *["user", "assistant"] * 5, "user"]


def test_each_complexity_has_five_shots() -> None:
    assert {size: len(shots) for size, shots in SHOTS.items()} == dict.fromkeys(range(5, 13), 5)
    for size, shots in SHOTS.items():
        assert [shot.graph.complexity for shot in shots] == [size] * 5
        assert all(shot.caption == normalise_answer(shot.caption) for shot in shots)


def test_check_accepts_nearly_all_shots(captioner: PromptedCaptioner) -> None:
    results = [
        captioner.check(shot.graph, shot.caption) for shots in SHOTS.values() for shot in shots
    ]
    assert sum(isinstance(item, ParsedCaption) for item in results) >= 36


@pytest.mark.parametrize(
    ("caption", "expected"),
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
def test_faithfulness(captioner: PromptedCaptioner, caption: str, expected: str | None) -> None:
    result = captioner.check(GRAPH, caption)
    assert (result.reason if isinstance(result, NoCaption) else None) == expected


def test_answers_are_normalised_to_the_style_of_captions() -> None:
    assert normalise_answer(' "A red cup\non a table." ') == "a red cup on a table"


def make_graph(text: str) -> SceneGraph:
    """Return the graph of a text such as "red cup, on, table, box": two related objects, then others."""
    first, predicate, *others = text.split(", ")
    phrases = enumerate((first, *others), 1)
    objects = (
        SceneObject(str(key), words.split()[-1], (*words.split()[:-1],)) for key, words in phrases
    )
    return SceneGraph(tuple(objects), (Relation("1", predicate, "2"),))


def find_atom(graph: SceneGraph, text: str) -> Negated:
    (edge,) = graph.relations
    if text == edge.predicate:
        return Negated("relation", "1", text, edge)
    item = next(item for item in graph.objects if text in (item.name, *item.attributes))
    return Negated("object" if text == item.name else "attribute", item.id, text)


def parse(graph: SceneGraph, text: str) -> ParsedCaption:
    caption = PromptedCaptioner(Endpoint("model"), SHOTS, Cache([]), RuleParser()).check(
        graph, text
    )
    assert isinstance(caption, ParsedCaption), caption
    return caption


EDITS: dict[tuple[str, str], dict[str, str | None]] = {
    ("red cup, on, wooden table", "a red cup is on a wooden table"): {
        "red umbrella, on, wooden table": "a red umbrella is on a wooden table",
        "cup, on, wooden table": "a cup is on a wooden table",
        "red cup, supporting, wooden table": "a red cup is supporting a wooden table",
    },
    ("yellow tall vase, on, umbrella", "a tall and yellow vase is on an umbrella"): {
        "vase, on, yellow tall umbrella": "a vase is on a tall yellow umbrella",
        "tall vase, on, yellow umbrella": "a tall vase is on a yellow umbrella",
        "umbrella, on, yellow tall vase": "an umbrella is on a tall yellow vase",
    },
    # an attribute after its noun is not moved
    ("yellow vase, on, umbrella", "the vase on an umbrella is yellow"): {
        "vase, on, yellow umbrella": None
    },
    # no pronoun refers to a replaced person
    ("lamp, beside, boy", "a boy with a lamp beside him"): {
        "lamp, beside, vase": None,
        "lamp, beside, woman": None,
        "key, beside, boy": "a boy with a key beside him",
    },
    ("lamp, beside, boy", "a lamp beside a boy"): {"lamp, beside, vase": "a lamp beside a vase"},
}


@pytest.mark.parametrize(("caption", "edits"), EDITS.items())
def test_parsed_caption_is_edited_in_place(
    caption: tuple[str, str], edits: dict[str, str | None]
) -> None:
    parsed = parse(make_graph(caption[0]), caption[1])
    assert {edited: parsed.edit(make_graph(edited)) for edited in edits} == edits


NEGATIONS: dict[tuple[str, str], dict[tuple[str, ...], str | None]] = {
    ("red cup, on, wooden table", "a red cup is on a wooden table"): {
        ("on",): "a red cup is not on a wooden table",
        ("red",): "a cup is on a wooden table. the cup is not red",
        ("red", "wooden"): "a cup is on a table. the table is not wooden. the cup is not red",
    },
    ("yellow vase, on, umbrella", "the vase on an umbrella is yellow"): {
        ("yellow",): "the vase on an umbrella is not yellow",
        ("vase",): None,
    },
    ("old man, wearing, red hat", "an old man wears a red hat"): {
        ("hat",): "an old man wears something. there is no red hat",
        ("man",): "someone wears a red hat. there is no old man",
        ("wearing",): "an old man does not wear a red hat",
    },
    ("man, wearing, hat, box", "a man wearing a hat. there is also a box"): {
        ("hat",): "a man wearing something. there is also a box. there is no hat",
        ("box",): None,  # "there is also something" would not be English
    },
}


@pytest.mark.parametrize(("caption", "negations"), NEGATIONS.items())
def test_atoms_of_a_parsed_caption_are_negated(
    caption: tuple[str, str], negations: dict[tuple[str, ...], str | None]
) -> None:
    graph = make_graph(caption[0])
    parsed = parse(graph, caption[1])
    assert {
        atoms: parsed.negate(*(find_atom(graph, atom) for atom in atoms)) for atoms in negations
    } == negations


def test_edited_and_whole_parsed_captions_are_negated() -> None:
    caption = parse(make_graph("old man, wearing, red hat"), "an old man wears a red hat")
    assert caption.captioner == "llm:model"
    edited = make_graph("old man, wearing, red coat")
    assert caption.negate(Negated("object", "2", "hat"), edited=edited) == (
        "an old man wears something. there is no red coat"
    )
    assert caption.negate_all() == ["it is not true that an old man wears a red hat"]
    swapped = make_swap_negatives(GRAPH, parse(GRAPH, "a red cup is on a wooden table"))
    assert {"a red table is on a wooden cup", "a wooden table is on a red cup"} <= {
        item.caption for item in swapped
    }


def test_uncached_graph_has_no_caption(captioner: PromptedCaptioner) -> None:
    assert list(captioner.captions([Request(GRAPH, "0")])) == [NoCaption("no cached answer")]


@pytest.mark.parametrize(
    ("text", "relation", "whole"),
    [
        (
            "a cup is beside a hat",
            "a cup is not beside a hat",
            ["it is not true that a cup is beside a hat"],
        ),
        ("a cup is also beside a hat", None, ["it is not true that a cup is also beside a hat"]),
        ("beside a hat there is a cup", None, ["it is not true that beside a hat there is a cup"]),
        ("a cup, which is beside a hat", None, []),
        ("a cup is beside a hat, near it", "a cup is not beside a hat, near it", []),
    ],
)
def test_negations_that_are_bad_english_or_may_be_true_are_left_out(
    text: str, relation: str | None, whole: list[str]
) -> None:
    graph = make_graph("cup, beside, hat")
    words = [
        ("object", "cup", "NN", "1", None),
        ("relation", "beside", "IN", "1", "2"),
        ("object", "hat", "NN", "2", None),
    ]
    mentions = tuple(
        Mention(kind, word, text.index(word), text.index(word) + len(word), tag, first, second)
        for kind, word, tag, first, second in words
    )
    caption = ParsedCaption(graph, text, mentions, "model")
    assert caption.negate(Negated("relation", "1", "beside", graph.relations[0])) == relation
    assert caption.negate_all() == whole


def test_captions_of_five_atoms_have_five_negations() -> None:
    """Two objects, two attributes, one relation and the whole caption: at most one denial each."""
    caption = parse(GRAPH, "a red cup on a wooden table")
    negatives = make_negation_negatives(
        find_false_negations(GRAPH, collect_facts(GRAPH)), caption, Random(0)
    )
    captions = {negative.caption for negative in negatives}
    (whole,) = captions & set(caption.negate_all())
    assert whole in {
        "it is not true that there is a red cup on a wooden table",
        "there is no red cup on a wooden table",
    }
    assert captions - {whole} == {
        "something on a wooden table. there is no red cup",
        "a red cup on something. there is no wooden table",
        "a cup on a wooden table. the cup is not red",
        "a red cup on a table. the table is not wooden",
        "a red cup not on a wooden table",
    }


def test_twelve_alike_objects_are_aligned() -> None:
    """All 479 million orders of the windows have the same answer."""
    windows = tuple(SceneObject(str(number), "window", ("open",)) for number in range(12))
    stated = tuple(SceneObject(f"o{number}", "window", ("open",)) for number in range(12))
    mentions = tuple(
        Mention("object", "window", number, number, "NN", item.id)
        for number, item in enumerate(stated)
    )
    aligned = align_mentions(Parse("x" * 12, SceneGraph(stated), mentions), SceneGraph(windows))
    assert aligned is not None
    assert {mention.object for mention in aligned} == {item.id for item in windows}


def test_a_missing_key_is_reported_before_graphs_are_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def sample_graphs() -> Iterator[SceneGraph]:
        raise AssertionError("sampled")
        yield

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    endpoint = {"model": "some-model", "price_in": 0, "price_out": 0}
    with pytest.raises(ValueError, match="OPENAI_API_KEY is not set"):
        ask_captions(sample_graphs(), endpoint, 0.0)
