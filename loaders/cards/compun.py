"""Check the dataset folder of Compun and write its card.

    python -m loaders.cards.compun        # after generators.compun

Source: Kumar et al. 2024 (arXiv:2404.00419), section 6, Tables 1 and 2, appendix A.3.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from generators.pipeline import stage
from generators.storage import parquet
from loaders.cards.card import collect_stats, hub_metadata, render, write_card
from loaders.papers.figures import figures

VARIANTS = ("template", "reversed", "descriptors", *(f"examples-{count}" for count in range(1, 8)))


def count_categories(folder: Path) -> Counter[str]:
    """Return the number of nouns in each category."""
    files = sorted((folder / "nouns").glob("*.parquet"))
    return Counter(name for path in files for name in parquet.read_table(path, ["category"])["category"].to_pylist())


def main(folder: Path = Path("compun")) -> None:
    """Check FOLDER and write its card. Raises ValueError if a compound or a split is missing."""
    stats = collect_stats(folder)
    paper, rows = figures("compun"), stats["rows"]
    if rows["nouns"]["test"] != paper["nouns"]:
        raise ValueError(
            f"{folder}/nouns: {rows['nouns']['test']} rows, {paper['nouns']} expected. Run `dvc repro compun`."
        )
    if len(rows["main"]) != len(VARIANTS) or len(set(rows["main"].values())) != 1:
        raise ValueError(
            f"{folder}/main: splits of equal length expected for {', '.join(VARIANTS)}, got {rows['main']}."
        )
    metadata = hub_metadata("Compun", stats, ["zero-shot-image-classification"]) | {"license": "cc-by-nc-4.0"}
    text = render("compun", stats=stats, paper=paper, categories=count_categories(folder))
    write_card(folder, metadata, text, stats)


if __name__ == "__main__":
    stage.run(main)
