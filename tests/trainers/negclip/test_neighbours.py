"""Tests of nearest images: the results equal a brute-force search for every block size."""

import subprocess
import sys

import pytest
import torch
from torch.nn import functional

from trainers.negclip import neighbours
from trainers.negclip.neighbours import find_nearest


def search_brute_force(feature_ND: torch.Tensor, k: int) -> torch.Tensor:
    score_NN = feature_ND.double() @ feature_ND.double().T
    score_NN.fill_diagonal_(-torch.inf)
    return score_NN.argsort(dim=1, descending=True, stable=True)[:, :k]


def test_equals_brute_force_with_an_incomplete_last_block(monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "SCORES_PER_BLOCK", 17 * 101)
    feature_ND = functional.normalize(torch.randn(101, 16, generator=torch.Generator().manual_seed(0)), dim=1)
    assert torch.equal(find_nearest(feature_ND), search_brute_force(feature_ND, 3))


def test_ties_are_ranked_by_index_and_no_image_is_its_own_neighbour() -> None:
    feature_ND = torch.eye(4)[[0, 1, 0, 0, 2]]
    assert find_nearest(feature_ND, 2)[[0, 2, 3]].tolist() == [[2, 3], [0, 3], [0, 2]]


def test_error_for_too_few_images() -> None:
    with pytest.raises(ValueError, match="3 images are too few for 3 neighbours each; at least 4 are needed"):
        find_nearest(torch.eye(3))


AT_SCALE = """
import resource
import torch
from torch.nn import functional
from trainers.negclip.neighbours import find_nearest
feature_ND = functional.normalize(torch.randn(120_000, 512, generator=torch.Generator().manual_seed(0)), dim=1)
neighbour_NK = find_nearest(feature_ND)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
rows = torch.randperm(120_000, generator=torch.Generator().manual_seed(1))[:2_000]
score = feature_ND[rows].double() @ feature_ND.double().T
score[torch.arange(len(rows)), rows] = -torch.inf
print(peak, torch.equal(neighbour_NK[rows], score.topk(3, dim=1).indices))
"""


@pytest.mark.acceptance
def test_search_over_cocos_training_split_needs_less_than_2_gb() -> None:
    """120,000 images, of which 2,000 are compared with brute force. The features alone are 246 MB."""
    process = subprocess.run([sys.executable, "-c", AT_SCALE], capture_output=True, text=True, check=True)
    peak, is_equal = process.stdout.split()
    assert is_equal == "True"
    assert int(peak) < 2e9
