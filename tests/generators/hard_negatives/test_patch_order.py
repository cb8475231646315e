"""Images in pieces."""

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from generators.hard_negatives.patch_order import GRIDS, patch_order, shuffled_patches


@given(st.sampled_from(sorted(GRIDS)), st.text(max_size=5), st.integers(0, 9))
def test_every_tile_is_there_and_they_have_moved(name, image_id, seed) -> None:
    order = patch_order(name, image_id, seed)
    rows, columns = GRIDS[name]
    assert sorted(order) == list(range(rows * columns)) != order


def test_tiles_stand_where_the_order_says() -> None:
    # nine grey tiles of 20 x 20 pixels, tile t of grey 25 t; a row and a column of pixels too many
    greys = np.kron(np.arange(9).reshape(3, 3) * 25, np.ones((20, 20))).astype(np.uint8)
    pixels = np.pad(greys, ((0, 1), (0, 1)), mode="edge")
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(buffer, "PNG")
    found = Image.open(io.BytesIO(shuffled_patches(buffer.getvalue(), "shuffle_patches", "7", 1)))
    assert found.size == (60, 60)
    middles = np.asarray(found.convert("L")).astype(int)[10::20, 10::20].ravel()
    assert [round(grey / 25) for grey in middles] == patch_order("shuffle_patches", "7", 1)
