"""Nearest images: equal to brute force, whatever the blocks."""

import subprocess
import sys

import pytest
import torch
from torch.nn import functional

from trainers.negclip import neighbours
from trainers.negclip.neighbours import nearest


def brute_force(feature_ND: torch.Tensor, k: int) -> torch.Tensor:
    score_NN = feature_ND.double() @ feature_ND.double().T
    score_NN.fill_diagonal_(-torch.inf)
    return score_NN.argsort(dim=1, descending=True, stable=True)[:, :k]


def test_equals_brute_force_over_ragged_blocks(monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "SCORES_PER_BLOCK", 17 * 101)
    feature_ND = functional.normalize(torch.randn(101, 16, generator=torch.Generator().manual_seed(0)), dim=1)
    assert torch.equal(nearest(feature_ND), brute_force(feature_ND, 3))


def test_equal_images_come_in_order_and_no_image_is_its_own_neighbour() -> None:
    feature_ND = torch.eye(4)[[0, 1, 0, 0, 2]]
    assert nearest(feature_ND, 2)[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]


def test_too_few_images() -> None:
    with pytest.raises(ValueError, match="3 images have no 3 neighbours each: at least 4 expected"):
        nearest(torch.eye(3))


AT_SCALE = """
import resource
import torch
from torch.nn import functional
from trainers.negclip.neighbours import nearest
feature_ND = functional.normalize(torch.randn(120_000, 512, generator=torch.Generator().manual_seed(0)), dim=1)
found = nearest(feature_ND)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
rows = torch.randperm(120_000, generator=torch.Generator().manual_seed(1))[:2_000]
score = feature_ND[rows].double() @ feature_ND.double().T
score[torch.arange(len(rows)), rows] = -torch.inf
print(peak, torch.equal(found[rows], score.topk(3, dim=1).indices))
"""


@pytest.mark.acceptance
def test_all_of_coco_in_two_gigabytes() -> None:
    """As many images as COCO's training split has; the features alone are 246 MB. Brute force on 2,000 of them."""
    done = subprocess.run([sys.executable, "-c", AT_SCALE], capture_output=True, text=True, check=True)
    peak, is_equal = done.stdout.split()
    assert is_equal == "True"
    assert int(peak) < 2e9
