import csv
from pathlib import Path

import pytest

from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.scene_graph import Box, SceneGraph
from compeval.base.storage.crops import crop_id
from compeval.generators.hard_negatives.crepe.selection import (
    replace_rejected,
    select_most_plausible,
)
from compeval.generators.hard_negatives.hard_negative import Foil, HardNegative
from compeval.generators.hard_negatives.rejections import FILE, Rejections
from tests.rows import picture

BOX = Box(10, 20, 40, 30)


def negative(word: str) -> HardNegative:
    return HardNegative(f"a {word} cup", (Foil("attribute", "red", word),))


RANKED = [negative(word) for word in ("blue", "green", "pink", "black")]


def test_rejected_negative_is_replaced_by_the_next_ranked():
    blue, green, pink, black = RANKED
    assert replace_rejected([blue, green], RANKED, frozenset()) == (blue, green)
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup"})) == (pink, green)
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup", "a pink cup"})) == (
        black,
        green,
    )
    assert replace_rejected([blue, green], RANKED, frozenset({"a blue cup", "a green cup"})) == (
        pink,
        black,
    )


def test_caption_with_too_few_negatives_has_none():
    assert replace_rejected(RANKED, RANKED, frozenset({"a pink cup"})) == ()
    assert replace_rejected((), RANKED, frozenset({"a pink cup"})) == ()


def test_only_the_rejected_negative_is_replaced():
    scores = {item.caption: -len(item.caption) for item in RANKED}
    # Shortest first: blue, pink, green, black.
    blue, green, pink, black = RANKED
    assert select_most_plausible(RANKED, 3, scores) == (blue, pink, green)
    assert select_most_plausible(RANKED, 3, scores, frozenset({"a pink cup"})) == (
        blue,
        black,
        green,
    )
    assert select_most_plausible(RANKED, 3, scores, frozenset({"a pink cup", "a black cup"})) == ()


def test_texts_are_rejected_for_one_crop(tmp_path: Path):
    path = picture(tmp_path, 1)
    with (tmp_path / FILE).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(
            [("crop_id", "image_id", "text"), (crop_id(path, BOX), "1", "a cup, blue")]
        )
    rejections = Rejections.read(tmp_path)
    image = AnnotatedImage("1", 100, 80, SceneGraph(()), files=(path,))
    assert rejections.texts(image, BOX) == {"a cup, blue"}
    assert rejections.texts(image, Box(0, 0, 9, 9)) == frozenset()
    # An image without rejected texts is not opened, so it need not exist.
    assert rejections.texts(AnnotatedImage("2", 9, 9, SceneGraph(())), BOX) == frozenset()
    assert Rejections.read(tmp_path / "nowhere") == Rejections()


def test_file_without_the_columns_is_an_error(tmp_path: Path):
    (tmp_path / FILE).write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"rejected\.csv: no column 'crop_id'\. `compeval annotate import` writes this file again",
    ):
        Rejections.read(tmp_path)
