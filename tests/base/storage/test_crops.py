import io
from pathlib import Path

import pytest
from PIL import Image

from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import crop_id, encode_crop, read_size, round_corners
from tests.rows import picture


def test_corners_round_one_by_one_as_pillow_does(tmp_path: Path):
    # x 10.4 -> 10, y 0.6 -> 1, right 10.4 + 20.4 = 30.8 -> 31, bottom 0.6 + 9.5 = 10.1 -> 10
    box = Box(10.4, 0.6, 20.4, 9.5)
    assert round_corners(box) == (10, 1, 31, 10)
    path = picture(tmp_path, 1)
    crop = Image.open(io.BytesIO(encode_crop(path, box)))
    assert crop.size == (21, 9)
    with Image.open(path) as image:
        assert image.crop((box.x, box.y, box.x + box.width, box.y + box.height)).size == crop.size


def test_crop_id_depends_only_on_pixels_and_box(tmp_path: Path):
    first, second = picture(tmp_path, 1), picture(tmp_path, 2)
    copy = tmp_path / "elsewhere.jpg"
    copy.write_bytes(first.read_bytes())
    box = Box(1, 2, 30, 40)
    assert crop_id(first, box) == crop_id(copy, box) == crop_id(first, Box(1.2, 2, 30, 40))
    assert len({crop_id(first, box), crop_id(second, box), crop_id(first, Box(2, 2, 30, 40))}) == 3


def test_missing_and_broken_images_are_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.jpg: image not found"):
        encode_crop(tmp_path / "nowhere.jpg", Box(0, 0, 1, 1))
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(picture(tmp_path, 1).read_bytes()[:200])
    with pytest.raises(ValueError, match=r"broken\.jpg: not a readable image"):
        encode_crop(broken, Box(0, 0, 1, 1))


def test_an_image_of_too_many_pixels_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    Image.new("1", (100, 100)).save(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(
        ValueError, match=r"huge\.png: not a readable image \(Image size .* exceeds limit"
    ):
        read_size(tmp_path / "huge.png")
