"""Write the card of a generated dataset, whose sets are first put into one folder if several stages make them.

    # the stage `crepe`; after compeval.generators.compun: `compun`, and so on
    python -m compeval.loaders.cards.write crepe

Counts and scores of the papers stand next to ours: CREPE (arXiv:2212.07796, section 4.3, Tables 5, 6 and 8), ARO
(arXiv:2210.01936, sections 2 and 3.1, Tables 2 to 5), CompPrompts and ControlledImCaps (arXiv:2305.14897, sections 2
and 4, Tables 2 to 4), Compun (arXiv:2404.00419, section 6, Tables 1 and 2). CREPE, ARO and Compun compare their results
with zero-shot classification.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from compeval.base.pipeline import stage
from compeval.base.pipeline.params import PAPER, read_rules
from compeval.base.schemas.corpus_names import CORPORA
from compeval.base.storage import parquet
from compeval.loaders.cards.card import collect_stats, hub_metadata, render, write_card
from compeval.loaders.cards.parts import assemble
from compeval.loaders.datasets.stats import Stats, measure
from compeval.loaders.papers.figures import figures, retrieval_set_size
from compeval.loaders.papers.prompt_types import PROMPT_TYPES, TOTAL_PROMPTS

PARAMS = Path("params.yaml")
FOLLOWS_RULES = frozenset({"aro", "compun", "crepe", "retrieval"})
"""The datasets that the parameter ``rules`` changes."""
PAPER_NOTE = """
## Rules

Made with `rules: paper`, the procedure of the paper to the letter; docs/papers.md names what still deviates.
"""
UNPROVEN_NOTE = "Hard negatives are not proven to be false.\n"
"""Sentence of the cards of datasets with hard negatives that are made by the rules of the papers."""
WITH_HARD_NEGATIVES = frozenset({"aro", "crepe"})

COMPUN_VARIANTS = (
    "template",
    "reversed",
    "descriptors",
    *(f"examples-{count}" for count in range(1, 8)),
)

PROMPTED_SPLITS = (
    "test.descriptors",
    *(f"test.examples.{count}" for count in range(1, 8)),
    "test.notebook.5",
)
"""The splits of Compun that need answers of a language model by the paper's rules."""


def count_crepe(folder: Path, stats: Stats) -> dict[str, Any]:
    """Return functions that count the rows and the negatives of a config."""

    def rows(config: str, split: str = "test") -> int | None:
        return stats["rows"].get(config, {}).get(split)

    def negatives(config: str, split: str = "test") -> int | None:
        count = rows(config, split)
        size = retrieval_set_size(config)
        return None if count is None or size is None else count * (size - 1)

    return {"corpora": CORPORA, "rows": rows, "negatives": negatives}


def is_by_paper() -> bool:
    """Return True if params.yaml has ``rules: paper``."""
    return PARAMS.exists() and read_rules() == PAPER


def count_classes(folder: Path, stats: Stats) -> dict[str, Any]:
    """Return the number of distinct labels in each config."""
    labels: dict[str, set[int]] = {config: set() for config in stats["rows"]}
    for name in stats["files"]:
        column = parquet.read_table(folder / name, ["label"])["label"]
        labels[Path(name).parent.name].update(column.unique().to_pylist())
    return {"classes": {config: len(distinct) for config, distinct in labels.items()}}


def check_compprompts(folder: Path, stats: Stats) -> dict[str, Any]:
    """Return the prompt types. Raises ValueError if a config does not have the declared number of rows."""
    counts = {config: sum(splits.values()) for config, splits in stats["rows"].items()}
    wrong = [
        f"{config}: {counts.get(config, 0):,} rows, {declared.num_prompts:,} expected"
        for config, declared in PROMPT_TYPES.items()
        if counts.get(config, 0) != declared.num_prompts
    ]
    if wrong:
        raise ValueError(
            f"{folder}: {'; '.join(wrong)} (loaders/papers/prompt_types.csv). Run `dvc repro compprompts`."
        )
    added = {config: count for config, count in counts.items() if config not in PROMPT_TYPES}
    return {"total": TOTAL_PROMPTS, "prompt_types": PROMPT_TYPES, "added": added}


