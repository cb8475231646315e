"""List files in a folder, without those that programs hide there.

Jupyter keeps copies in ``.ipynb_checkpoints``, and macOS writes a file ``._NAME`` next to each file on a disk of
another system. Their names end like those of the files that they accompany, so a glob finds them, too.
"""

from __future__ import annotations

from pathlib import Path, PurePath


def list_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that match a glob (``**/*.json``), sorted, without hidden files and folders.

    A name that begins with a dot is hidden. The folder itself may have such a name.
    """
    return sorted(
        path
        for path in folder.glob(pattern)
        if not is_hidden(path.relative_to(folder)) and path.is_file()
    )


def is_hidden(path: PurePath) -> bool:
    """Return True if a part of a relative path begins with a dot, or is ``__MACOSX``, the folder of such files.

    The parent folder (``..``) is not hidden: ``tar --absolute-names`` keeps it in the names of members.
    """
    return any(part == "__MACOSX" or (part.startswith(".") and part != "..") for part in path.parts)
