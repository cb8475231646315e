"""Other libraries (datasets, pandas, duckdb, polars) read our parquet files, including the images."""

import io
from pathlib import Path

import datasets
import pandas as pd
import pytest
from PIL import Image

from tests.rows import toy_dataset


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return toy_dataset(tmp_path) / "toy_hnatom" / "test-00000-of-00001.parquet"


def size(data: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(data)).size


def test_datasets(file: Path):
    rows = datasets.load_dataset(str(file.parents[1]), "toy_hnatom", split="test")
    assert rows[0]["image"].size == (40, 30)  # pyright: ignore
    assert rows[0]["foils"][0][0] == {"type": "attribute", "from": "red", "to": "blue"}  # pyright: ignore


def test_pandas(file: Path):
    frame = pd.read_parquet(file)
    assert size(frame["image"][0]["bytes"]) == (40, 30)
    assert list(frame["hard_negatives"][0]) == ["blue ball", "red kite"]


def test_polars(file: Path):
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(file)
    assert size(frame["image"].struct.field("bytes")[0]) == (40, 30)
    assert frame["hard_negatives"].to_list() == [["blue ball", "red kite"]] * 3


def test_duckdb(file: Path):
    duckdb = pytest.importorskip("duckdb")
    query = f"select image.bytes, hard_negatives[1], count(*) over () from '{file}' limit 1"
    ((data, negative, count),) = duckdb.sql(query).fetchall()
    assert (size(data), negative, count) == ((40, 30), "blue ball", 3)
