"""Tests of mined hard negatives, nearest images and NegCLIP's batches."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn import functional

from compeval.base.pipeline.params import OURS, PAPER
from compeval.generators.hard_negatives.negclip import negatives as negclip
from compeval.generators.hard_negatives.negclip.negatives import Negative
from compeval.trainers.negclip import mining
from compeval.trainers.negclip.image_text import CaptionedImages, ImageLocation
from compeval.trainers.negclip.mining import (
    MinedData,
    find_nearest,
    get_texts,
    make_batches,
    to_array,
)
from tests.trainers import toy

CAPTIONS = (
    "a red cup beside a blue car",
    "nothing",
    "a cat under a black table",
    "a white dog on a brown bench",
)
EYE = torch.eye(6)
mine = partial(mining.mine, workers=0, report=toy.ignore_progress)


def make_data(captions: tuple[str, ...], images: list[int]) -> CaptionedImages:
    return CaptionedImages(
        tuple(ImageLocation(str(image), Path(str(image))) for image in range(max(images) + 1)),
        captions,
        np.array(images),
    )


@pytest.fixture
def mined() -> MinedData:
    """Seven captions of six images (two of image 2).

    The neighbours of image i are i + 1, i + 2 and i + 3 (modulo 6).
    """
    images = [0, 1, 2, 2, 3, 4, 5]
    negatives = tuple(
        (Negative(f"not {number} a", "noun"), Negative(f"not {number} b", "noun"))
        for number in range(7)
    )
    neighbour_IK = (np.arange(6)[:, None] + [1, 2, 3]) % 6
    data = make_data(tuple(f"caption {number}" for number in range(7)), images)
    return MinedData(data, pa.chunked_array([to_array(negatives)]), neighbour_IK)


def test_captions_without_a_negative_are_dropped_before_neighbours_are_searched(
    tmp_path: Path,
) -> None:
    captions = (*CAPTIONS, *CAPTIONS)
    encoded = []

    def embed(locations: Sequence[ImageLocation]) -> torch.Tensor:
        encoded.append([location.name for location in locations])
        return EYE[: len(locations)]

    mined = mine(make_data(captions, list(range(8))), embed, "a model", tmp_path / "mined")
    assert encoded == [["0", "2", "3", "4", "6", "7"]]
    assert "nothing" not in mined.data.captions
    assert len(mined.negatives) == len(mined.data.captions) == 6
    assert mined.neighbour_IK.shape == (6, 3)
    cached = mine(make_data(captions, list(range(8))), embed, "a model", tmp_path / "mined")
    assert len(encoded) == 1, "read from the cache"
    assert cached.negatives.equals(mined.negatives)
    assert np.array_equal(cached.neighbour_IK, mined.neighbour_IK)
    mine(make_data(captions, list(range(8))), embed, "another model", tmp_path / "mined")
    assert len(encoded) == 2


def test_neighbours_are_searched_again_if_an_image_has_changed(tmp_path: Path) -> None:
    """The corrected image has the same name and size."""
    encoded: list[bytes] = []

    def embed(locations: Sequence[ImageLocation]) -> torch.Tensor:
        encoded.append(b"".join(location.read() for location in locations))
        return EYE[: len(locations)]

    for content in (b"old", b"old", b"new"):
        for number in range(6):
            path = tmp_path / f"{number}.jpg"
            if not path.exists() or path.read_bytes() != content:
                path.write_bytes(content)
        locations = tuple(
            ImageLocation(str(number), tmp_path / f"{number}.jpg") for number in range(6)
        )
        data = CaptionedImages(locations, (CAPTIONS[0],) * 6, np.arange(6))
        mine(data, embed, "a model", tmp_path / "mined")
    assert encoded == [b"old" * 6, b"new" * 6]


def test_an_interrupted_mining_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mining, "CAPTIONS_PER_CHUNK", 3)
    monkeypatch.setattr(mining, "IMAGES_PER_CHUNK", 2)
    data, parsed, encoded = (
        make_data((*CAPTIONS, *CAPTIONS), list(range(8))),
        list[str](),
        list[list[str]](),
    )

    def make_negatives(captions: Sequence[str], rules: str) -> Iterator[list[Negative]]:
        for caption in captions:
            if len(parsed) == 7:  # the second caption of the third chunk
                parsed.clear()
                raise KeyboardInterrupt
            parsed.append(caption)
        return negclip.make_negatives(captions, rules)

    def embed(locations: Sequence[ImageLocation]) -> torch.Tensor:
        if len(encoded) == 2:  # the third chunk
            encoded.clear()
            raise KeyboardInterrupt
        encoded.append([location.name for location in locations])
        return EYE[[int(location.name) % 6 for location in locations]]

    monkeypatch.setattr(mining, "make_negatives", make_negatives)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            mine(data, embed, "a model", tmp_path / "mined")
    assert parsed == [*CAPTIONS[2:]], "only the third chunk was left"
    resumed = mine(data, embed, "a model", tmp_path / "mined")
    assert encoded == [["6", "7"]], "only the third chunk was left"
    monkeypatch.setattr(mining, "make_negatives", negclip.make_negatives)
    whole = mine(
        data,
        lambda images: EYE[[int(image.name) % 6 for image in images]],
        "a model",
        tmp_path / "whole",
    )
    assert resumed.negatives.equals(whole.negatives)
    assert np.array_equal(resumed.neighbour_IK, whole.neighbour_IK)


@pytest.mark.parametrize(
    ("rules", "keep_all", "kept"), [(OURS, False, 6), (PAPER, False, 6), (PAPER, True, 8)]
)
def test_clip_ft_keeps_captions_without_a_negative(
    tmp_path: Path, rules: str, keep_all: bool, kept: int
) -> None:
    data = make_data((*CAPTIONS, *CAPTIONS), list(range(8)))
    mined = mine(
        data,
        lambda images: torch.eye(8)[: len(images)],
        "m",
        tmp_path / "mined",
        rules=rules,
        keep_all=keep_all,
    )
    assert (len(mined.data.captions), len(mined.negatives), len(mined.neighbour_IK)) == (
        kept,
        kept,
        kept,
    )


def test_neighbours_of_other_captions_are_not_read(tmp_path: Path) -> None:
    data = make_data((*CAPTIONS, *CAPTIONS), list(range(8)))
    for keep_all, kept in ((True, 8), (False, 6)):
        mined = mine(
            data,
            lambda images: torch.eye(8)[: len(images)],
            "m",
            tmp_path / "mined",
            keep_all=keep_all,
        )
        assert mined.neighbour_IK.shape == (kept, 3)
        assert mined.neighbour_IK.max() < kept


def test_neighbours_can_be_a_half_of_the_batch(mined: MinedData) -> None:
    """Both readings of N: 4 captions and 4 neighbours, or 2 and 2."""
    make = partial(make_batches, mined, 4, seed=0, epoch=0, use_hard_negatives=True)
    added, counted = make(), make(counts_neighbours=True)
    assert [len(batch.caption_N) for batch in added] == [8]
    assert [len(batch.caption_N) for batch in counted] == [4, 4, 4]


def test_error_if_no_caption_has_a_negative(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="None of 1 captions has two parts that can be exchanged"):
        mine(make_data(("nothing",), [0]), lambda images: EYE, "a model", tmp_path / "mined")


def test_batches_with_hard_negatives_contain_neighbours_with_captions_and_negatives(
    mined: MinedData,
) -> None:
    for epoch in range(4):
        first, second = make_batches(mined, 3, seed=0, epoch=epoch, use_hard_negatives=True)
        assert len({*first.caption_N[:3], *second.caption_N[:3]}) == 6, (
            "each caption once, without the incomplete batch"
        )
        for batch in (first, second):
            assert len(batch.image_N) == 6  # N' = 2N
            for image, neighbour in zip(batch.image_N[:3], batch.image_N[3:], strict=True):
                assert neighbour in mined.neighbour_IK[image]
            assert np.array_equal(mined.data.image_C[batch.caption_N], batch.image_N)
            true, negative = get_texts(mined, batch)
            assert len(true) + len(negative) == 12  # 4N texts
            for caption, wrong in zip(true, negative, strict=True):
                assert wrong.startswith(f"not {caption.removeprefix('caption ')} ")


def test_epochs_sample_different_negatives_and_both_methods_see_the_same_captions(
    mined: MinedData,
) -> None:
    sampled = [
        get_texts(mined, batch)
        for epoch in range(20)
        for batch in make_batches(mined, 3, seed=0, epoch=epoch, use_hard_negatives=True)
    ]
    assert {text for _, wrong in sampled for text in wrong} == {
        f"not {number} {letter}" for number in range(7) for letter in "ab"
    }
    for epoch in range(3):
        hard, plain = (
            make_batches(mined, 3, seed=0, epoch=epoch, use_hard_negatives=hard)
            for hard in (True, False)
        )
        assert [batch.caption_N[:3].tolist() for batch in hard] == [
            batch.caption_N.tolist() for batch in plain
        ]
        assert all(get_texts(mined, batch)[1] == [] for batch in plain)
    orders = {
        tuple(make_batches(mined, 7, seed=0, epoch=epoch, use_hard_negatives=False)[0].caption_N)
        for epoch in range(5)
    }
    assert len(orders) == 5


def search_brute_force(feature_ND: torch.Tensor, k: int) -> torch.Tensor:
    score_NN = feature_ND.double() @ feature_ND.double().T
    score_NN.fill_diagonal_(-torch.inf)
    return score_NN.argsort(dim=1, descending=True, stable=True)[:, :k]


def test_equals_brute_force_with_an_incomplete_last_block(monkeypatch) -> None:
    monkeypatch.setattr(mining, "SCORES_PER_BLOCK", 17 * 101)
    feature_ND = functional.normalize(
        torch.randn(101, 16, generator=torch.Generator().manual_seed(0)), dim=1
    )
    assert torch.equal(find_nearest(feature_ND), search_brute_force(feature_ND, 3))


def test_ties_are_ranked_by_index_and_no_image_is_its_own_neighbour() -> None:
    feature_ND = torch.eye(4)[[0, 1, 0, 0, 2]]
    assert find_nearest(feature_ND, 2)[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]


def test_error_for_too_few_images() -> None:
    with pytest.raises(
        ValueError, match="3 images are too few for 3 neighbours each; at least 4 are needed"
    ):
        find_nearest(torch.eye(3))


AT_SCALE = """
from pathlib import Path
import torch
from torch.nn import functional
from compeval.trainers.negclip.mining import find_nearest
feature_ND = functional.normalize(torch.randn(120_000, 512, generator=torch.Generator().manual_seed(0)), dim=1)
neighbour_NK = find_nearest(feature_ND)
# ru_maxrss of a child starts at the memory of its parent
status = Path("/proc/self/status").read_text(encoding="utf-8")
peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
rows = torch.randperm(120_000, generator=torch.Generator().manual_seed(1))[:2_000]
score = feature_ND[rows].double() @ feature_ND.double().T
score[torch.arange(len(rows)), rows] = -torch.inf
print(peak, torch.equal(neighbour_NK[rows], score.topk(3, dim=1).indices))
"""


@pytest.mark.acceptance
def test_search_over_cocos_training_split_needs_less_than_2_gb() -> None:
    """120,000 images, of which 2,000 are compared with brute force. The features alone are 246 MB."""
    process = subprocess.run(
        [sys.executable, "-c", AT_SCALE], capture_output=True, text=True, check=True
    )
    peak, is_equal = process.stdout.split()
    assert is_equal == "True"
    assert int(peak) < 2e9
