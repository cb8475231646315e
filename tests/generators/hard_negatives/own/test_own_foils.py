"""Hard negatives of the user's own captions."""

from dataclasses import replace

import pytest

from compeval.base.schemas.annotated_image import AnnotatedImage, Region
from compeval.base.schemas.scene_graph import Box, Relation, SceneGraph, SceneObject
from compeval.base.text_only.corpus_statistics import CorpusStatistics
from compeval.generators.graphs.vocabulary import Vocabulary
from compeval.generators.hard_negatives.own.caption_facts import merge_captions
from compeval.generators.hard_negatives.own.companions import Companions
from compeval.generators.hard_negatives.own.foils import FoilMaker, extend_vocabulary
from compeval.generators.hard_negatives.own.form import split_form
from compeval.generators.parser.caption_parser import CaptionParser, make_parser

BOX = Box(0, 0, 100, 100)


@pytest.fixture(scope="module")
def parser() -> CaptionParser:
    return make_parser()


def make_image(
    parser: CaptionParser, captions: list[str], graph: SceneGraph | None = None
) -> AnnotatedImage:
    regions = (
        Region(text, text, BOX, text, parse)
        for text, parse in zip(captions, parser.parse(captions), strict=True)
    )
    return AnnotatedImage("1", 100, 100, graph or SceneGraph(), tuple(regions))


def make_maker(
    captions: list[str],
    annotated: frozenset[str] = frozenset(),
    rejected: frozenset[str] = frozenset(),
):
    vocabulary, kinds = extend_vocabulary(Vocabulary()), ("atom", "comp", "swap", "negation")
    ranker, companions = CorpusStatistics.of(captions), Companions.of([])
    return FoilMaker(kinds, vocabulary, ranker, companions, {"crop": rejected}, "key", annotated)


def list_texts(
    parser: CaptionParser,
    captions: list[str],
    kind: str,
    graph: SceneGraph | None = None,
    **options,
):
    """Return the texts of all candidates of the first caption, and whether each is proven."""
    image, maker = make_image(parser, captions, graph), make_maker(captions, **options)
    first = next(maker.make(image, "crop"))
    pool = maker._make_pool(kind, first.caption, frozenset())
    return {negative.caption: maker.is_proven(negative, first.caption) for negative in pool}


@pytest.mark.parametrize(
    ("caption", "form", "body"),
    [
        ("A dog runs.", (True, ".", False), "a dog runs"),
        ("a dog runs .", (False, " .", False), "a dog runs"),
        ("A DOG RUNS", (False, "", True), "a dog runs"),
        ("BBQ on a table!", (False, "!", False), "BBQ on a table"),
    ],
)
def test_foils_have_the_form_of_the_caption(caption: str, form: tuple, body: str):
    assert split_form(caption, begins_with_name=False) == (form, body)
    assert split_form(caption, begins_with_name=False)[0].write(body) == caption


def test_each_sentence_begins_like_the_caption():
    form, _ = split_form("A dog runs.", begins_with_name=False)
    assert form.write("something runs. there is no dog") == "Something runs. There is no dog."


def test_what_another_caption_says_is_no_foil(parser):
    captions = ["a red car on a street", "a blue car and a dog"]
    atoms = list_texts(parser, captions, "atom")
    assert "a green car on a street" in atoms
    assert "a blue car on a street" not in atoms
    assert not [text for text in atoms if "dog" in text]


def test_captions_prove_attributes_and_relations_and_not_the_absence_of_objects(parser):
    atoms = list_texts(parser, ["a red car on a street"], "atom")
    assert atoms["a blue car on a street"] is True
    assert atoms["a red car under a street"] is True
    assert atoms["a red truck on a street"] is False


