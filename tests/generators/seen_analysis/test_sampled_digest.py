"""The sampled digest of a file."""

import shutil

from generators.seen_analysis.shards import BLOCK_BYTES, BLOCKS, sampled_digest

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


def test_a_file_of_terabytes_is_sampled(tmp_path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    assert len(sampled_digest(path)) == 64


def test_a_copy_has_the_same_digest(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"a red cat")
    shutil.copyfile(tmp_path / "a", tmp_path / "b")
    assert sampled_digest(tmp_path / "a") == sampled_digest(tmp_path / "b")


def test_an_empty_file_has_a_digest(tmp_path) -> None:
    (tmp_path / "a").touch()
    assert len(sampled_digest(tmp_path / "a")) == 64
