"""CREPE productivity: captions of four to twelve atoms with five hard negatives of each type.

    python -m compeval.generators.crepe_productivity               # the configs of the paper
    python -m compeval.generators.crepe_productivity --balanced    # configs prod_*_balanced
    python -m compeval.generators.crepe_productivity template      # configs prod_template_*, a variant

Source: CREPE (arXiv:2212.07796), sections 3.3 and 4.2, appendix A.3 to A.5. An atom is an object, an attribute or a
relation of the caption's scene graph. Every config has the splits n4 to n12, named by the number of atoms:

- ``prod_hnatom``, ``prod_hnswap``, ``prod_hnneg``: examples with five negatives that replace an atom, swap two atoms,
  or negate an atom; chance of R@1: 1/6
- ``prod_hnall``: examples with five negatives of each of these three types; chance of R@1: 1/16
- ``prod_raw``: all of these examples, without negatives
- ``prod_hnatom_balanced``, ``prod_hnswap_balanced``, ``prod_hnneg_balanced``: not in the paper. Sets of six captions
  that differ from each other in the same way, so that no rule that compares them finds the true one: the replacements
  of one attribute, all orders of three objects, or captions that deny one or two of the same three atoms
  (hard_negatives/crepe/negation.py); chance of R@1: 1/6

A variant, an entry of the block ``productivity_variants``, has captions of another captioner. It has the configs of the
paper only: ``prod_NAME_hnatom``, ``prod_NAME_hnswap``, ``prod_NAME_hnneg``, ``prod_NAME_hnall`` and ``prod_NAME_raw``.

captioned_walks.py samples and captions the subgraphs, and hard_negatives/crepe/productivity.py generates the negatives.
The walks are used in order until every config has the parameter ``rows``: first the random ones, then those that
satisfy a condition. Worker processes read only the images that they need.
"""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.params import OURS, PAPER, read_params, read_rules, read_settings
from compeval.base.pipeline.workers import map_in_processes
from compeval.base.schemas.annotated_image import make_id_sort_key
from compeval.base.schemas.corpus_names import name_productivity_funnel
from compeval.base.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage
from compeval.base.schemas.scene_graph import Box
from compeval.base.storage import dataset
from compeval.base.storage.crops import replace_crop_files
from compeval.base.text_only.baselines import RetrievalSets
from compeval.base.text_only.gaps import score_by_caption
from compeval.base.text_only.language_models import EntailmentModel, MaskedWordScorer
from compeval.base.text_only.ngram import NgramModel
from compeval.base.text_only.refinement import select_rows_at_chance
from compeval.generators import captioned_walks
from compeval.generators.captioned_walks import DEFAULT, read_dropped, read_walks
from compeval.generators.captioner.captioned_walks import ANY_WALK, CaptionedWalk
from compeval.generators.graphs.walks import COMPLEXITIES, SAME_CROP, is_same_crop
from compeval.generators.hard_negatives.crepe.paper_example import PaperExample
from compeval.generators.hard_negatives.crepe.productivity import (
    BALANCED_KINDS,
    PAPER_KINDS,
    PER_TYPE,
    SWAP_KINDS,
    Example,
)
from compeval.generators.hard_negatives.crepe.source import ImageSource, Source

Row = dict[str, Any]

RAW = "raw"
"""The config that has all examples, without negatives."""
STATISTICS = "statistics"
"""The ranker without a language model."""
LIMIT = "proofs given up"
NOT_FOUND = "rows not found"
"""Reasons in the counts of a split: searches that reached their limit, and rows that a config lacks at the end."""


