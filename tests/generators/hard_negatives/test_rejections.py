import csv
from pathlib import Path

import pytest

from generators.hard_negatives.hard_negative import Foil, HardNegative
from generators.hard_negatives.rejections import FILE, Rejections
from generators.hard_negatives.selection import most_plausible, replace_rejected
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.scene_graph import Box, SceneGraph
from generators.storage.crops import crop_id
from tests.rows import picture

BOX = Box(10, 20, 40, 30)


def negative(word: str) -> HardNegative:
    return HardNegative(f"a {word} cup", (Foil("attribute", "red", word),))


RANKED = [negative(word) for word in ("blue", "green", "pink", "black")]


def test_a_rejected_negative_is_replaced_in_its_place_by_the_next_ranked():
    blue, green, pink, black = RANKED
    assert replace_rejected([blue, green], RANKED, frozenset()) == (blue, green)
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup"})) == (pink, green)
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup", "a pink cup"})) == (black, green)
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup", "a green cup"})) == (pink, black)


def test_a_caption_with_too_few_left_has_none():
    assert replace_rejected(RANKED, RANKED, frozenset({"a pink cup"})) == ()
    assert replace_rejected((), RANKED, frozenset({"a pink cup"})) == ()


def test_the_ranker_chooses_as_before_and_only_the_rejected_one_goes():
    class Lengths:
        def score(self, captions):
            return [-len(caption) for caption in captions]

    # Shortest first: blue, pink, green, black.
    blue, green, pink, black = RANKED
    assert most_plausible(RANKED, 3, Lengths()) == (blue, pink, green)
    assert most_plausible(RANKED, 3, Lengths(), frozenset({"a pink cup"})) == (blue, black, green)
    assert most_plausible(RANKED, 3, Lengths(), frozenset({"a pink cup", "a black cup"})) == ()


def test_rejected_texts_are_those_of_one_crop(tmp_path: Path):
    path = picture(tmp_path, 1)
    with (tmp_path / FILE).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([("crop_id", "image_id", "text"), (crop_id(path, BOX), "1", "a cup, blue")])
    read = Rejections.read(tmp_path)
    image = AnnotatedImage("1", 100, 80, SceneGraph(()), files=(path,))
    assert read.texts(image, BOX) == {"a cup, blue"}
    assert read.texts(image, Box(0, 0, 9, 9)) == frozenset()
    # Another image is not even looked for.
    assert read.texts(AnnotatedImage("2", 9, 9, SceneGraph(())), BOX) == frozenset()
    assert Rejections.read(tmp_path / "nowhere") == Rejections()


def test_a_file_without_the_columns_is_an_error(tmp_path: Path):
    (tmp_path / FILE).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"rejected\.csv: no column 'crop_id'\. `compeval annotate import` writes"):
        Rejections.read(tmp_path)
