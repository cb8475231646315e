"""Files that people have: those with splits, COCO's captions, image folders of Hugging Face, rows with errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from compeval.loaders.datasets.folders import list_datasets, resolve_folder
from compeval.loaders.load import load_dataset
from compeval.loaders.own_data.left_out import LeftOut
from compeval.loaders.user_files import make
from tests.rows import picture


def write_images(folder: Path, count: int) -> list[str]:
    return [picture(folder, number).name for number in range(1, count + 1)]


def read_captions(folder: Path, name: str = "mine") -> list[list[str]]:
    rows: Any = load_dataset(name, "captions", "test", folder)
    return [row["captions"] for row in rows]


@pytest.fixture
def karpathy(tmp_path: Path) -> Path:
    """Three images in Karpathy's own layout, two of them for training."""
    splits = ("train", "test", "restval")
    images = [
        {"filename": name, "split": split, "sentences": [{"raw": f"a cup of the split {split}"}]}
        for name, split in zip(write_images(tmp_path, 3), splits, strict=True)
    ]
    file = tmp_path / "dataset_coco.json"
    file.write_text(json.dumps({"images": images}), encoding="utf-8")
    return file


def test_only_the_test_split_is_read_and_the_others_are_named(
    karpathy: Path, capsys: pytest.CaptureFixture[str]
):
    make("mine", [karpathy], None, karpathy.parent)
    assert read_captions(karpathy.parent) == [["a cup of the split test"]]
    message = capsys.readouterr().err
    assert "1 rows of the split test are read. Left out: train 1, restval 1" in message
    assert "--split all" in message


@pytest.mark.parametrize(("split", "rows"), [("train,restval", 2), ("all", 3), ("test", 1)])
def test_splits_are_chosen(karpathy: Path, split: str, rows: int):
    make("mine", [karpathy], None, karpathy.parent, left_out=LeftOut(split))
    assert len(read_captions(karpathy.parent)) == rows


def test_a_split_that_a_file_lacks_is_an_error(karpathy: Path):
    message = r"no row of the split val; it has train 1, test 1, restval 1\. Choose with --split"
    with pytest.raises(ValueError, match=message):
        make("mine", [karpathy], None, karpathy.parent, left_out=LeftOut("val"))
    assert not (karpathy.parent / "mine").exists()


def test_the_column_split_of_a_table_is_read(tmp_path: Path):
    names = write_images(tmp_path, 2)
    lines = ["image,caption,split", f"{names[0]},a cup,train", f"{names[1]},a hat,test"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    make("mine", [tmp_path / "a.csv"], None, tmp_path)
    assert read_captions(tmp_path) == [["a hat"]]


def test_captions_of_coco_are_read(tmp_path: Path):
    names = write_images(tmp_path, 2)
    content = {
        "images": [{"id": 7, "file_name": names[0]}, {"id": 8, "file_name": names[1]}],
        "annotations": [
            {"id": 1, "image_id": 8, "caption": "a hat"},
            {"id": 2, "image_id": 7, "caption": "a cup"},
            {"id": 3, "image_id": 8, "caption": "a blue hat"},
        ],
    }
    file = tmp_path / "captions_val2017.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    make("mine", [file], None, tmp_path)
    assert sorted(read_captions(tmp_path)) == [["a cup"], ["a hat", "a blue hat"]]
    content["annotations"].append({"id": 4, "image_id": 9, "caption": "a dog"})
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="annotation 3: image_id 9 is not in images"):
        make("mine", [file], None, tmp_path)
    content["annotations"][-1] = {"id": 4, "image_id": 7}
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"annotation 3: no field 'caption'\. Expected"):
        make("mine", [file], None, tmp_path)


def test_real_captions_of_coco_are_read(tmp_path: Path, real_data: Path):
    file = real_data / "benchmarks/coco_captions/captions_val2017.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    for image in content["images"]:
        picture(tmp_path, image["id"]).rename(tmp_path / image["file_name"])
    make("mine", [file], tmp_path, tmp_path)
    captions = read_captions(tmp_path)
    distinct = {(item["image_id"], item["caption"].strip()) for item in content["annotations"]}
    assert sum(map(len, captions)) == len(distinct)


@pytest.mark.parametrize("below", ["", "test"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_an_image_folder_with_metadata_is_read(tmp_path: Path, below: str, suffix: str):
    folder = tmp_path / "photos" / below
    folder.mkdir(parents=True)
    (name,) = write_images(folder, 1)
    text = {
        "csv": f"file_name,text\n{name},a cup\n",
        "jsonl": json.dumps({"file_name": name, "text": "a cup"}),
    }
    (folder / f"metadata.{suffix}").write_text(text[suffix], encoding="utf-8")
    make("mine", [tmp_path / "photos"], None, tmp_path)
    assert read_captions(tmp_path) == [["a cup"]]


def test_a_folder_without_metadata_is_an_error(tmp_path: Path):
    (tmp_path / "photos/train").mkdir(parents=True)
    (tmp_path / "photos/train/metadata.csv").write_text("file_name,text\n", encoding="utf-8")
    message = (
        r"without metadata\.csv or metadata\.jsonl, in itself or in test\. It has the splits train"
    )
    with pytest.raises(ValueError, match=message):
        make("mine", [tmp_path / "photos"], None, tmp_path)


def test_rows_with_errors_are_skipped_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    good, broken = write_images(tmp_path, 2)
    (tmp_path / broken).write_bytes(b"no picture")
    rows = [(good, "a cup"), (broken, "a hat"), ("missing.jpg", "a dog"), (good, "  ")]
    lines = (json.dumps({"image": image, "caption": text}) for image, text in rows)
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises((ValueError, FileNotFoundError)):
        make("mine", [tmp_path / "a.jsonl"], None, tmp_path)
    left_out = LeftOut(skips_errors=True)
    make("mine", [tmp_path / "a.jsonl"], None, tmp_path, left_out=left_out)
    assert read_captions(tmp_path) == [["a cup"]]
    left_out.print_skipped()
    message = capsys.readouterr().err
    assert "Rows skipped: 3. The first error: " in message
    assert broken in message


def test_the_folder_of_data_may_be_the_dataset_itself(karpathy: Path):
    make("mine", [karpathy], None, karpathy.parent)
    folder = karpathy.parent / "mine"
    assert list_datasets(folder) == {"mine": folder}
    assert resolve_folder("mine", folder) == folder
    assert read_captions(folder) == [["a cup of the split test"]]
