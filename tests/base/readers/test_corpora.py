"""Every kind of caption file yields its captions in order, and rows that cannot be read are counted."""

import gzip
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compeval.base.readers import corpora
from compeval.base.readers.corpora import Shard, Skipped, list_shards, read_captions
from compeval.base.texts import normalize_text
from tests.base.readers.test_shards import write as write_tar

TEXTS = ["a red cat", "zwei Bälle, \u201cquoted\u201d", "tab-free"]


def read(pattern: Path | str, column: str | int = "caption") -> tuple[list[str], int]:
    skipped = Skipped()
    return [
        text
        for shard in list_shards(str(pattern))
        for text in read_captions(shard, column, skipped)
    ], skipped.rows


def write_file(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


@pytest.mark.parametrize("ending", ["", ".gz"])
class TestLineFiles:
    def test_txt_skips_blank_lines_and_broken_utf8(self, tmp_path, ending) -> None:
        write_file(tmp_path / f"c.txt{ending}", "\n".join(TEXTS).encode() + b"\r\n\n\xff\xfe\nlast")
        assert read(tmp_path / f"c.txt{ending}") == ([*TEXTS, "last"], 2)

    def test_jsonl_skips_broken_rows_and_rows_without_the_key(self, tmp_path, ending) -> None:
        rows = [json.dumps({"caption": text}) for text in TEXTS]
        rows += ['{"caption": ', "[]", '{"text": "x"}', '{"caption": 3}', "[" * 100_000]
        write_file(tmp_path / f"c.jsonl{ending}", "\n".join(rows).encode())
        assert read(tmp_path / f"c.jsonl{ending}") == (TEXTS, 5)

    def test_tsv_by_name_and_by_position(self, tmp_path, ending) -> None:
        body = "".join(f"{number}\t{text}\n" for number, text in enumerate(TEXTS)) + "no tab\n"
        write_file(tmp_path / f"c.tsv{ending}", f"url\tcaption\n{body}".encode())
        write_file(tmp_path / f"headerless.tsv{ending}", body.encode())
        assert read(tmp_path / f"c.tsv{ending}") == (TEXTS, 1)
        assert read(tmp_path / f"headerless.tsv{ending}", 1) == (TEXTS, 1)

    def test_csv_fields_can_contain_commas_quotes_and_line_ends_and_a_byte_order_mark_is_ignored(
        self, tmp_path, ending
    ) -> None:
        write_file(tmp_path / f"c.csv{ending}", b"\xef\xbb\xbfcaption,id\na red cat,1\n")
        assert read(tmp_path / f"c.csv{ending}") == (["a red cat"], 0)
        write_file(tmp_path / f"c.csv{ending}", b'id,caption\n1,"a ""red""\ncat, big"\n2,dog\n3\n')
        assert read(tmp_path / f"c.csv{ending}") == (['a "red"\ncat, big', "dog"], 1)


WEB_ALT_TEXTS = {
    'u\t"a cup\twith tabs"': "a cup\twith tabs",
    'u\t"""22"""" balloon"': '"22"" balloon',
    'u\t"plain"': "plain",
    'u\t"not closed': '"not closed',
    'u\t"closed" too early': '"closed" too early',
    'u\ta 5" pipe': 'a 5" pipe',
    "u\ta cup\tand a third cell": None,
    "u\ta cup\t": "a cup",
    "u": None,
}
"""Lines of a tsv file, and the caption that csv and pandas read where every quote of the line is closed."""


def test_quoted_fields_of_tsv_files_are_read_as_pandas_reads_them_and_counted(tmp_path) -> None:
    path, skipped = tmp_path / "c.tsv", Skipped()
    path.write_text(
        "\ufeffurl\tcaption\n" + "".join(f"{line}\n" for line in WEB_ALT_TEXTS), encoding="utf-8"
    )
    (shard,) = list_shards(str(path))
    assert list(read_captions(shard, "caption", skipped)) == [
        text for text in WEB_ALT_TEXTS.values() if text
    ]
    assert (skipped.rows, skipped.quoted) == (2, 3)
    closed = [
        line
        for line, text in WEB_ALT_TEXTS.items()
        if text and '"not closed' not in line and "early" not in line
    ]
    frame = pd.read_csv(
        io.StringIO("\n".join(closed)), sep="\t", header=None, names=["url", "caption", "rest"]
    )
    assert frame["caption"].to_list() == [WEB_ALT_TEXTS[line] for line in closed]


def test_real_alt_texts_are_read_as_pandas_reads_them(real_data: Path) -> None:
    path, skipped = real_data / "captions/web_alt_text_1k.tsv", Skipped()
    texts = [text for shard in list_shards(str(path)) for text in read_captions(shard, 1, skipped)]
    expected = pd.read_csv(path, sep="\t", header=None, keep_default_na=False)[1]
    assert texts == expected.map(normalize_text).to_list()
    assert (len(texts), skipped.quoted) == (1001, 27)


@pytest.mark.parametrize(
    ("name", "data", "column", "expected"),
    [
        ("c.csv", b"id,caption\n1,a cat, big\n2,dog\n3,cat,,\n", "caption", (["dog", "cat"], 1)),
        ("c.csv", b"caption\ncaf\xe9\ncup\n", "caption", (["cup"], 1)),
        ("c.csv", b"1,cup\n2,hat\n", 1, (["cup", "hat"], 0)),
        ("c.csv", b'id,caption\n1,"a cup" of tea\n', "caption", (["a cup of tea"], 0)),
        ("c.txt", "\ufeffa cup\n".encode(), "caption", (["a cup"], 0)),
        ("c.jsonl", '\ufeff{"caption": "a cup"}\n'.encode(), "caption", (["a cup"], 0)),
        ("c.tsv", "\ufeffcup\tu\n".encode(), 0, (["cup"], 0)),
    ],
)
def test_odd_files(
    tmp_path: Path, name: str, data: bytes, column: str | int, expected: tuple[list[str], int]
) -> None:
    (tmp_path / name).write_bytes(data)
    assert read(tmp_path / name, column) == expected


@pytest.mark.parametrize("row", [b'"a cup', b'"a" cup,"and'])
def test_a_quote_that_is_not_closed_is_an_error(tmp_path: Path, row: bytes) -> None:
    (tmp_path / "c.csv").write_bytes(b"caption\n" + row + b"\na hat\n")
    with pytest.raises(ValueError, match=r"c\.csv: not a valid table \(a quote is not closed\)"):
        read(tmp_path / "c.csv")


def test_a_tar_sample_uses_txt_before_json(tmp_path) -> None:
    members = [
        ("000.jpg", b"pixels"),
        ("000.json", b'{"caption": "not this"}'),
        ("000.txt", b"a red cat"),
    ]
    members += [("001.jpg", b"pixels"), ("001.json", b'{"caption": "a dog"}')]
    write_tar(tmp_path / "c.tar", [*members, ("002.jpg", b"no caption"), ("003.json", b"broken")])
    assert read(tmp_path / "c.tar") == (["a red cat", "a dog"], 2)


def test_parquet_by_row_ranges(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(corpora, "PARQUET_ROWS", 4)
    texts = [f"caption {number}" for number in range(10)]
    table = pa.table({"url": texts, "TEXT": [*texts[:9], None]})
    pq.write_table(table, tmp_path / "c.parquet", row_group_size=3)
    ranges = [(shard.start, shard.stop) for shard in list_shards(str(tmp_path / "c.parquet"))]
    assert ranges == [(0, 4), (4, 8), (8, 10)]
    assert read(tmp_path / "c.parquet", "TEXT") == (texts[:9], 1)


def test_a_parquet_text_that_is_not_utf8_is_skipped(tmp_path) -> None:
    valid = pa.array([b"a red cat", b"\xff\xfe", b"a dog"])
    pq.write_table(
        pa.table({"c": pa.Array.from_buffers(pa.string(), 3, valid.buffers())}),
        tmp_path / "c.parquet",
    )
    assert read(tmp_path / "c.parquet", "c") == (["a red cat", "a dog"], 1)


def test_a_line_that_does_not_end_is_skipped(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(corpora, "MAX_LINE_BYTES", 10)
    path = tmp_path / "c.txt"
    path.write_text(f"{'x' * 9}\n{'x' * 10}\n{'y' * 35}\ncat\n{'z' * 25}", encoding="utf-8")
    assert read(path) == (["x" * 9, "cat"], 3)
    parts = [Shard(path, start, start + 7) for start in range(0, path.stat().st_size, 7)]
    skipped = Skipped()
    assert [text for part in parts for text in read_captions(part, "", skipped)] == ["x" * 9, "cat"]
    assert skipped.rows == 3


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.text("abä ", min_size=1, max_size=9).filter(str.strip), min_size=1),
    size=st.integers(1, 40),
)
def test_shards_of_a_line_file_contain_every_line_once(tmp_path_factory, lines, size) -> None:
    path = tmp_path_factory.mktemp("parts") / "c.tsv"
    path.write_bytes(b"caption\n" + "\n".join(lines).encode())
    parts = [Shard(path, start, start + size) for start in range(0, path.stat().st_size, size)]
    assert [text for part in parts for text in read_captions(part, "caption")] == lines


def test_a_glob_reads_files_in_order(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no caption file found"):
        list_shards(str(tmp_path / "*.txt"))
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.txt").write_text(name, encoding="utf-8")
    assert read(tmp_path / "*.txt") == (["a", "b", "c"], 0)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("c.txt", b"", "the file is empty"),
        (
            "c.doc",
            b"x",
            r"unknown kind of caption file, expected \.parquet, \.csv, \.tsv, \.jsonl, \.txt, \.tar",
        ),
        (
            "c.tsv",
            b"url\ttext\na\tb\n",
            r"no column 'caption'; it has url, text\. Without a header",
        ),
        ("c.csv", b"url,text\na,b\n", "no column 'caption'; it has url, text"),
        ("c.parquet", b"no parquet", "not a readable parquet file"),
        ("c.tar", b"no tar" * 99, "the tar file is cut off or damaged"),
        ("c.tar.gz", gzip.compress(b"no tar" * 99, mtime=0), "the tar file is cut off or damaged"),
        ("c.csv.gz", gzip.compress(b"", mtime=0), "no column 'caption'"),
        ("c.txt.gz", b"no gzip", "the file is damaged"),
        ("c.txt.gz", gzip.compress(b"cat " * 99, mtime=0)[:-9], "the file is damaged"),
    ],
)
def test_messages_for_files_that_cannot_be_read(tmp_path, name, data, message) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


def test_real_files(real_data) -> None:
    tar, skipped = read(real_data / "cc12m" / "*.tar")
    assert (len(tar), skipped) == (32, 0)
    assert tar[0] == "Red Square is a city square in Moscow, Russia."
    conceptual, _ = read(real_data / "captions" / "cc3m_validation_8k.tsv", 0)
    assert conceptual[1] == "an angler fishes river on a snowy day ."
    alt_text, _ = read(real_data / "captions" / "web_alt_text_1k.tsv", "TEXT")
    assert alt_text[1] == "Tavern Brawl by velinov"
    factual, _ = read(real_data / "factual" / "dev.csv")
    assert (len(factual), factual[0]) == (1000, "white stove in a kitchen")
