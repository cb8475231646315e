"""ARO's VG-Relation and VG-Attribution, mined from GQA's scene graphs.

    python -m compeval.generators.aro        # stage `aro_swaps`; writes parts/aro/vg_*

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.1 and appendix A.1. A row is the smallest box around two
objects, a true caption, and the caption with the two objects (or their attributes) swapped. Chance is 1/2.
The mining, and its differences from the paper: generators/hard_negatives/aro/swapped_pairs.py. The files of GQA, and
which of them the authors read: base/readers/gqa.py.

With ``rules: paper``, VG-Relation has no relation of the file that ``aro.excluded_relations`` in params.yaml names (one
a line). The authors' notebook leaves 157 relations out of the macro accuracy; its list is not part of this project
(docs/papers.md has its address).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.files.atomic import write_json
from compeval.base.pipeline import stage
from compeval.base.pipeline.input_sources import read_sources
from compeval.base.pipeline.params import OURS, PAPER, read_params, read_rules
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

_RELATION = re.compile(r"[a-z][a-z' -]*")
UNREADABLE = "the image is missing or unreadable"

Miner = Callable[[AnnotatedImage, AttestedPairs, Counter[str], str], Iterator[SwappedPair]]
MINERS: dict[str, Miner] = {
    "vg_relation": mine_relation_pairs,
    "vg_attribution": mine_attribute_pairs,
}


def mine(
    config: str,
    images: Iterable[AnnotatedImage],
    dropped: Counter[str],
    rules: str = OURS,
    excluded: Collection[str] = (),
) -> Iterator[SwappedPair]:
    """Yield the pairs of a config in the order of the images, which are read twice.

    Rejected pairs are counted in ``dropped``, by reason. ``excluded``: relations that VG-Relation does not have.
    """
    attested = AttestedPairs.from_graphs(image.graph for image in images)
    for image in images:
        for pair in MINERS[config](image, attested, dropped, rules):
            if config == "vg_relation" and pair.category in excluded:
                dropped["the relation is excluded by the file"] += 1
            else:
                yield pair


class ExcludedRelations(NamedTuple):
    """The relations of a file."""

    path: Path
    relations: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> ExcludedRelations:
        """Read a file with one relation a line. Raises ValueError if it has none or cannot be read."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(
                f"{path} (params.yaml, aro.excluded_relations): not a text file in UTF-8 ({error})."
            ) from None
        relations = frozenset(" ".join(line.split()).lower() for line in lines if line.strip())
        odd = sorted(relation for relation in relations if not _RELATION.fullmatch(relation))
        if odd or not relations:
            what = f"{odd[0]!r} is no relation" if odd else "there is no relation"
            raise ValueError(
                f"{path} (params.yaml, aro.excluded_relations): {what}. Write one relation a line, without quotes."
            )
        return cls(path, relations)

    def describe(self, images: Iterable[AnnotatedImage]) -> dict[str, dict[str, int]]:
        """Return the counts of the card, by a title that names the file and its content."""
        present = {edge.predicate for image in images for edge in image.graph.relations}
        digest = hashlib.sha256("\n".join(sorted(self.relations)).encode()).hexdigest()[:12]
        return {
            f"vg_relation: relations excluded by the list {self.path.name} (SHA-256 {digest})": {
                "relations of the list": len(self.relations),
                "of these, relations of the source": len(self.relations & present),
            }
        }


def read_excluded_relations(rules: str) -> ExcludedRelations | None:
    """Return the relations of the file that params.yaml names, or None if it names none.

    Raises ValueError with other rules than the paper's, whose list of symmetric relations is not the user's.
    """
    path = read_params("aro").get("excluded_relations")
    if path and rules != PAPER:
        raise ValueError(
            f"params.yaml, aro.excluded_relations: {path} is for `rules: paper`, and rules is {rules}. Set it to null."
        )
    return ExcludedRelations.read(Path(path)) if path else None


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
    excluded: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a config. Rejected pairs are counted in ``dropped``, also those without a readable image.

    Raises ValueError if no pair has a readable image.
    """
    num_rows = 0
    for pair in mine(config, images, dropped, rules, excluded):
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
    rules = read_rules()
    excluded = read_excluded_relations(rules)
    funnels: dict[str, dict[str, int]] = {}
    for config in MINERS:
        dropped = Counter[str]()
        relations = excluded.relations if excluded else ()
        rows = make_rows(config, images, provenance, dropped, rules, relations)
        counts = dataset.write_config(
            output / dataset.PARTS / "aro", config, {"test": rows}, CHOICE_SCHEMA, pixels
        )
        funnels[f"{config}: pairs of objects"] = dict(sorted((+dropped).items())) | {
            "kept": counts["test"]
        }
    if excluded:
        funnels |= excluded.describe(images)
    funnels["Flawed records of the source"] = statistics["flaws"]
    write_json(output / "stats/aro/mined.json", {"funnels": funnels})


if __name__ == "__main__":
    stage.run(main)
