"""CREPE productivity: captions of four to twelve atoms with five hard negatives of each type.

    python -m generators.crepe_productivity               # the configs of the paper
    python -m generators.crepe_productivity --balanced    # configs prod_*_balanced
    python -m generators.crepe_productivity template      # configs prod_template_*, a variant

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

A variant, an entry of the block ``productivity_variants``, has other settings, such as another captioner. It has the
configs of the paper only: ``prod_NAME_hnatom``, ``prod_NAME_hnswap``, ``prod_NAME_hnneg``, ``prod_NAME_hnall`` and
``prod_NAME_raw``.

captioner/captioned_walks.py samples subgraphs of an image's scene graph with a crop and a caption,
hard_negatives/crepe/productivity.py generates the negatives, and split_rows.py next to it collects the rows. Images are
visited one at a time in a random order, until every config has the parameter ``rows``: first with one walk of each
complexity per image, then with a second walk, and so on. The first walk and the third are random; the second and the
fourth are walks of which five swaps are false (``PAPER_WALKS``) or, for the balanced configs, five orders of three
objects (``BALANCED_WALKS``), because few random walks of four and five atoms have them. The work therefore depends on
the number of rows. Worker processes read only the images that they visit.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import compress, islice, product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from generators.captioner import template
from generators.captioner.captioned_walks import (
    CaptionedWalk,
    KeyedWalk,
    WalkFilter,
    WalkSettings,
    caption_walks,
    order_images,
    sample_keyed_walk,
)
from generators.captioner.captioner import Captioner
from generators.captioner.prompted import ask_captions, export_requests, make_captioner
from generators.files.atomic import write_json
from generators.graphs.walks import COMPLEXITIES
from generators.hard_negatives.crepe.productivity import (
    BALANCED_KINDS,
    BALANCED_WALKS,
    KINDS,
    PAPER_KINDS,
    PAPER_WALKS,
    SWAP_KINDS,
    Example,
)
from generators.hard_negatives.crepe.source import ImageSource, Source
from generators.hard_negatives.crepe.split_rows import (
    LIMIT,
    MAX_IMAGES_PER_ROW,
    MIN_IMAGES,
    NOT_FOUND,
    RAW,
    ExampleRows,
    Outcome,
    SplitRows,
)
from generators.pipeline import stage
from generators.pipeline.params import read_params, read_parser_params, read_settings
from generators.pipeline.workers import map_with
from generators.readers.annotations import Annotations
from generators.schemas.annotated_image import AnnotatedImage, make_id_sort_key
from generators.schemas.corpus_names import name_productivity_funnel
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage
from generators.storage import dataset
from generators.storage.crops import replace_crop_files
from generators.text_only.baselines import RetrievalSets
from generators.text_only.language_models import EntailmentModel
from generators.text_only.ngram import NgramModel
from generators.text_only.refinement import select_rows_at_chance

ASKED_PER_ROW = 5
"""Captions requested from a language model per row: some captions are rejected, and some have too few negatives."""
SAMPLED_IMAGES = 200
"""Number of images whose captions train the bigram model that ranks negatives (hard_negatives/crepe/selection.py)."""


@dataclass(frozen=True)
class Settings(WalkSettings):
    """The block ``crepe_productivity`` of params.yaml, and how region phrases are parsed."""

    workers: int
    rows: int
    """Maximum number of rows per config and split."""
    refine: bool
    """If True, rows of the balanced configs are removed until text-only scorers perform at chance
    (text_only/refinement.py)."""
    template: bool
    """If True, captions of four atoms use the paper's template, otherwise the grammar."""
    captioner: Mapping[str, Any]
    """``{}``: the grammar writes the other captions. Otherwise the fields of llm.client.Endpoint, a language model."""
    entailment: str | None = None
    """The natural language inference model that filters the swaps; None: no filter."""
    parser: str = "rules"
    spelling: bool = False
    """If True, correct the spelling of region phrases before parsing."""
    complexities: Sequence[int] = COMPLEXITIES
    variant: str | None = None
    balanced: bool = False
    """If True, the balanced configs are built, otherwise those of the paper."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of hard negatives."""
        return BALANCED_KINDS if self.balanced else PAPER_KINDS

    @property
    def walk_filters(self) -> tuple[WalkFilter, ...]:
        """The conditions that the walks of an image satisfy in turn."""
        return BALANCED_WALKS if self.balanced else PAPER_WALKS

    @property
    def name(self) -> str:
        """The name of the files with the crops and with the statistics."""
        return f"productivity_{self.label}" if self.label else "productivity"

    @property
    def label(self) -> str | None:
        """What distinguishes these sets from those of the paper with the default captioner, or None."""
        return "balanced" if self.balanced else self.variant

    def make_config_name(self, kind: str) -> str:
        """Return the name of the config of a kind of hard negatives, or of the raw examples."""
        return f"prod_{self.variant}_{kind}" if self.variant else f"prod_{kind}"

    @classmethod
    def read(cls, variant: str | None = None) -> Settings:
        """Read params.yaml. Raises ValueError if the variant is unknown or a key is wrong."""
        settings = read_settings(cls, "crepe_productivity", **read_parser_params())
        if variant is None:
            return settings
        variants = read_params("productivity_variants")
        if variant not in variants:
            raise ValueError(f"params.yaml, productivity_variants: no {variant!r}; it has {', '.join(variants)}.")
        unknown = variants[variant].keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(
                f"params.yaml, productivity_variants, {variant}: unknown keys {', '.join(sorted(unknown))}."
            )
        return replace(settings, **variants[variant], variant=variant)


