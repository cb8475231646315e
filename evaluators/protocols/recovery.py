"""Texts recovered from their encoding alone: exact match.

Source: Kamath et al. 2023 (arXiv:2305.14897), section 3. Shapes: N prompts. Chance: 0.
"""

from __future__ import annotations

import numpy as np

from evaluators.protocols.base import Answers, Directions, TextProtocol


def exact_match(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """Whether each text (bool, N) was recovered letter by letter; blanks at either end do not count."""
    pairs = zip(recovered, prompts, strict=True)
    return np.array([text.strip() == prompt.strip() for text, prompt in pairs], dtype=bool)


def judge(recovered: list[str], prompts: list[str]) -> Directions:
    hit_N = exact_match(recovered, prompts)
    return {
        "": Answers(
            main="exact_match",
            columns={"hit": hit_N, "recovered": np.array(recovered, dtype=object)},
            values={"exact_match": hit_N.astype(np.float64)},
            chance={"exact_match": 0.0},
        )
    }


PROTOCOLS = (TextProtocol("recovery", ("prompt",), answers=judge),)
