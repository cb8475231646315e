"""Write the card of the minimal pairs.

python -m loaders.cards.minimal_pairs        # after generators.minimal_pairs
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from loaders.cards.card import collect_stats, hub_metadata, render, write_card


def main(folder: Path = Path("minimal_pairs")) -> None:
    """Write the card of the dataset in FOLDER."""
    stats = collect_stats(folder)
    text = render("minimal_pairs", stats=stats)
    write_card(folder, hub_metadata("Minimal pairs", stats, ["image-to-text"]), text, stats)


if __name__ == "__main__":
    stage.run(main)
