"""Nearest images: equal to brute force, whatever the blocks."""

import pytest
import torch
from torch.nn import functional

from trainers import neighbours
from trainers.neighbours import nearest


def brute_force(feature_ND: torch.Tensor, k: int) -> torch.Tensor:
    score_NN = feature_ND.double() @ feature_ND.double().T
    score_NN.fill_diagonal_(-torch.inf)
    return score_NN.argsort(dim=1, descending=True, stable=True)[:, :k]


def test_equals_brute_force_over_ragged_blocks(monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "QUERIES_A_BLOCK", 17)
    monkeypatch.setattr(neighbours, "ITEMS_A_BLOCK", 23)
    feature_ND = functional.normalize(torch.randn(101, 16, generator=torch.Generator().manual_seed(0)), dim=1)
    assert torch.equal(nearest(feature_ND), brute_force(feature_ND, 3))


def test_equal_images_come_in_order_and_nobody_is_its_own_neighbour() -> None:
    feature_ND = torch.eye(4)[[0, 1, 0, 0, 2]]
    assert nearest(feature_ND, 2)[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]


def test_too_few_images() -> None:
    with pytest.raises(ValueError, match="3 images have no 3 neighbours each: at least 4 expected"):
        nearest(torch.eye(3))
