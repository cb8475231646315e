from pathlib import Path
from typing import Any

import pytest

from compeval.base.files import csv_tables, json_lines


def write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_byte_order_mark_is_ignored_and_lines_are_numbered(tmp_path: Path):
    path = write_bytes(tmp_path / "a.csv", '\ufeffid,answer\n1,"two\nlines"\n2,yes\n'.encode())
    assert list(csv_tables.read_numbered(path, ["id"])) == [
        (3, {"id": "1", "answer": "two\nlines"}),
        (4, {"id": "2", "answer": "yes"}),
    ]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (b"id,answer\ncaf\xe9,true\n", ["id"], "a.csv: not in UTF-8"),
        (b"id\n1\n", ["id", "answer"], "a.csv: no column answer; its columns are id"),
        (b"id,answer\n1,true\n2\n", ["id", "answer"], "a.csv, line 3: no cell for answer"),
        (b"id,answer\n2\n", [], "a.csv, line 2: no cell for answer"),
    ],
)
def test_an_invalid_table_raises_a_clear_error(
    tmp_path: Path, content: bytes, columns: list[str], message: str
):
    with pytest.raises(ValueError, match=message):
        csv_tables.read(write_bytes(tmp_path / "a.csv", content), columns)


@pytest.mark.parametrize("row", [b"2", b"2,a,b"])
def test_a_row_has_as_many_cells_as_the_header(tmp_path: Path, row: bytes):
    with pytest.raises(
        ValueError, match=r"a\.csv, line 2: (no cell for note|3 cells for 2 columns)"
    ):
        csv_tables.read(write_bytes(tmp_path / "a.csv", b"id,note\n" + row + b"\n"), ["id"])


def test_only_the_given_columns_are_written(tmp_path: Path):
    csv_tables.write(tmp_path / "new" / "a.csv", ["id"], [{"id": 1, "other": 2}])
    assert (tmp_path / "new" / "a.csv").read_bytes() == b"id\n1\n"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    "text",
    [
        "=HYPERLINK(1)",
        "+SUM(1)",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "'=1",
        "''+a",
        "'plain",
        "plain",
        "\tcup",
        "=",
        "'",
    ],
)
def test_formulas_are_quoted_in_the_file_and_read_back(tmp_path: Path, text: str):
    csv_tables.write(tmp_path / "a.csv", ["text"], [{"text": text}])
    cell = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()[1].strip('"')
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    assert csv_tables.read(tmp_path / "a.csv") == [{"text": text}]


@pytest.mark.parametrize("text", ["-", "-1.5", "+3.2 [-1.0, 4.0]", "-12 %"])
def test_numbers_are_not_quoted(text: str):
    assert csv_tables.quote_formula(text) == text


@pytest.mark.parametrize("read", [csv_tables.read_numbered, json_lines.read_numbered])
def test_a_file_without_line_ends_is_not_read_as_a_whole(
    tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch
):
    for module in (csv_tables, json_lines):
        monkeypatch.setattr(module, "MAX_LINE", 100)
    (tmp_path / "a").write_text("[1]\n" + "[" * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="100 characters or more"):
        list(read(tmp_path / "a"))


def test_quotes_within_a_cell_are_read_as_spreadsheets_do_and_counted(tmp_path: Path):
    path = write_bytes(
        tmp_path / "a.tsv", b'id\ttext\n\n1\t"a" cup\n2\t"a ""red"" cup"\n3\ta "red" cup\n'
    )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv_tables.read_rows(file, "\t"))
    assert rows[1:] == [
        (3, ["1", "a cup"], True),
        (4, ["2", 'a "red" cup'], False),
        (5, ["3", 'a "red" cup'], False),
    ]
    assert csv_tables.count_misplaced_quotes(path, "\t") == 1
    with pytest.raises(ValueError, match=r"a\.tsv, line 3: text after a closing quote"):
        list(csv_tables.read_numbered(path, delimiter="\t"))


def test_a_quote_that_is_not_closed_names_the_line_where_its_row_starts(tmp_path: Path):
    path = write_bytes(tmp_path / "a.csv", b'id,text\n1,cup\n2,"a\n3,cat\n')
    with pytest.raises(
        ValueError,
        match=r"a\.csv, the row from line 3: not a valid table \(a quote is not closed\)",
    ):
        csv_tables.read(path)


def test_apostrophes_of_files_of_others_stay(tmp_path: Path):
    path = write_bytes(tmp_path / "a.csv", b"text\n'=1\n")
    assert list(csv_tables.read_numbered(path, is_ours=False)) == [(2, {"text": "'=1"})]


@pytest.mark.parametrize(("columns", "is_error"), [([], True), (["id"], True), (["note"], False)])
def test_a_repeated_column_is_an_error_where_it_is_read(
    tmp_path: Path, columns: list[str], is_error: bool
):
    path = write_bytes(tmp_path / "a.csv", b"id,note,id,,\n1,2,3,,\n")
    if not is_error:
        assert csv_tables.read(path, columns)[0]["note"] == "2"
        return
    with pytest.raises(ValueError, match="two columns are called id"):
        csv_tables.read(path, columns)


def test_empty_cells_may_follow_a_row():
    assert csv_tables.fits(2, ["a", "b", "", ""])
    assert not csv_tables.fits(2, ["a", "b", "", "c"])
    assert not csv_tables.fits(2, ["a"])
    assert csv_tables.count_extra_cells(["id"], ["a", "", "b", ""]) == 2
    assert csv_tables.count_extra_cells(["id"], ["a", "", ""]) == 0
