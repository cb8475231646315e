from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


def write_repeated(path: Path, count: int) -> Path:
    """Write rows with the same texts of 10,000 characters, in columns of three types: a file of about 1 kB."""
    text = "x" * 10_000
    row = {"a": text, "l": [text, "z"], "s": {"t": text}}
    pq.write_table(pa.Table.from_pylist([row] * count), path, compression="zstd")
    return path


def test_repeated_texts_are_measured_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The three columns of 1,000 rows have 30 MB, though the file has 1 kB."""
    path = write_repeated(tmp_path / "rows.parquet", 1000)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(parquet, "MAX_BATCH_BYTES", 1_000_000)
    assert parquet.read_table(path).num_rows == 1000
    assert max(batch.num_rows for batch in parquet.read_batches(path)) == 33
    assert max(batch.num_rows for batch in parquet.read_batches(path, columns=["a"])) == 99
    assert sum(batch.num_rows for batch in parquet.read_batches(path)) == 1000
    monkeypatch.setattr(parquet, "MAX_TABLE_BYTES", 29_000_000)
    with pytest.raises(ValueError, match="its rows take more memory than is allowed"):
        parquet.read_table(path)
    assert parquet.read_table(path, ["a"]).num_rows == 1000
    monkeypatch.setattr(parquet, "MAX_FILE_BYTES", 29_000_000)
    with pytest.raises(ValueError, match="its rows take more memory"):
        next(parquet.read_batches(path))


def test_repeated_texts_of_many_small_row_groups_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each row group has one row, whose 100 equal texts of 10,000 characters take 1 MB, and all take 50 MB."""
    path = tmp_path / "rows.parquet"
    table = pa.table({"l": [["x" * 10_000] * 100] * 50})
    pq.write_table(table, path, compression="zstd", row_group_size=1)
    monkeypatch.setattr(parquet, "MAX_BATCH_BYTES", 2_000_000)
    monkeypatch.setattr(parquet, "MAX_TABLE_BYTES", 49_000_000)
    read: list[int] = []
    iter_batches = pq.ParquetFile.iter_batches

    def count(file: pq.ParquetFile, *arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        for batch in iter_batches(file, *arguments, **options):
            read.append(batch.nbytes)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", count)
    with pytest.raises(ValueError, match="its rows take more memory than is allowed"):
        parquet.read_table(path)
    assert max(read) < 2_000_000


def test_memory_that_the_system_refuses_is_no_damage(file: Path):
    with (
        pytest.raises(ValueError, match="its rows take more memory than is allowed"),
        parquet.open_file(file),
    ):
        raise pa.ArrowMemoryError("realloc of size 3686531072 failed")


def test_declared_rows_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"row": [0] * 11}), path)
    monkeypatch.setattr(parquet, "MAX_ROWS", 10)
    for read in (
        parquet.count_rows,
        parquet.read_table,
        lambda path: next(parquet.read_batches(path)),
    ):
        with pytest.raises(ValueError, match="it declares 11 rows, at most 10 are read"):
            read(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"caption": None}, "row 3: the column 'caption' has an empty cell"),
        ({"crop_id_1": None}, "row 3: the column 'crop_id_1' has an empty cell"),
        ({"hard_negatives": None}, "row 3: the column 'hard_negatives' has an empty cell"),
        ({"hard_negatives": ["a", None]}, "row 3: the column 'hard_negatives' has an empty cell"),
        ({"foils": [[], [None]]}, "row 3: the column 'foils' has an empty cell"),
        ({"foils": None, "complexity": None}, ""),
    ],
)
def test_empty_cells_of_a_dataset_are_one_clear_message(
    tmp_path: Path, changes: dict, message: str
):
    row = {"caption": "a", "crop_id_1": "c", "hard_negatives": ["b", "c"], "complexity": 4}
    row |= {"foils": [[{"type": "swap"}], []]}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist([row, row, row, row | changes, row]), path)
    if not message:
        assert sum(batch.num_rows for batch in parquet.read_filled(path, 2)) == 5
        return
    with pytest.raises(ValueError, match=message):
        list(parquet.read_filled(path, 2))


def test_lists_whose_dictionary_was_given_up_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The writer replaces a dictionary that grows too large by plain pages, in the middle of a column."""
    path = tmp_path / "test-00000-of-00001.parquet"
    rows = [[{"name": f"a cup with the number {number}"}] for number in range(3000)]
    options = {"dictionary_pagesize_limit": 1000, "data_page_size": 500, "row_group_size": 500}
    pq.write_table(pa.table({"captions": rows}), path, **options)
    monkeypatch.setattr(parquet, "MAX_BATCH_BYTES", 1000)  # so that the column is measured
    assert parquet.read_table(path)["captions"].to_pylist() == rows
