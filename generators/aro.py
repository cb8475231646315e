"""ARO's VG-Relation and VG-Attribution, mined from GQA's scene graphs.

    python -m compeval.generators.aro        # stage `aro_swaps`; writes parts/aro/vg_*

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.1 and appendix A.1. A row is the smallest box around two
objects, a true caption, and the caption with the two objects (or their attributes) swapped. Chance is 1/2.
The mining, and its differences from the paper: generators/hard_negatives/aro/swapped_pairs.py. The files of GQA, and
which of them the authors read: base/readers/gqa.py.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.input_sources import read_sources
from compeval.base.pipeline.params import OURS, read_rules
from compeval.base.readers.annotations import Annotations
from compeval.base.schemas.annotated_image import AnnotatedImage
from compeval.base.schemas.rows import CHOICE_SCHEMA
from compeval.base.storage import dataset
from compeval.base.storage.crops import Crop, crop_id
from compeval.generators.hard_negatives.aro.swapped_pairs import (
    AttestedPairs,
    SwappedPair,
    mine_attribute_pairs,
    mine_relation_pairs,
)
from compeval.generators.language.lexicon.relations import kind_of_relation

UNREADABLE = "the image is missing or unreadable"

Miner = Callable[[AnnotatedImage, AttestedPairs, Counter[str], str], Iterator[SwappedPair]]
MINERS: dict[str, Miner] = {
    "vg_relation": mine_relation_pairs,
    "vg_attribution": mine_attribute_pairs,
}


def mine(
    config: str, images: Iterable[AnnotatedImage], dropped: Counter[str], rules: str = OURS
) -> Iterator[SwappedPair]:
    """Yield the pairs of a config in the order of the images, which are read twice.

    Rejected pairs are counted in ``dropped``, by reason.
    """
    attested = AttestedPairs.from_graphs(image.graph for image in images)
    for image in images:
        yield from MINERS[config](image, attested, dropped, rules)


def categories(config: str, pair: SwappedPair) -> list[dict[str, str]]:
    """Return the categories by which results are broken down."""
    if config == "vg_attribution":
        return [{"by": "attribute pair", "name": pair.category}]
    return [
        {"by": "relation", "name": pair.category},
        {"by": "kind of relation", "name": kind_of_relation(pair.category)},
    ]


def row(config: str, pair: SwappedPair, provenance: dict[str, Any]) -> dict[str, Any]:
    """Return a pair as a row of CHOICE_SCHEMA."""
    return {
        "image": Crop(pair.image.path, pair.box),
        "crop_id": crop_id(pair.image.path, pair.box),
        "image_id": pair.image.image_id,
        **pair.box._asdict(),
        "caption": pair.true,
        "hard_negatives": [pair.false],
        "categories": categories(config, pair),
        "provenance": provenance,
    }


def make_rows(
    config: str,
    images: Iterable[AnnotatedImage],
    provenance: dict[str, Any],
    dropped: Counter[str],
    rules: str = OURS,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a config. Rejected pairs are counted in ``dropped``, also those without a readable image.

    Raises ValueError if no pair has a readable image.
    """
    num_rows = 0
    for pair in mine(config, images, dropped, rules):
        try:
            yield row(config, pair, provenance)
        except (OSError, ValueError) as error:
            if not dropped[UNREADABLE]:
                print(
                    f"{config}: pairs of unreadable images are left out. The first: {error}",
                    file=sys.stderr,
                )
            dropped[UNREADABLE] += 1
        else:
            num_rows += 1
    if dropped[UNREADABLE] and not num_rows:
        raise ValueError(f"{config}: none of {dropped[UNREADABLE]:,} pairs has a readable image.")


def main(annotations: Path = Path("annotations/gqa.parquet"), output: Path = Path()) -> None:
    """Build VG-Relation and VG-Attribution in the folder OUTPUT from the file ANNOTATIONS."""
    images = Annotations(annotations)
    read_sources()
    statistics = json.loads(annotations.with_suffix(".json").read_text(encoding="utf-8"))
    provenance = {"source": statistics["source"], "captioner": "template", "seed": 0}
    pixels = dataset.read_image_storage()
    funnels: dict[str, dict[str, int]] = {}
    for config in MINERS:
        dropped = Counter[str]()
        rows = make_rows(config, images, provenance, dropped, read_rules())
        counts = dataset.write_config(
            output / dataset.PARTS / "aro", config, {"test": rows}, CHOICE_SCHEMA, pixels
        )
        funnels[f"{config}: pairs of objects"] = dict(sorted((+dropped).items())) | {
            "kept": counts["test"]
        }
    funnels["Flawed records of the source"] = statistics["flaws"]
    write_json(output / "stats/aro/mined.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
