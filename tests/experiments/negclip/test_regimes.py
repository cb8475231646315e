"""The two training corpora of the experiment negclip."""

from compeval.base.schemas.scene_graph import Box
from compeval.generators.microworld.build import Params
from compeval.generators.microworld.scene import Scene
from experiments.negclip.regimes import (
    REGIMES,
    Regime,
    drop_repeated_bags,
    estimate_rival_share,
    make_bag,
    make_regime_examples,
)
from tests.close import assert_close

PEOPLE = {"man", "woman", "boy"}
WORLD = Params(seed=3, test_images=0, train_images=0, train_size=16, annotation_recall=1.0)


def make_captioned_scene(caption: str) -> tuple[Scene, str, Box]:
    return Scene(1, 1, 1, "studio", (), ()), caption, Box(0, 0, 1, 1)


def test_a_bag_has_the_canonical_nouns_and_attributes() -> None:
    assert make_bag("A red cup left of the little box.") == ("box", "cup", "red", "small")
    assert make_bag("the tiny box is to the right of a red cup") == make_bag(
        "A red cup left of the little box."
    )
    assert make_bag("a red box left of a small cup") == make_bag("a red cup left of a small box")
    assert make_bag("a red cup") is None
    assert make_bag("a red lorry on a boat") == ("boat", "red", "truck")


def test_captions_of_two_objects_with_a_repeated_bag_are_dropped() -> None:
    captions = [
        "a cup on a box",
        "a red cup",
        "a box under the cup",
        "a red cup",
        "a cup on a red box",
    ]
    remaining = [
        caption for _, caption, _ in drop_repeated_bags(map(make_captioned_scene, captions))
    ]
    assert remaining == ["a cup on a box", "a red cup", "a red cup", "a cup on a red box"]


def test_the_probability_of_a_rival_in_a_batch() -> None:
    # Four captions: two rivals, one with another bag, and one without a bag. In a batch of two, each rival meets the
    # other with probability 1/3, the third caption never: (1/3 + 1/3 + 0) / 3. In a batch of four, drawn with
    # replacement, the probability of a rival is 1 - (2/3)^3 = 19/27.
    captions = ["a cup on a box", "a box on a cup", "a cat on a bench", "a red cup"]
    assert_close(estimate_rival_share(captions, 2), 2 / 9)
    assert_close(estimate_rival_share(captions, 4), 2 * 19 / 27 / 3)


def test_regimes_have_the_same_scenes_and_a_rich_regime_has_attributes() -> None:
    plain, rich = (
        list(make_regime_examples(WORLD, Regime(richness, False), 40)) for richness in (0.0, 1.0)
    )
    assert [example.image_id for example in plain] == [example.image_id for example in rich]
    # Two nouns, and in the rich regime at least one attribute per noun but for people, whose look is not described. A
    # caption of one object has no bag.
    assert {len(words) for example in plain if (words := make_bag(example.caption))} == {2}
    bags = [words for example in rich if (words := make_bag(example.caption))]
    assert all(len(words) + len(PEOPLE & {*words}) >= 4 for words in bags)
    assert any(PEOPLE & {*words} for words in bags)


def test_a_distinct_corpus_has_as_many_examples_and_uses_more_scenes() -> None:
    examples = list(make_regime_examples(WORLD, REGIMES["bag_of_words"], 60))
    bags = [words for example in examples if (words := make_bag(example.caption))]
    assert len(examples) == 60
    assert len(set(bags)) == len(bags) > 40
