"""Tests of reading captioned images from shards and from Karpathy files."""

from pathlib import Path

import numpy as np
import pytest
import torch
from open_clip.transform import image_transform
from PIL import Image

from compeval.trainers.negclip import image_text
from compeval.trainers.negclip.image_text import ImageDataset, read_captioned_images
from tests.trainers import toy


def get_red_channel(image: Image.Image) -> torch.Tensor:
    """Return the red channel of the first pixel."""
    return torch.tensor([[[float(np.asarray(image)[0, 0, 0])]]])


def test_shards_and_karpathy_files_yield_the_same_images(shards: Path, karpathy: Path) -> None:
    in_shards, in_files = read_captioned_images(shards), read_captioned_images(karpathy)
    assert in_shards.captions == tuple(caption for caption, _ in toy.pairs())
    # One caption for the first image, two for each of the 19 others.
    assert in_files.image_C.tolist() == [0, *(image for image in range(1, 20) for _ in range(2))]
    assert in_files.captions[1::2] == in_shards.captions[1:]
    first, second = (
        ImageDataset(source.locations, get_red_channel) for source in (in_shards, in_files)
    )
    assert all(torch.equal(first[index], second[index]) for index in range(20))


def test_images_are_read_in_the_requested_order_with_and_without_cache(
    shards: Path, monkeypatch
) -> None:
    data = read_captioned_images(shards)
    cached = ImageDataset(data.locations, get_red_channel)
    monkeypatch.setattr(image_text, "MAX_CACHED_BYTES", 0)
    streamed = ImageDataset(data.locations, get_red_channel)
    assert (cached.is_cached, streamed.is_cached) == (True, False)
    indices = [[3, 19], [0, 3], [7]]
    batches = zip(
        cached.read_batches(indices), streamed.read_batches(indices, workers=2), strict=True
    )
    assert all(torch.equal(from_cache, from_files) for from_cache, from_files in batches)
    assert [len(batch) for batch in cached.read_in_order(8)] == [8, 8, 4]


def test_pixels_are_uint8_and_normalised_as_open_clip_does(shards: Path, monkeypatch) -> None:
    preprocess = image_transform(24, is_train=False)
    assert callable(preprocess)
    monkeypatch.setattr(image_text, "MAX_CACHED_BYTES", 0)
    monkeypatch.setattr(image_text, "IMAGES_PER_PART", 3)
    images = ImageDataset(read_captioned_images(shards).locations, preprocess)
    expected = torch.stack([preprocess(image) for _, image in toy.pairs()])
    for workers in (0, 2):
        parts = list(images.read_in_order(8, workers))
        assert [(len(part), part.dtype) for part in parts] == [
            (8, torch.uint8),
            (8, torch.uint8),
            (4, torch.uint8),
        ]
        assert torch.equal(images.normalise(torch.cat(parts)), expected)


def test_random_crops_depend_on_the_seed_the_epoch_and_the_image(shards: Path) -> None:
    preprocess = image_transform(24, is_train=True)
    assert callable(preprocess)

    def read(seed: int, epoch: int, workers: int = 0) -> torch.Tensor:
        images = ImageDataset(read_captioned_images(shards).locations, preprocess, seed=seed)
        return torch.cat(list(images.read_batches([[0, 1], [5]], workers, epoch)))

    first = read(0, 0)
    assert torch.equal(read(0, 0, workers=2), first)
    assert not torch.equal(read(0, 1), first)
    assert not torch.equal(read(1, 0), first)


def test_images_without_a_remaining_caption_are_dropped(karpathy: Path) -> None:
    data = read_captioned_images(karpathy)
    with_cups = data.with_captions(np.array(["cup" in caption for caption in data.captions]))
    assert len(with_cups.locations) == 19
    assert with_cups.locations[0].name == "images/1.png"
    assert with_cups.image_C.tolist() == list(range(19))
    train, held_out = data.split(5)
    assert [location.name for location in held_out.locations] == [
        f"images/{number}.png" for number in range(15, 20)
    ]
    assert set(train.locations).isdisjoint(held_out.locations)
    assert len(train.captions) + len(held_out.captions) == len(data.captions)
    with pytest.raises(ValueError, match="Cannot hold out 20 of 20 images for validation"):
        data.split(20)


def test_errors_for_missing_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no webdataset shard \(\*\.tar\)"):
        read_captioned_images(tmp_path)
    file = toy.write_karpathy(tmp_path / "coco")
    (tmp_path / "coco/images/4.png").unlink()
    with pytest.raises(
        FileNotFoundError,
        match=r"images/4\.png: not found \(1 of the 20 images .* are missing\).*--images",
    ):
        read_captioned_images(file)


def test_error_for_an_unreadable_image(tmp_path: Path) -> None:
    data = read_captioned_images(toy.write_karpathy(tmp_path))
    images = ImageDataset(data.locations, get_red_channel)
    (tmp_path / "images/4.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"images/4\.png: the image cannot be read"):
        images[4]


def test_error_for_a_truncated_shard(tmp_path: Path) -> None:
    shard = toy.write_shards(tmp_path / "shards") / "00000.tar"
    shard.write_bytes(shard.read_bytes()[:700])
    with pytest.raises(
        ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"
    ):
        read_captioned_images(tmp_path / "shards")


def test_captions_that_are_not_utf8_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    toy.write_shard(tmp_path / "00000.tar", [(b"1", b"caf\xe9"), (b"23", b"a cup\n")])
    data = read_captioned_images(tmp_path)
    assert (data.captions, [location.read() for location in data.locations]) == (
        ("a cup",),
        [b"23"],
    )
    assert "samples skipped: 1 with a caption that is not in UTF-8." in capsys.readouterr().err
