"""Images with their patches in another order."""

import numpy as np
import pytest
from PIL import Image

from compeval.base.storage.patches import Patches, arrange_patches


def test_patches_are_at_the_positions_of_the_order() -> None:
    # Nine patches of 20 x 20 pixels, patch i with the grey value 25 i, and one additional row and column of pixels.
    greys = np.kron(np.arange(9).reshape(3, 3) * 25, np.ones((20, 20))).astype(np.uint8)
    image = Image.fromarray(np.pad(greys, ((0, 1), (0, 1)), mode="edge")).convert("RGB")
    order = (4, 0, 8, 1, 2, 3, 7, 6, 5)
    arranged = arrange_patches(image, Patches(3, 3, order))
    assert arranged.size == (60, 60)
    assert tuple(np.asarray(arranged.convert("L"))[10::20, 10::20].ravel() // 25) == order
    assert arrange_patches(image, None) is image


def test_a_row_has_the_order_or_none() -> None:
    assert Patches.from_row({"patches": {"rows": 1, "columns": 2, "order": [1, 0]}}) == Patches(
        1, 2, (1, 0)
    )
    assert Patches.from_row({"patches": None}) is None
    assert Patches.from_row({}) is None


@pytest.mark.parametrize(
    "cell",
    [
        {"rows": 1, "columns": 2, "order": [0, 0]},
        {"rows": 2, "columns": 2, "order": [1, 0]},
        {"rows": -1, "columns": -2, "order": []},
        {"rows": 0, "columns": 0, "order": []},
    ],
)
def test_another_list_is_an_error(cell) -> None:
    with pytest.raises(ValueError, match="is not an order of the patches"):
        Patches.from_row({"patches": cell})


def test_an_image_that_is_smaller_than_the_grid_is_an_error() -> None:
    with pytest.raises(ValueError, match="An image of 2 x 9 pixels has no 3 x 3 patches"):
        arrange_patches(Image.new("RGB", (2, 9)), Patches(3, 3, (1, 0, 2, 3, 4, 5, 6, 7, 8)))
