"""Captioned images of both kinds of source."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.trainers import toy
from trainers.negclip import image_text
from trainers.negclip.image_text import Pixels, read


def red(image: Image.Image) -> torch.Tensor:
    """The red channel of the first pixel."""
    return torch.tensor([[[float(np.asarray(image)[0, 0, 0])]]])


def test_shards_and_files_hold_the_same_pictures(tmp_path: Path) -> None:
    shards = read(toy.write_shards(tmp_path / "shards"))
    files = read(toy.write_karpathy(tmp_path / "coco"))
    assert shards.captions == tuple(caption for caption, _ in toy.pairs())
    # One caption for the first image, two for each of the 19 others.
    assert files.image_C.tolist() == [0, *(image for image in range(1, 20) for _ in range(2))]
    assert files.captions[1::2] == shards.captions[1:]
    held = [Pixels(found.places, red) for found in (shards, files)]
    assert all(torch.equal(held[0][number], held[1][number]) for number in range(20))


def test_images_come_in_the_order_asked_for_from_memory_and_from_workers(tmp_path: Path, monkeypatch) -> None:
    found = read(toy.write_shards(tmp_path / "shards"))
    held = Pixels(found.places, red)
    monkeypatch.setattr(image_text, "HELD_BYTES", 0)
    streamed = Pixels(found.places, red)
    assert (held.is_held, streamed.is_held) == (True, False)
    positions = [[3, 19], [0, 3], [7]]
    of_both = zip(held.batches(positions), streamed.batches(positions, workers=2), strict=True)
    assert all(torch.equal(one, other) for one, other in of_both)
    assert [len(batch) for batch in held.in_order(8)] == [8, 8, 4]


def test_captions_that_leave_take_images_without_another_along(tmp_path: Path) -> None:
    found = read(toy.write_karpathy(tmp_path))
    kept = found.with_captions(np.array(["cup" in caption for caption in found.captions]))
    assert len(kept.places) == 19
    assert kept.places[0].name == "pictures/1.png"
    assert kept.image_C.tolist() == list(range(19))
    train, held_out = found.split(5)
    assert [place.name for place in held_out.places] == [f"pictures/{number}.png" for number in range(15, 20)]
    assert set(train.places).isdisjoint(held_out.places)
    assert len(train.captions) + len(held_out.captions) == len(found.captions)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no webdataset shard \(\*\.tar\) in it"):
        read(tmp_path)
    file = toy.write_karpathy(tmp_path / "coco")
    (tmp_path / "coco/pictures/4.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"pictures/4\.png: not found, as 1 of the 20 images .*--images"):
        read(file)


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    found = read(toy.write_karpathy(tmp_path))
    pixels = Pixels(found.places, red)
    (tmp_path / "pictures/4.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"pictures/4\.png: the image cannot be read"):
        pixels[4]


@pytest.mark.parametrize("kept", [0, 700, 2048])
def test_a_shard_that_is_cut_off_is_one_clear_message_and_no_shorter_corpus(tmp_path: Path, kept: int) -> None:
    """2,048 bytes are two whole members, the first pair: its picture (under 512 bytes) and its caption."""
    shard = toy.write_shards(tmp_path / "shards") / "00000.tar"
    shard.write_bytes(shard.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"):
        read(tmp_path / "shards")


def test_a_damaged_shard_is_the_same_message(tmp_path: Path) -> None:
    shard = toy.write_shards(tmp_path / "shards") / "00000.tar"
    shard.write_bytes(bytes([255]) * 512 + shard.read_bytes()[512:])
    with pytest.raises(ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"):
        read(tmp_path / "shards")


def test_a_caption_that_is_no_text_is_skipped_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with tarfile.open(tmp_path / "00000.tar", "w") as shard:
        for name, content in (("a.jpg", b"1"), ("a.txt", b"caf\xe9"), ("b.jpg", b"23"), ("b.txt", b"a cup\n")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            shard.addfile(member, io.BytesIO(content))
    found = read(tmp_path)
    assert (found.captions, [place.read() for place in found.places]) == (("a cup",), [b"23"])
    assert "samples skipped: 1 with a caption that is not in UTF-8." in capsys.readouterr().err
