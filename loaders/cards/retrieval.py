"""Write the card of the retrieval datasets: Karpathy's test splits, unchanged and perturbed.

    python -m loaders.cards.retrieval        # part of the stage `aro`: writes retrieval/README.md and stats.json

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Tables 3 and 4.
"""

from __future__ import annotations

from pathlib import Path

from generators.storage import stage
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.papers.figures import figures


def main(folder: Path = Path("retrieval")) -> None:
    """Write the card of the dataset in FOLDER."""
    stats = collect_stats(folder)
    text = render("retrieval", stats=stats, paper=figures("retrieval"))
    write_card(folder, hub_metadata("Perturbed retrieval", stats, ["image-to-text"]), text, stats)


if __name__ == "__main__":
    stage.run(main)
