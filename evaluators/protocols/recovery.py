"""Compare texts that were recovered from their features with the original texts: exact match and BLEU-4.

Source: Kamath et al. 2023 (arXiv:2305.14897), section 3, Tables 5 and 6. Shapes: N prompts. Chance: 0.
"""

from __future__ import annotations

import numpy as np

from compeval.base import texts
from compeval.evaluators.protocols.base import Directions, QueryMetrics, TextProtocol


def exact_match(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """Return True (bool, N) for texts that equal their prompt, except for leading and trailing white space."""
    pairs = zip(recovered, prompts, strict=True)
    return np.array([text.strip() == prompt.strip() for text, prompt in pairs], dtype=bool)


def bleu4(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """Return sacrebleu's sentence BLEU of each text (N), as a fraction of 1.

    Uses n-grams of up to four words, or of fewer words if the recovered text is shorter.
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    pairs = zip(recovered, prompts, strict=True)
    return np.array([metric.sentence_score(text, [prompt]).score / 100 for text, prompt in pairs])


def compute_shuffled_share(recovered: list[str], prompts: list[str]) -> float:
    """Return the share of texts in wrong word order among the texts with the words of their prompt (Table 6).

    Returns NaN if no text has the words of its prompt.
    """
    same_words_N = np.array(
        [texts.have_same_words(*pair) for pair in zip(recovered, prompts, strict=True)], dtype=bool
    )
    wrong_order_N = same_words_N & ~exact_match(recovered, prompts)
    return float(wrong_order_N.sum() / same_words_N.sum()) if same_words_N.any() else float("nan")


def evaluate(recovered: list[str], prompts: list[str]) -> Directions:
    hit_N = exact_match(recovered, prompts)
    bleu_N = bleu4(recovered, prompts)
    return {
        "": QueryMetrics(
            main="exact_match",
            columns={"hit": hit_N, "bleu4": bleu_N, "recovered": np.array(recovered, dtype=object)},
            values={"exact_match": hit_N.astype(np.float64), "bleu4": bleu_N},
            chance={"exact_match": 0.0, "bleu4": 0.0},
        )
    }


PROTOCOLS = (TextProtocol("recovery", ("prompt",), evaluate=evaluate),)
