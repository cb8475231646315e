"""CREPE systematicity: region captions with atomic and compound hard negatives, split by a training corpus.

    python -m generators.crepe_systematicity regions              # once: regions/ and parts/crepe/images/regions/
    python -m generators.crepe_systematicity CORPUS               # reads seen/CORPUS.json, writes parts/crepe/CORPUS_*
    python -m generators.crepe_systematicity CORPUS --balanced    # the same; the balanced sets

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4.1, appendix A.5 and A.6. Difference from the paper: the negatives
of a caption are generated once, so every corpus uses the same negatives.

A caption belongs to the split ``sc`` (seen compounds) if the corpus contains all its atoms and compounds, to ``uc``
(unseen compounds) if the corpus contains all its atoms but not all its compounds, and to ``ua`` (unseen atoms) if the
corpus lacks one of its atoms. Every split has a config without negatives (``*_raw``). ``sc`` and ``uc`` also have:

- ``*_hnatom``: four negatives that replace one atom; chance of R@1: 1/5
- ``*_hncomp``: six negatives that replace a compound; chance of R@1: 1/7
- ``*_hnall``: the four and the six together; chance of R@1: 1/11
- ``*_hnatom_balanced``, ``*_hncomp_balanced``: not in the paper; the same numbers of negatives, but no rule that reads
  only the captions finds the true one (hard_negatives/balanced/compounds.py)

seen_analysis/regions.py filters and parses the regions of an image, hard_negatives/crepe/systematicity.py generates the
negatives, and ``make_region_rows`` combines both. A caption with too few negatives for a config is left out of that
config and stays in ``*_raw``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from generators.files.atomic import atomic_folder, write_json
from generators.hard_negatives.balanced.compounds import BALANCED_NEGATIVES, make_balanced_negatives
from generators.hard_negatives.balanced.image_nouns import ImageNouns
from generators.hard_negatives.crepe.systematicity import (
    NEGATIVES,
    CaptionedCrop,
    SystematicityNegatives,
    make_negatives_factory,
)
from generators.hard_negatives.rejections import Rejections
from generators.pipeline import stage
from generators.pipeline.params import read_params, read_parser_params
from generators.pipeline.workers import map_with
from generators.readers.annotations import Annotations
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage, get_image_storage
from generators.schemas.scene_graph import Compound
from generators.seen_analysis.regions import Candidate, RegionReader, find_candidates
from generators.seen_analysis.row_splits import Seen, assign_splits, collect_targets
from generators.seen_analysis.splits import Funnel, Split
from generators.seen_analysis.targets import Targets
from generators.storage import dataset, parquet
from generators.storage.crops import CropFiles, replace_crop_files

HNALL = "hnall"
BALANCED_COLUMNS = ["image_id", "crop_id", "caption", "compounds", "parts"]

Row = dict[str, Any]

_negatives = pa.list_(
    pa.struct([("caption", pa.string()), ("foils", HARD_NEGATIVE_SCHEMA.field("foils").type.value_type)])
)
_parts = pa.list_(
    pa.struct(
        [(name, pa.string()) for name in ("place", "kind", "text", "tag")]
        + [(name, pa.int64()) for name in ("start", "end")]
        + [("words", pa.list_(pa.string()))]
    )
)
REGION_SCHEMA = pa.schema(
    [
        *RAW_SCHEMA,
        pa.field("repeated", pa.bool_()),
        pa.field("parts", _parts),
        *(pa.field(kind, _negatives) for kind in NEGATIVES),
    ]
)
"""RAW_SCHEMA with the columns ``hnatom`` and ``hncomp``: a caption's negatives, or [] if there are too few.