class Sampled(NamedTuple):
    """The captioned walks of an image by complexity, and the reasons for missing ones.

    ``exhausted`` are the complexities of which the image has no further walk that satisfies the same condition.
    """

    walks: Mapping[int, CaptionedWalk]
    dropped: Mapping[int, Counter[str]]
    exhausted: frozenset[int]


class Visit(NamedTuple):
    """A visit of one image: the number of the walk, and the kinds of negatives that each complexity needs.

    Complexities in ``exhausted`` have no such walk, and none is searched. ``first`` are the first walks of the image
    if it is in the sample for the bigram model, and ``texts`` their captions.
    """

    image_id: str
    walk: int
    kinds: Mapping[int, frozenset[str]]
    exhausted: frozenset[int]
    first: Sampled | None = None
    texts: tuple[str, ...] = ()


class Visited(NamedTuple):
    """The outcomes of a visit by complexity, and the complexities of which the image has no further such walk."""

    image_id: str
    walk: int
    outcomes: Mapping[int, Outcome]
    exhausted: frozenset[int]


@dataclass(frozen=True)
class Builder:
    """Makes the examples of an image in a worker process."""

    settings: Settings
    source_name: str
    source: Source
    bigrams: NgramModel

    @cached_property
    def captioner(self) -> Captioner:
        return make_captioner(self.settings.captioner, self.settings.parser, self.settings.template)

    @cached_property
    def entailment(self) -> EntailmentModel | None:
        return EntailmentModel(self.settings.entailment) if self.settings.entailment else None

    def visit(self, visit: Visit) -> Visited:
        """Return the outcomes of a visit. The entailment model gets the swaps of all captions at once."""
        image = self.source.images[visit.image_id]
        complexities = [n for n in visit.kinds if n not in visit.exhausted]
        walks, dropped, exhausted = visit.first or self.sample(image, complexities, visit.walk)
        image_source = ImageSource(image, self.source)
        likelihood = self.bigrams.leave_out(visit.texts).score
        examples = {n: Example(walks[n], image_source, likelihood, self.entailment) for n in visit.kinds if n in walks}
        if self.entailment is not None:
            need_swaps = [example for n, example in examples.items() if not visit.kinds[n].isdisjoint(SWAP_KINDS)]
            self.entailment.pair_logits([pair for example in need_swaps for pair in example.list_swap_pairs()])
        outcomes = {
            n: self._make_outcome(examples.get(n), kinds, dropped.get(n, Counter())) for n, kinds in visit.kinds.items()
        }
        return Visited(visit.image_id, visit.walk, outcomes, exhausted | visit.exhausted)

    def sample(self, image: AnnotatedImage, complexities: Iterable[int], index: int) -> Sampled:
        """Return the captioned walks of an image with a number."""
        dropped = {n: Counter[str]() for n in complexities}
        filters = self.settings.walk_filters
        sampled = {n: sample_keyed_walk(image, n, self.settings, index, dropped[n], filters) for n in dropped}
        walks = {n: walk for n, walk in sampled.items() if walk is not None}
        return Sampled(caption_walks(walks, self.captioner, dropped), dropped, frozenset(dropped.keys() - walks.keys()))

    def _make_outcome(self, example: Example | None, kinds: frozenset[str], dropped: Counter[str]) -> Outcome:
        if example is None:
            return Outcome(dropped, None)
        walk = example.walk
        columns = {kind: example.columns(kind) for kind in KINDS if kind in kinds}
        rows = ExampleRows(
            (*make_id_sort_key(walk.image_id), walk.key),
            walk.walk.box,
            pickle.dumps(self._make_raw_row(walk, example.source.image)),
            {kind: None if values is None else pickle.dumps(values) for kind, values in columns.items()},
            {kind: example.count_undecided(kind) for kind in columns},
        )
        return Outcome(dropped, rows)

    def _make_raw_row(self, walk: CaptionedWalk, image: AnnotatedImage) -> dict[str, Any]:
        provenance = {"source": self.source_name, "captioner": walk.caption.captioner, "seed": self.settings.seed}
        return dataset.make_raw_row(
            image.path, walk.image_id, walk.walk.box, walk.caption.text, walk.walk.graph, provenance
        )


