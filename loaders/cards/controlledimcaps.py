"""Write ControlledImCaps' card, with the paper's scores of CLIP ViT-L/14.

    python -m loaders.cards.controlledimcaps        # after generators.controlledimcaps

Source: Kamath, Hessel and Chang 2023 (arXiv:2305.14897), sections 2.2 and 4, Table 4, Figure 3.
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.papers.figures import figures


def main(folder: Path = Path("controlledimcaps")) -> None:
    """Write the card of the dataset in FOLDER."""
    stats = collect_stats(folder)
    text = render("controlledimcaps", stats=stats, paper=figures("controlledimcaps"))
    write_card(folder, hub_metadata("ControlledImCaps", stats, ["image-to-text"]), text, stats)


if __name__ == "__main__":
    stage.run(main)
