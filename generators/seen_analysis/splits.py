"""Filters of the region captions of a systematicity test set, and the split that a caption belongs to.

Source: CREPE, section 3.2 (SC, UC, UA) and 4.1 (filters). Differs from it in: captions are normalised and their
spelling is corrected before they are parsed, and every filter counts what it drops.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

from generators.schemas.scene_graph import Atom, Box, Compound, SceneGraph
from generators.storage.crops import round_corners

Split = Literal["sc", "uc", "ua"]

MIN_AREA = 40_000
MIN_SHARE = 0.1
ASPECT_RATIOS = (0.5, 2.0)
MIN_ATOMS = 2

SMALL = "crop under 40,000 pixels"
SMALL_SHARE = "crop under 10 % of the image"
STRETCHED = "crop width/height outside 0.5 to 2.0"
WORDLESS = "caption without words"
FEW_ATOMS = "caption with fewer than 2 atoms"
NO_COMPOUND = "caption without a compound"
REPEATED = "caption with the scene graph of an earlier one"
REASONS = (SMALL, SMALL_SHARE, STRETCHED, WORDLESS, FEW_ATOMS, NO_COMPOUND, REPEATED)
"""Why a region is dropped, in the order of the checks."""


class Funnel:
    """Counts the regions that pass, and those that each filter drops."""

    def __init__(self) -> None:
        self._counts = Counter[str | None]()

    def count(self, reason: str | None) -> bool:
        """Count one region with the reason that drops it; True if there is none."""
        self._counts[reason] += 1
        return reason is None

    def to_json(self) -> dict[str, int]:
        dropped = {reason: self._counts[reason] for reason in REASONS}
        return {"regions": self._counts.total(), **dropped, "kept": self._counts[None]}


def find_crop_fault(box: Box, width: int, height: int) -> str | None:
    """The reason to drop a crop of an image of that size (pixels); crops are measured in whole pixels, rounded."""
    left, top, right, bottom = round_corners(box)
    across, down = right - left, bottom - top
    if across * down < MIN_AREA:
        return SMALL
    if across * down < MIN_SHARE * width * height:
        return SMALL_SHARE
    return None if ASPECT_RATIOS[0] <= across / down <= ASPECT_RATIOS[1] else STRETCHED


def find_caption_fault(graph: SceneGraph) -> str | None:
    """The reason to drop a caption with this scene graph."""
    if graph.complexity < MIN_ATOMS:
        return FEW_ATOMS
    return None if graph.compounds else NO_COMPOUND


def choose_split(
    atoms: Iterable[Atom],
    compounds: Iterable[Compound],
    seen_atoms: Collection[Atom],
    seen_compounds: Collection[Compound],
) -> Split:
    """``ua``: an atom is unseen. ``uc``: all atoms are seen, a compound is not. ``sc``: all compounds are seen."""
    if any(atom not in seen_atoms for atom in atoms):
        return "ua"
    return "sc" if all(compound in seen_compounds for compound in compounds) else "uc"


def normalize_caption(phrase: str) -> str:
    """Lower case, one space between words, none before a comma, and no mark at either end."""
    return re.sub(r"\s+([,.;:!?])", r"\1", " ".join(phrase.split())).strip(' .,;:!?"`').lower()
