"""Tests of training on the files of NegCLIP's authors."""

import json
from pathlib import Path

import pytest

from compeval.loaders.published.rows import read_csv
from compeval.trainers.negclip.export import make_rows
from compeval.trainers.negclip.finetune import Recipe
from compeval.trainers.negclip.published import drop_isolated, read_captioned_images, read_mined
from compeval.trainers.negclip.training import TrainingData, train
from tests.stand_ins import write_stand_ins
from tests.trainers import toy

HEADER = "\ttitle\tfilepath\tneg_caption\tneg_image\n"
ROWS = (
    "0\ta dog on a mat .\tcoco/1.png\t['a mat on a dog .', 'mat a on a dog']\t[1, 4]",
    "1\ta cat in a hat .\tcoco/0.png\t['a hat in a cat .']\t[0, 99]",
    "2\tno list\tcoco/2.png\toops\t[0]",
    "3\tno negative\tcoco/2.png\t[]\t[0]",
    "4\ta mat under a dog .\tcoco/1.png\t['a dog under a mat .']\t[1, 2]",
    "5\talone\tcoco/3.png\t['x']\t[2, 5]",
)
"""Row 0 is similar to row 1 and to its own image, row 1 to row 0 and to a row that does not exist, row 5 to an unusable
row and to itself."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "train_neg_clip.tsv").write_text(
        HEADER + "".join(f"{row}\n" for row in ROWS), encoding="utf-8"
    )
    for number in range(5):
        toy.draw_halves("red", "blue").save(tmp_path / f"{number}.png")
    return tmp_path / "train_neg_clip.tsv"


def test_captions_negatives_and_similar_images_are_the_files(
    file: Path, capsys: pytest.CaptureFixture
) -> None:
    data = read_captioned_images(file, file.parent)
    assert [location.name for location in data.locations] == [
        "coco/1.png",
        "coco/0.png",
        "coco/3.png",
    ]
    assert data.captions == ("a dog on a mat .", "a mat under a dog .", "a cat in a hat .", "alone")
    assert data.image_C.tolist() == [0, 0, 1, 2]
    mined = read_mined(file, data)
    assert [location.name for location in mined.data.locations] == ["coco/1.png", "coco/0.png"]
    assert mined.neighbour_IK.tolist() == [[1, 1, 1], [0, 0, 0]]
    first, second = make_rows(mined)
    assert [
        [negative["text"] for negative in caption["negatives"]] for caption in first["captions"]
    ] == [
        ["a mat on a dog .", "mat a on a dog"],
        ["a dog under a mat ."],
    ]
    assert second["image_id"] == "coco/0.png"
    shown = capsys.readouterr().err
    assert "2 of 6 rows are unusable and skipped" in shown
    assert "1 of 3 images are left out" in shown


def test_a_missing_image_is_an_error(file: Path) -> None:
    (file.parent / "3.png").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"coco/3\.png: image not found.*; 1 of 3 images are missing"
    ):
        read_captioned_images(file, file.parent)


def test_images_whose_similar_images_are_all_left_out_are_left_out() -> None:
    # 0 and 1 are similar to each other; 4 is similar to nothing, so 3, which is only similar to 4, is left out as well.
    assert drop_isolated([[1, 3], [0], [1], [4], []]) == {0: [1], 1: [0], 2: [1]}
    assert drop_isolated([[1], [2], []]) == {}


def test_similar_images_of_a_real_file_are_those_of_its_rows(
    real_data: Path, tmp_path: Path
) -> None:
    """An excerpt of 500 rows, so most of the 4,839 rows that ``neg_image`` names are missing."""
    path = real_data / "aro" / "valid_neg_clip.head500.tsv"
    write_stand_ins([path], tmp_path)
    data = read_captioned_images(path, tmp_path)
    mined = read_mined(path, data)
    rows = list(read_csv(path, (), "\t"))
    similar = {
        row["filepath"]: {rows[n]["filepath"] for n in json.loads(row["neg_image"]) if n < 500}
        for row in rows
    }
    names = [location.name for location in mined.data.locations]
    assert len(data.locations) == len(similar) == 500
    assert len(names) == 125
    for name, neighbours in zip(names, mined.neighbour_IK, strict=True):
        assert {names[index] for index in neighbours} <= similar[name]
    for name in similar.keys() - names:
        assert similar[name].isdisjoint(names)


def test_training_uses_the_published_negatives(spec: str, tmp_path: Path) -> None:
    file = toy.write_karpathy(tmp_path / "coco").with_name("train_neg_clip.tsv")
    lines = [
        f"{n}\t{caption}\timages/{n}.png\t['{' '.join(reversed(caption.split()))}']\t[{(n + 1) % 20}, {(n + 2) % 20}]\n"
        for n, (caption, _) in enumerate(toy.pairs())
    ]
    file.write_text(HEADER + "".join(lines), encoding="utf-8")
    data, recipe = (
        TrainingData(file, validation=file),
        Recipe(epochs=1, batch_size=4, learning_rates=(1e-3,)),
    )
    metrics = train(
        "negclip", spec, data, tmp_path / "out", recipe=recipe, report=toy.ignore_progress
    )
    assert metrics["after"]["loss"] > 0
    record = json.loads((tmp_path / "out/training.json").read_text(encoding="utf-8"))
    assert (record["images"], record["captions"]) == (20, 20)
    assert record["contaminated"] == "fine-tuned on train_neg_clip.tsv"
