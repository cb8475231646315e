"""The folder of caches that all commands share."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return ``$COMPEVAL_CACHE`` if it is set, and ``~/.cache/compeval`` otherwise."""
    folder = os.environ.get("COMPEVAL_CACHE")
    return Path(folder) if folder else Path.home() / ".cache" / "compeval"
