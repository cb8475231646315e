"""Negative captions: which parts are swapped, and that nothing else distinguishes a negative."""

import csv
import re

import pytest

from compeval.base.pipeline.params import PAPER
from compeval.generators.hard_negatives.negclip.negatives import MAX_NEGATIVES, make_negatives

MISFIT = re.compile(r"\b[Aa] (umbrella|apple|orange|animal|elephant|old|airplane|oven)\b")


def kind_by_negative(caption: str) -> dict[str, str]:
    """Return a mapping from each negative caption to its kind."""
    (negatives,) = make_negatives([caption])
    return {negative.text: negative.kind for negative in negatives}


def test_example_of_the_paper() -> None:
    negatives = kind_by_negative(
        "The horse is eating the grass and the zebra is drinking the water."
    )
    assert len(negatives) == MAX_NEGATIVES
    assert negatives["The horse is drinking the grass and the zebra is eating the water."] == "verb"
    assert set(negatives.values()) == {"noun", "verb"}


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        # Number and place do not matter.
        (
            "Two dogs play in the snow.",
            {"Two snow play in the dogs.": "noun"},
        ),
        ("A cat and a dog.", {"A dog and a cat.": "noun"}),
        (
            "a man is not looking up while a child sleeps",
            {
                "a child is not looking up while a man sleeps": "noun",
                "a man sleeps while a child is not looking up": "verb phrase",
            },
        ),
        (
            "a black cat and a white dog",
            {
                "a black dog and a white cat": "noun",
                "a white cat and a black dog": "adjective",
                "a white dog and a black cat": "noun phrase",
            },
        ),
        ("a dog", {}),
    ],
)
def test_one_negative_of_each_kind_by_the_papers_rules(
    caption: str, expected: dict[str, str]
) -> None:
    (negatives,) = make_negatives([caption], PAPER)
    assert {negative.text: negative.kind for negative in negatives} == expected


def test_capitals_and_articles_are_adapted() -> None:
    negatives = kind_by_negative("A child holding an umbrella.")
    assert negatives == {"An umbrella holding a child.": "noun"}


def test_lists_and_symmetric_relations_are_not_swapped() -> None:
    assert kind_by_negative("A cat and a dog.") == {}
    assert kind_by_negative("A cat is next to a dog.") == {}
    assert not [
        text
        for text, kind in kind_by_negative("A plane in a cloudy blue sky.").items()
        if kind == "adjective"
    ]
    # The objects of the attributes make a difference.
    assert kind_by_negative("A white cat and a black dog.") == {
        "A white dog and a black cat.": "noun",
        "A black cat and a white dog.": "adjective",
    }


def test_equal_nouns_in_a_list_and_shared_complements_are_not_swapped() -> None:
    assert (
        "adjective"
        not in kind_by_negative("A gray chair and a black chair are in a room.").values()
    )
    assert (
        "adjective"
        not in kind_by_negative("A living room with several chairs and clean windows.").values()
    )
    assert (
        "verb"
        not in kind_by_negative("Horses stand and drink from pond water near the road.").values()
    )


def test_verbs_keep_their_complements_and_compounds_are_swapped_as_a_whole() -> None:
    # "standing a bat while holding on a field" is not English.
    assert (
        "verb"
        not in kind_by_negative(
            "A baseball player holding a bat while standing on a field."
        ).values()
    )
    negatives = kind_by_negative("A man with a wrench is turning off a fire hydrant.")
    assert "noun" in negatives.values()
    assert not [text for text in negatives if "fire hydrant" not in text.lower()]


def test_nouns_inside_prepositions_are_not_swapped() -> None:
    # "A cup is to the lemon of a right." is not English.
    assert kind_by_negative("A lemon is to the right of a cup.") == {
        "A cup is to the right of a lemon.": "noun"
    }
    assert kind_by_negative("A man in front of a dog.") == {"A dog in front of a man.": "noun"}


def test_other_articles_are_not_changed() -> None:
    """If "an historic" were corrected, the correction would distinguish a negative from its caption."""
    negatives = kind_by_negative("A cup left of an historic umbrella in a garden.")
    assert negatives
    assert all(" an historic " in text for text in negatives)


@pytest.mark.parametrize("caption", ["", "A dog.", "Dogs."])
def test_caption_with_nothing_to_swap_has_no_negatives(caption) -> None:
    assert kind_by_negative(caption) == {}


def test_real_captions(real_data) -> None:
    with (real_data / "aro" / "valid_neg_clip.head500.tsv").open(
        encoding="utf-8", newline=""
    ) as file:
        captions = [row["title"] for row in csv.DictReader(file, delimiter="\t")]
    assert len(captions) == 500
    count = 0
    for caption, negatives in zip(captions, make_negatives(captions), strict=True):
        texts = [negative.text for negative in negatives]
        count += len(texts)
        assert len({text.lower() for text in texts} | {caption.lower()}) == len(texts) + 1
        for text in texts:
            # Errors of the published captions: spaces before punctuation, a lower-case first word, "A umbrella".
            assert len(re.findall(r" [.,;!?]", text)) == len(re.findall(r" [.,;!?]", caption))
            assert text[0].isupper() == caption[0].isupper()
            # One caption contains "A airplane", which its negatives must not correct.
            assert len(MISFIT.findall(text)) <= len(MISFIT.findall(caption))
    assert count > 500
