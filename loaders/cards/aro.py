"""Assemble ARO and write its card.

    python -m loaders.cards.aro        # the stage `aro`

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2, Tables 2 and 5, appendix A.1.
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.cards.parts import assemble
from loaders.papers.figures import figures


def main(folder: Path = Path("aro")) -> None:
    """Assemble the dataset in FOLDER from the sets in parts/ next to it, and write its card."""
    with assemble(folder) as scratch:
        stats = collect_stats(scratch, folder.parent)
        rows = {config: next(iter(splits.values())) for config, splits in stats["rows"].items()}
        text = render("aro", stats=stats, rows=rows, paper=figures("aro"))
        write_card(scratch, hub_metadata("ARO", stats, ["zero-shot-image-classification"]), text, stats)


if __name__ == "__main__":
    stage.run(main)