def collect_rows(annotations: Path, source_name: str, settings: Settings) -> dict[int, SplitRows]:
    """Visit images until every split has its rows; return the rows by complexity.

    The result does not depend on the number of workers. A worker can make negatives of a kind that is completed
    meanwhile; these are ignored.
    """
    source = Source.read(annotations, settings.parser, settings.spelling)
    image_ids = order_images(source.images.list_ids(), settings.seed)
    sampler = Builder(settings, source_name, source, NgramModel.of([], 2))
    sample = {
        image_id: sampler.sample(source.images[image_id], settings.complexities, 0)
        for image_id in image_ids[:SAMPLED_IMAGES]
    }
    texts = {key: tuple(walk.caption.text for walk in first.walks.values()) for key, first in sample.items()}
    bigrams = NgramModel.of([text for image_texts in texts.values() for text in image_texts], 2)
    splits = {n: SplitRows(settings.rows, settings.kinds) for n in settings.complexities}
    exhausted: dict[tuple[str, int], frozenset[int]] = {}
    num_filters = len(settings.walk_filters)

    def plan_visits() -> Iterator[Visit]:
        for index in range(settings.walks_per_image):
            for image_id in image_ids:
                kinds = {n: split.open_kinds for n, split in splits.items() if split.is_open}
                if not kinds:
                    return
                known = exhausted.get((image_id, index % num_filters), frozenset())
                yield Visit(image_id, index, kinds, known, sample.pop(image_id, None), texts.get(image_id, ()))

    make_builder = partial(Builder, settings, source_name, source, bigrams)
    for visited in map_with(make_builder, Builder.visit, plan_visits(), settings.workers):
        exhausted[visited.image_id, visited.walk % num_filters] = visited.exhausted
        for n, outcome in visited.outcomes.items():
            splits[n].add(outcome)
    return splits


def refine(splits: Mapping[str, SplitRows], settings: Settings) -> dict[str, dict[str, list[bool]]]:
    """Return, by balanced kind and split, which rows adversarial refinement keeps.

    All splits of a kind are refined together. Each kind is refined in a worker process.
    """
    sets_by_kind = {
        kind: {split: _read_retrieval_sets(rows, kind) for split, rows in splits.items()} for kind in settings.kinds
    }
    joined_sets = (_join(sets.values()) for sets in sets_by_kind.values())
    masks = map_with(partial(int, settings.seed), _select_rows, joined_sets, settings.workers)
    kept = {}
    for (kind, sets_by_split), keep_N in zip(sets_by_kind.items(), masks, strict=True):
        is_kept = iter(keep_N.tolist())
        kept[kind] = {split: list(islice(is_kept, len(sets))) for split, sets in sets_by_split.items()}
    return kept


def _read_retrieval_sets(rows: SplitRows, kind: str) -> RetrievalSets:
    items = [(row["image_id"], (row["caption"], *row["hard_negatives"])) for row in rows.read_rows(kind)]
    return RetrievalSets([captions for _, captions in items], [image_id for image_id, _ in items])


def _join(sets: Collection[RetrievalSets]) -> RetrievalSets:
    return RetrievalSets(
        [captions for item in sets for captions in item.captions], [image for item in sets for image in item.images]
    )


def _select_rows(seed: int, sets: RetrievalSets) -> np.ndarray:
    return select_rows_at_chance(sets, seed)


