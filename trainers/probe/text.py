"""Training text of recovery probes: captions of CompPrompts' words without its prompts and noun pairs.

The paper trains its probes on the texts of Conceptual Captions (Kamath, Hessel and Chang 2023, section 3). This grammar
is the embedded stand-in. It is looser than the grammar of the prompts: one to three objects, each with a determiner or
a number, adjectives, an action or a position, verbs and positions between them, and a scene. All words of CompPrompts
occur, so a probe is tested on new combinations of known words. Exact match is higher than after training on web text.
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
MAX_REJECTED = 10_000
"""Captions rejected in a row before a ValueError."""


@dataclass(frozen=True)
class Words:
    """The words of the captions, inflected."""

    nouns: Sequence[tuple[str, str]]
    """Singular and plural."""
    adjectives: Sequence[str]
    intransitive: Sequence[str]
    """In -ing, like ``transitive``."""
    transitive: Sequence[str]


def read_words(listed: Mapping[str, Any]) -> Words:
    """Return the words of CompPrompts (data/words/compprompts.yaml) and of words.yaml, inflected."""
    nouns = [*listed["nouns"], *WORD_LISTS["things"]]
    adjectives = [adjective for group in listed["adjectives"].values() for adjective in group]
    intransitive = [*listed["intransitive"], *WORD_LISTS["intransitive"]]
    transitive = [*listed["transitive"], *WORD_LISTS["transitive"]]
    return Words(
        [(noun, inflection.pluralise(noun)) for noun in nouns],
        [*adjectives, *WORD_LISTS["adjectives"]],
        [inflection.inflect_verb(verb, "VBG") for verb in intransitive],
        [inflection.inflect_verb(verb, "VBG") for verb in transitive],
    )


class _NounPhrase(NamedTuple):
    text: str
    be: str
    """The form of "to be" that agrees with it."""


class Grammar:
    """A generator of random captions."""

    def __init__(self, words: Words, rng: Random) -> None:
        self._words, self._rng = words, rng

    def caption(self) -> str:
        """Return one caption, in lower case, without a full stop."""
        rng = self._rng
        clause = self._one_of({self._alone: 4, self._side_by_side: 5, self._related: 7, self._three: 1})
        if rng.random() < 0.15:
            clause = f"{self._pick('frames')} {clause}"
        if rng.random() < 0.15:
            clause = f"{clause} {self._pick('scenes')}"
        return _with_articles(clause)

    def _alone(self) -> str:
        return self._with_state(0.8)

    def _side_by_side(self) -> str:
        return f"{self._with_state(0.5)} and {self._with_state(0.5)}"

    def _three(self) -> str:
        return f"{self._noun_phrase().text}, {self._noun_phrase().text} and {self._with_state(0.2)}"

    def _related(self) -> str:
        """Two noun phrases and a relation between them."""
        phrase = self._noun_phrase()
        relation = self._one_of({self._place: 5, self._act: 6, self._acting_place: 2, self._timed_act: 2})
        clause = f" that {phrase.be}" if self._rng.random() < 0.1 else self._denial(phrase)
        return f"{phrase.text}{clause} {relation} {self._with_state(0.2)}"

    def _with_state(self, share: float) -> str:
        """A noun phrase, with a probability of ``share`` followed by an action or a position."""
        phrase = self._noun_phrase()
        if self._rng.random() >= share:
            return phrase.text
        denial = self._denial(phrase)
        states = {self._side: 3, self._doing: 4, self._side_doing: 1, self._timed_doing: 2}
        return f"{phrase.text}{denial} {self._one_of(states | ({self._adjective: 4} if denial else {}))}"

    def _denial(self, phrase: _NounPhrase) -> str:
        return f" that {phrase.be} not" if self._rng.random() < 0.15 else ""

    def _noun_phrase(self) -> _NounPhrase:
        rng, (singular, plural) = self._rng, self._rng.choice(self._words.nouns)
        adjectives = rng.choices(("", self._adjective(), self._two_adjectives()), (6, 3, 1))[0]
        many = rng.random() < 0.25
        determiner = rng.choice(WORD_LISTS["plural"] if many else WORD_LISTS["singular"])
        text = " ".join(part for part in (determiner, adjectives, plural if many else singular) if part)
        return _NounPhrase(text, "are" if many else "is")

    def _two_adjectives(self) -> str:
        return " and ".join(self._rng.sample(self._words.adjectives, 2))

    def _adjective(self) -> str:
        return self._rng.choice(self._words.adjectives)

    def _side(self) -> str:
        return self._pick("sides")

    def _doing(self) -> str:
        return self._rng.choice(self._words.intransitive)

    def _side_doing(self) -> str:
        return f"{self._side()} {self._doing()}"

    def _timed_doing(self) -> str:
        return f"{self._pick('times')} {self._doing()}"

    def _place(self) -> str:
        return self._pick("places")

    def _act(self) -> str:
        return self._rng.choice(self._words.transitive)

    def _acting_place(self) -> str:
        return f"{self._doing()} {self._place()}"

    def _timed_act(self) -> str:
        return f"{self._pick('times')} {self._act()}"

    def _pick(self, name: str) -> str:
        return self._rng.choice(WORD_LISTS[name])

    def _one_of(self, weights: Mapping[Callable[[], str], int]) -> str:
        return self._rng.choices(list(weights), list(weights.values()))[0]()


def _with_articles(text: str) -> str:
    words = text.split(" ")
    return " ".join(
        inflection.choose_article(after) if word == "a" else word
        for word, after in zip(words, [*words[1:], ""], strict=True)
    )


def captions(words: Words, count: int, seed: int, avoid: Prompts) -> Iterator[str]:
    """Yield ``count`` distinct captions without a prompt or a noun pair of ``avoid``, a function of the seed.

    Raises ValueError if the grammar has fewer.
    """
    grammar, seen, rejected = Grammar(words, Random(f"{seed}:probe_text")), set[str](), 0
    while len(seen) < count:
        caption = grammar.caption()
        if caption in seen or avoid.has(caption) or avoid.has_pair(caption):
            rejected += 1
            if rejected > MAX_REJECTED:
                raise ValueError(f"{count:,} captions requested; the grammar has little more than {len(seen):,}.")
            continue
        rejected = 0
        seen.add(caption)
        yield caption
