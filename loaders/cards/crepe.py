"""CREPE's card: what the configs are, their chance levels, and their counts beside the paper's.

    python -m loaders.cards.crepe        # the `card` stage: writes crepe/README.md and crepe/stats.json

Source: Ma, Hong, Gul et al. 2023 (arXiv:2212.07796), section 4.3, appendix A.5 (Tables 5 and 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generators.schemas.corpus_names import CORPORA
from generators.storage import stage
from generators.storage.params import block
from loaders.cards.card import Stats, funnels, hub_metadata, licence, measured, stand_in, table, write_card

RETRIEVAL_SET_SIZE = {
    "hnatom": 5,
    "hncomp": 7,
    "hnall": 11,
    "prod_hnatom": 6,
    "prod_hnswap": 6,
    "prod_hnneg": 6,
    "prod_hnneg_balanced": 6,
    "prod_hnall": 16,
}
"""Captions per image, the true one included (Table 6); chance of Recall@1 is its inverse."""

PUBLISHED_SYSTEMATICITY = {
    "cc12m_sc": (262_541, 104_024, 156_036),
    "cc12m_uc": (113_659, 14_348, 21_522),
    "cc12m_ua": (9_577, None, None),
    "yfcc_sc": (194_502, 75_948, 113_922),
    "yfcc_uc": (172_469, 39_204, 58_806),
    "yfcc_ua": (18_806, None, None),
    "laion_sc": (170_253, 62_884, 94_326),
    "laion_uc": (201_595, 49_604, 74_406),
    "laion_ua": (1_855, None, None),
}
"""Table 5: ground truths, HN-Atom captions, HN-Comp captions."""

PUBLISHED_PRODUCTIVITY = {
    4: (1_508, 6_290, 135, 2_510),
    5: (1_734, 7_270, 180, 3_425),
    6: (1_905, 9_025, 1_310, 6_565),
    7: (2_171, 10_410, 2_525, 7_845),
    8: (2_247, 11_205, 4_955, 10_210),
    9: (1_969, 9_485, 4_420, 8_310),
    10: (2_246, 11_325, 6_465, 10_460),
    11: (1_895, 8_620, 5_380, 7_925),
    12: (1_878, 10_005, 7_890, 9_710),
}
"""Table 5: ground truths, HN-Atom, HN-Swap and HN-Neg captions."""

PUBLISHED_UNIQUE = {
    "cc12m": ((3_348, 26_006), (946, 3_587)),
    "yfcc": ((3_173, 18_987), (1_405, 9_801)),
    "laion": ((2_968, 12_401), (1_951, 15_721)),
}
"""Table 8: unique atoms and compounds of the hard-negative sets, SC then UC."""


def retrieval_set_size(config: str) -> int | None:
    """Captions per image of a hard-negative config, None for a raw one."""
    name = config if config.startswith("prod_") else config.rsplit("_", 1)[-1]
    return RETRIEVAL_SET_SIZE.get(name)


def _negatives(stats: Stats, config: str, split: str) -> int | None:
    """Hard-negative captions of a split: rows times negatives per row; None where the config was not built."""
    rows, size = stats["rows"].get(config, {}).get(split), retrieval_set_size(config)
    return None if rows is None or size is None else rows * (size - 1)


def _beside(ours: int | None, published: int | None) -> str:
    return f"{'-' if ours is None else f'{ours:,}'} ({'-' if published is None else f'{published:,}'})"


def systematicity_table(stats: Stats) -> str:
    """Table 5, left half: ours, and the published count in brackets."""
    rows = []
    for key, (truths, atom, comp) in PUBLISHED_SYSTEMATICITY.items():
        corpus, split = key.split("_")
        ours = stats["rows"].get(f"{key}_raw", {}).get("test")
        rows.append(
            (
                f"{CORPORA[corpus]} {split.upper()}",
                _beside(ours, truths),
                _beside(_negatives(stats, f"{key}_hnatom", "test"), atom),
                _beside(_negatives(stats, f"{key}_hncomp", "test"), comp),
            )
        )
    return table(("split", "ground truths", "HN-Atom", "HN-Comp"), rows)


def productivity_table(stats: Stats) -> str:
    """Table 5, right half: ours, and the published count in brackets."""
    rows = []
    for n, (truths, *negatives) in PUBLISHED_PRODUCTIVITY.items():
        configs = ("prod_hnatom", "prod_hnswap", "prod_hnneg", "prod_hnneg_balanced")
        ours = [_negatives(stats, config, f"n{n}") for config in configs]
        raw = stats["rows"].get("prod_raw", {}).get(f"n{n}")
        rows.append((f"n = {n}", _beside(raw, truths), *map(_beside, ours, (*negatives, None))))
    return table(("complexity", "ground truths", "HN-Atom", "HN-Swap", "HN-Neg", "HN-Neg balanced"), rows)


def unique_table(unique: Mapping[str, Any]) -> str:
    """Table 8: unique atoms and compounds in the hard-negative sets, the published count in brackets."""
    rows = []
    for corpus, published in PUBLISHED_UNIQUE.items():
        cells = [
            _beside(unique.get(corpus, {}).get(split, {}).get(what), count)
            for split, counts in zip(("sc", "uc"), published, strict=True)
            for what, count in zip(("atoms", "compounds"), counts, strict=True)
        ]
        rows.append((CORPORA[corpus], *cells))
    return table(("corpus", "SC atoms", "SC compounds", "UC atoms", "UC compounds"), rows)


def body(stats: Stats, source: str) -> str:
    """The card's text."""
    chance = [(config, size, f"{1 / size:.1%}") for config, size in RETRIEVAL_SET_SIZE.items()]
    note = stand_in(source, "The corpora called cc12m, yfcc and laion are its own.")
    return f"""# CREPE: systematicity and productivity

{note}Image-to-text retrieval with hard negatives, after Ma et al. 2023 ([arXiv:2212.07796](https://arxiv.org/abs/2212.07796)),
generated from `{source}`; dataset version `{stats["version"]}`.

- `<corpus>_{{sc,uc}}_{{hnatom,hncomp,hnall}}`: one caption with one compound, beside 4 HN-Atom, 6 HN-Comp or all 10
  hard negatives. SC: all compounds occur in the corpus; UC: all atoms do, some compound does not.
- `<corpus>_{{sc,uc,ua}}_raw`: image-caption pairs; UA: some atom does not occur in the corpus.
- `prod_*`: captions of n = 4 to 12 atoms, splits `n4` to `n12`, with 5 hard negatives of a type.
- `prod_hnneg_balanced` is no part of the paper: its true captions deny something, too ("the vase is not blue", of a
  green one), since a caption with "not" or "no" in it is otherwise always the negative. They assert n - 1 of the
  graph's n atoms and deny a contrary of the other one.

## Chance

{table(("config", "captions per image", "chance of R@1"), chance)}
## Counts

Ours, and the paper's (Table 5) in brackets.

{systematicity_table(stats)}
{productivity_table(stats)}
Unique atoms and compounds of the hard-negative sets (Table 8).

{unique_table(stats.get("unique", {}))}
## What was dropped, and where

{funnels(stats)}
## Known flaws

The scores of text-only scorers, which see no image, are in [TEXT_ONLY.md](TEXT_ONLY.md), before and after adversarial
refinement (stage `text_only`). By construction they recognise the negatives of `prod_hnneg` and five of those of
`prod_hnall` (a negation), and those of `hncomp` (two captions joined by "and").

Hard negatives are checked against the image's scene graph, and a graph says less than its image shows. A negative that
happens to be true is possible wherever an annotation is missing; the report gives the measured share for the
micro-world, where the truth is known.

## Licence and source

{licence(source)}
"""


def main() -> None:
    """Measure the folder, add what the generating stages counted, and write the card."""
    source = block("source")
    stats = measured(Path("crepe"), source)
    tags = ["zero-shot-image-classification", "image-to-text"]
    write_card(Path("crepe"), hub_metadata("CREPE", stats, tags), body(stats, source), stats)


if __name__ == "__main__":
    stage.run(main)