``repeated`` is True if an earlier row has the same scene graph. Such a row is only used in balanced sets. ``parts`` has
the words that may replace those of the compound in a balanced set (hard_negatives/balanced/compounds.py), or is [].
"""


def build_regions(
    source: str,
    annotations: Annotations,
    settings: Mapping[str, Any],
    folder: Path,
    image_storage: ImageStorage = "embedded",
    crop_files: CropFiles | None = None,
) -> Funnel:
    """Write the region rows with their negatives, and the targets of the seen analysis.

    ``annotations`` is iterated three times. Returns how many regions each filter removed.
    """
    workers = settings["workers"]
    make_negatives = make_negatives_factory(annotations, settings["at_least"], settings["ranker"])
    make_reader = partial(RegionReader.make, settings["spelling"], settings["parser"])
    is_balanced = partial(is_in_balanced_sets, share=settings["balanced_share"])
    funnel = Funnel()
    candidates_by_image = find_candidates(annotations, make_reader, workers, funnel, is_balanced)
    rows_by_image = map_with(
        make_negatives, partial(make_region_rows, source, is_balanced), candidates_by_image, workers
    )
    with atomic_folder(folder) as scratch:
        rows = (row for image_rows in rows_by_image for row in image_rows)
        dataset.write_split(scratch, "regions", rows, REGION_SCHEMA, image_storage, crop_files)
        write_json(scratch / "targets.json", collect_targets(read_rows(scratch, ["scene_graph"])).to_json())
    return funnel


def is_in_balanced_sets(candidate: Candidate, share: float) -> bool:
    """Return True if a caption may have balanced negatives: one compound, of a random ``share`` of the images."""
    digest = hashlib.sha256(candidate.image.image_id.encode()).digest()
    return len(candidate.parse.graph.compounds) == 1 and int.from_bytes(digest[:4]) < share * 2**32


def make_region_rows(
    source: str,
    is_balanced: Callable[[Candidate], bool],
    negatives: SystematicityNegatives,
    candidates: list[Candidate],
) -> list[Row]:
    """Return the REGION_SCHEMA rows of one image's candidates."""
    provenance = {"source": source, "captioner": "region description", "seed": 0}
    crops = [CaptionedCrop(item.image, item.region.box, item.parse, item.facts) for item in candidates]
    first = [crop for crop, item in zip(crops, candidates, strict=True) if not item.repeated]
    columns = iter(negatives.columns(first))
    return [
        dataset.make_raw_row(
            item.image.path, item.image.image_id, item.region.box, item.parse.caption, item.parse.graph, provenance
        )
        | {"repeated": item.repeated, "parts": negatives.find_parts(crop) if is_balanced(item) else []}
        | ({kind: [] for kind in NEGATIVES} if item.repeated else next(columns))
        for item, crop in zip(candidates, crops, strict=True)
    ]


def build_corpus(corpus: str, regions: Path, seen: Seen, root: Path) -> Row:
    """Write the configs of the paper for a corpus under ``root``; return the statistics for the dataset card.

    The statistics are Table 8 of the paper (distinct atoms and compounds per split) and the number of captions per
    split.
    """
    splits, unique_counts, funnel = _assign_splits(regions, seen)
    repeated = [row["repeated"] for row in read_rows(regions, ["repeated"])]
    write = partial(dataset.write_config, root, image_storage=_read_image_storage(regions))
    for split_name in ("sc", "uc", "ua"):
        prefix = f"{corpus}_{split_name}"
        mask = [name == split_name and not again for name, again in zip(splits, repeated, strict=True)]
        write(f"{prefix}_raw", {"test": make_raw_rows(read_rows(regions, mask=mask))}, schema=RAW_SCHEMA)
        for config in (*NEGATIVES, HNALL) if split_name != "ua" else ():
            rows = make_hard_negative_rows(read_rows(regions, mask=mask), config)
            write(f"{prefix}_{config}", {"test": rows}, schema=HARD_NEGATIVE_SCHEMA)
    return {"unique": {corpus: unique_counts}, "funnels": {f"Systematicity, {corpus}": funnel}}


def build_balanced(
    corpus: str,
    regions: Path,
    seen: Seen,
    root: Path,
    refine: bool = True,
    rejected: Mapping[str, frozenset[str]] = {},
    workers: int = 1,
) -> Row:
    """Write the balanced configs of a corpus under ``root``; return the statistics for the dataset card.

    With ``refine``, rows are removed until text-only scorers are at chance (text_only/refinement.py).
    ``rejected`` are the rejected texts by crop id. The statistics are the number of captions per config.
    """
    splits, _, _ = _assign_splits(regions, seen)
    write = partial(dataset.write_config, root, image_storage=_read_image_storage(regions))
    unseen = frozenset(Targets.load(regions / "targets.json").compounds) - seen.compounds
    tasks = [(split_name, kind) for split_name in ("sc", "uc") for kind in BALANCED_NEGATIVES]
    make_balanced = partial(BalancedSplits, regions, splits, seen.compounds, unseen, rejected, refine)
    balanced = map_with(make_balanced, BalancedSplits.make_negatives, tasks, workers)
    funnel = {}
    for (split_name, kind), columns in zip(tasks, balanced, strict=True):
        rows = read_rows(regions, mask=[name == split_name for name in splits])
        with_negatives = ({**row, kind: negatives} for row, negatives in zip(rows, columns, strict=True))
        test = make_hard_negative_rows(with_negatives, kind)
        write(f"{corpus}_{split_name}_{kind}", {"test": test}, schema=HARD_NEGATIVE_SCHEMA)
        count = f"{split_name.upper()} with {BALANCED_NEGATIVES[kind]} negatives, {kind}"
        funnel[count] = sum(map(bool, columns))
    return {"funnels": {f"Systematicity, {corpus}, balanced": funnel}}


