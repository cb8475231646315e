"""Tests of NegCLIP's loss against values derived by hand and finite differences."""

import math

import torch
from open_clip.loss import ClipLoss
from torch.nn import functional

from trainers.negclip.loss import negclip_loss

EYE, ONE = torch.eye(2, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64)


def test_loss_of_two_images_and_four_captions() -> None:
    # Scores with the true captions: [[1, 0], [0, 1]]; with the negative captions: [[1/2, 0], [0, 1/2]].
    # Row-wise: -log(e / (e + 1 + e^0.5 + 1)) = log(6.367003) - 1 = 0.851129, for both images.
    # Column-wise, without negatives: -log(e / (e + 1)) = log(3.718282) - 1 = 0.313262. The mean is 0.582195.
    expected = (math.log(math.e + 2 + math.exp(0.5)) - 1 + math.log(math.e + 1) - 1) / 2
    assert abs(expected - 0.582195) < 1e-6
    assert torch.isclose(negclip_loss(EYE, EYE, EYE / 2, ONE), torch.tensor(expected, dtype=torch.float64))


def test_loss_without_negatives_is_clips_loss() -> None:
    image, text = functional.normalize(torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0)), dim=-1)
    scale = torch.tensor(7.0)
    assert torch.isclose(negclip_loss(image, text, text[:0], scale), ClipLoss()(image, text, scale))


def test_gradient_equals_finite_differences() -> None:
    generator = torch.Generator().manual_seed(1)
    parts = [torch.randn(3, 4, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(negclip_loss, (*parts, scale))


def test_negatives_change_only_the_row_wise_loss() -> None:
    # The negatives increase the loss by half of the increase of the row-wise loss.
    generator = torch.Generator().manual_seed(2)
    image, text, negative = (torch.randn(3, 4, generator=generator, dtype=torch.float64) for _ in range(3))
    logits = image @ torch.cat((text, negative)).T
    row_wise_increase = functional.cross_entropy(logits, torch.arange(3)) - functional.cross_entropy(
        logits[:, :3], torch.arange(3)
    )
    increase = negclip_loss(image, text, negative, ONE) - negclip_loss(image, text, negative[:0], ONE)
    assert torch.isclose(increase, row_wise_increase / 2)
