"""The card of the retrieval sets: Karpathy's test splits, whole and perturbed.

    python -m loaders.cards.retrieval        # with the stage `aro`: retrieval/README.md and retrieval/stats.json

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Tables 3 and 4.
"""

from __future__ import annotations

from pathlib import Path

from generators.storage import stage
from generators.storage.params import block
from loaders.cards.card import Stats, funnels, licence, stand_in, table, write_measured_card

PUBLISHED_IMAGES = {"coco": 5_000, "flickr30k": 1_000}
"""Images of Karpathy's test splits (section 3.1)."""


def body(stats: Stats) -> str:
    """The card's text."""
    counts = [
        (config, stats["rows"].get(config, {}).get("test", "-"), images) for config, images in PUBLISHED_IMAGES.items()
    ]
    return f"""# Retrieval under perturbations of captions and images

{stand_in(stats["source"])}Image-to-text and text-to-image retrieval after Yuksekgonul et al. 2023
([arXiv:2210.01936](https://arxiv.org/abs/2210.01936)), section 3.1; dataset version `{stats["version"]}`.

{table(("config", "images", "images of the published split"), counts)}
A row is an image with its captions. The splits `test.<perturbation>.s0` to `s2` have the same captions in another word
order, or the same images with their tiles (4 rows, 4 columns or 9 patches) in another order; the split
`test.shuffle_trigrams.s0` is the task `retrieval/coco@shuffle_trigrams-s0`.

## What was dropped, and where

{funnels(stats)}
## Licence and source

{licence(stats["source"])}
"""


def main(folder: Path = Path("retrieval")) -> None:
    """Write the card of FOLDER."""
    write_measured_card(folder, "Perturbed retrieval", block("source"), ["image-to-text"], body)


if __name__ == "__main__":
    stage.run(main)
