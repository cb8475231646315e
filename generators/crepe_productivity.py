"""CREPE productivity: captions of four to twelve atoms with five hard negatives of each type.

    python -m generators.crepe_productivity

Source: CREPE (arXiv:2212.07796), sections 3.3 and 4.2, appendix A.3 to A.5. Writes the configs ``prod_raw`` and
``prod_{hnatom,hnswap,hnneg,hnall}`` with the splits n4 to n12, and our ``prod_hnneg_balanced``, in which the true
captions contain a negation as well (hard_negatives/negation.py). A config has the examples with five negatives of its
type, ``prod_hnall`` those with five of each of the paper's types, ``prod_raw`` all. Chance of R@1: 1/6, hnall 1/16.

A row goes from the graph of its image through captioner/captioned_walks.py (walk, crop, caption) and
hard_negatives/productivity.py (negatives) to ``_row``. If there are more examples than ``rows``, those with the
smallest keys are kept, so that the choice does not depend on the order of images.
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
"""Captions requested from a language model per row: some are not faithful, some have too few negatives."""
RAW = "prod_raw"
SPLITS = tuple(f"n{complexity}" for complexity in COMPLEXITIES)
CONFIGS = (RAW, *(f"prod_{kind}" for kind in KINDS))

Row = dict[str, Any]


@dataclass(frozen=True)
class Settings(WalkSettings):
    """The block ``crepe_productivity`` of params.yaml, and how region phrases are parsed."""

    workers: int
    rows: int
    """Maximum per config and complexity."""
    refine: bool
    """Take the foils of an HN-Atom row from one atom, and keep the rows on which text-only scorers are at chance."""
    captioner: Mapping[str, Any]
    """``{}`` for the grammar; else the fields of llm.client.Endpoint."""
    entailment: str | None = None
    """The NLI model that filters the swaps."""
    parser: str = "rules"
    spelling: bool = False


def select_examples(candidates: Iterable[Example], rows: int, dropped: Counter[str]) -> dict[str, list[Example]]:
    """Return the first ``rows`` examples of each config; prod_raw has those of all other configs."""
    taken: dict[str, list[Example]] = {config: [] for config in CONFIGS}
    for example in candidates:
        used = False
        for kind in KINDS:
            config = taken[f"prod_{kind}"]
            if len(config) < rows and getattr(example, kind):
                config.append(example)
                used = True
            elif len(config) < rows:
                dropped[f"{kind}: fewer than {PER_TYPE} negatives"] += 1
        if used or len(taken[RAW]) < rows:
            taken[RAW].append(example)
        if all(len(config) >= rows for config in taken.values()):
            break
    return taken


def generate_split(
    settings: Settings, name: str, source: Source, complexity: int
) -> tuple[dict[str, list[Row]], dict[str, int]]:
    """Return one split: its rows by config, in the order of the images, and the number of drops by reason."""
    dropped = Counter[str]()
    captioner = make_captioner(settings.captioner, settings.parser)
    candidates = make_examples(source, complexity, captioner, settings, dropped, settings.entailment, settings.refine)
    taken = select_examples(candidates, settings.rows, dropped)
    provenance = {"source": name, "seed": settings.seed}
    rows = {
        config: [_row(example, config, provenance) for example in sorted(taken[config], key=attrgetter("order"))]
        for config in CONFIGS
    }
    return rows, dict(sorted(dropped.items()))


def _row(example: Example, config: str, provenance: Mapping[str, Any]) -> Row:
    _, image_id, walk, caption = example.walk
    origin = {**provenance, "captioner": caption.captioner}
    row = dataset.make_raw_row(
        example.source.image(image_id).path, image_id, walk.box, caption.text, walk.graph, origin
    )
    return row if config == RAW else row | example.columns(config.removeprefix("prod_"))


def write(
    annotations: Path, name: str, settings: Settings, root: Path, pixels: ImageStorage = "embedded"
) -> dict[str, dict[str, int]]:
    """Write every config below ``root`` and return the drops by split. Same bytes for any number of workers."""
    make_source = partial(Source.read, annotations, settings.parser, settings.spelling)
    results = map_with(make_source, partial(generate_split, settings, name), COMPLEXITIES, settings.workers)
    splits = dict(zip(SPLITS, results, strict=True))
    for config in CONFIGS:
        rows = {split: by_config[config] for split, (by_config, _) in splits.items()}
        if settings.refine and config != RAW:
            kept = refine_splits(rows, settings.seed)
            for split, (_, dropped) in splits.items():
                dropped[f"{config.removeprefix('prod_')}: refined away"] = len(rows[split]) - len(kept[split])
            rows = kept
        schema = RAW_SCHEMA if config == RAW else HARD_NEGATIVE_SCHEMA
        dataset.write_config(root, config, rows, schema, pixels)
    return {split: dropped for split, (_, dropped) in splits.items()}


def ask(annotations: Path, settings: Settings, max_cost: float) -> Counter[str]:
    """Request the captions that are likely to be used from the language model; return the number of answers by outcome.

    ValueError before the first request if the estimated cost is above ``max_cost``.
    """
    images = Source.read(annotations).images
    graphs = [
        walk.graph
        for complexity in COMPLEXITIES[1:]  # four atoms take the template
        for _, _, walk in sample_keyed_walks(images, complexity, settings, Counter())[: ASKED_PER_ROW * settings.rows]
    ]
    return ask_captions(graphs, settings.captioner, max_cost)


def main(ask_model: Annotated[bool, typer.Option("--ask")] = False, max_cost: float = 0.0) -> None:
    """Build the productivity datasets; with --ask, fill the language model's cache in sample/llm/ instead."""
    annotations = Path("annotations/visual_genome.parquet")
    name, settings = read_params("source"), read_settings(Settings, "crepe_productivity", **read_parser_params())
    if ask_model:
        for outcome, count in sorted(ask(annotations, settings, max_cost).items()):
            print(f"{count:,} {outcome}")
        return
    dropped = write(annotations, name, settings, Path("crepe"), dataset.read_image_storage())
    funnels = {f"Productivity, {split}: dropped": counts for split, counts in dropped.items()}
    write_json(Path("stats/crepe/productivity.json"), {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