def _assign_splits(regions: Path, seen: Seen) -> tuple[list[Split], dict[str, dict[str, int]], dict[str, int]]:
    columns = ["atoms", "compounds", "repeated", *NEGATIVES]
    return assign_splits(read_rows(regions, columns), seen, NEGATIVES)


def _read_image_storage(regions: Path) -> ImageStorage:
    return get_image_storage(parquet.read_schema(min(regions.glob("*.parquet"))))


@dataclass(frozen=True)
class BalancedSplits:
    """Makes the balanced negatives of the splits of a corpus in a worker process."""

    regions: Path
    splits: Sequence[Split]
    seen: Collection[Compound]
    unseen: Collection[Compound]
    rejected: Mapping[str, frozenset[str]]
    refine: bool

    def make_negatives(self, task: tuple[str, str]) -> list[list[dict[str, Any]]]:
        """Return the negatives of each row of a split, for one kind."""
        split_name, kind = task
        rows = read_rows(self.regions, BALANCED_COLUMNS, [name == split_name for name in self.splits])
        own, foreign = (self.seen, self.unseen) if split_name == "sc" else (self.unseen, self.seen)
        image_nouns = ImageNouns.of_rows(read_rows(self.regions, ["image_id", "atoms"]))
        return make_balanced_negatives(rows, kind, own, image_nouns, foreign, self.rejected, self.refine)


def read_rows(folder: Path, columns: list[str] | None = None, mask: Sequence[bool] | None = None) -> Iterator[Row]:
    """Yield the rows of the folder ``regions``, in constant memory.

    ``mask`` has one value per row of the folder; rows with False are skipped.
    """
    start = 0
    for path in sorted(folder.glob("*.parquet")):
        for batch in parquet.read_batches(path, 64, columns):
            selected = batch if mask is None else batch.filter(pa.array(mask[start : start + len(batch)], pa.bool_()))
            start += len(batch)
            yield from selected.to_pylist()


def make_raw_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield region rows without their negatives."""
    added = {"repeated", "parts", *NEGATIVES, *BALANCED_NEGATIVES}
    return ({name: value for name, value in row.items() if name not in added} for row in rows)


def make_hard_negative_rows(rows: Iterable[Row], config: str) -> Iterator[Row]:
    """Yield the rows of a config, without the captions that have too few negatives."""
    kinds = tuple(NEGATIVES) if config == HNALL else (config,)
    for row in rows:
        if all(row[kind] for kind in kinds):
            negatives = [negative for kind in kinds for negative in row[kind]]
            (raw_row,) = make_raw_rows([row])
            yield raw_row | {
                "hard_negatives": [negative["caption"] for negative in negatives],
                "foils": [negative["foils"] for negative in negatives],
            }


def main(corpus: str, balanced: bool = False) -> None:
    """Build the regions (CORPUS is "regions"), or build the datasets of one corpus from the regions.

    With --balanced, build the balanced datasets of the corpus, otherwise those of the paper.
    """
    regions, stats = Path("regions"), Path("stats/crepe")
    if corpus == "regions" and balanced:
        raise ValueError("--balanced: name a corpus; the regions are the same for all datasets.")
    if corpus != "regions":
        settings, seen = read_params("crepe_systematicity"), Seen.load(Path("seen") / f"{corpus}.json")
        root, rejected = dataset.PARTS / "crepe", Rejections.read().by_crop
        if balanced:
            statistics = build_balanced(corpus, regions, seen, root, settings["refine"], rejected, settings["workers"])
        else:
            statistics = build_corpus(corpus, regions, seen, root)
        write_json(stats / f"systematicity_{corpus}{'_balanced' if balanced else ''}.json", statistics)
        return
    source, path = read_params("source"), Path("annotations/visual_genome.parquet")
    settings = read_params("crepe_systematicity") | read_parser_params()
    with replace_crop_files(dataset.PARTS / "crepe", "regions") as crop_files:
        storage = dataset.read_image_storage()
        funnel = build_regions(source, Annotations(path), settings, regions, storage, crop_files)
    flaws = json.loads(path.with_suffix(".json").read_text())["flaws"]
    funnels = {"Systematicity regions": funnel.to_json(), "Flawed records of the source": flaws}
    write_json(stats / "systematicity_regions.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
