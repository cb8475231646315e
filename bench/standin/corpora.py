"""Write caption corpora in the formats of CC3M (tsv), CC12M (webdataset tars) and LAION-400M (parquet)."""

from __future__ import annotations

import io
import itertools
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from bench.standin.photographs import draw_jpeg
from bench.standin.scene import make_rng
from bench.standin.web_text import generate_captions

DIRT = {"cc3m": 0.02, "cc12m": 0.15, "laion": 0.35}
"""Shares of dirty captions. CC3M was cleaned by its authors, CC12M a little, LAION not at all."""
CAPTIONS_PER_TAR = 10_000
ROWS_PER_GROUP, ROWS_PER_FILE = 100_000, 1_000_000
JPEG_SIDE, JPEGS = 32, 64
"""Pixels of the images in the tar files, and how many different ones there are."""
LAION_SCHEMA = pa.schema(
    [
        ("SAMPLE_ID", pa.float64()),
        ("URL", pa.string()),
        ("TEXT", pa.string()),
        ("HEIGHT", pa.float64()),
        ("WIDTH", pa.float64()),
        ("LICENSE", pa.string()),
        ("NSFW", pa.string()),
        ("similarity", pa.float64()),
    ]
)
"""The columns of LAION-400M's own files."""
NO_TEXT = 0.001
"""Share of LAION's rows whose text is null."""
_LINE_BREAKS = re.compile(r"[\t\r\n]")


def write(corpus: str, folder: Path, captions: int, seed: int) -> None:
    """Write ``captions`` captions of a corpus to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = itertools.islice(generate_captions(corpus, seed, DIRT[corpus]), captions)
    _WRITERS[corpus](folder, iter(tqdm(texts, corpus, captions, unit="caption", mininterval=5)), seed)


def _make_url(number: int) -> str:
    return f"https://images.example.com/{number % 997}/{number}.jpg"


def _write_tsv(folder: Path, texts: Iterator[str], seed: int) -> None:
    """Write lines of a caption and a URL, without a header, as in CC3M's Train_GCC-training.tsv."""
    with (folder / "Train_GCC-training.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{_LINE_BREAKS.sub(' ', text)}\t{_make_url(number)}\n" for number, text in enumerate(texts))


def _write_tars(folder: Path, texts: Iterator[str], seed: int) -> None:
    """Write tar files of .jpg, .json and .txt files, as img2dataset does."""
    jpegs = [draw_jpeg(JPEG_SIDE, JPEG_SIDE, [], make_rng(seed, "cc12m jpeg", number)) for number in range(JPEGS)]
    for shard in itertools.count():
        samples = list(itertools.islice(texts, CAPTIONS_PER_TAR))
        if not samples:
            return
        with tarfile.open(folder / f"{shard:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for number, text in enumerate(samples):
                key = f"{shard:05d}{number:04d}"
                record = {"caption": text, "url": _make_url(shard * CAPTIONS_PER_TAR + number), "key": key}
                record |= {"status": "success", "error_message": None, "width": JPEG_SIDE, "height": JPEG_SIDE}
                _add(tar, f"{key}.jpg", jpegs[number % JPEGS])
                _add(tar, f"{key}.json", json.dumps(record).encode())
                _add(tar, f"{key}.txt", text.encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def _write_parquet(folder: Path, texts: Iterator[str], seed: int) -> None:
    rows = enumerate(texts)
    for part in itertools.count():
        first = next(rows, None)
        if first is None:
            return
        part_rows = itertools.chain([first], itertools.islice(rows, ROWS_PER_FILE - 1))
        with pq.ParquetWriter(folder / f"part-{part:05d}.snappy.parquet", LAION_SCHEMA) as writer:
            while group := list(itertools.islice(part_rows, ROWS_PER_GROUP)):
                writer.write_table(_make_laion_table(group, seed))


def _make_laion_table(rows: list[tuple[int, str]], seed: int) -> pa.Table:
    columns: dict[str, list[object]] = {name: [] for name in LAION_SCHEMA.names}
    for number, text in rows:
        rng = make_rng(seed, "laion row", number)
        size = [float(rng.randrange(100, 2_000)) for _ in range(2)]
        values = [float(rng.randrange(10**12)), _make_url(number), None if rng.random() < NO_TEXT else text, *size]
        values += [rng.choice(["?", "cc-by"]), rng.choice(["UNLIKELY", "UNSURE", "NSFW"]), 0.3 + 0.2 * rng.random()]
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    return pa.table(columns, LAION_SCHEMA)


_WRITERS = {"cc3m": _write_tsv, "cc12m": _write_tars, "laion": _write_parquet}
