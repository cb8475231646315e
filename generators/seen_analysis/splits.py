"""Filter the region captions of the systematicity test set, and assign the test rows to splits for a training corpus.

Source: CREPE (arXiv:2212.07796), section 3.2 and Table 8 (the splits sc: seen compounds, uc: unseen compounds, ua:
unseen atoms) and section 4.1 (filters). As in section 5, captions can have their spelling corrected before they are
parsed (params.yaml, ``spelling``). Difference from the paper: they are normalised.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from compeval.base.schemas.scene_graph import Atom, Box, Compound, SceneGraph
from compeval.base.storage.crops import round_corners

Split = Literal["sc", "uc", "ua"]

MIN_AREA = 40_000
"""Pixels."""
MIN_SHARE = 0.1
"""Fraction of the image's area."""
ASPECT_RATIOS = (0.5, 2.0)
"""Smallest and largest width / height."""
MIN_ATOMS = 2

SMALL = "crop under 40,000 pixels"
SMALL_SHARE = "crop under 10 % of the image"
STRETCHED = "crop width/height outside 0.5 to 2.0"
WORDLESS = "caption without words"
UNPARSED = "caption that the parser cannot parse"
FEW_ATOMS = "caption with fewer than 2 atoms"
NO_COMPOUND = "caption without a compound"
REPEATED = "caption with the scene graph of an earlier one"
REASONS = (SMALL, SMALL_SHARE, STRETCHED, WORDLESS, UNPARSED, FEW_ATOMS, NO_COMPOUND, REPEATED)
"""The reasons to remove a region, in the order of the filters."""


class Funnel:
    """Counts the regions that pass all filters, and the regions that each filter removes."""

    def __init__(self) -> None:
        self._counts = Counter[str | None]()

    def count(self, reason: str | None) -> bool:
        """Count one region with the reason to remove it, or None; return True if there is no reason."""
        self._counts[reason] += 1
        return reason is None

    def to_json(self) -> dict[str, int]:
        dropped = {reason: self._counts[reason] for reason in REASONS}
        return {"regions": self._counts.total(), **dropped, "kept": self._counts[None]}


def find_crop_fault(box: Box, width: int, height: int) -> str | None:
    """Return the reason to remove a crop of an image of ``width`` x ``height`` pixels, or None.

    The corners of the crop are rounded to whole pixels first.
    """
    left, top, right, bottom = round_corners(box)
    crop_width = right - left
    crop_height = bottom - top
    if crop_width * crop_height < MIN_AREA:
        return SMALL
    if crop_width * crop_height < MIN_SHARE * width * height:
        return SMALL_SHARE
    return None if ASPECT_RATIOS[0] <= crop_width / crop_height <= ASPECT_RATIOS[1] else STRETCHED


def find_caption_fault(graph: SceneGraph) -> str | None:
    """Return the reason to remove a caption with this scene graph, or None."""
    if graph.complexity < MIN_ATOMS:
        return FEW_ATOMS
    return None if graph.compounds else NO_COMPOUND


def choose_split(
    atoms: Iterable[Atom],
    compounds: Iterable[Compound],
    seen_atoms: Collection[Atom],
    seen_compounds: Collection[Compound],
) -> Split:
    """Return ``ua`` if an atom is unseen, otherwise ``uc`` if a compound is unseen, otherwise ``sc``."""
    if any(atom not in seen_atoms for atom in atoms):
        return "ua"
    return "sc" if all(compound in seen_compounds for compound in compounds) else "uc"


class Seen(NamedTuple):
    """The atoms and compounds of the test rows that occur in a corpus."""

    atoms: frozenset[Atom]
    compounds: frozenset[Compound]

    @classmethod
    def load(cls, path: Path) -> Seen:
        if not path.exists():
            raise FileNotFoundError(
                f"{path}: not found. Run `python -m compeval.generators.seen_analysis.seen {path.stem}` first."
            )
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            frozenset(Atom(*item) for item in data["atoms"]),
            frozenset(Compound(*i) for i in data["compounds"]),
        )


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
    unique_items: dict[str, dict[str, set[Any]]] = {
        name: {"atoms": set(), "compounds": set()} for name in ("sc", "uc")
    }
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
            of_split = (
                compound for compound in compounds if (compound in seen.compounds) == (name == "sc")
            )
            unique_items[name]["compounds"].update(of_split)
        funnel[name.upper()] += 1
        funnel[f"{name.upper()} with one compound"] += len(compounds) == 1
        for kind, count in negatives.items():
            funnel[f"{name.upper()} with {count} negatives, {kind}"] += bool(row[kind])
    table = {
        name: {kind: len(items) for kind, items in sets.items()}
        for name, sets in unique_items.items()
    }
    return splits, table, dict(sorted(funnel.items()))


def normalize_caption(phrase: str, *, keep_mark: bool = False) -> str:
    """Return a phrase in lower case, with single spaces and without punctuation at its ends.

    With ``keep_mark``, a final period, exclamation or question mark stays, as in the published files of CREPE ("a cat
    on the sofa.", Table 17).
    """
    text = re.sub(r"\s+([,.;:!?])", r"\1", " ".join(phrase.split()))
    body = text.strip(' .,;:!?"`').lower()
    mark = re.search(r"[.!?]$", text) if keep_mark and body else None
    return body + (mark[0] if mark else "")
