"""The demo's data, and the table of its results."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow as pa
import torch
from safetensors.torch import load_file

from compeval.cli.demo_summary import NEGATIVES, describe_standings
from compeval.demo import FOLDER, MODEL, SAMPLE, write_model
from compeval.demo.make import ROWS, read_texts, sample_rows, shrink_model
from compeval.evaluators import models
from compeval.evaluators.models.local import EMBEDDING, TOKEN_IDS, WEIGHTS
from compeval.evaluators.results import documents
from compeval.loaders.datasets.stats import read_stats
from tests.close import assert_close, count_layers
from tests.compeval.conftest import Demo
from tests.evaluators import tiny


def test_the_demo_evaluates_the_shipped_model(demo: Demo):
    assert "word replaced, seen compounds" in demo.output
    assert "Report: compeval-demo/report/index.html" in demo.output
    assert (demo.folder / "report/index.html").is_file()
    results = map(documents.read, documents.list_documents(demo.folder / "results"))
    recall = {result["task"]: result["metrics"]["recall@1"] for result in results}
    assert set(recall) == {
        f"{SAMPLE}/{config}/{split}".removesuffix("/test") for config, split in ROWS
    }
    assert recall["crepe/laion_sc_hnatom"] > 0.4, "two times the chance level of 1/5"


def test_the_sample_is_complete_and_its_questions_are_known():
    stats = read_stats(FOLDER / SAMPLE)
    assert {(config, split): stats["rows"][config][split] for config, split in ROWS} == ROWS
    assert {f"{config}/{split}".removesuffix("/test") for config, split in ROWS} <= NEGATIVES.keys()


def test_a_shrunk_model_scores_its_texts_as_before(tmp_path: Path):
    checkpoint = tiny.write_clip(tmp_path / "checkpoint")
    texts = ["a red ball", "two blue boxes"]
    shrink_model(checkpoint, texts, tmp_path / "small")
    write_model(tmp_path / "full", tmp_path / "small")
    folders = (checkpoint, tmp_path / "full", tmp_path / "small")
    before, after, small = (
        models.load_model(f"local:{folder}", "cpu", "fp32") for folder in folders
    )
    assert isinstance(before.encoder, models.DualEncoder)
    assert isinstance(after.encoder, models.DualEncoder)
    assert isinstance(small.encoder, models.DualEncoder)
    np.testing.assert_array_equal(
        small.encoder.encode_texts(texts, 2), after.encoder.encode_texts(texts, 2)
    )
    # The shrunk model has weights in half precision.
    network: Any = open_clip.create_model(f"local-dir:{checkpoint}")
    assert_close(
        after.encoder.encode_texts(texts, 2),
        before.encoder.encode_texts(texts, 2),
        dtype=np.float16,
        summed=count_layers(network.transformer),
    )
    ids = load_file(tmp_path / "small" / WEIGHTS)[TOKEN_IDS]
    embedding = load_file(tmp_path / "full" / WEIGHTS)[EMBEDDING]
    assert int((embedding.abs().sum(dim=1) > 0).sum()) == len(ids), "other tokens have zeros"
    assert (tmp_path / "small" / WEIGHTS).stat().st_size < (checkpoint / WEIGHTS).stat().st_size / 2


def test_every_token_of_the_sample_has_an_embedding():
    weights = load_file(FOLDER / MODEL / WEIGHTS)
    ids = torch.unique(
        open_clip.get_tokenizer(f"local-dir:{FOLDER / MODEL}")(sorted(read_texts(FOLDER / SAMPLE)))
    )
    assert set(ids.tolist()) <= set(weights[TOKEN_IDS].tolist())


def test_rows_are_evenly_spaced_and_crops_small(tmp_path: Path):
    pixels = [tiny.plain_picture((number, 0, 0), (300, 150)) for number in range(10)]
    cells = [{"bytes": data, "path": None} for data in pixels]
    (tmp_path / "crepe" / "images").mkdir(parents=True)
    (tmp_path / "crepe" / "images" / "0.jpg").write_bytes(pixels[0])
    cells[0] = {"bytes": None, "path": "crepe/images/0.jpg"}
    table = pa.table(
        {
            "image": pa.array(cells, pa.struct({"bytes": pa.binary(), "path": pa.string()})),
            "caption": [f"caption {number}" for number in range(10)],
        }
    )
    sample = sample_rows(table, 4, tmp_path / "crepe")
    # 10 * i // 4.
    assert sample["caption"].to_pylist() == [
        "caption 0",
        "caption 2",
        "caption 5",
        "caption 7",
    ]
    assert all(len(cell["bytes"]) < 2000 for cell in sample["image"].to_pylist())


def test_the_table_of_the_demo_is_that_of_a_run(demo: Demo):
    lines = demo.output.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("hard negatives"))
    assert re.split(r" {2,}", lines[start].strip()) == [
        "hard negatives",
        "rows",
        "%",
        "95 % interval",
        "chance",
        "text-only",
    ]
    first = re.split(r" {2,}", lines[start + 1].strip())
    path = demo.folder / "results/microworld/clip-laion-s0/crepe/laion_sc_hnatom.json"
    result = documents.read(path)
    low, high = result["intervals"]["recall@1"]
    assert first[:-1] == [
        "word replaced, seen compounds",
        "300",
        f"{100 * result['metrics']['recall@1']:.1f}",
        f"{100 * low:.1f} to {100 * high:.1f}",
        "20.0",
    ]
    assert float(first[-1]) > 90, "all negatives are edits of the caption, which is their medoid"
    assert "4 of 8 above chance, 0 above the best text-only baseline" in demo.output
    assert all(len(line) <= 80 for line in lines[start : start + 11])


def test_scores_above_chance_and_above_text_are_counted():
    standings = ["above", "solved", "unmeasured", "same", "below"]
    assert describe_standings(standings).startswith("3 of 5 above chance, 1 above the best")
