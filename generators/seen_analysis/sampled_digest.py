"""A digest of a large file that reads only a sample of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

BLOCKS = 16
BLOCK_BYTES = 1 << 16


def sampled_digest(path: Path) -> str:
    """Return the SHA-256 of the size of a file and of 16 evenly spaced blocks of 64 KiB, with its start and its end.

    Files of up to 1 MiB are read completely. In a larger file, a change that keeps the size and lies between the blocks
    is not detected. The name and the modification time do not matter, so a copy has the same digest.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}:".encode())
    with path.open("rb") as file:
        for block in range(BLOCKS):
            file.seek(max(size - BLOCK_BYTES, 0) * block // (BLOCKS - 1))
            digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()
