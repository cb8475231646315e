"""The readers of published formats, on rows written by hand."""

import json
from pathlib import Path

import pytest
from PIL import Image

from loaders.benchmarks import imagecode
from loaders.importing.importing import read_file
from loaders.published.rows import Row


def read(folder: Path, name: str, content: object) -> list[Row]:
    (folder / name).write_text(json.dumps(content))
    return read_file(folder / name)[1]


def test_sugarcrepe_pp_is_told_from_sugarcrepe_by_its_second_caption(tmp_path: Path):
    item = {"id": 3, "filename": "000000000007.jpg", "caption": "a b", "negative_caption": "b a"}
    assert read(tmp_path, "swap_obj.json", {"0": item}) == [
        Row("swap_obj", ("000000000007.jpg",), ("a b",), ("b a",), swaps=True)
    ]
    assert read(tmp_path, "swap_obj.json", [item | {"caption2": "b and a"}]) == [
        Row("swap_obj", ("000000000007.jpg",), ("a b", "b and a"), ("b a",), swaps=True)
    ]


def test_cola_pairs_captions_with_images(tmp_path: Path):
    item = ["https://example.org/vg/12.jpg", "red cup", "https://example.org/vg/7.jpg", "blue cup"]
    name = "COLA_multiobjects_matching_benchmark.json"
    assert read(tmp_path, name, [item, item[:3]]) == [
        Row("multi_object", ("12.jpg", "7.jpg"), ("red cup", "blue cup"), image_id="0")
    ]


def test_imagecode_puts_the_described_image_first(tmp_path: Path):
    sets = {"video-x": {"2": "a cat", "10": "a dog"}, "open-images-1": {"0": "a hat"}, "../x": {"1": "y"}, "bad": []}
    rows = read(tmp_path, "valid_data.json", sets)
    assert [row.images[:4] for row in rows] == [
        ("video-x/2", "video-x/0", "video-x/1", "video-x/3"),
        ("open-images-1/0", "open-images-1/1", "open-images-1/2", "open-images-1/3"),
    ]
    assert [row.categories[0][1] for row in rows] == ["video", "static"]
    assert all(len(set(row.images)) == 10 for row in rows)


@pytest.mark.parametrize(("index", "frame"), [(0, 0), (1, 2), (9, 100)])
def test_imagecode_indexes_frames_in_numerical_order(tmp_path: Path, index: int, frame: int):
    (tmp_path / "video-x").mkdir()
    for number in (0, 2, 3, 5, 7, 11, 13, 17, 19, 100):
        Image.new("RGB", (2, 2)).save(tmp_path / "video-x" / f"img{number}.jpg")
    assert imagecode.select(tmp_path, f"video-x/{index}") == tmp_path / "video-x" / f"img{frame}.jpg"
    (tmp_path / "video-x" / "img100.jpg").unlink()
    assert imagecode.select(tmp_path, f"video-x/{index}") is None
