"""Karpathy's caption files."""

import json
import re
from pathlib import Path

import pytest

from compeval.base.readers.karpathy import CaptionedImage, read_images


def write(folder: Path, content) -> Path:
    (folder / "captions.json").write_text(json.dumps(content), encoding="utf-8")
    return folder / "captions.json"


def test_captions_of_one_image_are_merged(tmp_path) -> None:
    entries = [
        {"image": "b.jpg", "caption": "A dog. "},
        {"image": "a.jpg", "caption": ["A cat.", " ", "A cat."]},
    ]
    entries.append({"image": "b.jpg", "caption": "Dogs."})
    assert list(read_images(write(tmp_path, entries), tmp_path)) == [
        CaptionedImage("b.jpg", tmp_path / "b.jpg", ("A dog.", "Dogs.")),
        CaptionedImage("a.jpg", tmp_path / "a.jpg", ("A cat.",)),
    ]


def test_a_wrong_file_is_named(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.json: not found"):
        list(read_images(tmp_path / "none.json", tmp_path))
    with pytest.raises(
        ValueError, match=r"got dict at the top level, expected a list of .* or Karpathy"
    ):
        list(read_images(write(tmp_path, {}), tmp_path))
    with pytest.raises(
        ValueError, match=r"entry 1: got image, captions, expected the keys 'image' and 'caption'"
    ):
        list(
            read_images(
                write(tmp_path, [{"image": "a", "caption": "b"}, {"image": "a", "captions": []}]),
                tmp_path,
            )
        )
    (tmp_path / "captions.json").write_text("[{", encoding="utf-8")
    with pytest.raises(ValueError, match="broken JSON"):
        list(read_images(tmp_path / "captions.json", tmp_path))


@pytest.mark.parametrize("entry", [{"image": 3, "caption": "a"}, {"image": "a", "caption": None},
                                   {"image": "a", "caption": ["a", 5]}])  # fmt: skip
def test_an_entry_of_wrong_types_is_named(tmp_path, entry) -> None:
    with pytest.raises(
        ValueError, match="entry 0: expected a string 'image', and a string or a list 'caption'"
    ):
        list(read_images(write(tmp_path, [entry]), tmp_path))


def test_karpathys_own_layout_has_all_splits_in_one_file(tmp_path) -> None:
    images = [
        {
            "filepath": "val2014",
            "filename": "a.jpg",
            "split": "test",
            "sentences": [{"raw": "A cat."}, {"raw": "Cats."}],
        },
        {"filename": "b.jpg", "split": "restval", "sentences": [{"raw": "A dog."}]},
    ]
    file = write(tmp_path, {"images": images, "dataset": "coco"})
    assert [item.image_id for item in read_images(file, tmp_path)] == ["val2014/a.jpg", "b.jpg"]
    expected = CaptionedImage("val2014/a.jpg", tmp_path / "val2014/a.jpg", ("A cat.", "Cats."))
    assert list(read_images(file, tmp_path, ["test"])) == [expected]
    with pytest.raises(ValueError, match="no image of the split val; it has test, restval"):
        list(read_images(file, tmp_path, ["val"]))
    with pytest.raises(ValueError, match=r"image 0: no field 'sentences'. Layouts: .*filename"):
        list(
            read_images(
                write(tmp_path, {"images": [{"filename": "a.jpg", "split": "test"}]}), tmp_path
            )
        )
    for image in (
        "a.jpg",
        None,
        {"filename": 5, "split": "test", "filepath": "x", "sentences": []},
        {"split": []},
    ):
        message = re.escape(f"captions.json, image 0: got {json.dumps(image)}. Layouts: ")
        with pytest.raises(ValueError, match=message):
            list(read_images(write(tmp_path, {"images": [image]}), tmp_path))


def test_a_table_is_not_broken_json(tmp_path) -> None:
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,a cat\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"captions\.csv: expected a JSON file: a list of .*own layout"
    ):
        list(read_images(tmp_path / "captions.csv", tmp_path))
