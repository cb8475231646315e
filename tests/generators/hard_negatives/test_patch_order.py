"""Images with patches in another order."""

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generators.hard_negatives.patch_order import GRIDS, draw_patch_order, shuffle_image_patches


@given(st.sampled_from(sorted(GRIDS)), st.text(max_size=5), st.integers(0, 9))
def test_order_is_a_permutation_that_differs_from_the_original(name, image_id, seed) -> None:
    order = draw_patch_order(name, image_id, seed)
    rows, columns = GRIDS[name]
    assert sorted(order) == list(range(rows * columns)) != order


def test_patches_are_at_the_positions_of_the_order() -> None:
    # Nine patches of 20 x 20 pixels, patch i with the grey value 25 i, and one additional row and column of pixels.
    greys = np.kron(np.arange(9).reshape(3, 3) * 25, np.ones((20, 20))).astype(np.uint8)
    pixels = np.pad(greys, ((0, 1), (0, 1)), mode="edge")
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(buffer, "PNG")
    shuffled = Image.open(io.BytesIO(shuffle_image_patches(buffer.getvalue(), "shuffle_patches", "7", 1)))
    assert shuffled.size == (60, 60)
    centres = np.asarray(shuffled.convert("L")).astype(int)[10::20, 10::20].ravel()
    assert [round(grey / 25) for grey in centres] == draw_patch_order("shuffle_patches", "7", 1)
