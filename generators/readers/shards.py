"""Tar files, such as webdataset shards: one that was cut off is found out wherever it was cut."""

from __future__ import annotations

import os
from pathlib import Path

END = bytes(1024)
"""The two empty blocks that end every tar file."""


def check_whole(path: Path) -> None:
    """ValueError if an uncompressed tar file lacks its end. Cut between two members it reads as a shorter one."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - len(END)))
        if file.read() != END:
            raise broken(path, "it does not end as a tar file does")


def broken(path: Path, reason: object) -> ValueError:
    """The error for a tar file that cannot be read to its end."""
    return ValueError(
        f"{path}: the tar file is cut off or damaged ({reason}). Delete it, and make it again (`dvc repro` does, for "
        "what the pipeline made) or download it again."
    )