def write(
    annotations: Path, source_name: str, settings: Settings, root: Path, image_storage: ImageStorage = "embedded"
) -> dict[str, dict[str, int]]:
    """Write every config of the dataset folder ``root``; return the numbers of dropped candidates and missing rows.

    The numbers are by split and reason. The written bytes do not depend on the number of workers.
    """
    splits = {f"n{n}": rows for n, rows in collect_rows(annotations, source_name, settings).items()}
    dropped = {split: rows.count_dropped() for split, rows in splits.items()}
    kept = refine(splits, settings) if settings.balanced and settings.refine else {}
    with replace_crop_files(root, settings.name) as crop_files:
        for kind in settings.kinds if settings.balanced else (RAW, *settings.kinds):
            schema = RAW_SCHEMA if kind == RAW else HARD_NEGATIVE_SCHEMA
            rows_by_split = {split: rows.read_rows(kind) for split, rows in splits.items()}
            for split, is_kept in kept.get(kind, {}).items():
                dropped[split][f"{kind}: refined away"] = is_kept.count(False)
                rows_by_split[split] = compress(rows_by_split[split], is_kept)
            config = settings.make_config_name(kind)
            dataset.write_config(root, config, rows_by_split, schema, image_storage, crop_files)
    return dropped


def sample_asked_walks(images: Annotations, settings: Settings, limit: int | None = None) -> Iterator[KeyedWalk]:
    """Yield the walks that are likely to be used and that a language model captions, in the order of visits.

    ``limit`` is the maximum number per complexity; by default, ``ASKED_PER_ROW`` for each row.
    """
    asked = [n for n in settings.complexities if n != template.COMPLEXITY]  # no language model captions four atoms
    missing = dict.fromkeys(asked, limit or ASKED_PER_ROW * settings.rows)
    visits = product(range(settings.walks_per_image), order_images(images.list_ids(), settings.seed))
    exhausted: set[tuple[str, int, int]] = set()
    """Image, complexity and filter of which there is no further walk."""
    for index, image_id in islice(visits, max(MIN_IMAGES, MAX_IMAGES_PER_ROW * settings.rows)):
        if not any(missing.values()):
            return
        image = images[image_id]
        number = index % len(settings.walk_filters)
        for complexity in [n for n, count in missing.items() if count and (image_id, n, number) not in exhausted]:
            walk = sample_keyed_walk(image, complexity, settings, index, Counter(), settings.walk_filters)
            if walk is None:
                exhausted.add((image_id, complexity, number))
            else:
                missing[complexity] -= 1
                yield walk


def ask(annotations: Path, settings: Settings, max_cost: float) -> Counter[str]:
    """Request captions for the subgraphs that are likely to be used; return the number of answers by outcome.

    Raises ValueError if the settings name no language model, and before the first request if the estimated cost is
    above ``max_cost``.
    """
    graphs = (walk.walk.graph for walk in sample_asked_walks(Annotations(annotations), settings))
    return ask_captions(graphs, settings.captioner, max_cost)


def main(
    variant: Annotated[str | None, typer.Argument()] = None,
    balanced: bool = False,
    ask_model: Annotated[bool, typer.Option("--ask")] = False,
    max_cost: float = 0.0,
    export: Path | None = None,
    limit: Annotated[int | None, typer.Option(min=1)] = None,
) -> None:
    """Build the datasets of the paper, or those of a variant.

    With --balanced, build the balanced datasets instead. With --ask, request the language model's captions into
    sample/llm/ instead. With --export FILE, write the requests that have no answer to a file instead, at most --limit
    of each complexity.
    """
    annotations = Path("annotations/visual_genome.parquet")
    if balanced and variant:
        raise ValueError(f"--balanced: the variant {variant} has no balanced datasets.")
    settings = replace(Settings.read(variant), balanced=balanced)
    if ask_model:
        for outcome, count in sorted(ask(annotations, settings, max_cost).items()):
            print(f"{count:,} {outcome}")
        return
    if export:
        walks = sample_asked_walks(Annotations(annotations), settings, limit)
        count = export_requests((walk.walk.graph for walk in walks), settings.captioner, export)
        print(f"{export}: {count:,} requests")
        return
    dropped = write(annotations, read_params("source"), settings, dataset.PARTS / "crepe", dataset.read_image_storage())
    for split, counts in dropped.items():
        missing = [f"{count:,} {reason}" for reason, count in counts.items() if reason.endswith((NOT_FOUND, LIMIT))]
        if missing:
            print(f"{split}: {', '.join(missing)}")
    funnels = {name_productivity_funnel(settings.label, split): counts for split, counts in dropped.items()}
    write_json(Path(f"stats/crepe/{settings.name}.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
