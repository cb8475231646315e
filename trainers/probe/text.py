"""Training text of recovery probes: captions of CompPrompts' words that have none of its prompts and noun pairs.

The paper trains its probes on the texts of Conceptual Captions (Kamath, Hessel and Chang 2023, section 3), which are
not at hand here. These captions come from a grammar of ours, looser than that of the prompts: one to three things, each
with a determiner or a number, adjectives and what it does or where it is, verbs and places between them, a scene around
them. All words of CompPrompts occur, so that what a probe is tested on is their combination. A stand-in: it has the
prompts' words and constructions, so exact match comes out higher than after training on the web's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from generators.language import inflection
from trainers.probe import words as probe_words
from trainers.probe.overlap import Prompts

MOST_MISSES = 10_000
"""Captions drawn in a row that may not be there, or are there already, before a ValueError."""


@dataclass(frozen=True)
class Words:
    """The words of the captions, as they stand there."""

    nouns: Sequence[tuple[str, str]]
    """Singular and plural."""
    adjectives: Sequence[str]
    intransitive: Sequence[str]
    """In -ing, as the next."""
    transitive: Sequence[str]


def read_words(listed: Mapping[str, Any]) -> Words:
    """The words of CompPrompts (data/words/compprompts.yaml) and those of ``probe_words``, inflected."""
    nouns = [*listed["nouns"], *probe_words.THINGS]
    adjectives = [adjective for group in listed["adjectives"].values() for adjective in group]
    intransitive = [*listed["intransitive"], *probe_words.INTRANSITIVE]
    transitive = [*listed["transitive"], *probe_words.TRANSITIVE]
    return Words(
        [(noun, inflection.pluralise(noun)) for noun in nouns],
        [*adjectives, *probe_words.ADJECTIVES],
        [inflection.verb(verb, "VBG") for verb in intransitive],
        [inflection.verb(verb, "VBG") for verb in transitive],
    )


class _Thing(NamedTuple):
    text: str
    be: str
    """The form of "to be" that goes with it."""


class Grammar:
    """Draws captions."""

    def __init__(self, words: Words, rng: Random) -> None:
        self._words, self._rng = words, rng

    def caption(self) -> str:
        """One caption, in lower case, without a full stop."""
        rng = self._rng
        clause = self._one_of({self._alone: 4, self._side_by_side: 5, self._related: 7, self._three: 1})
        if rng.random() < 0.15:
            clause = f"{rng.choice(probe_words.FRAMES)} {clause}"
        if rng.random() < 0.15:
            clause = f"{clause} {rng.choice(probe_words.SCENES)}"
        return _with_articles(clause)

    def _alone(self) -> str:
        return self._with_state(0.8)

    def _side_by_side(self) -> str:
        return f"{self._with_state(0.5)} and {self._with_state(0.5)}"

    def _three(self) -> str:
        return f"{self._thing().text}, {self._thing().text} and {self._with_state(0.2)}"

    def _related(self) -> str:
        """Two things and what is between them."""
        thing = self._thing()
        relation = self._one_of({self._place: 5, self._act: 6, self._acting_place: 2, self._timed_act: 2})
        clause = f" that {thing.be}" if self._rng.random() < 0.1 else self._denial(thing)
        return f"{thing.text}{clause} {relation} {self._with_state(0.2)}"

    def _with_state(self, share: float) -> str:
        """A thing, and so often what it does or where it is."""
        thing = self._thing()
        if self._rng.random() >= share:
            return thing.text
        denial = self._denial(thing)
        states = {self._side: 3, self._doing: 4, self._side_doing: 1, self._timed_doing: 2}
        return f"{thing.text}{denial} {self._one_of(states | ({self._adjective: 4} if denial else {}))}"

    def _denial(self, thing: _Thing) -> str:
        return f" that {thing.be} not" if self._rng.random() < 0.15 else ""

    def _thing(self) -> _Thing:
        rng, (singular, plural) = self._rng, self._rng.choice(self._words.nouns)
        adjectives = rng.choices(("", self._adjective(), self._two_adjectives()), (6, 3, 1))[0]
        many = rng.random() < 0.25
        determiner = rng.choice(probe_words.PLURAL if many else probe_words.SINGULAR)
        text = " ".join(part for part in (determiner, adjectives, plural if many else singular) if part)
        return _Thing(text, "are" if many else "is")

    def _two_adjectives(self) -> str:
        return " and ".join(self._rng.sample(self._words.adjectives, 2))

    def _adjective(self) -> str:
        return self._rng.choice(self._words.adjectives)

    def _side(self) -> str:
        return self._rng.choice(probe_words.SIDES)

    def _doing(self) -> str:
        return self._rng.choice(self._words.intransitive)

    def _side_doing(self) -> str:
        return f"{self._side()} {self._doing()}"

    def _timed_doing(self) -> str:
        return f"{self._rng.choice(probe_words.TIMES)} {self._doing()}"

    def _place(self) -> str:
        return self._rng.choice(probe_words.PLACES)

    def _act(self) -> str:
        return self._rng.choice(self._words.transitive)

    def _acting_place(self) -> str:
        return f"{self._doing()} {self._place()}"

    def _timed_act(self) -> str:
        return f"{self._rng.choice(probe_words.TIMES)} {self._act()}"

    def _one_of(self, weights: Mapping[Callable[[], str], int]) -> str:
        return self._rng.choices(list(weights), list(weights.values()))[0]()


def _with_articles(text: str) -> str:
    words = text.split(" ")
    return " ".join(
        inflection.article(after) if word == "a" else word for word, after in zip(words, [*words[1:], ""], strict=True)
    )


def captions(words: Words, count: int, seed: int, avoid: Prompts) -> Iterator[str]:
    """``count`` distinct captions without a prompt or a noun pair of ``avoid``; the same ones for the same seed.

    ValueError where there are not so many.
    """
    grammar, seen, misses = Grammar(words, Random(f"{seed}:probe_text")), set[str](), 0
    while len(seen) < count:
        caption = grammar.caption()
        if caption in seen or avoid.has(caption) or avoid.has_pair(caption):
            misses += 1
            if misses > MOST_MISSES:
                raise ValueError(f"{count:,} captions asked for; the grammar has hardly more than {len(seen):,}.")
            continue
        misses = 0
        seen.add(caption)
        yield caption
