"""CREPE systematicity: region captions with atomic and compound hard negatives, split by what a corpus has seen.

    python -m generators.crepe_systematicity regions     # once: regions/*.parquet and regions/targets.json
    python -m generators.crepe_systematicity CORPUS      # with seen/CORPUS.json: the configs crepe/CORPUS_*

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4.1, appendix A.5 and A.6. Configs: ``{sc,uc}_hnatom`` (4 negatives,
chance of R@1 1/5), ``{sc,uc}_hncomp`` (6, 1/7), ``{sc,uc}_hnall`` (both, 1/11), ``{sc,uc,ua}_raw``. Differs from it in:
the negatives of a caption are generated once, so they are the same in the sets of every corpus.

A row goes from its image through seen_analysis/regions.py (filters, parse) and hard_negatives/systematicity.py
(negatives) to ``region_rows``. A caption with too few negatives for a set is left out of that set and stays in raw.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from generators.hard_negatives.systematicity import NEGATIVES, SystematicityNegatives, make_negatives_factory
from generators.readers.annotations import Annotations
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage, get_image_storage
from generators.seen_analysis.regions import Candidate, RegionReader, find_candidates
from generators.seen_analysis.row_splits import Seen, assign_splits, collect_targets
from generators.seen_analysis.splits import Funnel
from generators.storage import dataset, parquet, stage
from generators.storage.atomic import atomic_folder, write_json
from generators.storage.params import read_params, read_parser_params
from generators.storage.workers import map_with

HNALL = "hnall"

Row = dict[str, Any]

_negatives = pa.list_(
    pa.struct([("caption", pa.string()), ("foils", HARD_NEGATIVE_SCHEMA.field("foils").type.value_type)])
)
REGION_SCHEMA = pa.schema([*RAW_SCHEMA, *(pa.field(kind, _negatives) for kind in NEGATIVES)])
"""A raw row with the caption's negatives of each kind, an empty list if there are too few."""


def build_regions(
    source: str,
    images: Annotations,
    settings: Mapping[str, Any],
    folder: Path,
    pixels: ImageStorage = "embedded",
) -> Funnel:
    """Write the regions with their negatives, and the targets of the seen analysis; ``images`` are read three times."""
    workers = settings["workers"]
    make_negatives = make_negatives_factory(images, settings["at_least"], settings["ranker"])
    make_reader = partial(RegionReader.make, settings["spelling"], settings["parser"])
    funnel = Funnel()
    by_image = find_candidates(images, make_reader, workers, funnel)
    rows = map_with(make_negatives, partial(make_region_rows, source), by_image, workers)
    with atomic_folder(folder) as scratch:
        dataset.write_split(scratch, "regions", (row for part in rows for row in part), REGION_SCHEMA, pixels)
        write_json(scratch / "targets.json", collect_targets(read_rows(scratch, ["scene_graph"])).to_json())
    return funnel


def make_region_rows(source: str, negatives: SystematicityNegatives, regions: list[Candidate]) -> list[Row]:
    """Return the REGION_SCHEMA rows of one image."""
    provenance = {"source": source, "captioner": "region description", "seed": 0}
    return [
        dataset.make_raw_row(image.path, image.image_id, region.box, parse.caption, parse.graph, provenance)
        | negatives.columns(image, region.box, parse, facts)
        for image, region, parse, facts in regions
    ]


def build_corpus(corpus: str, regions: Path, seen: Seen, root: Path) -> Row:
    """Write a corpus' configs under ``root``; return its part of the card: Table 8 and the funnel."""
    splits, unique, funnel = assign_splits(read_rows(regions, ["atoms", "compounds", *NEGATIVES]), seen, NEGATIVES)
    pixels = get_image_storage(parquet.read_schema(min(regions.glob("*.parquet"))))
    write = partial(dataset.write_config, root, pixels=pixels)
    for split_name in ("sc", "uc", "ua"):
        keep, prefix = [name == split_name for name in splits], f"{corpus}_{split_name}"
        write(f"{prefix}_raw", {"test": make_raw_rows(read_rows(regions, keep=keep))}, schema=RAW_SCHEMA)
        for kind in (*NEGATIVES, HNALL) if split_name != "ua" else ():
            rows = make_hard_negative_rows(read_rows(regions, keep=keep), kind)
            write(f"{prefix}_{kind}", {"test": rows}, schema=HARD_NEGATIVE_SCHEMA)
    return {"unique": {corpus: unique}, "funnels": {f"Systematicity, {corpus}": funnel}}


def read_rows(folder: Path, columns: list[str] | None = None, keep: Sequence[bool] | None = None) -> Iterator[Row]:
    """Yield the rows of regions/, or those that the mask ``keep`` selects, in constant memory."""
    start = 0
    for path in sorted(folder.glob("*.parquet")):
        for batch in parquet.read_batches(path, 64, columns):
            kept = batch if keep is None else batch.filter(pa.array(keep[start : start + len(batch)], pa.bool_()))
            start += len(batch)
            yield from kept.to_pylist()


def make_raw_rows(rows: Iterable[Row]) -> Iterator[Row]:
    return ({name: value for name, value in row.items() if name not in NEGATIVES} for row in rows)


def make_hard_negative_rows(rows: Iterable[Row], kind: str) -> Iterator[Row]:
    """Yield the rows that have negatives of a kind, with those negatives; of both kinds for hnall."""
    kinds = tuple(NEGATIVES) if kind == HNALL else (kind,)
    for row in rows:
        if all(row[kind] for kind in kinds):
            negatives = [negative for kind in kinds for negative in row[kind]]
            (raw,) = make_raw_rows([row])
            yield raw | {
                "hard_negatives": [negative["caption"] for negative in negatives],
                "foils": [negative["foils"] for negative in negatives],
            }


def main(corpus: str) -> None:
    """Build the regions (CORPUS is "regions") or one corpus' datasets from them."""
    regions, stats = Path("regions"), Path("stats/crepe")
    if corpus != "regions":
        built = build_corpus(corpus, regions, Seen.load(Path("seen") / f"{corpus}.json"), Path("crepe"))
        write_json(stats / f"systematicity_{corpus}.json", built)
        return
    source, annotations = read_params("source"), Path("annotations/visual_genome.parquet")
    settings = read_params("crepe_systematicity") | read_parser_params()
    funnel = build_regions(source, Annotations(annotations), settings, regions, dataset.read_image_storage())
    flaws = json.loads(annotations.with_suffix(".json").read_text())["flaws"]
    funnels = {"Systematicity regions": funnel.to_json(), "Flawed records of the source": flaws}
    write_json(stats / "systematicity_regions.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
