"""NegCLIP's loss: CLIP's, with negative captions as additional candidates of each image.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4. Shapes: N images and their captions, N negative captions,
D dimensions. Row-wise (image to text) cross-entropy runs over all 2N captions; column-wise (text to image) over the N
true captions only, since no image belongs to a negative caption.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def negclip_loss(image_ND: Tensor, text_ND: Tensor, negative_ND: Tensor, logit_scale: Tensor) -> Tensor:
    """Return the mean over both directions. Features have unit length; ``logit_scale`` is exponentiated.

    Without negative captions (0 rows) this is CLIP's loss.
    """
    positive_NN = logit_scale * image_ND @ text_ND.T
    negative_NN = logit_scale * image_ND @ negative_ND.T
    target_N = torch.arange(len(image_ND), device=image_ND.device)
    rows = functional.cross_entropy(torch.cat((positive_NN, negative_NN), dim=1), target_N)
    columns = functional.cross_entropy(positive_NN.T, target_N)
    return (rows + columns) / 2
