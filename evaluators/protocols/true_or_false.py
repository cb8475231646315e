"""Decide whether a caption is true of an image, where no other caption or image is given to compare it with.

Source: Liu et al. 2023 (VSR, arXiv:2205.00363): accuracy of a classifier that is trained on labels. Difference from the
paper: a zero-shot score needs a threshold. It is placed so that as many captions score above it as are true, which uses
the number of true captions and no single label. Then both kinds of errors are equally frequent, an oracle scores 1, and
no threshold is tuned. ``auc`` needs no threshold: it is the share of pairs of a true and a false caption in which the
true one scores higher.

Shapes: N rows, 1 image, 1 text, a label (1: true, 0: false). A score at the threshold and a tie in a pair count as a
loss. Chance: accuracy (k / N)^2 + (1 - k / N)^2 for k true captions, auc 1/2.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, RowProtocol, check_finite, count_hits


def find_threshold(score_N: np.ndarray, num_true: int) -> float:
    """Return the middle between the ``num_true``-th highest score and the next one; infinite if there is none."""
    ordered_N = np.sort(score_N.astype(np.float64))
    first = len(ordered_N) - num_true
    if num_true in (0, len(ordered_N)):
        return np.inf if num_true == 0 else -np.inf
    return float(ordered_N[first - 1] + ordered_N[first]) / 2


def compute_wins(score_N: np.ndarray, label_N: np.ndarray) -> np.ndarray:
    """Return for each row the share of the rows with the other label (N) that it is on the right side of.

    The mean over all rows, over the true rows and over the false rows is the same: the area under the ROC curve.
    """
    true_N = np.sort(score_N[label_N == 1])
    false_N = np.sort(score_N[label_N == 0])
    above_false_N = np.searchsorted(false_N, score_N, side="left") / max(len(false_N), 1)
    below_true_N = 1 - np.searchsorted(true_N, score_N, side="right") / max(len(true_N), 1)
    return np.where(label_N == 1, above_false_N, below_true_N)


def evaluate(score_N11: np.ndarray, label_N: np.ndarray) -> Directions:
    """Compute the accuracy at the threshold, and the area under the ROC curve if both labels occur."""
    score_N = score_N11[:, 0, 0].astype(np.float64)
    share = float(np.mean(label_N))
    check_finite(score_N)
    threshold = find_threshold(score_N, int(np.sum(label_N)))
    hit_N = np.where(label_N == 1, score_N > threshold, score_N < threshold)
    metrics = count_hits(hit_N, share**2 + (1 - share) ** 2, score_N == threshold)
    if 0 < share < 1:
        metrics = metrics.add({"auc": compute_wins(score_N, label_N)}, {"auc": 1 / 2})
    return {"": metrics}


LABELS: list[list[str]] = [[], []]
"""False and true, without prompts."""
PROTOCOLS = (
    RowProtocol(
        "true_or_false",
        ("caption",),
        label="label",
        classes=lambda schema: LABELS,
        evaluate=evaluate,
    ),
)
