"""The targets of the seen analysis in the test rows, and the split (SC, UC, UA) of each row for a corpus.

Source: CREPE (arXiv:2212.07796), section 3.2 and Table 8.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from generators.schemas.scene_graph import Atom, Compound, SceneGraph
from generators.seen_analysis.splits import Split, choose_split
from generators.seen_analysis.targets import Targets


def collect_targets(rows: Iterable[Mapping[str, Any]]) -> Targets:
    """Return the atoms and compounds of the rows' scene graphs."""
    return Targets.of(SceneGraph.from_row(row["scene_graph"]) for row in rows)


class Seen(NamedTuple):
    """The atoms and compounds of the test set that a corpus contains."""

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
    """Return the split of each row, Table 8 and the funnel; ``negatives`` is the number of negatives by kind.

    Table 8: distinct atoms, and distinct seen (SC) or unseen (UC) compounds, of the rows with negatives. Funnel: the
    number of captions per split, and of those that have enough negatives for each set.
    """
    splits: list[Split] = []
    unique: dict[str, dict[str, set[Any]]] = {name: {"atoms": set(), "compounds": set()} for name in ("sc", "uc")}
    funnel: Counter[str] = Counter()
    for row in rows:
        atoms = [Atom(**atom) for atom in row["atoms"]]
        compounds = [Compound(**compound) for compound in row["compounds"]]
        name = choose_split(atoms, compounds, seen.atoms, seen.compounds)
        splits.append(name)
        if name != "ua" and any(row[kind] for kind in negatives):
            unique[name]["atoms"].update(atoms)
            unique[name]["compounds"].update(one for one in compounds if (one in seen.compounds) == (name == "sc"))
        funnel[name.upper()] += 1
        funnel[f"{name.upper()} with one compound"] += len(compounds) == 1
        for kind, count in negatives.items():
            funnel[f"{name.upper()} with {count} negatives, {kind}"] += bool(row[kind])
    table = {name: {kind: len(items) for kind, items in sets.items()} for name, sets in unique.items()}
    return splits, table, dict(sorted(funnel.items()))
