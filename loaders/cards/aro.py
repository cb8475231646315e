"""ARO's card: what its four sets ask, their chance levels, and their counts beside the paper's.

    python -m loaders.cards.aro        # with the stage `aro`: aro/README.md and aro/stats.json

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2, Tables 2 and 5, appendix A.1.
"""

from __future__ import annotations

from pathlib import Path

from generators.storage import stage
from generators.storage.params import block
from loaders.cards.card import Stats, funnels, licence, stand_in, table, write_measured_card

OPTIONS = {"vg_relation": 2, "vg_attribution": 2, "coco_order": 5, "flickr30k_order": 5}
"""Captions per image, the true one included; chance is the inverse."""

PUBLISHED_ROWS = {"vg_relation": 23_937, "vg_attribution": 28_748, "coco_order": 25_010, "flickr30k_order": 5_000}
"""Section 2.1; the order sets have one row a caption of Karpathy's test splits."""

RELATIONS: dict[str, int] = {
    **{"above": 269, "at": 75, "behind": 574, "below": 209, "beneath": 10, "in": 708, "in front of": 588, "inside": 58},
    **{"on": 1684, "on top of": 201, "to the left of": 7741, "to the right of": 7741, "under": 132, "carrying": 12},
    **{"covered by": 36, "covered in": 14, "covered with": 16, "covering": 33, "cutting": 12, "eating": 21},
    **{"feeding": 10, "grazing on": 10, "hanging on": 14, "holding": 142, "leaning on": 12, "looking at": 31},
    **{"lying in": 15, "lying on": 60, "parked on": 21, "reflected in": 14, "resting on": 13, "riding": 51},
    **{"sitting at": 26, "sitting in": 23, "sitting on": 175, "sitting on top of": 10, "standing by": 12},
    **{"standing in": 59, "standing on": 52, "surrounded by": 14, "using": 19, "walking in": 10, "walking on": 19},
    **{"watching": 22, "wearing": 949},
}
"""The 45 relations of Table 2 with their rows, 21,917 of the 23,937: the published macro accuracy is their mean."""


def body(stats: Stats) -> str:
    """The card's text."""
    ours = {config: next(iter(splits.values())) for config, splits in stats["rows"].items()}
    counts = [
        (config, size, f"{1 / size:.0%}", ours.get(config, "-"), PUBLISHED_ROWS[config])
        for config, size in OPTIONS.items()
    ]
    return f"""# ARO: attribution, relation and order

{stand_in(stats["source"])}After Yuksekgonul et al. 2023 ([arXiv:2210.01936](https://arxiv.org/abs/2210.01936)),
generated from `{stats["source"]}`; dataset version `{stats["version"]}`.

- `vg_relation`: which of two captions, "the A is R the B" or "the B is R the A", is true of the crop around A and B?
- `vg_attribution`: the same with the attributes of A and B exchanged.
- `coco_order`, `flickr30k_order`: a caption beside four perturbations of its word order (nouns and adjectives, all but
  these, trigrams, within trigrams, in this order), drawn with five seeds: splits `test.s0` to `test.s4`.

{table(("config", "captions", "chance", "rows", "rows of the published set"), counts)}
A row's `categories` name its relation and whether that is spatial or a verb, or its two attributes in order. Macro
accuracy is the mean over relations (or attribute pairs) whatever their rows, micro the mean over rows.

## How it differs from the published sets

- Symmetric relations are removed by a list with a reason for each (`generators/language/lexicon/not_asymmetric.yaml`).
- A row is dropped where the annotations leave open that its swapped caption is true, too. The published sets keep them.
- A perturbed caption differs from the true one in nothing but the order of its words: spaces and punctuation stay
  where they are, and no option has a sentence's capital. None equals the caption; a caption without another order is
  left out.

## What was dropped, and where

{funnels(stats)}
## Known flaws

The captions of the mined sets can often be told apart by plausibility alone ("the grass is eating the horse"), and
shuffled captions by their grammar: look at the scores of the text-only baselines before you read anything into those of
a model. "Small" and "large" are said of the whole image, which the crop does not show.

## Licence and source

{licence(stats["source"])}
"""


def main(folder: Path = Path("aro")) -> None:
    """Write the card of FOLDER."""
    write_measured_card(folder, "ARO", block("source"), ["zero-shot-image-classification"], body)


if __name__ == "__main__":
    stage.run(main)
