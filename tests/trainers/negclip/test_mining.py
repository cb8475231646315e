"""What NegCLIP's batches hold."""

from pathlib import Path

import numpy as np
import pytest
import torch

from generators.hard_negatives.negclip import Negative
from trainers.negclip.image_text import ImageText, Place
from trainers.negclip.mining import Mined, batches, mine, texts

CAPTIONS = ("a red cup beside a blue car", "nothing", "a cat under a black table", "a white dog on a brown bench")
EYE = torch.eye(6)


def data(captions: tuple[str, ...], images: list[int]) -> ImageText:
    return ImageText(
        tuple(Place(str(image), Path(str(image))) for image in range(max(images) + 1)), captions, np.array(images)
    )


@pytest.fixture
def mined() -> Mined:
    """Seven captions of six images (two of image 2), the neighbours of image i are i + 1, i + 2 and i + 3."""
    images = [0, 1, 2, 2, 3, 4, 5]
    negatives = tuple((Negative(f"not {number} a", "noun"), Negative(f"not {number} b", "noun")) for number in range(7))
    neighbour_IK = (np.arange(6)[:, None] + [1, 2, 3]) % 6
    return Mined(data(tuple(f"caption {number}" for number in range(7)), images), negatives, neighbour_IK)


def test_captions_without_a_negative_leave_and_their_images_are_nobodys_neighbours(tmp_path: Path) -> None:
    captions = (*CAPTIONS, *CAPTIONS)
    asked = []

    def embed(kept: ImageText) -> torch.Tensor:
        asked.append([place.name for place in kept.places])
        return EYE[: len(kept.places)]

    found = mine(data(captions, list(range(8))), embed, "a model", tmp_path / "mined.json")
    assert asked == [["0", "2", "3", "4", "6", "7"]]
    assert "nothing" not in found.data.captions
    assert len(found.negatives) == len(found.data.captions) == 6
    assert found.neighbour_IK.shape == (6, 3)
    again = mine(data(captions, list(range(8))), embed, "a model", tmp_path / "mined.json")
    assert len(asked) == 1, "read, not mined again"
    assert again.negatives == found.negatives
    assert np.array_equal(again.neighbour_IK, found.neighbour_IK)
    mine(data(captions, list(range(8))), embed, "another model", tmp_path / "mined.json")
    assert len(asked) == 2


def test_no_caption_with_a_negative(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="None of 1 captions has two parts that can be exchanged"):
        mine(data(("nothing",), [0]), lambda kept: EYE, "a model", tmp_path / "mined.json")


def test_a_hard_batch_has_neighbours_with_captions_and_negatives_of_their_own(mined: Mined) -> None:
    for epoch in range(4):
        first, second = batches(mined, 3, seed=0, epoch=epoch, hard=True)
        assert len({*first.caption_N[:3], *second.caption_N[:3]}) == 6, "each caption once, the ragged batch left out"
        for batch in (first, second):
            assert len(batch.image_N) == 6  # N' = 2N
            for own, other in zip(batch.image_N[:3], batch.image_N[3:], strict=True):
                assert other in mined.neighbour_IK[own]
            assert np.array_equal(mined.data.image_C[batch.caption_N], batch.image_N)
            true, negative = texts(mined, batch)
            assert len(true) + len(negative) == 12  # 4N texts
            for said, wrong in zip(true, negative, strict=True):
                assert wrong.startswith(f"not {said.removeprefix('caption ')} ")


def test_epochs_sample_anew_and_both_methods_see_the_same_captions(mined: Mined) -> None:
    drawn = [texts(mined, batch) for epoch in range(20) for batch in batches(mined, 3, seed=0, epoch=epoch, hard=True)]
    assert {text for _, wrong in drawn for text in wrong} == {
        f"not {number} {one}" for number in range(7) for one in "ab"
    }
    for epoch in range(3):
        hard, plain = (batches(mined, 3, seed=0, epoch=epoch, hard=hard) for hard in (True, False))
        assert [one.caption_N[:3].tolist() for one in hard] == [one.caption_N.tolist() for one in plain]
        assert all(texts(mined, batch)[1] == [] for batch in plain)
    orders = {tuple(batches(mined, 7, seed=0, epoch=epoch, hard=False)[0].caption_N) for epoch in range(5)}
    assert len(orders) == 5
