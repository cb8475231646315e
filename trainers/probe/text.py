"""Generate the default training text of recovery probes.

The captions use the words of CompPrompts, but contain neither its prompts nor its pairs of nouns.

Difference from the paper (Kamath, Hessel and Chang 2023, section 3): the paper trains on the captions of Conceptual
Captions; this grammar replaces them, so that no download is needed. It generates more sentence forms than the grammar
of the prompts: one to three objects with determiners, numbers and adjectives, actions and positions of an object,
relations between objects, and a setting ("at sunset"). All words of CompPrompts occur, so a probe is tested on new
combinations of known words. Its exact match is higher than that of a probe trained on web captions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from random import Random
from typing import Any, NamedTuple

import yaml

from generators.language import inflection
from trainers.probe.overlap import Prompts

WORD_LISTS: Mapping[str, Sequence[str]] = yaml.safe_load(
    resources.files("trainers.probe").joinpath("words.yaml").read_text("utf-8")
)
MAX_CONSECUTIVE_REJECTIONS = 10_000
"""Number of consecutive rejected captions after which generation fails with a ValueError."""


@dataclass(frozen=True)
class Words:
    """The words of the captions, inflected as the grammar needs them."""

    nouns: Sequence[tuple[str, str]]
    """(singular, plural) pairs."""
    adjectives: Sequence[str]
    intransitive: Sequence[str]
    """Verbs without an object, in the -ing form."""
    transitive: Sequence[str]
    """Verbs with an object, in the -ing form."""


def inflect_words(compprompts_words: Mapping[str, Any]) -> Words:
    """Join the words of CompPrompts (content of data/words/compprompts.yaml) with words.yaml and inflect them."""
    nouns = [*compprompts_words["nouns"], *WORD_LISTS["nouns"]]
    adjectives = [adjective for group in compprompts_words["adjectives"].values() for adjective in group]
    intransitive = [*compprompts_words["intransitive"], *WORD_LISTS["intransitive"]]
    transitive = [*compprompts_words["transitive"], *WORD_LISTS["transitive"]]
    return Words(
        [(noun, inflection.pluralise(noun)) for noun in nouns],
        [*adjectives, *WORD_LISTS["adjectives"]],
        [inflection.inflect_verb(verb, "VBG") for verb in intransitive],
        [inflection.inflect_verb(verb, "VBG") for verb in transitive],
    )


class _NounPhrase(NamedTuple):
    text: str
    is_or_are: str
    """The form of "to be" that agrees with the noun."""


class CaptionGrammar:
    """Generates random captions. Each ``_make_...`` method returns a random phrase."""

    def __init__(self, words: Words, rng: Random) -> None:
        self._words, self._rng = words, rng

    def make_caption(self) -> str:
        """Return a caption in lower case, without a full stop."""
        rng = self._rng
        clause = self._choose_phrase(
            {
                self._make_single_object: 4,
                self._make_two_objects: 5,
                self._make_relation: 7,
                self._make_three_objects: 1,
            }
        )
        if rng.random() < 0.15:
            clause = f"{self._choose_word('openings')} {clause}"
        if rng.random() < 0.15:
            clause = f"{clause} {self._choose_word('settings')}"
        return _fix_articles(clause)

    def _make_single_object(self) -> str:
        return self._make_object(0.8)

    def _make_two_objects(self) -> str:
        return f"{self._make_object(0.5)} and {self._make_object(0.5)}"

    def _make_three_objects(self) -> str:
        return f"{self._make_noun_phrase().text}, {self._make_noun_phrase().text} and {self._make_object(0.2)}"

    def _make_relation(self) -> str:
        """Return two noun phrases and a relation between them."""
        phrase = self._make_noun_phrase()
        relation = self._choose_phrase(
            {
                self._choose_position: 5,
                self._choose_transitive: 6,
                self._make_action_and_position: 2,
                self._make_timed_transitive: 2,
            }
        )
        clause = f" that {phrase.is_or_are}" if self._rng.random() < 0.1 else self._make_negation(phrase)
        return f"{phrase.text}{clause} {relation} {self._make_object(0.2)}"

    def _make_object(self, state_probability: float) -> str:
        """Return a noun phrase, followed by an action or a position with probability ``state_probability``."""
        phrase = self._make_noun_phrase()
        if self._rng.random() >= state_probability:
            return phrase.text
        negation = self._make_negation(phrase)
        states = {
            self._choose_side: 3,
            self._choose_intransitive: 4,
            self._make_side_and_action: 1,
            self._make_timed_action: 2,
        }
        if negation:
            states[self._choose_adjective] = 4
        return f"{phrase.text}{negation} {self._choose_phrase(states)}"

    def _make_negation(self, phrase: _NounPhrase) -> str:
        return f" that {phrase.is_or_are} not" if self._rng.random() < 0.15 else ""

    def _make_noun_phrase(self) -> _NounPhrase:
        rng, (singular, plural) = self._rng, self._rng.choice(self._words.nouns)
        adjectives = rng.choices(("", self._choose_adjective(), self._make_two_adjectives()), (6, 3, 1))[0]
        is_plural = rng.random() < 0.25
        determiner = rng.choice(WORD_LISTS["plural"] if is_plural else WORD_LISTS["singular"])
        text = " ".join(part for part in (determiner, adjectives, plural if is_plural else singular) if part)
        return _NounPhrase(text, "are" if is_plural else "is")

    def _make_two_adjectives(self) -> str:
        return " and ".join(self._rng.sample(self._words.adjectives, 2))

    def _choose_adjective(self) -> str:
        return self._rng.choice(self._words.adjectives)

    def _choose_side(self) -> str:
        return self._choose_word("sides")

    def _choose_intransitive(self) -> str:
        return self._rng.choice(self._words.intransitive)

    def _make_side_and_action(self) -> str:
        return f"{self._choose_side()} {self._choose_intransitive()}"

    def _make_timed_action(self) -> str:
        return f"{self._choose_word('times')} {self._choose_intransitive()}"

    def _choose_position(self) -> str:
        return self._choose_word("places")

    def _choose_transitive(self) -> str:
        return self._rng.choice(self._words.transitive)

    def _make_action_and_position(self) -> str:
        return f"{self._choose_intransitive()} {self._choose_position()}"

    def _make_timed_transitive(self) -> str:
        return f"{self._choose_word('times')} {self._choose_transitive()}"

    def _choose_word(self, name: str) -> str:
        return self._rng.choice(WORD_LISTS[name])

    def _choose_phrase(self, weights: Mapping[Callable[[], str], int]) -> str:
        return self._rng.choices(list(weights), list(weights.values()))[0]()


def _fix_articles(text: str) -> str:
    """Replace "a" by "an" before vowel sounds."""
    words = text.split(" ")
    return " ".join(
        inflection.choose_article(following) if word == "a" else word
        for word, following in zip(words, [*words[1:], ""], strict=True)
    )


def generate_captions(words: Words, count: int, seed: int, excluded: Prompts) -> Iterator[str]:
    """Yield ``count`` distinct captions that are no prompt and contain no noun pair of ``excluded``.

    The captions depend only on the arguments. Raises ValueError if the grammar cannot generate enough of them.
    """
    grammar, seen, num_rejected = CaptionGrammar(words, Random(f"{seed}:probe_text")), set[str](), 0
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
