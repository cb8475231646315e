"""The sampled digest of a file."""

import os
import shutil
from pathlib import Path

import pytest

from compeval.base.readers.corpora import Shard
from compeval.generators.seen_analysis.shards import (
    BLOCK_BYTES,
    BLOCKS,
    Search,
    has_result,
    result_path,
    sampled_digest,
)
from compeval.generators.seen_analysis.targets import Targets

SMALL, LARGE = BLOCKS * BLOCK_BYTES, 40 * BLOCKS * BLOCK_BYTES


def test_every_byte_of_a_small_file_counts(tmp_path) -> None:
    path, digests = tmp_path / "file", set()
    for position in (None, 0, 1, SMALL // 3, SMALL - BLOCK_BYTES, SMALL - 1):
        data = bytearray(SMALL)
        if position is not None:
            data[position] = 1
        path.write_bytes(data)
        digests.add(sampled_digest(path))
    assert len(digests) == 6


def test_size_start_and_end_of_a_large_file_count_and_little_is_read(tmp_path) -> None:
    path, digests = tmp_path / "file", set()
    for size, position in ((LARGE, None), (LARGE + 1, None), (LARGE, 0), (LARGE, LARGE - 1)):
        with path.open("wb") as file:
            file.truncate(size)
            if position is not None:
                file.seek(position)
                file.write(b"1")
        digests.add(sampled_digest(path))
    assert len(digests) == 4


def test_files_of_any_size_and_copies_have_a_digest(tmp_path) -> None:
    for size in (0, 1 << 42):
        with (tmp_path / "sparse").open("wb") as file:
            file.truncate(size)
        assert len(sampled_digest(tmp_path / "sparse")) == 64
    (tmp_path / "a").write_bytes(b"a red cat")
    shutil.copyfile(tmp_path / "a", tmp_path / "b")
    assert sampled_digest(tmp_path / "a") == sampled_digest(tmp_path / "b")


@pytest.mark.parametrize(
    ("size", "is_reused"), [(BLOCKS * BLOCK_BYTES, True), (BLOCKS * BLOCK_BYTES + 1, False)]
)
def test_a_result_is_not_reused_if_its_large_file_was_written_later(
    tmp_path: Path, size: int, is_reused: bool
):
    corpus, search = tmp_path / "a.txt", Search(Targets((), ()), (Shard(tmp_path / "a.txt"),), 0)
    assert not has_result(search, 0, tmp_path)
    corpus.write_bytes(bytes(size))
    result_path(tmp_path, 0).write_text("{}", encoding="utf-8")
    assert has_result(search, 0, tmp_path)
    later = result_path(tmp_path, 0).stat().st_mtime_ns + 1
    os.utime(corpus, ns=(later, later))
    assert has_result(search, 0, tmp_path) == is_reused
    earlier = later - 10**9  # a copy with the modification time of an older version
    os.utime(corpus, ns=(earlier, earlier))
    os.utime(result_path(tmp_path, 0), ns=(earlier, earlier))
    assert has_result(search, 0, tmp_path) == is_reused
