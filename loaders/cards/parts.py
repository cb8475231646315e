"""Put the sets of a dataset, which several stages write to ``parts/<dataset>``, into the dataset folder."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from compeval.base.files.atomic import MARKER, atomic_folder
from compeval.base.files.untrusted import allow_images, read_image_roots
from compeval.base.storage.crops import IMAGES
from compeval.base.storage.dataset import PARTS

CARD_FILES = frozenset({"README.md", "croissant.json", "stats.json", "TEXT_ONLY.md"})
"""Files of a dataset folder. TEXT_ONLY.md is of earlier versions."""


@contextmanager
def assemble(folder: Path, root: Path | None = None, without: str | None = None) -> Iterator[Path]:
    """Yield a folder with all sets of a dataset, which replaces ``folder`` when the block ends without an error.

    The sets are those in ``parts/<dataset>`` of ``root``, by default next to the folder, and those of the folder that
    are not in parts. (DVC removes the folder before it runs the stage.) Sets whose name matches the regular expression
    ``without`` are left out. Files are hard links where the file system has them. Raises FileNotFoundError if there are
    no parts, and ValueError if the folder is not a dataset folder.
    """
    parts = (root or folder.parent) / PARTS
    sets = list_sets(folder) | list_sets(parts / folder.name)
    if not (parts / folder.name).is_dir():
        raise FileNotFoundError(
            f"{parts / folder.name}: no such folder. Run the stages that write the sets first; "
            f"`dvc repro {folder.name}` runs all of them."
        )
    if (folder / "stats.json").is_file() and CARD_FILES.issuperset(
        path.name for path in folder.glob("[!.]*.*")
    ):
        (folder / MARKER).touch()  # earlier versions wrote the sets and the card one by one
    with atomic_folder(folder) as scratch:
        for name, path in sets.items():
            if without is None or not re.search(without, name):
                shutil.copytree(path, scratch / name, copy_function=_link_or_copy)
        yield scratch
    allow_images(folder.parent, map(Path, read_image_roots(parts)))


def list_sets(folder: Path) -> dict[str, Path]:
    """Return name -> folder of the sets of a dataset, and of the crops that several sets show (``images/...``)."""
    markers = (*folder.glob(f"*/{MARKER}"), *folder.glob(f"{IMAGES}/*/{MARKER}"))
    return {path.parent.relative_to(folder).as_posix(): path.parent for path in sorted(markers)}


def _link_or_copy(source: str, target: str) -> None:
    """Link a file. A symbolic link is copied, since its target may be a file of DVC's cache."""
    if not Path(source).is_symlink():
        with suppress(OSError):  # another file system, or one without hard links
            os.link(source, target)
            return
    shutil.copy2(source, target)
