"""Generate the default training text of recovery probes.

The captions use the words of CompPrompts, but contain neither its prompts nor its pairs of nouns.

Difference from the paper (Kamath, Hessel and Chang 2023, section 3): the paper trains on the captions of Conceptual
Captions; this grammar replaces them, so that no download is needed. It generates more sentence forms than the grammar
of the prompts: one to three objects with determiners, numbers and adjectives, actions and positions of an object,
relations between objects, and a setting ("at sunset"). All words of CompPrompts occur, so a probe is tested on new
combinations of known words. Its exact match is higher than that of a probe trained on web captions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from random import Random
from typing import Any

import yaml

from compeval.generators.language import inflection
from compeval.trainers.probe.overlap import Prompts

WORD_LISTS: Mapping[str, Sequence[str]] = yaml.safe_load(
    resources.files("compeval.trainers.probe").joinpath("words.yaml").read_text("utf-8")
)
MAX_CONSECUTIVE_REJECTIONS = 10_000
"""Number of consecutive rejected captions after which generation fails with a ValueError."""
RELATIONS = {
    "{places}": 5,
    "{transitive}": 6,
    "{intransitive} {places}": 2,
    "{times} {transitive}": 2,
}
"""Templates of the words between two objects, and their weights. A slot is filled with a word of a list."""
STATES = {
    "{sides}": 3,
    "{intransitive}": 4,
    "{sides} {intransitive}": 1,
    "{times} {intransitive}": 2,
}
"""Templates of the words after an object."""


def inflect_words(compprompts_words: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Join the words of CompPrompts (content of data/words/compprompts.yaml) with words.yaml and inflect them.

    ``nouns`` are (singular, plural) pairs, verbs are in the -ing form.
    """
    adjectives = [
        adjective for group in compprompts_words["adjectives"].values() for adjective in group
    ]
    nouns = [*compprompts_words["nouns"], *WORD_LISTS["nouns"]]
    verbs = {
        name: [*compprompts_words[name], *WORD_LISTS[name]]
        for name in ("intransitive", "transitive")
    }
    return {
        **WORD_LISTS,
        "nouns": [(noun, inflection.pluralise(noun)) for noun in nouns],
        "adjectives": [*adjectives, *WORD_LISTS["adjectives"]],
        **{
            name: [inflection.inflect_verb(verb, "VBG") for verb in words]
            for name, words in verbs.items()
        },
    }


class CaptionGrammar:
    """Generates random captions from inflected words."""

    def __init__(self, words: Mapping[str, Sequence[Any]], rng: Random) -> None:
        self._words = words
        self._rng = rng

    def make_caption(self) -> str:
        """Return a caption in lower case, without a full stop."""
        rng = self._rng
        match rng.choices(("one object", "two objects", "relation", "three objects"), (4, 5, 7, 1))[
            0
        ]:
            case "one object":
                clause = self._make_object(0.8)
            case "two objects":
                clause = f"{self._make_object(0.5)} and {self._make_object(0.5)}"
            case "relation":
                clause = self._make_relation()
            case _:
                first = self._make_noun_phrase()[0]
                second = self._make_noun_phrase()[0]
                clause = f"{first}, {second} and {self._make_object(0.2)}"
        if rng.random() < 0.15:
            clause = f"{rng.choice(self._words['openings'])} {clause}"
        if rng.random() < 0.15:
            clause = f"{clause} {rng.choice(self._words['settings'])}"
        return _fix_articles(clause)

    def _make_relation(self) -> str:
        """Return two noun phrases and a relation between them."""
        phrase, verb = self._make_noun_phrase()
        relation = self._choose_phrase(RELATIONS)
        clause = f" that {verb}" if self._rng.random() < 0.1 else self._make_negation(verb)
        return f"{phrase}{clause} {relation} {self._make_object(0.2)}"

    def _make_object(self, state_probability: float) -> str:
        """Return a noun phrase, followed by an action or a position with probability ``state_probability``."""
        phrase, verb = self._make_noun_phrase()
        if self._rng.random() >= state_probability:
            return phrase
        negation = self._make_negation(verb)
        states = {**STATES, "{adjectives}": 4} if negation else STATES
        return f"{phrase}{negation} {self._choose_phrase(states)}"

    def _make_negation(self, verb: str) -> str:
        return f" that {verb} not" if self._rng.random() < 0.15 else ""

    def _make_noun_phrase(self) -> tuple[str, str]:
        """Return a noun phrase, and the form of "to be" that agrees with it."""
        rng = self._rng
        adjectives = self._words["adjectives"]
        singular, plural = rng.choice(self._words["nouns"])
        options = ("", rng.choice(adjectives), " and ".join(rng.sample(adjectives, 2)))
        adjective = rng.choices(options, (6, 3, 1))[0]
        number, noun, verb = (
            ("plural", plural, "are") if rng.random() < 0.25 else ("singular", singular, "is")
        )
        return " ".join(filter(None, (rng.choice(self._words[number]), adjective, noun))), verb

    def _choose_phrase(self, weights: Mapping[str, int]) -> str:
        template = self._rng.choices(list(weights), list(weights.values()))[0]
        return re.sub(r"{(\w+)}", lambda slot: self._rng.choice(self._words[slot[1]]), template)


def _fix_articles(text: str) -> str:
    """Replace "a" by "an" before vowel sounds."""
    words = text.split(" ")
    return " ".join(
        inflection.choose_article(following) if word == "a" else word
        for word, following in zip(words, [*words[1:], ""], strict=True)
    )


def generate_captions(
    words: Mapping[str, Sequence[Any]], count: int, seed: int, excluded: Prompts
) -> Iterator[str]:
    """Yield ``count`` distinct captions that are no prompt and contain no noun pair of ``excluded``.

    The captions depend only on the arguments. Raises ValueError if the grammar cannot generate enough of them.
    """
    grammar = CaptionGrammar(words, Random(f"{seed}:probe_text"))
    seen = set[str]()
    num_rejected = 0
    while len(seen) < count:
        caption = grammar.make_caption()
        if caption in seen or excluded.has_prompt(caption) or excluded.has_pair(caption):
            num_rejected += 1
            if num_rejected > MAX_CONSECUTIVE_REJECTIONS:
                raise ValueError(
                    f"{count:,} captions requested; the grammar generates only about {len(seen):,} distinct captions."
                )
            continue
        num_rejected = 0
        seen.add(caption)
        yield caption
