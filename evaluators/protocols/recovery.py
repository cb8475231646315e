"""Texts recovered from their encoding alone: exact match, and BLEU-4 beside it.

Source: Kamath et al. 2023 (arXiv:2305.14897), section 3, Tables 5 and 6. Shapes: N prompts. Chance: 0.
"""

from __future__ import annotations

import numpy as np

from evaluators.protocols.base import Answers, Directions, TextProtocol
from generators.language import texts


def exact_match(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """Whether each text (bool, N) was recovered letter by letter; blanks at either end do not count."""
    pairs = zip(recovered, prompts, strict=True)
    return np.array([text.strip() == prompt.strip() for text, prompt in pairs], dtype=bool)


def bleu4(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """sacrebleu's sentence BLEU of each text (N), as a fraction of 1.

    Of n-grams up to four words, or up to as many as the recovered text has: prompts may have but two words.
    """
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    pairs = zip(recovered, prompts, strict=True)
    return np.array([metric.sentence_score(text, [prompt]).score / 100 for text, prompt in pairs])


def same_words(recovered: list[str], prompts: list[str]) -> np.ndarray:
    """Whether each text (bool, N) has the words of its prompt, in whatever order."""
    return np.array([texts.same_words(text, prompt) for text, prompt in zip(recovered, prompts, strict=True)])


def shuffled(recovered: list[str], prompts: list[str]) -> float:
    """Of the texts with the words of their prompts, the share that has them in another order (Table 6).

    NaN where no text has them.
    """
    hit_N, same_N = exact_match(recovered, prompts), same_words(recovered, prompts)
    return float((same_N & ~hit_N).sum() / same_N.sum()) if same_N.any() else float("nan")


def judge(recovered: list[str], prompts: list[str]) -> Directions:
    hit_N, bleu_N = exact_match(recovered, prompts), bleu4(recovered, prompts)
    return {
        "": Answers(
            main="exact_match",
            columns={"hit": hit_N, "bleu4": bleu_N, "recovered": np.array(recovered, dtype=object)},
            values={"exact_match": hit_N.astype(np.float64), "bleu4": bleu_N},
            chance={"exact_match": 0.0, "bleu4": 0.0},
        )
    }


PROTOCOLS = (TextProtocol("recovery", ("prompt",), answers=judge),)
