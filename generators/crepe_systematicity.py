"""CREPE systematicity: region captions with atomic and compound hard negatives, split by a training corpus.

    python -m compeval.generators.crepe_systematicity CORPUS  # reads seen/CORPUS.json, writes parts/crepe/CORPUS_*
    python -m compeval.generators.crepe_systematicity CORPUS --balanced    # the same; the balanced sets

Source: CREPE (arXiv:2212.07796), sections 3.2 and 4.1, appendix A.5 and A.6. The captions and their negatives are those
of crepe_regions.py.

A caption belongs to the split ``sc`` (seen compounds) if the corpus contains all its atoms and compounds, to ``uc``
(unseen compounds) if the corpus contains all its atoms but not all its compounds, and to ``ua`` (unseen atoms) if the
corpus lacks one of its atoms. Every split has a config without negatives (``*_raw``). ``sc`` and ``uc`` also have:

- ``*_hnatom``: four negatives that replace one atom; chance of R@1: 1/5
- ``*_hncomp``: six negatives that replace a compound; chance of R@1: 1/7
- ``*_hnall``: the four and the six together; chance of R@1: 1/11
- ``*_hnatom_balanced``, ``*_hncomp_balanced``: not in the paper; the same numbers of negatives, but no rule that reads
  only the captions finds the true one (hard_negatives/balanced/compounds.py). They show the whole image, because a crop
  is as large as what its caption names. Their negatives contradict the annotations of the whole image.

A caption with too few negatives for a config is left out of that config and stays in ``*_raw``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import read_params
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.schemas.rows import (
    HARD_NEGATIVE_SCHEMA,
    RAW_SCHEMA,
    ImageStorage,
    get_image_storage,
)
from compeval.base.schemas.scene_graph import Compound
from compeval.base.storage import dataset, parquet
from compeval.generators.crepe_regions import (
    CAPTIONS,
    FOLDER,
    TARGETS,
    read_captions,
    read_negatives,
)
from compeval.generators.hard_negatives.balanced.compounds import (
    BALANCED_NEGATIVES,
    make_balanced_negatives,
)
from compeval.generators.hard_negatives.balanced.image_nouns import ImageNouns
from compeval.generators.hard_negatives.crepe.systematicity import NEGATIVES
from compeval.generators.hard_negatives.rejections import Rejections
from compeval.generators.seen_analysis.splits import Seen, Split, assign_splits
from compeval.generators.seen_analysis.targets import Targets

Row = dict[str, Any]

SPLITS: dict[Split, tuple[str, ...]] = {
    "sc": (*NEGATIVES, "hnall"),
    "uc": (*NEGATIVES, "hnall"),
    "ua": (),
}
"""The kinds of hard negatives of each split."""


def build_corpus(corpus: str, regions: Path, seen: Seen, root: Path) -> Row:
    """Write the configs of the paper for a corpus under ``root``; return the statistics for the dataset card.

    The statistics are Table 8 of the paper (distinct atoms and compounds per split) and the number of captions per
    split.
    """
    splits, unique_counts, funnel = _assign_splits(regions, seen)
    repeated = [row["repeated"] for row in read_negatives(regions, ["repeated"])]
    write = partial(dataset.write_config, root, image_storage=_read_image_storage(regions))
    for split_name, configs in SPLITS.items():
        mask = [
            name == split_name and not again for name, again in zip(splits, repeated, strict=True)
        ]
        write(
            f"{corpus}_{split_name}_raw",
            {"test": read_captions(regions, mask=mask)},
            schema=RAW_SCHEMA,
        )
        for config in configs:
            kinds = [kind for kind in NEGATIVES if config in (kind, "hnall")]
            columns = [
                [negative for kind in kinds for negative in row[kind]]
                if all(row[kind] for kind in kinds)
                else []
                for row in read_negatives(regions, kinds, mask)
            ]
            rows = add_negatives(read_captions(regions, mask=mask), columns)
            write(f"{corpus}_{split_name}_{config}", {"test": rows}, schema=HARD_NEGATIVE_SCHEMA)
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

    With ``refine``, rows are removed until text-only baselines are at chance (text_only/refinement.py). ``rejected``
    are the rejected texts by crop id. The statistics are the number of captions per config.
    """
    splits, _, _ = _assign_splits(regions, seen)
    unseen = frozenset(Targets.load(regions / TARGETS).compounds) - seen.compounds
    tasks = [(split_name, kind) for split_name in ("sc", "uc") for kind in BALANCED_NEGATIVES]
    make_balanced = partial(
        BalancedSplits, regions, splits, seen.compounds, unseen, rejected, refine
    )
    balanced = map_in_processes(make_balanced, BalancedSplits.make_negatives, tasks, workers)
    funnel = {}
    for (split_name, kind), columns in zip(tasks, balanced, strict=True):
        mask = [name == split_name for name in splits]
        rows = add_negatives(show_whole_images(regions, mask), columns)
        config = f"{corpus}_{split_name}_{kind}"
        storage = _read_image_storage(regions)
        dataset.write_config(
            root, config, {"test": rows}, HARD_NEGATIVE_SCHEMA, image_storage=storage
        )
        count = f"{split_name.upper()} with {BALANCED_NEGATIVES[kind]} negatives, {kind}"
        funnel[count] = sum(map(bool, columns))
    return {"funnels": {f"Systematicity, {corpus}, balanced": funnel}}


