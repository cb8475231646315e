"""The captions of CREPE systematicity with their hard negatives, and the targets of the seen analysis.

    python -m compeval.generators.crepe_regions     # stage `regions`; writes regions/ and parts/crepe/images/regions/

Source: CREPE (arXiv:2212.07796), section 4.1 and appendix A.5. Difference from the paper: the negatives of a caption
are generated once, so every corpus uses the same negatives.

seen_analysis/regions.py reads the region descriptions and filters them, hard_negatives/crepe/systematicity.py generates
the negatives of the paper, and hard_negatives/balanced/compounds.py finds the words of the balanced ones. The folder
``regions`` has two tables with the same rows: ``captions``, in RAW_SCHEMA, and ``negatives``, in NEGATIVES_SCHEMA.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from compeval.base.draw_keys import make_image_key
from compeval.base.files.atomic import atomic_folder, write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import OURS, read_params, read_rules
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage
from compeval.base.schemas.scene_graph import Box, SceneGraph
from compeval.base.storage import dataset, parquet
from compeval.base.storage.crops import (
    Crop,
    CropFiles,
    crop_id,
    read_size,
    replace_crop_files,
)
from compeval.generators.hard_negatives.balanced.compounds import find_parts
from compeval.generators.hard_negatives.crepe.systematicity import (
    NEGATIVES,
    SystematicityNegatives,
    make_negatives_factory,
)
from compeval.generators.seen_analysis.regions import (
    ImageCandidates,
    collect_image_facts,
    find_candidates,
)
from compeval.generators.seen_analysis.splits import Funnel
from compeval.generators.seen_analysis.targets import Targets

Row = dict[str, Any]

FOLDER = Path("regions")
CAPTIONS = "captions"
TABLE = "negatives.parquet"
"""The split with the captions, and the file with their negatives."""
TARGETS = "targets.json"
_negatives = pa.list_(
    pa.struct(
        [("caption", pa.string()), ("foils", HARD_NEGATIVE_SCHEMA.field("foils").type.value_type)]
    )
)
_parts = pa.list_(
    pa.struct(
        [(name, pa.string()) for name in ("place", "kind", "text", "tag")]
        + [(name, pa.int64()) for name in ("start", "end")]
        + [("words", pa.list_(pa.string()))]
    )
)
_whole_image = pa.struct(
    [
        HARD_NEGATIVE_SCHEMA.field("image"),
        ("image_path", pa.string()),
        *(HARD_NEGATIVE_SCHEMA.field(name) for name in ("crop_id", "x", "y", "width", "height")),
    ]
)
NEGATIVES_SCHEMA = pa.schema(
    [
        ("repeated", pa.bool_()),
        ("draw_key", pa.string()),
        ("parts", _parts),
        ("whole_image", _whole_image),
        *((kind, _negatives) for kind in NEGATIVES),
    ]
)
"""The negatives of a caption: ``hnatom`` and ``hncomp``, or [] if there are too few.

