"""English wording of scene content: training captions, region phrases and image captions.

A content (content.py) is expressed by attributes ("a red ball"), predicates ("the ball is striped"), participles,
passives, relative clauses, "with" phrases, plurals and synonyms. Every caption is true of its facts, with "the" read as
"a".

The templates of the benchmarks do not occur: "the X is R the Y" (ARO), two fragments joined by a full stop or two
attributes joined by "and" before a noun (CREPE). Neither do prepositional phrases that could attach to either of two
nouns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from random import Random

import inflect

from generators.microworld.captions.content import IMAGE_KINDS, Content, SceneFacts, choose_content
from generators.microworld.scene import Triple

SYNONYMS: dict[str, tuple[str, ...]] = {
    "car": ("automobile", "auto"),
    "truck": ("lorry",),
    "bucket": ("pail",),
    "flower": ("blossom",),
    "cat": ("kitty",),
    "clock": ("timepiece",),
    "umbrella": ("brolly",),
    "small": ("little", "tiny"),
    "large": ("big",),
    "spotted": ("dotted",),
    "checkered": ("checked",),
}
"""Synonyms of nouns and attributes. Those of nouns share a synset with it or are its direct hypernym or hyponym in
WordNet, so that none can be a foil of another (in WordNet a cap is not a hat)."""

PHRASINGS: dict[str, tuple[str, ...]] = {
    "on": ("on", "on top of", "sitting on", "resting on", "placed on", "sitting on top of", "supported by"),
    "supporting": ("supporting", "carrying"),
    "above": ("above", "over"),
    "below": ("below", "under", "beneath", "underneath"),
    "left of": ("to the left of", "left of", "on the left side of"),
    "right of": ("to the right of", "right of", "on the right side of"),
    "in front of": ("in front of", "partly hiding", "partly covering"),
    "behind": ("behind", "partly hidden by", "partly covered by"),
    "in": ("in", "inside", "sitting in", "placed inside", "held by"),
    "containing": ("containing", "holding"),
    "next to": ("next to", "beside", "near", "close to"),
    "wearing": ("wearing",),
    "worn by": ("worn by",),
}
"""What is between two noun phrases, or after "is"; the first is the most frequent one."""

VERBS: dict[str, tuple[str, ...]] = {
    "on": ("sits on", "rests on"),
    "supporting": ("supports", "carries"),
    "in front of": ("partly hides",),
    "in": ("sits in", "lies in"),
    "containing": ("contains", "holds"),
    "wearing": ("wears",),
}
"""Finite verb forms; other relations take "is"."""

TAILS: dict[str, tuple[str, ...]] = {
    "on": ("on it", "on top of it"),
    "above": ("above it",),
    "below": ("below it", "under it"),
    "left of": ("to its left",),
    "right of": ("to its right",),
    "in front of": ("in front of it",),
    "behind": ("behind it",),
    "in": ("in it", "inside"),
    "next to": ("next to it", "beside it"),
    "worn by": ("on",),
}
"""The end of "OBJECT with SUBJECT tail": a table with a cup on it."""

FIRST_PHRASING = 0.6
"""Probability of the first phrasing of a relation."""
SYNONYM = 0.12
"""Probability of a synonym."""
TRAINING_RICHNESS = 0.6
"""Probability that a training caption adds attributes where none are needed."""


def express(facts: SceneFacts, content: Content, rng: Random, *, richness: float, object_first: bool = True) -> str:
    """Return a content in English, lower-case and without a full stop.

    ``richness`` is the probability of attributes where none are needed. With ``object_first`` some captions name the
    object of a relation before its subject.
    """
    writer = _Writer(facts, rng, richness, TAILS if object_first else {})
    if len(content.relations) == 2:
        return writer.two_relations(*content.relations)
    if content.relations:
        return writer.pair(content.relations[0])
    if len(content.objects) == 1:
        return writer.object(content.objects[0])
    if len({facts.nouns[name] for name in content.objects}) == 1:
        return writer.twins(content.objects)
    return writer.list(content.objects)


def write_region_phrase(facts: SceneFacts, content: Content, rng: Random) -> str:
    """Return a short lower-case phrase in the style of Visual Genome."""
    return express(facts, content, rng, richness=0.4)


def write_training_caption(
    facts: SceneFacts,
    content: Content,
    rng: Random,
    richness: float = TRAINING_RICHNESS,
    *,
    object_first: bool = True,
) -> str:
    """Return a caption in the style of alt text: a phrase, a sentence, or "picture of" a phrase."""
    text = express(facts, content, rng, richness=richness, object_first=object_first)
    if text.startswith(("a ", "an ")) and not content.relations and rng.random() < 0.2:
        return f"{rng.choice(('picture', 'drawing', 'illustration', 'photo'))} of {text}"
    return make_sentence(text) if _is_full(text) and rng.random() < 0.5 else text


def write_image_captions(facts: SceneFacts, rng: Random, count: int = 5) -> list[str]:
    """Return up to ``count`` different captions of a whole image, in the style of COCO."""
    captions: dict[str, None] = {}
    for _ in range(20 * count):
        content = choose_content(facts, IMAGE_KINDS, rng)
        if content is None or len(captions) == count:
            break
        text = express(facts, content, rng, richness=0.8)
        if _is_full(text):
            captions[make_sentence(text)] = None
    return list(captions)


def _is_full(text: str) -> bool:
    return text.split(maxsplit=1)[0] in ("a", "an", "the", "there", "two")


def make_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


class _Writer:
    """Samples wordings; every method advances the generator."""

    def __init__(self, facts: SceneFacts, rng: Random, richness: float, tails: Mapping[str, tuple[str, ...]]) -> None:
        self.facts, self.rng, self.richness, self.tails = facts, rng, richness, tails

    def object(self, name: str) -> str:
        noun, attributes = self._noun(name), self._some(self.facts.attributes[name])
        *rest, last = attributes
        return self._one_of(
            (5, " ".join((*attributes, noun))),
            (5, add_article(" ".join((*attributes, noun)))),
            (2, f"the {' '.join((*attributes, noun))}"),
            (3, f"the {noun} is {' and '.join(attributes)}"),
            (2, f"{add_article(' '.join((*rest, noun)))} {self._that()} is {last}"),
            (1, f"there is {add_article(' '.join((*attributes, noun)))}"),
        )

    def pair(self, triple: Triple) -> str:
        return self._one_of((5, self._fragment(triple)), (3, self._clause(triple)))

    def two_relations(self, first: Triple, second: Triple) -> str:
        """Express two relations; if they share an object, the second clause may leave it out."""
        joint = self.rng.choice((" and ", ", and ", " while "))
        options = [(3.0, f"{self._clause(first)}{joint}{self._clause(second, mentioned=first[::2])}")]
        target = f"{self._phrasing(second[1])} {self._np(second[2], 'a')}"
        if first[0] == second[0]:
            clause = f"{self._np(first[0], self._article())} is {self._phrasing(first[1])} {self._np(first[2], 'a')}"
            options.append((6, f"{clause} and {target}"))
        if first[2] == second[0]:
            fragment = f"{self._np(first[0], 'a')} {self._phrasing(first[1])} {self._np(first[2], 'a')}"
            options.append((6, f"{fragment} {self._that()} is {target}"))
        return self._one_of(*options)

    def list(self, names: Sequence[str]) -> str:
        *rest, last = (self._np(name, "a") for name in self.rng.sample(names, len(names)))
        return f"{', '.join(rest)} and {last}"

    def twins(self, names: Sequence[str]) -> str:
        """Express the attributes that two objects of one noun share: "two red balls"."""
        shared = [text for text in self.facts.attributes[names[0]] if text in self.facts.attributes[names[1]]]
        noun = pluralise(self.facts.nouns[names[0]])
        phrase = " ".join((*self._some(shared), noun))
        return self._one_of((5, f"two {phrase}"), (1, f"there are two {phrase}"))

    def _fragment(self, triple: Triple) -> str:
        subject, relation, target = triple
        start, end, phrasing = self._np(subject, "a"), self._np(target, self._article()), self._phrasing(relation)
        options = [
            (4.0, f"{start} {phrasing} {end}"),
            (2, f"{self._np(subject, '')} {phrasing} {end}"),
            (1, f"{start} {self._that()} is {phrasing} {end}"),
        ]
        if relation in VERBS:
            options.append((1, f"{start} {self._that()} {self.rng.choice(VERBS[relation])} {end}"))
        if relation in self.tails:
            tail = f"{self._np(subject, 'a')} {self.rng.choice(self.tails[relation])}"
            options += [(2, f"{self._np(target, 'a')} with {tail}"), (0.5, f"{self._np(target, 'a')} that has {tail}")]
        return self._one_of(*options)

    def _clause(self, triple: Triple, mentioned: Collection[str] = ()) -> str:
        """Return a clause with a finite verb. Mentioned objects take "the"; otherwise never both sides do."""
        subject, relation, target = triple
        articles = ("a", "a") if mentioned else self.rng.choice((("a", "a"), ("the", "a"), ("a", "the")))
        start, end = self._np(subject, articles[0], mentioned), self._np(target, articles[1], mentioned)
        phrasing = self._phrasing(relation)
        options = [(3.0, f"{start} is {phrasing} {end}")]
        if subject not in mentioned:
            options.append((1, f"there is {self._np(subject, 'a')} {phrasing} {end}"))
        if relation in VERBS:
            options.append((3, f"{start} {self.rng.choice(VERBS[relation])} {end}"))
        if relation in self.tails and subject not in mentioned:
            owner = self._np(target, "a" if mentioned else self._article(), mentioned)
            options.append((1, f"{owner} has {self._np(subject, 'a')} {self.rng.choice(self.tails[relation])}"))
        return self._one_of(*options)

    def _np(self, name: str, article: str, mentioned: Collection[str] = ()) -> str:
        """Return a noun phrase: article ("", "a" or "the"), possibly attributes, noun."""
        if name in mentioned:
            return f"the {self.facts.nouns[name]}"
        attributes = self.facts.attributes[name]
        chosen = self._some(attributes) if self.rng.random() < self.richness else ()
        phrase = " ".join((*chosen, self._noun(name)))
        return add_article(phrase) if article == "a" else f"{article} {phrase}".lstrip()

    def _some(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """Return one or two attributes, in order, sometimes as synonyms."""
        count = min(len(attributes), self.rng.choice((1, 1, 2)))
        chosen = sorted(self.rng.sample(range(len(attributes)), count))
        return tuple(self._synonym(attributes[index]) for index in chosen)

    def _noun(self, name: str) -> str:
        return self._synonym(self.facts.nouns[name])

    def _synonym(self, text: str) -> str:
        return self.rng.choice(SYNONYMS[text]) if text in SYNONYMS and self.rng.random() < SYNONYM else text

    def _phrasing(self, relation: str) -> str:
        first, *others = PHRASINGS[relation]
        return self.rng.choice(others) if others and self.rng.random() > FIRST_PHRASING else first

    def _article(self) -> str:
        return self.rng.choice(("a", "a", "the"))

    def _that(self) -> str:
        return self.rng.choice(("that", "which"))

    def _one_of(self, *options: tuple[float, str]) -> str:
        return self.rng.choices([text for _, text in options], [weight for weight, _ in options])[0]


@lru_cache(maxsize=8192)
def add_article(phrase: str) -> str:
    return _english().a(phrase)


@lru_cache
def pluralise(noun: str) -> str:
    return _english().plural_noun(noun)


@lru_cache
def _english() -> inflect.engine:
    return inflect.engine()
