"""Annotations files for tests."""

from functools import cache, partial
from pathlib import Path

from compeval.base.readers import visual_genome
from compeval.base.readers.annotations import Annotations, write_images
from compeval.base.readers.records import Flaws
from compeval.generators.seen_analysis.regions import RegionReader, read_regions

make_reader = cache(RegionReader.make)


def annotations_of(folder: Path, path: Path | None = None, spelling: bool = False) -> Annotations:
    """Return the annotations in Visual Genome's files in ``folder`` with parsed regions.

    They are written to ``path``, by default in the same folder.
    """
    path = path or folder / "annotations.parquet"
    images = visual_genome.read(folder, Flaws())
    write_images(path, read_regions(images, partial(make_reader, "rules", spelling)))
    return Annotations(path)
