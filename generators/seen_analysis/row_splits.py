"""Assign each test row to a split for a training corpus.

Source: CREPE (arXiv:2212.07796), section 3.2 and Table 8. The splits are SC (seen compounds), UC (unseen compounds) and
UA (unseen atoms).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from generators.schemas.scene_graph import Atom, Compound
from generators.seen_analysis.splits import Split, choose_split


class Seen(NamedTuple):
    """The atoms and compounds of the test rows that occur in a corpus."""

    atoms: frozenset[Atom]
    compounds: frozenset[Compound]

    @classmethod
    def load(cls, path: Path) -> Seen:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: not found. Run `python -m generators.seen_analysis.seen {path.stem}` first."
            )
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(frozenset(Atom(*item) for item in data["atoms"]), frozenset(Compound(*i) for i in data["compounds"]))


def assign_splits(
    rows: Iterable[Mapping[str, Any]], seen: Seen, negatives: Mapping[str, int]
) -> tuple[list[Split], dict[str, dict[str, int]], dict[str, int]]:
    """Return the split of each row, the counts of Table 8, and the number of captions per split.

    ``negatives`` maps a kind of negatives to the required number per caption. Repeated rows are not counted. The counts
    of Table 8 are the distinct atoms and the distinct compounds of the rows with negatives; they include only seen
    compounds for SC and only unseen compounds for UC. The last value also counts the captions that have enough
    negatives of each kind.
    """
    splits: list[Split] = []
    unique_items: dict[str, dict[str, set[Any]]] = {name: {"atoms": set(), "compounds": set()} for name in ("sc", "uc")}
    funnel: Counter[str] = Counter()
    for row in rows:
        atoms = [Atom(**atom) for atom in row["atoms"]]
        compounds = [Compound(**compound) for compound in row["compounds"]]
        name = choose_split(atoms, compounds, seen.atoms, seen.compounds)
        splits.append(name)
        if row["repeated"]:
            continue
        if name != "ua" and any(row[kind] for kind in negatives):
            unique_items[name]["atoms"].update(atoms)
            of_split = (compound for compound in compounds if (compound in seen.compounds) == (name == "sc"))
            unique_items[name]["compounds"].update(of_split)
        funnel[name.upper()] += 1
        funnel[f"{name.upper()} with one compound"] += len(compounds) == 1
        for kind, count in negatives.items():
            funnel[f"{name.upper()} with {count} negatives, {kind}"] += bool(row[kind])
    table = {name: {kind: len(items) for kind, items in sets.items()} for name, sets in unique_items.items()}
    return splits, table, dict(sorted(funnel.items()))
