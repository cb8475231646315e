import io
import tarfile
from pathlib import Path

import pytest

from generators.readers.shards import check_whole


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three members of one block each, header included two: 3 x 1,024 bytes, then the end."""
    path = tmp_path / "00000.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(3):
            member = tarfile.TarInfo(f"{number}.txt")
            member.size = 5
            archive.addfile(member, io.BytesIO(b"a cup"))
    return path


def test_a_whole_file_passes(file: Path):
    check_whole(file)


@pytest.mark.parametrize("kept", [0, 300, 700, 1024, 1100, 2048])
def test_a_file_is_found_to_be_cut_off_wherever_it_was_cut(file: Path, kept: int):
    """Between two members (1,024 and 2,048) and in a header (1,100) tarfile itself says nothing."""
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"00000\.tar: the tar file is cut off or damaged \(.*\)\. Delete it"):
        check_whole(file)
