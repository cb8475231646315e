"""Assemble the retrieval datasets and write their card: Karpathy's test splits, unchanged and perturbed.

    python -m loaders.cards.retrieval        # the stage `retrieval`

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Tables 3 and 4.
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.cards.parts import assemble
from loaders.papers.figures import figures


def main(folder: Path = Path("retrieval")) -> None:
    """Assemble the dataset in FOLDER from the sets in parts/ next to it, and write its card."""
    with assemble(folder) as scratch:
        stats = collect_stats(scratch, folder.parent)
        text = render("retrieval", stats=stats, paper=figures("retrieval"))
        write_card(scratch, hub_metadata("Perturbed retrieval", stats, ["image-to-text"]), text, stats)


if __name__ == "__main__":
    stage.run(main)
