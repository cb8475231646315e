"""Tests of configs that store each image once and show it in many rows, also with its patches in another order."""

from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from compeval.base.readers.karpathy import CaptionedImage
from compeval.base.schemas.rows import ImageStorage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage.crops import read_sha256
from compeval.base.storage.patches import arrange_patches
from compeval.evaluators import models
from compeval.evaluators.engine import images, plan
from compeval.evaluators.engine.task_dataset import CropSource, load
from compeval.evaluators.engine.tasks import Task, discover
from compeval.evaluators.run import EvaluationOptions, run
from compeval.generators import retrieval
from compeval.generators.hard_negatives.aro.patch_order import GRIDS, draw_patches
from compeval.generators.hard_negatives.aro.word_order import Words
from compeval.loaders.cards.card import write_card
from compeval.loaders.cards.parts import assemble
from compeval.loaders.datasets.stats import measure

NAMES = ("one.png", "two.png")
ORDERS = [Task("aro", "coco_order", variant=f"s{seed}") for seed in range(5)]
SEES = '''
import numpy as np


class Sees:
    """Records the images, and returns random features, the same for equal images or texts."""

    fingerprint = "sees"
    shown = []

    def __init__(self, device): ...

    def encode_image(self, images):
        type(self).shown += [np.asarray(image).tobytes() for image in images]
        return self.draw([np.asarray(image).tobytes() for image in images])

    def encode_text(self, texts):
        return self.draw([text.encode() for text in texts])

    def draw(self, items):
        return [np.random.default_rng([*item[:600]]).normal(size=4) for item in items]


class Pairs(Sees):
    fingerprint = "pairs"

    def score(self, images, texts):
        type(self).shown += [np.asarray(image).tobytes() for image in images]
        return [0.0] * len(texts)
'''


def write_words(number: int) -> Words:
    """Return a caption of eight different words."""
    words = tuple(f"{word}{number}" for word in "abcdefgh")
    return Words(
        words,
        ("", *[" "] * 7, ""),
        ("noun", "adjective", "other", "noun", "noun", "other", "adjective", "other"),
    )


def make(root: Path, storage: ImageStorage) -> Path:
    """Write both datasets of two images, with two captions each."""
    entries = []
    for number, name in enumerate(NAMES):
        pixels = np.random.default_rng(number).integers(0, 256, (12, 12, 3), np.uint8)
        root.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(root / name)
        captions = tuple(write_words(2 * number + index) for index in range(2))
        image = CaptionedImage(name, root / name, tuple(words.text for words in captions))
        entries.append(
            retrieval.Entry(image, captions, read_sha256(root / name), Box(0, 0, 12, 12))
        )
    provenance = {"source": "microworld", "captioner": "karpathy", "seed": 0}
    retrieval.write("coco", entries, provenance, storage, root)
    for name in ("aro", "retrieval"):
        with assemble(root / name) as folder:
            write_card(folder, {}, "", measure(folder))
    return root


@pytest.fixture(params=["embedded", "by_reference"])
def shared(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return make(tmp_path / request.param, request.param)


@pytest.fixture
def sees(here: Path) -> None:
    (here / "sees.py").write_text(SEES, encoding="utf-8")


@pytest.mark.usefixtures("sees")
def test_every_image_and_perturbation_is_made_once_from_images_that_are_decoded_once(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded, decode = Counter[object](), images.decode

    def count(data: bytes | images.UnreadableImageError, crop: CropSource) -> Image.Image:
        decoded[crop.image] += 1
        return decode(data, crop)

    monkeypatch.setattr(images, "decode", count)
    model = models.load_model("python:sees:Sees")
    model.encoder.model.shown.clear()  # pyright: ignore
    tasks = [task for task in discover(shared) if task.dataset == "retrieval"]
    results = run(model, tasks, EvaluationOptions(data_dir=shared))
    expected = set()
    for name in NAMES:
        with Image.open(shared / name) as image:
            whole = image.convert("RGB")
        perturbed = [draw_patches(grid, name, seed) for grid, seed in product(GRIDS, range(3))]
        expected |= {arrange_patches(whole, patches).tobytes() for patches in (None, *perturbed)}
    shown = model.encoder.model.shown  # pyright: ignore
    assert len(shown) == len(expected)
    assert set(shown) == expected
    assert list(decoded.values()) == [1, 1]
    assert len(results) == 1 + 8 * 3
    assert {result["data"]["crops"] for result in results} == {2}


@pytest.mark.usefixtures("sees")
def test_both_storages_have_the_same_results(tmp_path: Path) -> None:
    folders = [make(tmp_path / storage, storage) for storage in ("embedded", "by_reference")]
    model = models.load_model("python:sees:Sees")
    metrics = [
        {
            result["task"]: result["metrics"]
            for result in run(
                model, discover(folder), EvaluationOptions(data_dir=folder, output=folder)
            )
        }
        for folder in folders
    ]
    assert metrics[0] == metrics[1]
    assert len(metrics[0]) == 25 + 5


@pytest.mark.usefixtures("sees")
@pytest.mark.parametrize("name", ["Sees", "Pairs"])
def test_order_rows_show_the_image_of_another_row(shared: Path, name: str) -> None:
    model = models.load_model(f"python:sees:{name}")
    model.encoder.model.shown.clear()  # pyright: ignore
    results = run(model, ORDERS[3:], EvaluationOptions(data_dir=shared))
    assert [result["data"]["rows"] for result in results] == [4, 4]
    whole = [np.asarray(Image.open(shared / image)).tobytes() for image in NAMES]
    assert set(model.encoder.model.shown) == set(whole)  # pyright: ignore


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        (
            "patches",
            [{"rows": 2, "columns": 2, "order": [0, 0, 1, 1]}] * 2,
            "is not an order of the patches",
        ),
        (
            "patches",
            [{"rows": 1, "columns": 40, "order": [*range(40)]}] * 2,
            "12 x 12 pixels has no 40 x 1 patches",
        ),
        ("image_row", [7, 7], "there is no row 7"),
    ],
)
def test_bad_cells_are_named(
    tmp_path: Path, sees: None, column: str, cells: list, message: str
) -> None:
    root = make(tmp_path / "data", "embedded")
    path = next((root / "retrieval" / "coco").glob("test.shuffle_rows.s0-*.parquet"))
    table = pq.read_table(path)
    pq.write_table(pq.read_table(path).from_pylist(
        [row | {column: cell} for row, cell in zip(table.to_pylist(), cells, strict=True)], table.schema
    ), path)  # fmt: skip
    write_card(root / "retrieval", {}, "", measure(root / "retrieval"))
    with pytest.raises(ValueError, match=rf"retrieval/coco.*{message}"):
        run(
            models.load_model("python:sees:Sees"),
            [Task("retrieval", "coco", variant="shuffle_rows-s0")],
            EvaluationOptions(data_dir=root),
        )


def test_crops_of_one_image_are_consecutive(shared: Path) -> None:
    tasks = [task for task in discover(shared) if task.dataset == "retrieval"]
    found = [crop.image for crop in plan.build_plan([load(task, shared) for task in tasks]).crops]
    assert len(found) > 2 * 8
    changes = sum(first != second for first, second in pairwise(found))
    assert changes == 1