@dataclass(frozen=True)
class ProductivitySettings:
    """The block ``crepe_productivity`` of params.yaml."""

    workers: int
    seed: int
    rows: int
    """Maximum number of rows per config and split."""
    refine: bool
    """If True, rows of the balanced configs are removed until text-only baselines perform at chance
    (text_only/refinement.py)."""
    rules: str = field(default=OURS, kw_only=True)
    """``paper``: the negatives of CREPE's authors, whose HN-Atoms ``ranker`` ranks."""
    ranker: str = field(default=STATISTICS, kw_only=True)
    """The masked language model that selects the words of HN-Atoms under ``rules: paper``, or the bigram model."""
    entailment: str | None = None
    """The natural language inference model that filters the swaps; None: no filter."""
    complexities: Sequence[int] = COMPLEXITIES
    variant: str | None = None
    balanced: bool = False
    """If True, the balanced configs are built, otherwise those of the paper."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of hard negatives."""
        return BALANCED_KINDS if self.balanced else PAPER_KINDS

    @property
    def label(self) -> str | None:
        """The difference from the paper's sets with the default captioner, as a word, or None."""
        return "balanced" if self.balanced else self.variant

    @property
    def name(self) -> str:
        """The name of the files with the crops and with the statistics."""
        return f"productivity_{self.label}" if self.label else "productivity"

    def make_config_name(self, kind: str) -> str:
        """Return the name of the config of a kind of hard negatives, or of the raw examples."""
        return f"prod_{self.variant}_{kind}" if self.variant else f"prod_{kind}"

    @classmethod
    def read(cls, variant: str | None = None) -> ProductivitySettings:
        """Read params.yaml. Raises ValueError if the variant is unknown or a key is wrong."""
        fixed = {"rules": read_rules(), "ranker": read_params("crepe_systematicity")["ranker"]}
        settings = read_settings(cls, "crepe_productivity", **fixed)
        variants = captioned_walks.CaptionedWalkSettings.read().variants
        if variant is None:
            return settings
        if variant not in variants:
            raise ValueError(
                f"params.yaml, productivity_variants: no {variant!r}; it has {', '.join(variants)}."
            )
        captions = variants[variant]
        return replace(
            settings,
            variant=variant,
            complexities=captions.complexities,
            rows=captions.rows or settings.rows,
        )


class ImageWalks(NamedTuple):
    """Walks of one image, as rows, and the kinds of negatives that they need by complexity.

    ``texts`` are the captions of the image on which the bigram model was trained.
    """

    image_id: str
    walks: Sequence[Row]
    kinds: Mapping[int, frozenset[str]]
    texts: Sequence[str]


class ExampleRows(NamedTuple):
    """An example as pickled columns, which need a fraction of the memory.

    ``raw`` is the row without negatives. ``columns`` are the columns with negatives of each requested kind, or None if
    there are too few, and ``undecided`` the numbers of negatives whose proof was given up. ``order`` sorts the rows; it
    is the sort key of the image and the key of the walk. ``box`` is the crop.
    """

    complexity: int
    order: tuple[int, str, str]
    box: Box
    raw: bytes
    columns: Mapping[str, bytes | None]
    undecided: Mapping[str, int]


@dataclass(frozen=True)
class Builder:
    """Makes the examples of an image in a worker process."""

    settings: ProductivitySettings
    source_name: str
    source: Source
    bigrams: NgramModel

    @cached_property
    def entailment(self) -> EntailmentModel | None:
        return EntailmentModel(self.settings.entailment) if self.settings.entailment else None

    @cached_property
    def word_scorer(self) -> MaskedWordScorer | None:
        """The masked language model of the paper's rules, or None: the bigram model ranks the words."""
        return (
            MaskedWordScorer(self.settings.ranker) if self.settings.ranker != STATISTICS else None
        )

    def make_examples(self, item: ImageWalks) -> list[ExampleRows]:
        """Return the examples of an image. The language models get the texts of all captions at once."""
        image = ImageSource(self.source.images[item.image_id], self.source)
        bigrams = self.bigrams.leave_out(item.texts)
        captioned = (
            CaptionedWalk.from_row(row, self.settings.variant or DEFAULT) for row in item.walks
        )
        walks = [walk for walk in captioned if walk is not None]
        examples: Sequence[Example]
        if self.settings.rules == PAPER and not self.settings.balanced:
            examples = self._make_paper_examples(walks, image, bigrams)
        else:
            examples = [Example(walk, image, bigrams.score, self.entailment) for walk in walks]
        if self.entailment is not None:
            need_swaps = (
                example
                for example in examples
                if not item.kinds[example.complexity].isdisjoint(SWAP_KINDS)
            )
            self.entailment.pair_logits(
                [pair for example in need_swaps for pair in example.list_swap_pairs()]
            )
        return [self._make_rows(example, item.kinds[example.complexity]) for example in examples]

    def _make_paper_examples(
        self, walks: Iterable[CaptionedWalk], image: ImageSource, bigrams: NgramModel
    ) -> list[PaperExample]:
        by_caption = score_by_caption(bigrams.score, lambda word: bigrams.grams.get((word,), 0) > 0)
        score_words = self.word_scorer.score_words if self.word_scorer else by_caption
        examples = [
            PaperExample(walk, image, bigrams.score, self.entailment, score_words=score_words)
            for walk in walks
        ]
        if self.word_scorer is not None:
            self.word_scorer.score_words(
                [slot.gap for example in examples for slot in example.slots]
            )
        return examples

    def _make_rows(self, example: Example, kinds: frozenset[str]) -> ExampleRows:
        walk = example.walk
        provenance = {
            "source": self.source_name,
            "captioner": walk.caption.captioner,
            "seed": self.settings.seed,
        }
        raw = dataset.make_raw_row(
            example.source.image.path,
            walk.image_id,
            walk.walk.box,
            walk.caption.text,
            walk.walk.graph,
            provenance,
        )
        columns = {kind: example.columns(kind) for kind in self.settings.kinds if kind in kinds}
        return ExampleRows(
            example.complexity,
            (*make_id_sort_key(walk.image_id), walk.key),
            walk.walk.box,
            pickle.dumps(raw),
            {
                kind: None if values is None else pickle.dumps(values)
                for kind, values in columns.items()
            },
            {kind: example.num_undecided[kind] for kind in columns},
        )


