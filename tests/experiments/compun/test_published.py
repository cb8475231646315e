"""Compun's Table 1 with the notebook's preprocessing, on a tiny random CLIP."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from compeval.base.pipeline.params import PAPER
from compeval.generators.compun import CompunSettings, read_nouns, write
from compeval.generators.llm.client import Cache
from compeval.loaders.cards.card import write_card
from compeval.loaders.datasets.stats import measure as measure_folder
from experiments.compun import published
from tests.close import assert_close

WORDS = Path(__file__).parents[3] / "sample/words"


def test_pixels_are_resized_to_a_square_and_not_normalised():
    """A picture of 448 x 224 pixels, black to the left of the middle and white to the right."""
    pixels = np.zeros((224, 448, 3), np.uint8)
    pixels[:, 224:] = 255
    tensor = np.asarray(published.make_notebook_transform()(Image.fromarray(pixels)))
    assert tensor.shape == (3, 224, 224)
    assert (tensor[:, :, :110] == 0).all()
    assert (tensor[:, :, 114:] == 1).all()


def test_scores_are_those_of_the_images_as_the_notebook_prepares_them(tmp_path: Path):
    torch = pytest.importorskip("torch")
    open_clip = pytest.importorskip("open_clip")
    nouns = [
        noun
        for noun in read_nouns(WORDS / "compun.csv")
        if noun.compound in ("raincoat", "fishbowl")
    ]
    write(tmp_path / "compun", nouns, CompunSettings(0, 2, None, {}, PAPER), WORDS, Cache([]))
    write_card(tmp_path / "compun", {}, "", measure_folder(tmp_path / "compun"))
    torch.manual_seed(0)
    vision = {"image_size": 224, "layers": 1, "width": 16, "patch_size": 112, "head_width": 8}
    text = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
    model = open_clip.CLIP(embed_dim=16, vision_cfg=vision, text_cfg=text).eval()
    tokenizer = open_clip.get_tokenizer("ViT-B-32", context_length=16)
    transform = published.make_notebook_transform()
    scores = published.measure(model, transform, tokenizer, tmp_path)
    assert list(scores) == ["main", "main@reversed"]

    import pyarrow.parquet as pq

    rows = pq.read_table(next((tmp_path / "compun/main").glob("test-*"))).to_pylist()
    hits = []
    for row in rows:
        images = [
            Image.open(io.BytesIO(row[column]["bytes"])).convert("RGB")
            for column in ("image", "image_n1", "image_n2")
        ]
        with torch.no_grad():
            image_ID = model.encode_image(torch.stack([transform(image) for image in images]))
            text_D = model.encode_text(tokenizer(row["prompts"]))[0]
        score_I = torch.nn.functional.normalize(image_ID) @ text_D
        hits.append(bool((score_I[0] > score_I[1:]).all()))
    assert 0 < sum(hits) < len(hits)
    assert_close(scores["main"], 100 * np.mean(hits))


def test_a_task_that_the_data_lacks_has_no_score():
    rows = list(published.make_rows({"main": 75.0}, {"main": 78.0}))
    assert rows[0] == ("main", "75.00", "78.00", "78.25")
    assert rows[-1] == ("main@notebook-5", "-", "-", "86.50")
