"""The corpus in which a bag of words tells captions apart."""

import pytest

from experiments.negclip.regimes import (
    REGIMES,
    Regime,
    drop_repeated_bags,
    estimate_rival_share,
    make_bag,
    make_examples_of_regime,
)
from generators.microworld.build import Params
from generators.microworld.scene import Scene
from generators.schemas.scene_graph import Box

WORLD = Params(seed=3, test_images=0, train_images=0, train_size=16, annotation_recall=1.0)


def described(caption: str) -> tuple[Scene, str, Box]:
    return Scene(1, 1, 1, "studio", (), ()), caption, Box(0, 0, 1, 1)


def test_a_bag_has_nouns_and_attributes_under_one_name_whatever_stands_between() -> None:
    assert make_bag("A red cup left of the little box.") == ("box", "cup", "red", "small")
    assert make_bag("the tiny box is to the right of a red cup") == make_bag("A red cup left of the little box.")
    assert make_bag("a red box left of a small cup") == make_bag("a red cup left of a small box")
    assert make_bag("a red cup") is None
    assert make_bag("a red lorry on a boat") == ("boat", "red", "truck")


def test_no_two_captions_of_two_things_have_one_bag() -> None:
    captions = ["a cup on a box", "a red cup", "a box under the cup", "a red cup", "a cup on a red box"]
    kept = [caption for _, caption, _ in drop_repeated_bags(map(described, captions))]
    assert kept == ["a cup on a box", "a red cup", "a red cup", "a cup on a red box"]


def test_the_chance_to_meet_a_rival() -> None:
    # Four captions, two of them rivals, one of another bag, one of none. In a batch of two a rival meets the other with
    # chance 1/3, the third never: (1/3 + 1/3 + 0) / 3. In a batch of all four: 1 - (2/3)^3 = 19/27, with replacement.
    captions = ["a cup on a box", "a box on a cup", "a cat on a bench", "a red cup"]
    assert estimate_rival_share(captions, 2) == pytest.approx(2 / 9)
    assert estimate_rival_share(captions, 4) == pytest.approx(2 * 19 / 27 / 3)


def test_regimes_show_the_same_scenes_and_one_describes_every_thing() -> None:
    plain, rich = (list(make_examples_of_regime(WORLD, Regime(richness, False), 40)) for richness in (0.0, 1.0))
    assert [example.image_id for example in plain] == [example.image_id for example in rich]
    # Two nouns and, of each, one attribute or more; a caption of one thing has no bag.
    assert {len(words) for example in plain if (words := make_bag(example.caption))} == {2}
    assert {len(words) >= 4 for example in rich if (words := make_bag(example.caption))} == {True}


def test_a_distinct_corpus_is_as_long_and_goes_on_to_further_scenes() -> None:
    made = list(make_examples_of_regime(WORLD, REGIMES["bag_of_words"], 60))
    bags = [words for example in made if (words := make_bag(example.caption))]
    assert len(made) == 60
    assert len(set(bags)) == len(bags) > 40
