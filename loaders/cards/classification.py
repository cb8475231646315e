"""Write the card of the zero-shot classification datasets.

    python -m loaders.cards.classification        # after generators.classification

CREPE (arXiv:2212.07796, Figures 7 and 8), ARO (arXiv:2210.01936, Table 6) and Compun (arXiv:2404.00419, Table 3)
compare their results with accuracy on ImageNet, CIFAR-10 and CIFAR-100.
"""

from __future__ import annotations

from pathlib import Path

from generators.pipeline import stage
from generators.storage import parquet
from loaders.cards.card import render, write_card
from loaders.datasets.stats import Stats, measure


def count_classes(folder: Path, stats: Stats) -> dict[str, int]:
    """Return the number of distinct labels in each config."""
    labels: dict[str, set[int]] = {config: set() for config in stats["rows"]}
    for name in stats["files"]:
        column = parquet.read_table(folder / name, ["label"])["label"]
        labels[Path(name).parent.name].update(column.unique().to_pylist())
    return {config: len(distinct) for config, distinct in labels.items()}


def main(folder: Path = Path("classification")) -> None:
    """Write the card of the dataset in FOLDER."""
    stats: Stats = measure(folder) | {"source": "classification"}
    metadata = {
        "pretty_name": "Zero-shot classification",
        "license": "other",
        "task_categories": ["image-classification"],
    }
    text = render("classification", stats=stats, classes=count_classes(folder, stats))
    write_card(folder, metadata, text, stats)


if __name__ == "__main__":
    stage.run(main)
