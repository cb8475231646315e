import io
import json
import tarfile
from pathlib import Path

import pytest

from loaders.datasets.load import load_dataset
from loaders.user_files import make
from tests.rows import picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in (1, 2):
        picture(tmp_path, number)
    return tmp_path


ROWS = [
    {"image": "1.jpg", "caption": "a cup", "hard_negatives": ["a hat", "a cat"]},
    {"image": "1.jpg", "caption": "a red cup"},
    {"image": "2.jpg", "captions": ["a dog", "a cup"], "hard_negatives": ["a fox"]},
]


def as_csv(separator: str) -> str:
    lines = [
        ("image", "caption", "hard_negatives"),
        ("1.jpg", "a cup", "['a hat', 'a cat']"),
        ("1.jpg", "a red cup", ""),
    ]
    lines.append(("2.jpg", "['a dog', 'a cup']", "['a fox']"))
    return "".join(separator.join(f'"{cell}"' for cell in line) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pairs.json", json.dumps(ROWS)),
        ("pairs.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS)),
        ("pairs.csv", as_csv(",")),
        ("pairs.tsv", as_csv("\t")),
    ],
)
def test_tables_of_every_kind_give_the_same_dataset(folder: Path, name: str, text: str):
    (folder / name).write_text(text)
    stats = make("mine", [folder / name], None, folder)
    assert stats["rows"] == {"captions": {"test": 2}, "foils_1": {"test": 1}, "foils_2": {"test": 1}}
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert rows["captions"] == [["a cup", "a red cup"], ["a dog", "a cup"]]
    assert rows[0]["image"].size == (100, 80)  # pyright: ignore
    (row,) = load_dataset("mine", "foils_2", "test", data_dir=folder)
    assert (row["caption"], row["hard_negatives"]) == ("a cup", ["a hat", "a cat"])  # pyright: ignore
    assert "| foils_2 | 1 | 1 / 3 |" in (folder / "mine" / "README.md").read_text()


def test_a_webdataset_shard(folder: Path):
    with tarfile.open(folder / "shard.tar", "w") as archive:
        archive.add(folder / "1.jpg", "00001.jpg")
        member = tarfile.TarInfo("00001.txt")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"a cup\n"))
    make("mine", [folder / "shard.tar"], None, folder)
    rows = load_dataset("mine", "captions", "test", data_dir=folder)
    assert (rows["image_id"], rows["captions"]) == (["00001"], [["a cup"]])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[{"image": "1.jpg"}]', r"a\.json, row 1: 'caption'\. A row has image, caption or captions"),
        ("a.json", '[{"image": "9.jpg", "caption": "a"}]', r"a\.json, row 1: no image .*9\.jpg\. --images names"),
        ("a.json", '[{"image": "1.jpg", "caption": " "}]', r"row 1: a text is empty"),
        ("a.json", '[{"image": "a.json", "caption": "a"}]', r"a\.json: not a readable image"),
        ("a.csv", "image,caption\n", r"a\.csv: no row\."),
        ("a.txt", "", r"a\.txt: unknown file type; supported: \.csv"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(folder: Path, name: str, text: str, message: str):
    (folder / name).write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        make("mine", [folder / name], None, folder)
    assert not (folder / "mine").exists()
