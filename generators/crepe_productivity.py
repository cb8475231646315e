"""CREPE productivity: captions of four to twelve atoms with five hard negatives of each type.

    python -m generators.crepe_productivity

Source: CREPE (arXiv:2212.07796), sections 3.3 and 4.2, appendix A.3 to A.5. An atom is an object, an attribute or a
relation of the caption's scene graph. Every config has the splits n4 to n12, named by the number of atoms:

- ``prod_hnatom``, ``prod_hnswap``, ``prod_hnneg``: examples with five negatives that replace an atom, swap two atoms,
  or negate an atom; chance of R@1: 1/6
- ``prod_hnall``: examples with five negatives of each of these three types; chance of R@1: 1/16
- ``prod_hnneg_balanced``: not in the paper. Like ``prod_hnneg``, but the true captions also contain a negation
  (hard_negatives/negation.py); chance of R@1: 1/6
- ``prod_raw``: all examples, without negatives

captioner/captioned_walks.py samples subgraphs of an image's scene graph with a crop and a caption,
hard_negatives/productivity.py generates the negatives, and ``_make_row`` combines both. If there are more examples
than the parameter ``rows``, the examples with the smallest keys are used. A key is a hash of the image and its
subgraph, so the choice does not depend on the order of images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from generators.captioner.captioned_walks import WalkSettings, sample_keyed_walks
from generators.captioner.prompted import ask_captions, make_captioner
from generators.graphs.walks import COMPLEXITIES
from generators.hard_negatives.productivity import KINDS, PER_TYPE, Example, make_examples
from generators.hard_negatives.refinement import refine_splits
from generators.hard_negatives.source import Source
from generators.schemas.rows import HARD_NEGATIVE_SCHEMA, RAW_SCHEMA, ImageStorage
from generators.storage import dataset, stage
from generators.storage.atomic import write_json
from generators.storage.params import read_params, read_parser_params, read_settings
from generators.storage.workers import map_with

ASKED_PER_ROW = 5
"""Captions requested from a language model per row: some captions are rejected, and some have too few negatives."""
RAW = "prod_raw"
SPLITS = tuple(f"n{complexity}" for complexity in COMPLEXITIES)
CONFIGS = (RAW, *(f"prod_{kind}" for kind in KINDS))

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings(WalkSettings):
    """The block ``crepe_productivity`` of params.yaml, and how region phrases are parsed."""

    workers: int
    rows: int
    """Maximum number of rows per config and split."""
    refine: bool
    """If True, all foils of an HN-Atom row replace the same atom, and rows are removed until text-only scorers perform
    at chance (hard_negatives/refinement.py)."""
    captioner: Mapping[str, Any]
    """``{}``: the grammar writes the captions. Otherwise the fields of llm.client.Endpoint, a language model."""
    entailment: str | None = None
    """The natural language inference model that filters the swaps; None: no filter."""
    parser: str = "rules"
    spelling: bool = False
    """If True, correct the spelling of region phrases before parsing."""


def select_examples(candidates: Iterable[Example], max_rows: int, dropped: Counter[str]) -> dict[str, list[Example]]:
    """Return at most ``max_rows`` examples per config; ``prod_raw`` has the examples of all other configs.

    Adds the number of examples with too few negatives to ``dropped``.
    """
    selected: dict[str, list[Example]] = {config: [] for config in CONFIGS}
    for example in candidates:
        is_used = False
        for kind in KINDS:
            config_examples = selected[f"prod_{kind}"]
            if len(config_examples) < max_rows and getattr(example, kind):
                config_examples.append(example)
                is_used = True
            elif len(config_examples) < max_rows:
                dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
        if is_used or len(selected[RAW]) < max_rows:
            selected[RAW].append(example)
        if all(len(config_examples) >= max_rows for config_examples in selected.values()):
            break
    return selected


def generate_split(
    settings: Settings, source_name: str, source: Source, complexity: int
) -> tuple[dict[str, list[Row]], dict[str, int]]:
    """Return the rows of one split by config, sorted by image, and the number of dropped examples by reason."""
    dropped = Counter[str]()
    captioner = make_captioner(settings.captioner, settings.parser)
    candidates = make_examples(source, complexity, captioner, settings, dropped, settings.entailment, settings.refine)
    selected = select_examples(candidates, settings.rows, dropped)
    provenance = {"source": source_name, "seed": settings.seed}
    rows = {
        config: [
            _make_row(example, config, provenance) for example in sorted(selected[config], key=attrgetter("order"))
        ]
        for config in CONFIGS
    }
    return rows, dict(sorted(dropped.items()))


def _make_row(example: Example, config: str, provenance: Mapping[str, Any]) -> Row:
    _, image_id, walk, caption = example.walk
    provenance = {**provenance, "captioner": caption.captioner}
    path = example.source.image(image_id).path
    row = dataset.make_raw_row(path, image_id, walk.box, caption.text, walk.graph, provenance)
    return row if config == RAW else row | example.columns(config.removeprefix("prod_"))


def write(
    annotations: Path, source_name: str, settings: Settings, root: Path, image_storage: ImageStorage = "embedded"
) -> dict[str, dict[str, int]]:
    """Write every config below ``root``; return the number of dropped examples by split and reason.

    The written bytes do not depend on the number of workers.
    """
    make_source = partial(Source.read, annotations, settings.parser, settings.spelling)
    results = map_with(make_source, partial(generate_split, settings, source_name), COMPLEXITIES, settings.workers)
    splits = dict(zip(SPLITS, results, strict=True))
    for config in CONFIGS:
        rows = {split: rows_by_config[config] for split, (rows_by_config, _) in splits.items()}
        if settings.refine and config != RAW:
            refined_rows = refine_splits(rows, settings.seed)
            for split, (_, dropped) in splits.items():
                dropped[f"{config.removeprefix('prod_')}: refined away"] = len(rows[split]) - len(refined_rows[split])
            rows = refined_rows
        schema = RAW_SCHEMA if config == RAW else HARD_NEGATIVE_SCHEMA
        dataset.write_config(root, config, rows, schema, image_storage)
    return {split: dropped for split, (_, dropped) in splits.items()}


def ask(annotations: Path, settings: Settings, max_cost: float) -> Counter[str]:
    """Request captions for the subgraphs that are likely to be used; return the number of answers by outcome.

    Raises ValueError before the first request if the estimated cost is above ``max_cost``.
    """
    images = Source.read(annotations).images
    graphs = [
        walk.graph
        for complexity in COMPLEXITIES[1:]  # captions of four atoms use the template instead
        for _, _, walk in sample_keyed_walks(images, complexity, settings, Counter())[: ASKED_PER_ROW * settings.rows]
    ]
    return ask_captions(graphs, settings.captioner, max_cost)


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Build the productivity datasets; with --ask, request the language model's captions into sample/llm/ instead."""
    annotations = Path("annotations/visual_genome.parquet")
    settings = read_settings(Settings, "crepe_productivity", **read_parser_params())
    if ask_model:
        for outcome, count in sorted(ask(annotations, settings, max_cost).items()):
            print(f"{count:,} {outcome}")
        return
    dropped = write(annotations, read_params("source"), settings, Path("crepe"), dataset.read_image_storage())
    funnels = {f"Productivity, {split}: dropped": counts for split, counts in dropped.items()}
    write_json(Path("stats/crepe/productivity.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
