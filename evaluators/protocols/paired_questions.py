"""Answer two questions about two images, each of which has opposite answers to both questions.

Source: Li et al. 2024 (NaturalBench, arXiv:2410.14669), section 3: accuracy, question accuracy, image accuracy and
group accuracy. Difference from the paper: the answer to a question is the one of its two answers that scores higher
behind the question, so that similarities need no threshold and generative models no parser of their answers. "Yes" wins
if p(yes) > p(no).

Shapes: N groups, 2 images, 4 texts: for each question, the question with the answer for image 0, then with the answer
for image 1. A tie counts as a loss. Chance: accuracy 1/2, question and image accuracy 1/4, group accuracy 1/16.
"""

from __future__ import annotations

import numpy as np

from compeval.evaluators.protocols.base import Directions, QueryMetrics, RowProtocol, check_finite


def find_correct(score_N24: np.ndarray) -> np.ndarray:
    """Return which answers are correct (bool, (N, 2 images, 2 questions)). Raises ValueError if a score is not finite.

    ``score_N24[n, i, 2 * q + a]`` is the score of image i with question q and the answer that is true of image a.
    """
    check_finite(score_N24)
    score_NIQA = score_N24.reshape(-1, 2, 2, 2)
    return np.stack([score_NIQA[:, i, :, i] > score_NIQA[:, i, :, 1 - i] for i in (0, 1)], axis=1)


def evaluate(score_N24: np.ndarray) -> Directions:
    """Compute the share of correct answers, and of questions, images and groups with correct answers only."""
    correct_NIQ = find_correct(score_N24)
    group_N = np.asarray(correct_NIQ.all(axis=(1, 2)))
    tie_N = np.asarray((score_N24[..., ::2] == score_N24[..., 1::2]).any(axis=(1, 2)))
    values = {
        "group_accuracy": group_N.astype(np.float64),
        "question_accuracy": correct_NIQ.all(axis=1).mean(axis=1),
        "image_accuracy": correct_NIQ.all(axis=2).mean(axis=1),
        "accuracy": correct_NIQ.mean(axis=(1, 2)),
        "tie_rate": tie_N.astype(np.float64),
    }
    chance = dict(zip(values, (1 / 16, 1 / 4, 1 / 4, 1 / 2, 0.0), strict=True))
    return {"": QueryMetrics("group_accuracy", {"hit": group_N, "tie": tie_N}, values, chance)}


PROTOCOLS = (
    RowProtocol(
        "paired_questions", ("answers_0", "answers_1"), ("image_0", "image_1"), evaluate=evaluate
    ),
)
