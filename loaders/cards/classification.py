"""The card of the zero-shot classification sets: classes, pictures, chance.

    python -m loaders.cards.classification        # after generators.classification: writes the folder's card

CREPE (arXiv:2212.07796, Figures 7 and 8), ARO (arXiv:2210.01936, Table 6) and Compun (Table 3) set their results beside
accuracy on ImageNet, CIFAR-10 and CIFAR-100.
"""

from __future__ import annotations

from pathlib import Path

from generators.storage import parquet, stage
from loaders.cards.card import Stats, measure, table, write_card

FOLDER = Path("classification")


def classes(folder: Path, stats: Stats) -> dict[str, int]:
    """Config -> how many classes its pictures show."""
    shown: dict[str, set[int]] = {config: set() for config in stats["rows"]}
    for name in stats["files"]:
        labels = parquet.read_table(folder / name, ["label"])["label"]
        shown[Path(name).parent.name].update(labels.unique().to_pylist())
    return {config: len(labels) for config, labels in shown.items()}


def body(stats: Stats, count: dict[str, int]) -> str:
    """The card's text."""
    rows = [
        (config, count[config], splits["test"], f"{1 / count[config]:.1%}") for config, splits in stats["rows"].items()
    ]
    return f"""# Zero-shot classification

Which of the classes does a picture show? Each class is the mean of open_clip's 80 prompts with its name. Dataset
version `{stats["version"]}`.

{table(("config", "classes", "pictures", "chance of top1"), rows)}
`microworld` is a synthetic stand-in: drawn pictures of one thing each, as many of every noun, from image ids that no
training or test scene has. The others are a user's own copies in their published formats.

## Licence

The micro-world's pictures: CC0-1.0. ImageNet and CIFAR have their own terms: do not publish this folder with them.
"""


def main(folder: Path = FOLDER) -> None:
    """Write the card of FOLDER."""
    stats: Stats = measure(folder) | {"source": "classification"}
    metadata = {
        "pretty_name": "Zero-shot classification",
        "license": "other",
        "task_categories": ["image-classification"],
    }
    write_card(folder, metadata, body(stats, classes(folder, stats)), stats)


if __name__ == "__main__":
    stage.run(main)
