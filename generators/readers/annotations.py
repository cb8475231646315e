"""Annotations files: every image with its scene graph and its regions in one parquet file, sorted by id.

    python -m generators.readers.annotations visual_genome     # annotations/visual_genome.parquet, .json with the flaws
    python -m generators.readers.annotations gqa               # the same of GQA's scene graphs

The one place where the annotations' JSON is read. Later stages stream an annotations file or look images up in it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from generators.readers import gqa, visual_genome
from generators.readers.records import Flaws
from generators.schemas.annotated_image import AnnotatedImage
from generators.schemas.rows import ANNOTATION_SCHEMA
from generators.storage import parquet, stage
from generators.storage.atomic import atomic_file, write_json
from generators.storage.params import read_params

IMAGES_PER_GROUP = 100
"""Images of a row group, the unit of reading."""
DECODED = 16
"""Images that are decoded at a time."""


class Annotations:
    """The images of an annotations file. Iterating over them streams the file; ``annotations[image_id]`` reads one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Annotations, (self.path,)

    def __iter__(self) -> Iterator[AnnotatedImage]:
        for batch in parquet.read_batches(self.path, DECODED):
            yield from map(AnnotatedImage.from_row, batch.to_pylist())

    def __getitem__(self, image_id: str) -> AnnotatedImage:
        """KeyError for an image that the file does not have."""
        row = pc.index(self._ids, image_id).as_py()
        if row < 0:
            raise KeyError(image_id)
        group, place = divmod(row, IMAGES_PER_GROUP)
        with parquet.open_file(self.path, self._metadata) as file:
            return AnnotatedImage.from_row(file.read_row_group(group).slice(place, 1).to_pylist()[0])

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        with parquet.open_file(self.path) as file:
            return file.metadata

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        """The ids of all images, some 10 bytes each."""
        return parquet.read_table(self.path, ["image_id"])["image_id"]


def write(path: Path, images: Iterable[AnnotatedImage], flaws: Flaws) -> dict[str, Any]:
    """Write an annotations file and, next to it, a JSON file with the returned counts of images, objects, relations,
    regions and flaws. ValueError if there is no image."""
    counts = Counter(dict.fromkeys(("images", "objects", "relations", "regions"), 0))
    with atomic_file(path) as partial:
        with pq.ParquetWriter(partial, ANNOTATION_SCHEMA, compression="zstd", write_page_index=True) as writer:
            stream = iter(images)
            while group := list(islice(stream, IMAGES_PER_GROUP)):
                writer.write_table(pa.Table.from_pylist([image.to_row() for image in group], ANNOTATION_SCHEMA))
                counts["images"] += len(group)
                counts["objects"] += sum(len(image.graph.objects) for image in group)
                counts["relations"] += sum(len(image.graph.relations) for image in group)
                counts["regions"] += sum(len(image.regions) for image in group)
        if not counts["images"]:
            raise ValueError(f"{path}: no image has annotations; flawed records: {dict(flaws.counts) or 'none'}.")
    statistics = {**counts, "flaws": dict(sorted(flaws.counts.items()))}
    write_json(path.with_suffix(".json"), statistics)
    return statistics


class Format(StrEnum):
    VISUAL_GENOME = "visual_genome"
    GQA = "gqa"


def main(name: Format, source: Path | None = None, output: Path = Path("annotations")) -> None:
    """Read the annotations of a format that params.yaml names, or those of the micro-world's folder SOURCE, and write
    them to the folder OUTPUT."""
    flaws = Flaws()
    if name == Format.VISUAL_GENOME:
        images = visual_genome.read(source or Path("sources") / read_params("source"), flaws)
    elif source:
        images = gqa.read(source / "sceneGraphs.json", source / "VG_100K", flaws)
    else:
        settings = read_params("aro")
        images = gqa.read(Path(settings["scene_graphs"]), Path(settings["images"]), flaws)
    write(output / f"{name}.parquet", images, flaws)
    for kind, message in sorted(flaws.first.items()):
        print(f"{name}: {flaws.counts[kind]} records: {kind}; the first: {message}", file=sys.stderr)


if __name__ == "__main__":
    stage.run(main)
