from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from compeval.base.storage import parquet

READERS = (
    parquet.read_schema,
    parquet.count_rows,
    parquet.read_table,
    lambda path: list(parquet.read_batches(path, 2)),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "test-00000-of-00001.parquet"
    pq.write_table(
        pa.table({"caption": ["a red cup", "a blue ball", "a cup"] * 500}),
        path,
        use_dictionary=False,
    )
    return path


def test_a_file_is_read(file: Path):
    assert parquet.read_schema(file).names == ["caption"]
    assert parquet.count_rows(file) == 1500
    assert parquet.read_table(file, ["caption"]).num_rows == 1500
    assert [batch.num_rows for batch in parquet.read_batches(file, 1000)] == [1000, 500]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("num_bytes", [0, 100])
def test_a_file_that_is_cut_off_is_named(
    file: Path, num_bytes: int, read: Callable[[Path], object]
):
    file.write_bytes(file.read_bytes()[:num_bytes])
    with pytest.raises(
        ValueError, match=rf"{file}: not a readable parquet file \(.*\)\. It is cut off .*dvc repro"
    ):
        read(file)


@pytest.mark.parametrize("read", READERS[2:])
def test_a_file_whose_rows_are_damaged_is_named(file: Path, read: Callable[[Path], object]):
    data = bytearray(file.read_bytes())
    data[40:140] = bytes(100)  # the footer at the end stays intact
    file.write_bytes(data)
    with pytest.raises(ValueError, match=f"{file}: not a readable parquet file"):
        read(file)


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_is_named(tmp_path: Path, read: Callable[[Path], object]):
    with pytest.raises(FileNotFoundError, match=r"none\.parquet: no such file"):
        read(tmp_path / "none.parquet")


def test_other_errors_are_not_changed(file: Path):
    with pytest.raises(ValueError, match=r"^mine$"), parquet.open_file(file):
        raise ValueError("mine")