``repeated`` is True if an earlier row has the same scene graph. Such a row is only used in balanced sets. ``draw_key``
seeds the draws of the balanced negatives (base/draw_keys.py); no dataset has it. ``parts`` has
the words that may replace those of the compound in a balanced set (hard_negatives/balanced/compounds.py), or is [].
``whole_image`` has the cells of a row of a balanced set that shows the whole image, or is null if ``parts`` is []. Its
``image`` is null if rows store the path of their image, its ``image_path`` if they store pixels.
"""


def build(
    source: str,
    images: Annotations,
    settings: Mapping[str, Any],
    folder: Path,
    image_storage: ImageStorage = "embedded",
    crop_files: CropFiles | None = None,
) -> Funnel:
    """Write the captions with their negatives, and the targets of the seen analysis.

    ``images`` have parsed regions. Returns how many regions each filter removed.
    """
    rules = settings.get("rules", OURS)
    make_negatives = make_negatives_factory(images, settings["at_least"], settings["ranker"], rules)
    funnel = Funnel()
    candidates = find_candidates(
        images, funnel, partial(is_in_balanced_sets, share=settings["balanced_share"])
    )
    make_rows = partial(_make_rows, source, settings["balanced_share"])
    rows_by_image = map_in_processes(make_negatives, make_rows, candidates, settings["workers"])
    with atomic_folder(folder) as scratch:
        with parquet.open_writer(scratch / TABLE, NEGATIVES_SCHEMA) as writer:

            def write_negatives() -> Iterator[Row]:
                for captions, negatives in rows_by_image:
                    for row in negatives:
                        if row["whole_image"]:
                            row["whole_image"] = dataset.store_image(
                                row["whole_image"], image_storage, crop_files
                            )
                    writer.write_table(pa.Table.from_pylist(negatives, NEGATIVES_SCHEMA))
                    yield from captions

            dataset.write_split(
                scratch, CAPTIONS, write_negatives(), RAW_SCHEMA, image_storage, crop_files
            )
        graphs = (
            SceneGraph.from_row(row["scene_graph"])
            for row in read_captions(scratch, ["scene_graph"])
        )
        write_json(scratch / TARGETS, Targets.of(graphs).to_json())
    return funnel


def is_in_balanced_sets(image: AnnotatedImage, graph: SceneGraph, share: float) -> bool:
    """Return True if a caption may have balanced negatives: one compound, of a random ``share`` of the images."""
    digest = hashlib.sha256(image.image_id.encode()).digest()
    return len(graph.compounds) == 1 and int.from_bytes(digest[:4]) < share * 2**32


def _make_rows(
    source: str, balanced_share: float, negatives: SystematicityNegatives, found: ImageCandidates
) -> tuple[list[Row], list[Row]]:
    """Return the rows of one image in RAW_SCHEMA and in NEGATIVES_SCHEMA."""
    image, candidates = found
    facts = collect_image_facts(image)
    provenance = {"source": source, "captioner": "region description", "seed": 0}
    captions = [
        dataset.make_raw_row(
            image.path,
            image.image_id,
            item.region.box,
            item.parse.caption,
            item.parse.graph,
            provenance,
        )
        for item in candidates
    ]
    columns = iter(
        negatives.columns(image, facts, [item for item in candidates if not item.repeated])
    )
    image_key = make_image_key(image)
    whole_image = _make_whole_image(image.path)
    rows: list[Row] = []
    for number, item in enumerate(candidates):
        parts: Sequence[Row] = ()
        draw_key = f"{image_key}:{number}"
        if is_in_balanced_sets(image, item.parse.graph, balanced_share):
            rng = Random(f"{draw_key}:parts")
            parts = [
                part._asdict() for part in find_parts(item.parse, facts, negatives.vocabulary, rng)
            ]
        own = {kind: [] for kind in NEGATIVES} if item.repeated else next(columns)
        row = {
            "repeated": item.repeated,
            "draw_key": draw_key,
            "parts": parts,
            "whole_image": whole_image if parts else None,
        }
        rows.append(row | own)
    return captions, rows


def _make_whole_image(path: Path) -> Row:
    """Return the cells of a row that shows all of an image."""
    box = Box(0, 0, *read_size(path))
    return {"image": Crop(path, box), "crop_id": crop_id(path, box), **box._asdict()}


def read_captions(
    folder: Path, columns: list[str] | None = None, mask: Sequence[bool] | None = None
) -> Iterator[Row]:
    """Yield the captions in RAW_SCHEMA, in constant memory. ``mask`` selects rows."""
    return _read(sorted(folder.glob(f"{CAPTIONS}-*.parquet")), columns, mask)


def read_negatives(
    folder: Path, columns: list[str] | None = None, mask: Sequence[bool] | None = None
) -> Iterator[Row]:
    """Yield the rows of NEGATIVES_SCHEMA in the order of the captions."""
    return _read([folder / TABLE], columns, mask)


def _read(
    files: Iterable[Path], columns: list[str] | None, mask: Sequence[bool] | None
) -> Iterator[Row]:
    start = 0
    for path in files:
        for batch in parquet.read_batches(path, 64, columns):
            selected = (
                batch
                if mask is None
                else batch.filter(pa.array(mask[start : start + len(batch)], pa.bool_()))
            )
            start += len(batch)
            yield from selected.to_pylist()


def main() -> None:
    with replace_crop_files(dataset.PARTS / "crepe", "regions") as crop_files:
        funnel = build(
            read_params("source"),
            Annotations(Path("annotations/parsed.parquet")),
            read_params("crepe_systematicity") | {"rules": read_rules()},
            FOLDER,
            dataset.read_image_storage(),
            crop_files,
        )
    flaws = json.loads(Path("annotations/visual_genome.json").read_text(encoding="utf-8"))["flaws"]
    funnels = {"Systematicity regions": funnel.to_json(), "Flawed records of the source": flaws}
    write_json(Path("stats/crepe/systematicity_regions.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