def test_a_scene_graph_proves_the_absence_of_the_nouns_that_it_lists(parser):
    graph = SceneGraph(
        (SceneObject("1", "car", ("red",), BOX), SceneObject("2", "street", (), BOX))
    )
    captions = ["a red car on a street"]
    assert list_texts(parser, captions, "atom", graph)["a red truck on a street"] is True
    for listed, is_proven in (("truck", True), ("bus", False)):
        of_coco = list_texts(parser, captions, "atom", graph, annotated=frozenset({listed}))
        assert of_coco["a red truck on a street"] is is_proven
    with_truck = SceneGraph(
        (*graph.objects, SceneObject("3", "truck", (), BOX)), (Relation("3", "on", "2"),)
    )
    assert "a red truck on a street" not in list_texts(parser, captions, "atom", with_truck)


def test_swaps_have_the_words_of_the_caption_and_contradict_it(parser):
    swaps = list_texts(parser, ["A black dog on a white couch."], "swap")
    assert "A black couch on a white dog." in swaps
    assert "A white dog on a black couch." in swaps
    assert not list_texts(parser, ["a dog next to a couch"], "swap"), "next to is symmetric"


@pytest.mark.parametrize(
    ("caption", "absent"),
    [
        ("a cup of tea on a table", ["something of", "cup not of"]),
        ("a man and a woman on a bench", ["someone and"]),
        ("a red and white bus on a road", ["and white bus on a road. the bus is not red"]),
        ("a woman's hand on a table", ["someone's", "not 's"]),
        ("a man with a blue hat on", ["hat not on"]),
    ],
)
def test_negations_are_english(parser, caption: str, absent: list[str]):
    negations = list_texts(parser, [caption], "negation")
    assert len(negations) == 1
    assert not [text for text in negations for part in absent if part in text]


def test_rejected_negatives_are_replaced(parser):
    captions = ["a red car on a street"]
    image = make_image(parser, captions)

    def choose(rejected: frozenset[str]) -> list[str]:
        (made,) = make_maker(captions, rejected=rejected).make(image, "crop")
        return [negative.caption for negative, _ in made.negatives["atom"]]

    first = choose(frozenset())
    second = choose(frozenset(first[:1]))
    assert len(first) == len(second) == 4
    assert first[0] not in second
    assert set(first[1:]) <= set(second)


@pytest.mark.parametrize(
    "caption", ["how amazing is this table ?", "I love my dog", "50% off @ shop", "###"]
)
def test_texts_that_describe_nothing_have_no_negatives(parser, caption: str):
    assert not list(make_maker([caption]).make(make_image(parser, [caption]), "crop"))


def test_captions_are_merged_by_name_and_number(parser):
    captions = ["a black dog and a white dog", "a dog on a couch", "two dogs"]
    facts = merge_captions(list(parser.parse(captions)))
    dogs = [(entity.id, entity.attributes) for entity in facts.entities if "dog" in entity.names]
    assert dogs[:2] == [("0", ("black", "2")), ("0+", ())], (
        "captions disagree about the number, so another is unknown"
    )
    assert ("1", ("white",)) in dogs


def test_nouns_that_images_show_together_are_companions():
    companions = Companions.of(
        [["sink", "mirror"]] * 20 + [["sink"]] * 20 + [["kite", "mirror"]] * 3
    )
    assert companions.share("mirror", ["sink"]) == 0.5
    assert companions.share("mirror", ["kite"]) == 0.0, "three images say nothing"
    assert companions.share("lion", ["sink"]) == 0.0


def test_words_that_may_be_true_or_say_nothing_are_no_foils(parser: CaptionParser):
    texts = list_texts(parser, ["A red lamp over a table with a dog in the background."], "atom")
    assert any("under a table" in text for text in texts)
    assert all("next to a table" not in text for text in texts)
    assert all(text.endswith("in the background.") for text in texts)


def test_only_persons_replace_persons_and_colours_are_no_nouns():
    words = {"person": 9, "girl": 5, "state": 5, "food": 5, "blue": 5}
    maker = replace(make_maker([]), vocabulary=extend_vocabulary(Vocabulary(nouns=words)))
    assert "blue" not in maker.vocabulary.nouns
    assert {"state", "food"}.isdisjoint(maker._weigh_near_nouns("person"))
