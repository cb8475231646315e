"""Annotations files for tests."""

from pathlib import Path

from generators.readers import visual_genome
from generators.readers.annotations import Annotations, write
from generators.readers.records import Flaws


def annotations_of(folder: Path, path: Path | None = None) -> Annotations:
    """The annotations in Visual Genome's files in ``folder``, written to ``path``, by default in the same folder."""
    path, flaws = path or folder / "annotations.parquet", Flaws()
    write(path, visual_genome.read(folder, flaws), flaws)
    return Annotations(path)
