"""Score generated answers, also those of models that think first (``endpoint.find_answer`` finds them).

Models that think first write their thoughts, then ``</think>``, then the answer. A chat template may have written the
opening ``<think>``. A model that is still thinking when its budget of tokens is used up has no answer: the question is
counted on the result as cut off, and scores as one that the model declined.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from compeval.evaluators.models.endpoint import CUT_OFF, Answer, strip_thoughts
from compeval.evaluators.models.questions import Scoring

OPEN = "<think>"
CLOSE = "</think>"
DECLINED = -100.0
"""Score of a declined question: below every log-probability that float64 can tell from zero."""
UNDECIDED = 0.5
"""Probability of the first of two captions, if a model chooses neither."""


def mark_cut_off(no_answer: float) -> float:
    """Return the score of a question that was cut off, which is stored to count it. It ranks as ``no_answer``."""
    return math.nextafter(no_answer, -math.inf)


def is_thinking(prompt: str) -> bool:
    """Return True if a prompt ends within the model's thoughts, as chat templates of models that always think do."""
    return prompt.rstrip().endswith(OPEN)


def is_usable(answer: Answer, scoring: Scoring) -> bool:
    """Return True if one of the expected answers is among the most probable tokens."""
    return any(_sum(answer.top, word) > -math.inf for word in scoring.answers)


def read_yes(answer: Answer, scoring: Scoring) -> float:
    """Return the log-probability that the answer begins with the first of the two answers.

    If none of the most probable tokens spells it, this is the upper bound that they imply.
    """
    if answer.refusal == CUT_OFF:
        return mark_cut_off(DECLINED)
    if answer.refusal or not is_usable(answer, scoring):
        return DECLINED
    yes = _sum(answer.top, scoring.answers[0])
    # What is not among the most probable tokens is at most as probable as the last of them, and as the remainder.
    remainder = math.log(max(1 - sum(math.exp(log) for _, log in answer.top), 1e-12))
    return yes if yes > -math.inf else min(min(log for _, log in answer.top), remainder)


def read_choice(answer: Answer, scoring: Scoring) -> float:
    """Return the probability of the first of the two answers among both, or 1 or 0 without log-probabilities."""
    first, second = scoring.answers
    if answer.refusal == CUT_OFF:
        return mark_cut_off(UNDECIDED)
    if answer.refusal:
        return UNDECIDED
    if answer.top:
        logs = _sum(answer.top, first), _sum(answer.top, second)
        is_answer = max(logs) > -math.inf
        return 1 / (1 + math.exp(min(logs[1] - logs[0], 700))) if is_answer else UNDECIDED
    chosen = find_choice(strip_thoughts(answer.text) or "", (first, second))
    return UNDECIDED if chosen is None else float(chosen == first)


def find_choice(text: str, answers: tuple[str, str]) -> str | None:
    """Return the one of two answers that a text without probabilities states; None if it states neither, or both.

    An answer alone, or before a punctuation mark at the beginning, counts; else the last statement ("the answer is B");
    else the only answer that is mentioned. "A" before lower case ("A dog") may be an article: it counts for neither.
    """
    by_case = {answer.casefold(): answer for answer in answers}
    one_of = f"({'|'.join(map(re.escape, answers))})"
    begins = re.match(rf"\W*{one_of}(?:\W*$|[.,:;)\]}}>*'\"]|\s*\n)", text, re.IGNORECASE)
    if begins:
        return by_case[begins[1].casefold()]
    word = rf"\b(?!a [a-z]|A [a-z]){one_of}\b"
    stated = re.findall(
        rf"\b(?:answer|caption|choice|option)(?: is|:)?\W*{word}", text, re.IGNORECASE
    )
    if stated:
        return by_case[stated[-1].casefold()]
    mentioned = set(re.findall(word, text))
    has_article = "A" in answers and re.search(r"\bA [a-z]", text)
    return mentioned.pop() if len(mentioned) == 1 and not has_article else None


def _strip(token: str) -> str:
    """Return a token or word without spaces, marks of spaces, and punctuation."""
    return token.strip(" \t\r\n▁Ġ\"'.,:;!()*#_-`<>[]{}“”")


def _sum(top: Sequence[Sequence[Any]], word: str) -> float:
    """Return the log of the summed probabilities of the tokens that spell a word; -infinity if there are none."""
    logs = [log for token, log in top if _strip(token).casefold() == word.casefold()]
    return float(np.logaddexp.reduce(logs)) if logs else -math.inf
