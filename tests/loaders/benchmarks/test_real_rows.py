"""Real rows of published files become tasks: an oracle scores 1, a constant encoder 0, a random one at chance."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

from compeval.cli import app
from loaders.importing.importing import import_files
from loaders.published.rows import Row, read_csv
from tests.published_files import read_file

MODELS = '''
import hashlib
import json
from pathlib import Path

import numpy as np


class Oracle:
    """Encodes an image as its number, and a text as the numbers of the images that it is true of."""

    fingerprint = "oracle"

    def __init__(self, device):
        self.truths = json.loads(Path("truths.json").read_text())

    def number(self, image):
        red, green, _ = image.getpixel((0, 0))
        return 256 * red + green

    def encode_image(self, images):
        return np.eye(len(self.truths[""]) + 1)[[self.number(image) for image in images]]

    def encode_text(self, texts):
        unknown = [len(self.truths[""])]
        return np.array([np.eye(unknown[0] + 1)[self.truths.get(text, unknown)].sum(axis=0) for text in texts])


class Random(Oracle):
    fingerprint = "random"

    def draw(self, key):
        return np.random.default_rng(int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)).normal(size=64)

    def encode_image(self, images):
        return np.array([self.draw(str(self.number(image))) for image in images])

    def encode_text(self, texts):
        return np.array([self.draw(text) for text in texts])


class Constant(Oracle):
    fingerprint = "constant"

    def encode_text(self, texts):
        return np.ones((len(texts), len(self.truths[""]) + 1))
'''
FILES = {
    "negbench/images/COCO_val_mcq_llama3.1_rephrased.csv": 62,
    "negbench/images/VOC2007_mcq_llama3.1_rephrased.csv": 30,
    "negbench/images/synthetic_mcq_llama3.1_rephrased.csv": 40,
    "negbench/images/COCO_val_retrieval.csv": 25,
    "negbench/images/COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true.csv": 25,
    "negbench/images/synthetic_retrieval_v1.csv": 25,
    "negbench/images/synthetic_retrieval_v2.csv": 26,
    "naturalbench/dataset_split_for_finetuning/test_set.json": 65,
    "vsr/splits/random/dev.jsonl": 70,
    "vsr/splits/zeroshot/dev.jsonl": 68,
    "vsr/splits/zeroshot/test.jsonl": 67,
    "colorswap/test.json": 100,
}
"""Number of rows (of groups for NaturalBench) of each excerpt."""


def list_truths(row: Row) -> Iterator[tuple[str, str]]:
    """Yield pairs of an image and a text that is true of it."""
    if row.label is not None:
        yield from zip(row.images, row.captions, strict=True) if row.label else ()
    elif len(row.images) == 1:
        yield from ((row.images[0], caption) for caption in row.captions)
    else:
        yield from ((row.images[place % 2], caption) for place, caption in enumerate(row.captions))


def make_images(rows: list[Row], folder: Path) -> None:
    """Write an image in its own colour for each name, and the truths for the oracle."""
    names = list(dict.fromkeys(name for row in rows for name in row.images))
    truths: dict[str, list[int]] = {"": list(range(len(names)))}
    for number, name in enumerate(names):
        path = folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2), (number // 256, number % 256, 0)).save(path, "PNG")
    for image, text in sorted({truth for row in rows for truth in list_truths(row)}):
        truths.setdefault(text, []).append(names.index(image))
    (folder / "truths.json").write_text(json.dumps(truths))
    (folder / "real_models.py").write_text(MODELS)


def run(model: str, dataset: str, *options: str) -> dict:
    task = ["--task", f"{dataset}/*", "--data", "data", "--json", *options]
    result = CliRunner().invoke(app, ["run", f"python:real_models:{model}", *task])
    assert result.exit_code == 0, result.output
    (record,) = json.loads(result.stdout)
    return record


@pytest.mark.parametrize("name", FILES)
def test_oracle_constant_and_chance(real_data: Path, here: Path, name: str):
    path = real_data / "benchmarks" / name
    counts, rows = read_file(path)
    assert (counts.read, len(rows)) == (FILES[name], FILES[name])
    make_images(rows, here)
    import_files([path], here / "images", here / "data")
    oracle, constant, random = (run(model, counts.family) for model in ("Oracle", "Constant", "Random"))
    for metric in oracle["main"]:
        if metric.startswith("authors"):
            continue
        assert (oracle["metrics"][metric], constant["metrics"][metric]) == (1, 0), metric
        chance = random["chance"][metric]
        error = np.sqrt(chance * (1 - chance) / len(rows))
        assert abs(random["metrics"][metric] - chance) < 4 * error, metric
    if name.endswith(("COCO_val_mcq_llama3.1_rephrased.csv", "VOC2007_mcq_llama3.1_rephrased.csv")):
        assert constant["metrics"]["authors_accuracy"] == 1, "the truth is the first option"
    if counts.family == "vsr":
        assert (oracle["metrics"]["auc"], constant["metrics"]["auc"]) == (1, 0)


def test_bivlc_texts_in_the_layout_of_the_hub(real_data: Path, tmp_path: Path):
    results = list(read_csv(real_data / "benchmarks/bivlc/results/BiVLC_ViT-B-32.csv", ()))
    texts = ("caption", "negative_caption", "type", "subtype")
    cell = {"bytes": b"no image", "path": None}
    items = [{key: row[key] for key in texts} | dict.fromkeys(("image", "negative_image"), cell) for row in results]
    path = tmp_path / "test-00000-of-00002-23fe2e02660e9182.parquet"
    pq.write_table(pa.Table.from_pylist(items), path)
    counts, rows = read_file(path)
    assert (counts.family, counts.read, len(rows)) == ("bivlc", 180, 180)
    assert [row.captions for row in rows] == [(row["caption"], row["negative_caption"]) for row in results]
    assert rows[0].categories == (("type", "add"), ("subtype", "add obj"))
    # The authors' outcomes agree with the group protocol: a score is the conjunction of its two comparisons.
    for one in results:
        text, image = (
            all(one[key] == "True" for key in keys)
            for keys in (("text_score_i0", "text_score_i1"), ("image_score_c0", "image_score_c1"))
        )
        assert (str(text), str(image), str(text and image)) == (
            one["text_score"],
            one["image_score"],
            one["group_score"],
        )
