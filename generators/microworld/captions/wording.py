"""Write the content of a scene in English: training captions, region phrases and image captions.

The constructions are attributes ("a red ball"), predicates ("the ball is striped"), participles, passives, relative
clauses, "with" phrases, plurals and synonyms. Every caption is true of its facts if "the" is read as "a".

The templates of the benchmarks are not used: "the X is R the Y" (ARO), two fragments with a full stop between them, or
two attributes with "and" before a noun (CREPE). No prepositional phrase can refer to either of two nouns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import inflect

from compeval.generators.microworld.captions.content import (
    IMAGE_KINDS,
    Content,
    SceneFacts,
    choose_content,
)
from compeval.generators.microworld.scene import Triple
from compeval.generators.microworld.world import PEOPLE, RELATIONS, WORLD

SYNONYMS: dict[str, Sequence[str]] = WORLD["synonyms"]
"""Noun or attribute -> synonyms."""
FIRST_PHRASING = 0.6
"""Probability that the first phrase of a relation is used."""
SYNONYM = 0.12
"""Probability that a word is replaced by a synonym."""
TRAINING_RICHNESS = 0.6
"""Probability that a noun phrase of a training caption has attributes if they are optional."""


def write_content(
    facts: SceneFacts, content: Content, rng: Random, *, richness: float, object_first: bool = True
) -> str:
    """Return a content in English, in lower case and without a full stop.

    ``richness`` is the probability that a noun phrase has attributes if they are optional. If ``object_first`` is True,
    some captions name the object of a relation before its subject.
    """
    writer = _Writer(facts, rng, richness, object_first)
    if len(content.relations) == 2:
        return writer.write_two_relations(*content.relations)
    if content.relations:
        (triple,) = content.relations
        return writer.choose((5, writer.write_fragment(triple)), (3, writer.write_clause(triple)))
    if len(content.objects) == 1:
        return writer.write_object(content.objects[0])
    if len({facts.nouns[name] for name in content.objects}) == 1:
        return writer.write_twins(content.objects)
    return writer.write_list(content.objects)


def write_region_phrase(facts: SceneFacts, content: Content, rng: Random) -> str:
    """Return a short lower-case phrase in the style of Visual Genome."""
    return write_content(facts, content, rng, richness=0.4)


def write_training_caption(
    facts: SceneFacts,
    content: Content,
    rng: Random,
    richness: float = TRAINING_RICHNESS,
    *,
    object_first: bool = True,
) -> str:
    """Return a caption in the style of alt text: a phrase, a sentence, or "picture of" a phrase."""
    text = write_content(facts, content, rng, richness=richness, object_first=object_first)
    if text.startswith(("a ", "an ")) and not content.relations and rng.random() < 0.2:
        return f"{rng.choice(('picture', 'drawing', 'illustration', 'photo'))} of {text}"
    return make_sentence(text) if _is_complete(text) and rng.random() < 0.5 else text


def write_image_captions(facts: SceneFacts, rng: Random, count: int = 5) -> list[str]:
    """Return up to ``count`` different captions of a whole image, in the style of COCO."""
    captions: dict[str, None] = {}
    for _ in range(20 * count):
        content = choose_content(facts, IMAGE_KINDS, rng)
        if content is None or len(captions) == count:
            break
        text = write_content(facts, content, rng, richness=0.8)
        if _is_complete(text):
            captions[make_sentence(text)] = None
    return list(captions)


def _is_complete(text: str) -> bool:
    """Return True if a text begins with an article, "there" or "two"."""
    return text.split(maxsplit=1)[0] in ("a", "an", "the", "there", "two")


def make_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


@dataclass(frozen=True)
class _Writer:
    """Writes contents with random constructions and words; every method uses the random generator."""

    facts: SceneFacts
    rng: Random
    richness: float
    object_first: bool

    def write_object(self, name: str) -> str:
        noun = self._write_noun(name)
        attributes = self._sample_attributes(self.facts.attributes[name])
        if not attributes:
            return self.choose(
                (5, noun), (5, add_article(noun)), (1, f"there is {add_article(noun)}")
            )
        *rest, last = attributes
        return self.choose(
            (5, " ".join((*attributes, noun))),
            (5, add_article(" ".join((*attributes, noun)))),
            (2, f"the {' '.join((*attributes, noun))}"),
            (3, f"the {noun} is {' and '.join(attributes)}"),
            (2, f"{add_article(' '.join((*rest, noun)))} that is {last}"),
            (1, f"there is {add_article(' '.join((*attributes, noun)))}"),
        )

    def write_two_relations(self, first: Triple, second: Triple) -> str:
        """Write two relations; if they share an object, the second clause may omit it."""
        joint = self.rng.choice((" and ", ", and ", " while "))
        options = [
            (
                3.0,
                f"{self.write_clause(first)}{joint}{self.write_clause(second, mentioned=first[::2])}",
            )
        ]
        target = f"{self._choose_phrase(second[1])} {self._write_noun_phrase(second[2], 'a')}"
        if first[0] == second[0]:
            subject = self._write_noun_phrase(first[0], self._choose_article())
            clause = f"{subject} is {self._choose_phrase(first[1])} {self._write_noun_phrase(first[2], 'a')}"
            options.append((6, f"{clause} and {target}"))
        if first[2] == second[0]:
            subject = self._write_noun_phrase(first[0], "a")
            fragment = f"{subject} {self._choose_phrase(first[1])} {self._write_noun_phrase(first[2], 'a')}"
            options.append((6, f"{fragment} that is {target}"))
        return self.choose(*options)

    def write_list(self, names: Sequence[str]) -> str:
        *rest, last = (
            self._write_noun_phrase(name, "a") for name in self.rng.sample(names, len(names))
        )
        return f"{', '.join(rest)} and {last}"

    def write_twins(self, names: Sequence[str]) -> str:
        """Write the attributes that two objects of one noun share, such as "two red balls"."""
        shared = [
            text
            for text in self.facts.attributes[names[0]]
            if text in self.facts.attributes[names[1]]
        ]
        noun = pluralise(self.facts.nouns[names[0]])
        phrase = " ".join((*self._sample_attributes(shared), noun))
        return self.choose((5, f"two {phrase}"), (1, f"there are two {phrase}"))

    def write_fragment(self, triple: Triple) -> str:
        subject, relation, target = triple
        start = self._write_noun_phrase(subject, "a")
        end = self._write_noun_phrase(target, self._choose_article())
        phrasing = self._choose_phrase(relation)
        options = [
            (4.0, f"{start} {phrasing} {end}"),
            (2, f"{self._write_noun_phrase(subject, '')} {phrasing} {end}"),
            (1, f"{start} that is {phrasing} {end}"),
        ]
        if verbs := RELATIONS[relation].verbs:
            options.append((1, f"{start} that {self.rng.choice(verbs)} {end}"))
        if tails := self._list_tails(triple):
            tail = f"{self._write_noun_phrase(subject, 'a')} {self.rng.choice(tails)}"
            options += [
                (2, f"{self._write_noun_phrase(target, 'a')} with {tail}"),
                (0.5, f"{self._write_noun_phrase(target, 'a')} that has {tail}"),
            ]
        return self.choose(*options)

    def write_clause(self, triple: Triple, mentioned: Collection[str] = ()) -> str:
        """Return a clause with a finite verb.

        Objects in ``mentioned`` have the article "the". If there are none, at most one noun phrase has "the".
        """
        subject, relation, target = triple
        articles = (
            ("a", "a") if mentioned else self.rng.choice((("a", "a"), ("the", "a"), ("a", "the")))
        )
        start = self._write_noun_phrase(subject, articles[0], mentioned)
        end = self._write_noun_phrase(target, articles[1], mentioned)
        phrasing = self._choose_phrase(relation)
        options = [(3.0, f"{start} is {phrasing} {end}")]
        if subject not in mentioned:
            options.append(
                (1, f"there is {self._write_noun_phrase(subject, 'a')} {phrasing} {end}")
            )
        if verbs := RELATIONS[relation].verbs:
            options.append((3, f"{start} {self.rng.choice(verbs)} {end}"))
        if subject not in mentioned and (tails := self._list_tails(triple)):
            owner = self._write_noun_phrase(
                target, "a" if mentioned else self._choose_article(), mentioned
            )
            options.append(
                (1, f"{owner} has {self._write_noun_phrase(subject, 'a')} {self.rng.choice(tails)}")
            )
        return self.choose(*options)

    def _list_tails(self, triple: Triple) -> Sequence[str]:
        """Return the tails if the object may come first: "a table with a cup on it", "a man with a hat on".

        A tail with "it" does not fit people.
        """
        _, relation, target = triple
        fits = relation == "worn by" or self.facts.nouns[target] not in PEOPLE
        return RELATIONS[relation].tails if fits and self.object_first else ()

    def _write_noun_phrase(self, name: str, article: str, mentioned: Collection[str] = ()) -> str:
        """Return a noun phrase: an article ("", "a" or "the"), optional attributes, and a noun."""
        if name in mentioned:
            return f"the {self.facts.nouns[name]}"
        attributes = self.facts.attributes[name]
        chosen = self._sample_attributes(attributes) if self.rng.random() < self.richness else ()
        phrase = " ".join((*chosen, self._write_noun(name)))
        return add_article(phrase) if article == "a" else f"{article} {phrase}".lstrip()

    def _sample_attributes(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Return one or two of the attributes in their order, possibly replaced by synonyms."""
        count = min(len(attributes), self.rng.choice((1, 1, 2)))
        chosen = sorted(self.rng.sample(range(len(attributes)), count))
        return tuple(self._replace_by_synonym(attributes[index]) for index in chosen)

    def _write_noun(self, name: str) -> str:
        return self._replace_by_synonym(self.facts.nouns[name])

    def _replace_by_synonym(self, text: str) -> str:
        return (
            self.rng.choice(SYNONYMS[text])
            if text in SYNONYMS and self.rng.random() < SYNONYM
            else text
        )

    def _choose_phrase(self, relation: str) -> str:
        first, *others = RELATIONS[relation].phrases
        return self.rng.choice(others) if others and self.rng.random() > FIRST_PHRASING else first

    def _choose_article(self) -> str:
        return self.rng.choice(("a", "a", "the"))

    def choose(self, *options: tuple[float, str]) -> str:
        return self.rng.choices([text for _, text in options], [weight for weight, _ in options])[0]


@lru_cache(maxsize=8192)
def add_article(phrase: str) -> str:
    return _load_inflect().a(phrase)


@lru_cache
def pluralise(noun: str) -> str:
    return _load_inflect().plural_noun(noun)


@lru_cache
def _load_inflect() -> inflect.engine:
    return inflect.engine()
