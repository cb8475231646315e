"""NegCLIP's loss: CLIP's loss with negative captions as additional candidates for each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4. Shapes: N images and their captions, N negative captions,
D dimensions. Row-wise (image to text) cross-entropy runs over all 2N captions; column-wise (text to image) over the N
true captions only, since no image belongs to a negative caption.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def negclip_loss(image_ND: Tensor, text_ND: Tensor, negative_ND: Tensor, logit_scale: Tensor) -> Tensor:
    """Return the mean loss over both directions.

    Features have unit length. ``logit_scale`` is the exponential of the learned parameter. Without negative captions
    (0 rows), the result is CLIP's loss.
    """
    positive_NN = logit_scale * image_ND @ text_ND.T
    negative_NN = logit_scale * image_ND @ negative_ND.T
    target_N = torch.arange(len(image_ND), device=image_ND.device)
    image_to_text = functional.cross_entropy(torch.cat((positive_NN, negative_NN), dim=1), target_N)
    text_to_image = functional.cross_entropy(positive_NN.T, target_N)
    return (image_to_text + text_to_image) / 2
