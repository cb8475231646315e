import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from evaluators.models import layers


def cut(positions: list[int], device: str, most: int) -> list[list[int]]:
    return [positions[piece] for piece in layers.pieces(positions, device, most)]


def test_pieces_by_hand(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert cut([1] * 8, "cpu", 100) == [[1] * 4] * 2
    assert cut([1] * 8, "cpu", 3) == [[1] * 2] * 4  # 8 in two rounds of two cores
    assert cut([1] * 8, "cuda", 100) == [[1] * 8]
    assert cut([1] * 8, "cuda", 3) == [[1] * 3, [1] * 2, [1] * 3]
    assert cut([5, 1, 1, 1, 2], "cpu", 100) == [[5], [1, 1, 1, 2]]
    assert cut([9], "cpu", 2) == [[9]]
    assert cut([3, 0, 0], "cpu", 100) == [[3], [0, 0]]


@given(
    st.integers(1, 9), st.lists(st.integers(0, 9), max_size=30), st.integers(1, 20), st.sampled_from(["cpu", "cuda"])
)
def test_pieces_hold_each_item_once_and_are_about_as_large(first: int, others: list[int], most: int, device: str):
    positions = [first, *others]
    found = cut(positions, device, most)
    assert [size for piece in found for size in piece] == positions
    assert all(found)
    assert max(map(sum, found)) <= most + max(positions)


def test_work_side_by_side_keeps_its_order_and_leaves_the_threads_as_they_were():
    threads = torch.get_num_threads()
    assert layers.side_by_side(lambda item: item * 2, list(range(9)), "cpu") == list(range(0, 18, 2))
    assert layers.side_by_side(lambda item: item, [], "cpu") == []
    with pytest.raises(ZeroDivisionError):
        layers.side_by_side(lambda item: 1 // item, [1, 0], "cpu")
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("items", "each"), [(1, 7), (2, 3), (3, 2), (9, 1)])
def test_few_items_have_several_cores_each(items: int, each: int):
    threads = torch.get_num_threads()
    torch.set_num_threads(7)
    try:
        found = layers.side_by_side(lambda item: torch.get_num_threads(), list(range(items)), "cpu")
    finally:
        torch.set_num_threads(threads)
    assert found == [each] * items