class SplitRows:
    """The rows of one split, in the order of the walks. A config is complete when it has ``max_rows`` rows."""

    def __init__(self, max_rows: int, kinds: Sequence[str]) -> None:
        self.max_rows = max_rows
        self.dropped = Counter[str]()
        self._raw: dict[tuple[int, str, str], bytes] = {}
        self._columns: dict[str, dict[tuple[int, str, str], bytes]] = {kind: {} for kind in kinds}
        """The columns with negatives, by the order of the raw row."""
        self._crops = defaultdict[tuple[str, str], list[Box]](list)
        """The crops of the rows of each config and image."""

    @property
    def open_kinds(self) -> frozenset[str]:
        """The kinds of hard negatives that still need rows."""
        return frozenset(
            kind for kind, items in self._columns.items() if len(items) < self.max_rows
        )

    def add(self, example: ExampleRows) -> None:
        """Add an example to the configs that still need rows. Its columns contain these kinds."""
        kinds = self.open_kinds
        is_used = bool(kinds) and len(self._raw) < self.max_rows and self._add_crop(RAW, example)
        for kind in sorted(kinds):
            self.dropped[f"{kind}: {LIMIT}"] += example.undecided[kind]
            columns = example.columns[kind]
            if columns is None:
                self.dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
            elif not self._add_crop(kind, example):
                self.dropped[f"{kind}: {SAME_CROP}"] += 1
            else:
                self._columns[kind][example.order] = columns
                is_used = True
        if is_used:
            self._raw[example.order] = example.raw

    def _add_crop(self, kind: str, example: ExampleRows) -> bool:
        """Add the crop of an example to a config, unless the config has it. Return True if it is added."""
        crops = self._crops[kind, example.order[1]]
        if is_same_crop(example.box, crops):
            return False
        crops.append(example.box)
        return True

    def count_dropped(self) -> dict[str, int]:
        """Return the number of dropped candidates and of missing rows by reason."""
        counts = {RAW: len(self._raw)} | {kind: len(items) for kind, items in self._columns.items()}
        missing = {
            f"{kind}: {NOT_FOUND}": self.max_rows - min(n, self.max_rows)
            for kind, n in counts.items()
        }
        return {
            reason: count
            for reason, count in sorted((self.dropped | Counter(missing)).items())
            if count
        }

    def read_rows(self, kind: str) -> Iterator[Row]:
        """Yield the rows of a config, ``raw`` or a kind of hard negatives, sorted by image."""
        if kind == RAW:
            yield from (pickle.loads(self._raw[order]) for order in sorted(self._raw))
            return
        columns = self._columns[kind]
        yield from (
            pickle.loads(self._raw[order]) | pickle.loads(columns[order])
            for order in sorted(columns)
        )


def collect_rows(
    walks: Path, source: Source, source_name: str, settings: ProductivitySettings
) -> dict[int, SplitRows]:
    """Return the rows by complexity.

    The result does not depend on the number of workers. A worker can make negatives of a kind that is completed
    meanwhile; these are ignored.
    """
    texts = {} if settings.balanced else read_first_captions(walks, settings.variant or DEFAULT)
    bigrams = NgramModel.of([text for image_texts in texts.values() for text in image_texts], 2)
    splits = {n: SplitRows(settings.rows, settings.kinds) for n in settings.complexities}

    def select_walks() -> Iterator[ImageWalks]:
        rows = read_walks(walks, balanced=settings.balanced)
        for (image_id, _), group in groupby(rows, itemgetter("image_id", "condition")):
            kinds = {n: split.open_kinds for n, split in splits.items() if split.open_kinds}
            if not kinds:
                return
            if chosen := [row for row in group if row["complexity"] in kinds]:
                yield ImageWalks(image_id, chosen, kinds, texts.get(image_id, ()))

    make_builder = partial(Builder, settings, source_name, source, bigrams)
    for examples in map_in_processes(
        make_builder, Builder.make_examples, select_walks(), settings.workers
    ):
        for example in examples:
            splits[example.complexity].add(example)
    return splits


