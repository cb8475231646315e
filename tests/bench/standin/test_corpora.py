"""Tests of the stand-in's caption corpora: formats, dirt and determinism."""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.standin import corpora
from bench.standin.web_text import generate_captions
from generators.readers.corpora import Column, Skipped, list_shards, read_captions

COLUMNS: dict[str, tuple[str, Column]] = {
    "cc3m": ("*.tsv", 0),
    "cc12m": ("*.tar", "txt"),
    "laion": ("*.parquet", "TEXT"),
}


def read(folder: Path, corpus: str) -> tuple[list[str], int]:
    """Return the readable captions of a corpus and the number of other rows."""
    pattern, column = COLUMNS[corpus]
    skipped = Skipped()
    shards = list_shards(str(folder / pattern))
    return [caption for shard in shards for caption in read_captions(shard, column, skipped)], skipped.rows


@pytest.mark.parametrize("corpus", COLUMNS)
def test_every_caption_is_read(tmp_path: Path, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus of 2,500 captions; the reader skips those without a character that is not white space."""
    monkeypatch.setattr(corpora, "CAPTIONS_PER_TAR", 1_000)
    monkeypatch.setattr(corpora, "ROWS_PER_FILE", 2_000)
    corpora.write(corpus, tmp_path, 2_500, seed=0)
    captions, skipped = read(tmp_path, corpus)
    assert len(captions) + skipped == 2_500
    expected = list(itertools.islice(generate_captions(corpus, 0, corpora.DIRT[corpus]), 2_500))
    if corpus == "cc12m":
        assert captions == [text for text in expected if text.strip()]
        assert len(list(tmp_path.glob("*.tar"))) == 3
    if corpus == "laion":
        assert pq.read_schema(tmp_path / "part-00001.snappy.parquet").names[:3] == ["SAMPLE_ID", "URL", "TEXT"]


@pytest.mark.parametrize("corpus", COLUMNS)
def test_equal_arguments_write_equal_bytes(tmp_path: Path, corpus: str) -> None:
    for name in ("first", "second"):
        corpora.write(corpus, tmp_path / name, 300, seed=3)
    (first,), (second,) = ((tmp_path / name).iterdir() for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


def test_captions_have_the_dirt_of_web_text() -> None:
    """In 20,000 captions of which all are dirty, the rarest kind, very long lines, has 10 in the mean."""
    captions = list(itertools.islice(generate_captions("test", 0, dirt=1.0), 20_000))
    categories = {unicodedata.category(character) for caption in captions for character in caption[:200]}
    assert {"Cc", "Cf", "So", "Lo", "Nd", "Sc"} <= categories
    for fragment in ("&amp;", "&#8211;", "https://", "*NEW*", "\x00", "красивая"):
        assert any(fragment in caption for caption in captions), fragment
    assert max(map(len, captions)) >= 5_000
    assert sum(caption.isupper() for caption in captions) > 1_000
    assert sum(not caption.strip() for caption in captions) > 50


def test_most_captions_differ() -> None:
    captions = list(itertools.islice(generate_captions("test", 0, dirt=0.1), 20_000))
    assert 0.8 * len(captions) < len(set(captions)) < len(captions)
