"""The small inputs of ``cases/`` in the folder of published files, each with the value that its README.md states."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compeval import load_dataset
from compeval.evaluators.results.external import score_file
from compeval.loaders.importing.write_dataset import import_files
from compeval.loaders.user_files import make


@pytest.fixture
def cases(real_data: Path) -> Path:
    return real_data / "cases"


def list_images(tmp_path: Path, folder: Path, *names: str) -> list[np.ndarray]:
    """Return the pixels of images after ``compeval make``."""
    (tmp_path / "pairs.csv").write_text(
        "image,caption\n" + "".join(f"{name},a cup\n" for name in names), encoding="utf-8"
    )
    make("mine", [tmp_path / "pairs.csv"], folder, tmp_path)
    return [
        np.asarray(row["image"])
        for row in load_dataset("mine", "captions", "test", data_dir=tmp_path)
    ]  # pyright: ignore


def test_sixteen_bits(cases: Path, tmp_path: Path):
    deep, flat = list_images(tmp_path, cases / "grey16", "ramp16.png", "ramp8.png")
    assert (deep.mean(), len(np.unique(deep))) == (127.5, 64)
    assert np.abs(deep.astype(int) - flat).max() <= 1, "ramp8.png was rounded down"


def test_orientation(cases: Path, tmp_path: Path):
    phone, turned, upright = list_images(
        tmp_path, cases / "orientation", "phone.jpg", "phone180.jpg", "upright.png"
    )
    for pixels in (phone, turned, upright):
        assert pixels.shape == (60, 40, 3)
        assert np.abs(pixels.astype(int) - upright).max() < 10, "of a JPEG"
        assert pixels[5, 20, 0] > 200 > pixels[55, 20, 0] + 100


def test_lists_of_json(cases: Path, tmp_path: Path):
    make("mine", [cases / "json_lists/pairs.csv"], None, tmp_path)
    rows = load_dataset("mine", "foils_1", "test", data_dir=tmp_path)
    assert [text for (text,) in rows["hard_negatives"]] == [
        "a cat 😀 on a chair",
        "a cup/mug on a table",
        "café sign",
        'a "red" hat',
        "line\nbreak",
        "a dog",
    ]


def test_quotes(cases: Path, tmp_path: Path):
    make("mine", [cases / "quotes/pairs.csv"], None, tmp_path)
    rows = load_dataset("mine", "foils_1", "test", data_dir=tmp_path)
    assert rows["caption"] == ["'-40%' is printed on the red sign", "'@home' is on the doormat"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ragged.csv", "line 2: 4 cells for 3 columns"),
        ("nancell.csv", "row 1: a text is nan"),
        ("nullitem.csv", "row 1: the negatives are not a list of texts"),
        ("dict.jsonl", "row 1: texts are a string or a list of strings"),
    ],
)
def test_ragged_tables(cases: Path, tmp_path: Path, name: str, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        make("mine", [cases / "ragged" / name], None, tmp_path)


def test_small_differences_of_scores(cases: Path, tmp_path: Path):
    scores = cases / "float64/scores.jsonl"
    Image.new("RGB", (4, 4)).save(tmp_path / "1.png")
    row = json.dumps({"image": "1.png", "caption": "a cup", "hard_negatives": ["a hat"]})
    (tmp_path / "pairs.jsonl").write_text(
        f"{row}\n" * len(scores.read_text(encoding="utf-8").splitlines()), encoding="utf-8"
    )
    make("mine", [tmp_path / "pairs.jsonl"], None, tmp_path)
    result = score_file(scores, "mine/foils_1", "x", data_dir=tmp_path, output=tmp_path / "results")
    assert (result["metrics"]["recall@1"], result["metrics"]["tie_rate"]) == (1, 0)


def test_two_names_of_one_file(cases: Path, tmp_path: Path):
    file = cases / "names/synthetic_mcq_llama3.1_rephrased.csv"
    with pytest.raises(
        ValueError,
        match=r"data/positive/1_img\.png and data/negative/1_img\.png are two images, but both",
    ):
        import_files([file], cases / "names/flat", tmp_path)
    assert not (tmp_path / "negbench").exists()


def test_keys_with_dots(cases: Path, tmp_path: Path):
    make("mine", [cases / "shards/alldots.tar"], None, tmp_path)
    rows = load_dataset("mine", "captions", "test", data_dir=tmp_path)
    assert rows["image_id"] == ["a.1", "a.2"]
    assert len({caption for (caption,) in rows["captions"]}) == 2
