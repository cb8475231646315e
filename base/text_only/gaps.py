"""Gaps in captions, and the plausibility of the words that fill them.

CREPE (arXiv:2212.07796, section 4.1) selects the most sensical foils with BERT (language_models.MaskedWordScorer): the
atom is masked once, and its candidates are ranked by this one prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

MIN_WORDS = 10
"""Words of a gap that are scored at least, if it has so many."""


class Gap(NamedTuple):
    """The characters ``start`` to ``end`` of a caption, and the words that may fill them."""

    caption: str
    start: int
    end: int
    words: tuple[str, ...]

    def fill(self, word: str) -> str:
        """Return the caption with a word in the gap. Nothing else of the caption changes."""
        return self.caption[: self.start] + word + self.caption[self.end :]


ScoreWords = Callable[[Sequence[Gap]], Sequence[dict[str, float]]]
"""Returns the scores of the words of each gap; higher is more plausible, and words without a score are not used."""


def score_by_caption(
    score: Callable[[Sequence[str]], Sequence[float]],
    knows: Callable[[str], bool] = lambda word: True,
) -> ScoreWords:
    """Return a function that scores words by the whole caption, for models that predict no masked words.

    Words that the model does not ``knows`` are scored only where there are fewer than MIN_WORDS others.
    """

    def select(words: Sequence[str]) -> list[str]:
        known = [word for word in words if knows(word)]
        unknown = (word for word in words if not knows(word))
        return [*known, *islice(unknown, max(0, MIN_WORDS - len(known)))]

    def score_words(gaps: Sequence[Gap]) -> list[dict[str, float]]:
        selected = [select(gap.words) for gap in gaps]
        scores = iter(
            score(
                [
                    gap.fill(word)
                    for gap, words in zip(gaps, selected, strict=True)
                    for word in words
                ]
            )
        )
        return [{word: next(scores) for word in words} for words in selected]

    return score_words
