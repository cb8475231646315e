"""Annotations files: all images of a source with their scene graphs and regions in one parquet file, sorted by id.

    python -m compeval.base.readers.annotations visual_genome     # writes annotations/visual_genome.{parquet,json}
    python -m compeval.base.readers.annotations gqa               # writes annotations/gqa.{parquet,json}

Only this stage reads the JSON files of the sources; later stages read an annotations file. The JSON file that is
written next to it counts the images, objects, relations, regions and flawed records, and names the source.
"""

from __future__ import annotations

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

from compeval.base.files.atomic import atomic_file, write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.input_sources import MICROWORLD, read_sources
from compeval.base.pipeline.params import read_params
from compeval.base.readers import gqa, visual_genome
from compeval.base.readers.records import Flaws
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import ANNOTATION_SCHEMA
from compeval.base.storage import parquet

IMAGES_PER_GROUP = 16
"""Images per parquet row group, which is read as a whole to get one image."""
IMAGES_PER_BATCH = 16
"""Images that are decoded at once."""


class Annotations:
    """The images of an annotations file. Iteration streams all images; ``annotations[image_id]`` reads one image."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Annotations, (self.path,)

    def __iter__(self) -> Iterator[AnnotatedImage]:
        for batch in parquet.read_batches(self.path, IMAGES_PER_BATCH):
            yield from map(AnnotatedImage.from_row, batch.to_pylist())

    def __getitem__(self, image_id: str) -> AnnotatedImage:
        """Return one image. Raises KeyError if the file does not contain it."""
        row = pc.index(self._ids, image_id).as_py()
        if row < 0:
            raise KeyError(image_id)
        group, index = divmod(row, IMAGES_PER_GROUP)
        with parquet.open_file(self.path, self._metadata) as file:
            return AnnotatedImage.from_row(
                file.read_row_group(group).slice(index, 1).to_pylist()[0]
            )

    def list_ids(self) -> list[str]:
        """Return the ids of all images, in the order of the file."""
        return self._ids.to_pylist()

    def count_words(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """Count the first names, attributes and predicates of all images, without reading their regions."""
        counts = Counter[str](), Counter[str](), Counter[str]()
        for batch in parquet.read_batches(self.path, IMAGES_PER_GROUP, ["objects", "relations"]):
            objects = batch["objects"].flatten()
            relations = batch["relations"].flatten()
            attributes = objects.field("attributes").flatten()
            columns = objects.field("name"), attributes, relations.field("predicate")
            for counter, column in zip(counts, columns, strict=True):
                for value in column.value_counts().to_pylist():
                    counter[value["values"]] += value["counts"]
        return counts

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        with parquet.open_file(self.path) as file:
            return file.metadata

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        """The ids of all images, in the order of the rows (about 10 bytes per image)."""
        return parquet.read_table(self.path, ["image_id"])["image_id"]


def write(path: Path, images: Iterable[AnnotatedImage], flaws: Flaws) -> dict[str, Any]:
    """Write an annotations file and the JSON file next to it; return the content of the JSON file.

    Raises ValueError if there is no image.
    """
    counts = Counter(dict.fromkeys(("images", "objects", "relations", "regions"), 0))

    def count(images: Iterable[AnnotatedImage]) -> Iterator[AnnotatedImage]:
        for image in images:
            counts["images"] += 1
            counts["objects"] += len(image.graph.objects)
            counts["relations"] += len(image.graph.relations)
            counts["regions"] += len(image.regions)
            yield image
        if not counts["images"]:
            raise ValueError(
                f"{path}: no image has annotations. Flawed records: {dict(flaws.counts) or 'none'}."
            )

    write_images(path, count(images))
    statistics = {**counts, "flaws": dict(sorted(flaws.counts.items()))}
    write_json(path.with_suffix(".json"), statistics)
    return statistics


def write_images(path: Path, images: Iterable[AnnotatedImage]) -> None:
    """Write an annotations file atomically, in constant memory."""
    stream = iter(images)
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(
            partial, ANNOTATION_SCHEMA, compression="zstd", write_page_index=True
        ) as writer,
    ):
        while group := [image.to_row() for image in islice(stream, IMAGES_PER_GROUP)]:
            writer.write_table(pa.Table.from_pylist(group, ANNOTATION_SCHEMA))


class Format(StrEnum):
    VISUAL_GENOME = "visual_genome"
    GQA = "gqa"


KEYS = {Format.VISUAL_GENOME: "source", Format.GQA: "aro"}
"""The key of each format's input in params.yaml."""


def main(name: Format, source: Path | None = None, output: Path = Path("annotations")) -> None:
    """Write the annotations file of a source to the folder OUTPUT.

    The source is set in params.yaml. With SOURCE, the files of a micro-world folder are read instead.
    """
    flaws = Flaws()
    sources = read_sources()
    if name == Format.VISUAL_GENOME:
        images = visual_genome.read(source or Path("sources") / sources["source"], flaws)
    elif source:
        images = gqa.read(source / "sceneGraphs.json", source, flaws)
    else:
        settings = read_params("aro")
        images = gqa.read(Path(settings["scene_graphs"]), Path(settings["images"]), flaws)
    path = output / f"{name}.parquet"
    statistics = write(path, images, flaws)
    write_json(
        path.with_suffix(".json"),
        statistics | {"source": MICROWORLD if source else sources[KEYS[name]]},
    )
    flaws.print(name)


if __name__ == "__main__":
    stage.run(main)
