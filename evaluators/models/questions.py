"""Questions to generative models about an image and its captions, and the settings of a spec.

``yes`` is VQAScore (Lin et al. 2024, arXiv:2404.01291): the probability that the answer to "Does this figure show
...?" begins with "Yes". The score is its logarithm, which float32 resolves near 0 and near 1. ``choice`` shows two
captions, A and B, in both orders: the score is the probability of the letter, of both letters only.

Settings follow the name of a model: ``vlm:ORG/NAME?scoring=choice``, percent-encoded as in a URL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import parse_qsl

QUESTIONS = {
    "yes": 'Does this figure show "{}"? Please answer yes or no.',
    "choice": "Which caption describes this image?\nA: {}\nB: {}\nPlease answer A or B.",
}
"""Default question of each way of scoring, with a place for each caption. That of ``yes`` is the paper's."""
ANSWERS = {"yes": ("Yes", "No"), "choice": ("A", "B")}
SETTINGS = ("scoring", "question", "answers")


@dataclass(frozen=True)
class Scoring:
    """A way of scoring with a generative model."""

    method: Literal["yes", "choice"] = "yes"
    question: str = QUESTIONS["yes"]
    answers: tuple[str, str] = ("Yes", "No")
    """The answer whose probability is the score, and the other answer."""

    def ask(self, captions: str | Sequence[str]) -> str:
        """Return the question about one caption, or about two captions. Braces in a caption have no meaning."""
        return self.question.format(*([captions] if isinstance(captions, str) else captions))

    def describe(self) -> dict[str, Any]:
        """Return what a result document says about it."""
        return {"method": self.method, "question": self.question, "answers": list(self.answers)}


def split_settings(name: str, allowed: Collection[str], spec: str) -> tuple[str, dict[str, str]]:
    """Split ``name?key=value&key=value`` into the name and its settings.

    Raises ValueError if a setting is unknown, has no value or is repeated.
    """
    name, _, query = name.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        raise ValueError(f"{spec}: expected NAME?key=value&key=value.") from None
    settings = dict(pairs)
    for key in settings:
        if key not in allowed:
            raise ValueError(f"{spec}: unknown setting {key!r}; known: {', '.join(allowed)}.")
    if len(settings) < len(pairs) or not all(settings.values()):
        raise ValueError(f"{spec}: a setting is repeated or has no value.")
    return name, settings


def make_scoring(settings: Mapping[str, str], spec: str, default: Scoring | None = None) -> Scoring:
    """Return the way of scoring of a spec's settings. ``default`` applies if the spec does not choose the scoring.

    Raises ValueError if the question has not as many places {} as captions, or if there are not two answers.
    """
    method = settings.get("scoring", "yes")
    if method not in QUESTIONS:
        raise ValueError(f"{spec}: scoring is {method!r}, expected {' or '.join(QUESTIONS)}.")
    scoring = Scoring(method, QUESTIONS[method], ANSWERS[method])  # pyright: ignore[reportArgumentType]
    if default is not None and method == default.method:
        scoring = default
    scoring = replace(scoring, question=settings.get("question", scoring.question))
    count = 1 if method == "yes" else 2
    try:
        filled = scoring.question.format(*"\0\1"[:count])
        is_valid = all(filled.count(letter) == 1 for letter in "\0\1"[:count])
    except (LookupError, ValueError):
        is_valid = False
    if not is_valid:
        places = "one place {} for the caption" if count == 1 else "two places {} for the captions"
        raise ValueError(f"{spec}: question is {scoring.question!r}, expected {places}.")
    if "answers" in settings:
        answers = tuple(settings["answers"].split(","))
        if len(answers) != 2 or not all(answers) or answers[0] == answers[1]:
            raise ValueError(
                f"{spec}: answers is {settings['answers']!r}, expected two words, for example Yes,No."
            )
        scoring = replace(scoring, answers=answers)
    return scoring