def _assign_splits(
    regions: Path, seen: Seen
) -> tuple[list[Split], dict[str, dict[str, int]], dict[str, int]]:
    captions = read_captions(regions, ["atoms", "compounds"])
    negatives = read_negatives(regions, ["repeated", *NEGATIVES])
    return assign_splits(
        (caption | foils for caption, foils in zip(captions, negatives, strict=True)),
        seen,
        NEGATIVES,
    )


def _read_image_storage(regions: Path) -> ImageStorage:
    return get_image_storage(parquet.read_schema(min(regions.glob(f"{CAPTIONS}-*.parquet"))))


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
        rows = read_compounds(self.regions, [name == split_name for name in self.splits])
        in_split, out_of_split = (
            (self.seen, self.unseen) if split_name == "sc" else (self.unseen, self.seen)
        )
        image_nouns = ImageNouns.of_rows(read_captions(self.regions, ["image_id", "atoms"]))
        return make_balanced_negatives(
            rows, kind, in_split, image_nouns, out_of_split, self.rejected, self.refine
        )


def read_compounds(regions: Path, mask: Sequence[bool] | None = None) -> Iterator[Row]:
    """Yield what the balanced negatives of a caption are made from."""
    columns = ["image_id", "crop_id", "caption", "compounds"]
    captions = show_whole_images(regions, mask, columns)
    drawn_from = read_negatives(regions, ["draw_key", "parts"], mask)
    return (row | parts for row, parts in zip(captions, drawn_from, strict=True))


def show_whole_images(
    regions: Path, mask: Sequence[bool] | None = None, columns: list[str] | None = None
) -> Iterator[Row]:
    """Yield the captions in RAW_SCHEMA; those that may be in a balanced set show the whole image instead of a crop.

    With ``columns``, rows have these columns of the captions and those of the whole image.
    """
    captions = read_captions(regions, columns, mask)
    negatives = read_negatives(regions, ["whole_image"], mask)
    for row, of_row in zip(captions, negatives, strict=True):
        cells = of_row["whole_image"] or {}
        yield row | {name: value for name, value in cells.items() if value is not None}


def add_negatives(captions: Iterator[Row], negatives: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """Yield the rows of a config, without the captions that have no negatives."""
    for row, foils in zip(captions, negatives, strict=True):
        if foils:
            yield row | {
                "hard_negatives": [negative["caption"] for negative in foils],
                "foils": [negative["foils"] for negative in foils],
            }


def main(corpus: str, balanced: bool = False) -> None:
    """Build the datasets of the paper for a corpus, or with --balanced its balanced datasets."""
    settings = read_params("crepe_systematicity")
    seen = Seen.load(Path("seen") / f"{corpus}.json")
    root = dataset.PARTS / "crepe"
    if balanced:
        rejected = Rejections.read().by_crop
        statistics = build_balanced(
            corpus, FOLDER, seen, root, settings["refine"], rejected, settings["workers"]
        )
    else:
        statistics = build_corpus(corpus, FOLDER, seen, root)
    write_json(
        Path(f"stats/crepe/systematicity_{corpus}{'_balanced' if balanced else ''}.json"),
        statistics,
    )


if __name__ == "__main__":
    stage.run(main)