def check_compun(folder: Path, stats: Stats) -> dict[str, Any]:
    """Return the number of nouns in each category. Raises ValueError if a compound or a split is missing.

    By the paper's rules, a split lacks the compounds without answers of a language model.
    """
    rows = stats["rows"]
    nouns = figures("compun")["nouns"]
    if rows["nouns"]["test"] != nouns:
        raise ValueError(
            f"{folder}/nouns: {rows['nouns']['test']} rows, {nouns} expected. Run `dvc repro compun`."
        )
    is_complete = len(rows["main"]) == len(COMPUN_VARIANTS) and len(set(rows["main"].values())) == 1
    if not is_complete and not is_by_paper():
        raise ValueError(
            f"{folder}/main: splits of equal length expected for {', '.join(COMPUN_VARIANTS)}, got {rows['main']}."
        )
    tables = (
        parquet.read_table(path, ["category"]) for path in (folder / "nouns").glob("*.parquet")
    )
    return {
        "categories": Counter(name for table in tables for name in table["category"].to_pylist()),
        "missing": [f"`{split}`" for split in PROMPTED_SPLITS if split not in rows["main"]],
    }


class Card(NamedTuple):
    """The card of a dataset. Its text is ``templates/<dataset>.md.j2``."""

    title: str
    tasks: tuple[str, ...] = ()
    """Categories of tasks on the Hub."""
    is_assembled: bool = False
    """True if several stages make the sets of the dataset, in parts/."""
    values: Callable[[Path, Stats], Mapping[str, Any]] = lambda folder, stats: {}
    """Function that returns what else the template shows. Raises ValueError if the dataset is not complete."""
    licence: str | None = None
    """Licence, if it is not that of the images."""
    metadata: Mapping[str, Any] | None = None
    """Metadata of a dataset whose rows do not name the sources of their images."""


CLASSIFY = "zero-shot-image-classification"
RETRIEVE = "image-to-text"
CARDS = {
    "crepe": Card("CREPE", (CLASSIFY, RETRIEVE), is_assembled=True, values=count_crepe),
    "aro": Card("ARO", (CLASSIFY,), is_assembled=True),
    "retrieval": Card("Perturbed retrieval", (RETRIEVE,), is_assembled=True),
    "controlledimcaps": Card("ControlledImCaps", (RETRIEVE,)),
    "minimal_pairs": Card("Minimal pairs", (RETRIEVE,)),
    "compun": Card("Compun", (CLASSIFY,), values=check_compun, licence="cc-by-nc-4.0"),
    "classification": Card(
        "Zero-shot classification",
        values=count_classes,
        metadata={"license": "other", "task_categories": ["image-classification"]},
    ),
    "compprompts": Card(
        "CompPrompts",
        values=check_compprompts,
        metadata={
            "license": "cc0-1.0",
            "language": ["en"],
            "task_categories": ["feature-extraction"],
            "tags": ["compositionality", "vision-language", "probing"],
            "size_categories": ["10K<n<100K"],
        },
    ),
}


def main(
    name: str, folder: Path | None = None, root: Path | None = None, without: str | None = None
) -> None:
    """Write the card of the dataset NAME, in a folder of the same name unless --folder is given.

    Args:
        root: The folder of parts/ and stats/. Default: that of the dataset folder.
        without: Regular expression. Sets in whose name it is found are left out.
    """
    if name not in CARDS:
        raise ValueError(f"{name} has no card here; known: {', '.join(CARDS)}.")
    card = CARDS[name]
    folder = folder or Path(name)
    with assemble(folder, root, without) if card.is_assembled else nullcontext(folder) as target:
        if card.metadata is None:
            stats = collect_stats(target, root or folder.parent, without)
            metadata = hub_metadata(card.title, stats, card.tasks)
            metadata |= {"license": card.licence or metadata["license"]}
        else:
            stats = measure(target) | {"source": name}
            metadata = {"pretty_name": card.title, **card.metadata}
        by_paper = name in FOLLOWS_RULES and is_by_paper()
        values = {**card.values(target, stats), "by_paper": by_paper}
        text = render(name, stats=stats, figures=figures, **values)
        if by_paper:
            text = f"{text.rstrip()}\n{PAPER_NOTE}"
            text += UNPROVEN_NOTE if name in WITH_HARD_NEGATIVES else ""
        write_card(target, metadata, text, stats)


if __name__ == "__main__":
    stage.run(main)
