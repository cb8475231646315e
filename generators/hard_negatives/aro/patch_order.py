"""Perturbations of images: equal patches in a random order.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 3.1, Table 4: four rows, four columns, or nine patches.
"""

from __future__ import annotations

from random import Random

from compeval.base.storage.patches import Patches

GRIDS: dict[str, tuple[int, int]] = {
    "shuffle_rows": (4, 1),
    "shuffle_columns": (1, 4),
    "shuffle_patches": (3, 3),
}
"""Number of rows and columns of patches for each perturbation."""


def draw_patches(name: str, image_id: str, seed: int) -> Patches:
    """Return the patches of a perturbation in a random order that differs from the original."""
    rows, columns = GRIDS[name]
    rng = Random(f"{seed}:{name}:{image_id}")
    original = list(range(rows * columns))
    order = original
    while order == original:
        order = rng.sample(original, len(original))
    return Patches(rows, columns, tuple(order))
