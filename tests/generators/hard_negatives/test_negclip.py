"""Negative captions: what is exchanged, and that nothing else gives a negative away."""

import csv
import re

import pytest

from generators.hard_negatives.negclip import MAX_NEGATIVES, negatives

MISFIT = re.compile(r"\b[Aa] (umbrella|apple|orange|animal|elephant|old|airplane|oven)\b")


def of(caption: str) -> dict[str, str]:
    """Negative -> kind."""
    (found,) = negatives([caption])
    return {negative.text: negative.kind for negative in found}


def test_the_papers_example() -> None:
    found = of("The horse is eating the grass and the zebra is drinking the water.")
    assert len(found) == MAX_NEGATIVES
    assert found["The horse is drinking the grass and the zebra is eating the water."] == "verb"
    assert set(found.values()) == {"noun", "verb"}


def test_capitals_and_articles_fit() -> None:
    found = of("A child holding an umbrella.")
    assert found == {"An umbrella holding a child.": "noun"}


def test_a_list_and_a_mutual_relation_are_left_alone() -> None:
    assert of("A cat and a dog.") == {}
    assert of("A cat is next to a dog.") == {}
    assert not [text for text, kind in of("A plane in a cloudy blue sky.").items() if kind == "adjective"]
    # but what the attributes are of, matters
    assert of("A white cat and a black dog.") == {
        "A white dog and a black cat.": "noun",
        "A black cat and a white dog.": "adjective",
    }


def test_a_listed_chair_and_a_shared_complement_are_left_alone() -> None:
    assert "adjective" not in of("A gray chair and a black chair are in a room.").values()
    assert "adjective" not in of("A living room with several chairs and clean windows.").values()
    assert "verb" not in of("Horses stand and drink from pond water near the road.").values()


def test_verbs_keep_what_they_go_with_and_compounds_stay_whole() -> None:
    # "standing a bat while holding on a field" is no English.
    assert "verb" not in of("A baseball player holding a bat while standing on a field.").values()
    found = of("A man with a wrench is turning off a fire hydrant.")
    assert "noun" in found.values()
    assert not [text for text in found if "fire hydrant" not in text.lower()]


def test_half_of_a_preposition_stays() -> None:
    # "A cup is to the lemon of a right." is no English.
    assert of("A lemon is to the right of a cup.") == {"A cup is to the right of a lemon.": "noun"}
    assert of("A man in front of a dog.") == {"A dog in front of a man.": "noun"}


def test_articles_before_other_words_stay_as_they_are() -> None:
    """Mended, "an historic" would tell a negative from its caption."""
    found = of("A cup left of an historic umbrella in a garden.")
    assert found
    assert all(" an historic " in text for text in found)


@pytest.mark.parametrize("caption", ["", "A dog.", "Dogs."])
def test_a_caption_with_nothing_to_exchange_has_none(caption) -> None:
    assert of(caption) == {}


def test_real_captions(real_data) -> None:
    with (real_data / "aro" / "valid_neg_clip.head500.tsv").open(newline="") as file:
        captions = [row["title"] for row in csv.DictReader(file, delimiter="\t")]
    assert len(captions) == 500
    count = 0
    for caption, found in zip(captions, negatives(captions), strict=True):
        texts = [negative.text for negative in found]
        count += len(texts)
        assert len({text.lower() for text in texts} | {caption.lower()}) == len(texts) + 1
        for text in texts:
            # the published artefacts: spaces before punctuation, a lower-case beginning, "A umbrella"
            assert len(re.findall(r" [.,;!?]", text)) == len(re.findall(r" [.,;!?]", caption))
            assert text[0].isupper() == caption[0].isupper()
            # one caption has "A airplane" itself, which would tell it from its negatives if these had it mended
            assert len(MISFIT.findall(text)) <= len(MISFIT.findall(caption))
    assert count > 500
