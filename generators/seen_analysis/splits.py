"""Filter the region captions of the systematicity test set, and choose the split of a caption.

Source: CREPE (arXiv:2212.07796), section 3.2 (the splits sc: seen compounds, uc: unseen compounds, ua: unseen atoms)
and section 4.1 (filters). Difference from the paper: captions are normalised and their spelling is corrected before
they are parsed.
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
    crop_width, crop_height = right - left, bottom - top
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


def normalize_caption(phrase: str) -> str:
    """Return a phrase in lower case, with single spaces and without punctuation at its ends."""
    return re.sub(r"\s+([,.;:!?])", r"\1", " ".join(phrase.split())).strip(' .,;:!?"`').lower()
