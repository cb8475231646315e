"""Orders of the patches of perturbed images."""

from hypothesis import given
from hypothesis import strategies as st

from compeval.generators.hard_negatives.aro.patch_order import GRIDS, draw_patches


@given(st.sampled_from(sorted(GRIDS)), st.text(max_size=5), st.integers(0, 9))
def test_order_is_a_permutation_that_differs_from_the_original(name, image_id, seed) -> None:
    patches = draw_patches(name, image_id, seed)
    assert (patches.rows, patches.columns) == GRIDS[name]
    original = list(range(patches.rows * patches.columns))
    assert sorted(patches.order) == original != list(patches.order)
