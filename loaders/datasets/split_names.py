"""Names of splits and tasks: ``dataset/config[/split][@variant]``; the split ``test`` is omitted.

``datasets`` allows no ``@`` and no ``-`` in the name of a split. So the split ``test@shuffle_trigrams-s0`` is stored as
``test.shuffle_trigrams.s0``. Every other name has the first form, in which the config ``coco`` of ``retrieval`` has the
task ``retrieval/coco@shuffle_trigrams-s0``.
"""


def parse_stored(stored: str) -> tuple[str, str]:
    """Return the split and the variant ("" for none) of a split as it is stored."""
    split, _, variant = stored.partition(".")
    return split, variant.replace(".", "-")


def name_split(stored: str) -> str:
    """Return the name of a stored split: ``test@shuffle_trigrams-s0`` for ``test.shuffle_trigrams.s0``."""
    split, variant = parse_stored(stored)
    return f"{split}@{variant}" if variant else split


def to_stored(name: str) -> str:
    """Return the stored name of a split: ``test.shuffle_trigrams.s0`` for ``test@shuffle_trigrams-s0``."""
    split, at, variant = name.partition("@")
    return f"{split or 'test'}.{variant.replace('-', '.')}" if at else name


def join_name(dataset: str, config: str, split: str = "test", variant: str = "") -> str:
    """Return the name of a task."""
    return (
        f"{dataset}/{config}"
        + ("" if split == "test" else f"/{split}")
        + (f"@{variant}" if variant else "")
    )


def name_of_stored(dataset: str, config: str, stored: str) -> str:
    """Return the name of the task of a stored split."""
    return join_name(dataset, config, *parse_stored(stored))
