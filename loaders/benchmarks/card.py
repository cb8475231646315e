"""The card of an imported dataset: its files, what became of their rows, and their flaws."""

from __future__ import annotations

from typing import Any

from loaders.audit import NAMES
from loaders.benchmarks.rows import Family
from loaders.cards.card import Stats, table


def metadata(family: Family, stats: Stats) -> dict[str, Any]:
    """The card's YAML metadata, in the Hub's vocabulary."""
    return {
        "pretty_name": family.title,
        "license": family.licence,
        "language": ["en"],
        "tags": ["compositionality", "vision-language", "imported"],
    }


def body(family: Family, stats: Stats) -> str:
    """The card's text."""
    files = [
        (
            entry["file"],
            entry["sha256"][:12],
            entry["read"],
            sum(entry["written"].values()),
            _counts(entry["dropped"]),
            _counts(entry["repaired"]) if entry["repair"] else "as published",
        )
        for entry in stats["imported"].values()
    ]
    audits = [
        (split, found["rows"], found["negatives"], f"{found['chance']:.1%}", *(found["flaws"][name] for name in NAMES))
        for entry in stats["imported"].values()
        for split, found in entry["audits"].items()
    ]
    return f"""# {family.title}

Imported from the files of {family.paper} ({family.url}); dataset version `{stats["version"]}`. The texts are the
authors', and so are their flaws.

## Files

{table(("file", "sha256", "rows read", "written", "dropped", "repaired"), files)}
## Flaws, as published

Of rows: truth, case, duplicated, unordered; of negatives: the others (loaders/audit.py has the definitions).

{table(("split", "rows", "negatives", "chance of R@1", *NAMES), audits)}"""


def _counts(counts: dict[str, int]) -> str:
    return "; ".join(f"{reason}: {count:,}" for reason, count in counts.items() if count) or "-"