def read_first_captions(walks: Path, name: str) -> dict[str, list[str]]:
    """Return the captions of the first random walks of each image: the corpus of the bigram model that ranks negatives
    (hard_negatives/crepe/selection.py)."""
    texts: dict[str, list[str]] = {}
    seen: set[tuple[str, int]] = set()
    for row in read_walks(walks):
        key = row["image_id"], row["complexity"]
        if row["condition"] == ANY_WALK.name and key not in seen:
            seen.add(key)
            texts.setdefault(key[0], []).extend(
                caption["text"] for caption in row["captions"] if caption["name"] == name
            )
    return texts


def refine(
    splits: Mapping[str, SplitRows], settings: ProductivitySettings
) -> dict[str, dict[str, list[bool]]]:
    """Return, by balanced kind and split, which rows adversarial refinement keeps.

    All splits of a kind are refined together, without rows that share foils with another row of their image. Each kind
    is refined in a worker process.
    """
    rows = {
        kind: {split: list(item.read_rows(kind)) for split, item in splits.items()}
        for kind in settings.kinds
    }
    joined = (
        _make_retrieval_sets(row for part in by_split.values() for row in part)
        for by_split in rows.values()
    )
    masks = map_in_processes(partial(int, settings.seed), _select_rows, joined, settings.workers)
    masks_by_kind = {}
    for (kind, by_split), keep_N in zip(rows.items(), masks, strict=True):
        is_kept = iter(keep_N.tolist())
        masks_by_kind[kind] = {
            split: list(islice(is_kept, len(part))) for split, part in by_split.items()
        }
    return masks_by_kind


def _make_retrieval_sets(rows: Iterable[Row]) -> RetrievalSets:
    items = [(row["image_id"], (row["caption"], *row["hard_negatives"])) for row in rows]
    return RetrievalSets([captions for _, captions in items], [image_id for image_id, _ in items])


def _select_rows(seed: int, sets: RetrievalSets) -> np.ndarray:
    return select_rows_at_chance(sets, seed, drop_related=True)


def write(
    walks: Path,
    source: Source,
    source_name: str,
    settings: ProductivitySettings,
    root: Path,
    image_storage: ImageStorage = "embedded",
) -> dict[str, dict[str, int]]:
    """Write every config of the dataset folder ``root``; return the numbers of dropped candidates and missing rows.

    The numbers are by split and reason. The written bytes do not depend on the number of workers.
    """
    splits = {
        f"n{n}": rows for n, rows in collect_rows(walks, source, source_name, settings).items()
    }
    dropped = {split: rows.count_dropped() for split, rows in splits.items()}
    refined = refine(splits, settings) if settings.balanced and settings.refine else {}
    with replace_crop_files(root, settings.name) as crop_files:
        for kind in settings.kinds if settings.balanced else (RAW, *settings.kinds):
            schema = RAW_SCHEMA if kind == RAW else HARD_NEGATIVE_SCHEMA
            rows_by_split = {split: rows.read_rows(kind) for split, rows in splits.items()}
            for split, is_kept in refined.get(kind, {}).items():
                dropped[split][f"{kind}: refined away"] = is_kept.count(False)
                rows_by_split[split] = compress(rows_by_split[split], is_kept)
            config = settings.make_config_name(kind)
            dataset.write_config(root, config, rows_by_split, schema, image_storage, crop_files)
    return dropped


def main(variant: Annotated[str | None, typer.Argument()] = None, balanced: bool = False) -> None:
    """Build the datasets of the paper, or those of a variant; with --balanced, the balanced datasets."""
    if balanced and variant:
        raise ValueError(f"--balanced: the variant {variant} has no balanced datasets.")
    settings = replace(ProductivitySettings.read(variant), balanced=balanced)
    walks = captioned_walks.FOLDER
    source = Source.read(Path("annotations/parsed.parquet"))
    root = dataset.PARTS / "crepe"
    storage = dataset.read_image_storage()
    dropped = write(walks, source, read_params("source"), settings, root, storage)
    funnels = {}
    for split, counts in dropped.items():
        missing = [
            f"{count:,} {reason}"
            for reason, count in counts.items()
            if reason.endswith((NOT_FOUND, LIMIT))
        ]
        if missing:
            print(f"{split}: {', '.join(missing)}")
        attempts = read_dropped(
            walks, settings.variant or DEFAULT, int(split[1:]), balanced=balanced
        )
        funnels[name_productivity_funnel(settings.label, split)] = {**attempts, **counts}
    write_json(Path(f"stats/crepe/{settings.name}.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
