"""Assemble CREPE and write its card: configs, chance levels, and counts next to those of the paper.

    python -m loaders.cards.crepe        # the stage `crepe`

Source: Ma, Hong, Gul et al. 2023 (arXiv:2212.07796), section 4.3, appendix A.5 (Tables 5, 6 and 8).
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from generators.schemas.corpus_names import CORPORA
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.cards.parts import assemble
from loaders.papers.figures import figures, retrieval_set_size


def main(folder: Path = Path("crepe")) -> None:
    """Assemble the dataset in FOLDER from the sets in parts/ next to it, and write its card."""
    with assemble(folder) as scratch:
        stats = collect_stats(scratch, folder.parent)

        def rows(config: str, split: str = "test") -> int | None:
            return stats["rows"].get(config, {}).get(split)

        def negatives(config: str, split: str = "test") -> int | None:
            count, size = rows(config, split), retrieval_set_size(config)
            return None if count is None or size is None else count * (size - 1)

        text = render("crepe", stats=stats, paper=figures("crepe"), corpora=CORPORA, rows=rows, negatives=negatives)
        metadata = hub_metadata("CREPE", stats, ["zero-shot-image-classification", "image-to-text"])
        write_card(scratch, metadata, text, stats)


if __name__ == "__main__":
    stage.run(main)
