"""English about scenes: training captions, region phrases and image captions in varied syntax.

A content (content.py) is put into English: attributive ("a red ball"), predicative ("the ball is striped"),
participial, passive, relative clauses, "with" phrases, plurals and synonyms. Every caption is true of its facts, read
existentially ("the" like "a").

Never worded: "the X is R the Y" (ARO's template), two fragments joined by a full stop or two attributes joined by "and"
before a noun (CREPE's), and chains of prepositional phrases that could attach to either of two nouns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from random import Random

import inflect

from generators.microworld.captions.content import IMAGE_KINDS, Content, Facts, choose
from generators.microworld.scenes.spatial_relations import Triple

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
"""Other words for nouns and attributes. A noun's share a synset with it or lie straight above or below it in WordNet,
so that none can be a foil of another (a cap, WordNet says, is no hat)."""

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
"""What stands between two noun phrases, and after "is"; the first is the usual one."""

VERBS: dict[str, tuple[str, ...]] = {
    "on": ("sits on", "rests on"),
    "supporting": ("supports", "carries"),
    "in front of": ("partly hides",),
    "in": ("sits in", "lies in"),
    "containing": ("contains", "holds"),
    "wearing": ("wears",),
}
"""Finite forms; the other relations take "is"."""

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
"""The relation's end in "OBJECT with SUBJECT tail": a table with a cup on it."""

USUAL_SHARE = 0.6
"""How often a relation is said in its usual form."""
SYNONYM_SHARE = 0.12
TRAINING_RICHNESS = 0.6
"""How often a training caption describes a thing that it need not describe."""


def word(facts: Facts, content: Content, rng: Random, *, richness: float, object_first: bool = True) -> str:
    """A content in English, lower-case and without a full stop; ``richness`` is the chance that a thing that need not
    be described is. ``object_first`` lets some captions name a relation's object before its subject."""
    speaker = _Speaker(facts, rng, richness, TAILS if object_first else {})
    if len(content.relations) == 2:
        return speaker.double(*content.relations)
    if content.relations:
        return speaker.pair(content.relations[0])
    if len(content.things) == 1:
        return speaker.thing(content.things[0])
    if len({facts.nouns[name] for name in content.things}) == 1:
        return speaker.twins(content.things)
    return speaker.list(content.things)


def region_phrase(facts: Facts, content: Content, rng: Random) -> str:
    """Lower-case and short, as Visual Genome's annotators write."""
    return word(facts, content, rng, richness=0.4)


def training_caption(
    facts: Facts,
    content: Content,
    rng: Random,
    richness: float = TRAINING_RICHNESS,
    *,
    object_first: bool = True,
) -> str:
    """Like alt text: bare, or a sentence, or introduced as a picture."""
    text = word(facts, content, rng, richness=richness, object_first=object_first)
    if text.startswith(("a ", "an ")) and not content.relations and rng.random() < 0.2:
        return f"{rng.choice(('picture', 'drawing', 'illustration', 'photo'))} of {text}"
    return as_sentence(text) if _is_full(text) and rng.random() < 0.5 else text


def image_captions(facts: Facts, rng: Random, count: int = 5) -> list[str]:
    """Different captions of a whole image, as COCO's annotators write; fewer where the facts do not give so many."""
    captions: dict[str, None] = {}
    for _ in range(20 * count):
        content = choose(facts, IMAGE_KINDS, rng)
        if content is None or len(captions) == count:
            break
        text = word(facts, content, rng, richness=0.8)
        if _is_full(text):
            captions[as_sentence(text)] = None
    return list(captions)


def _is_full(text: str) -> bool:
    return text.split(maxsplit=1)[0] in ("a", "an", "the", "there", "two")


def as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


class _Speaker:
    """Words contents; every method takes the next numbers of the generator."""

    def __init__(self, facts: Facts, rng: Random, richness: float, tails: Mapping[str, tuple[str, ...]]) -> None:
        self.facts, self.rng, self.richness, self.tails = facts, rng, richness, tails

    def thing(self, name: str) -> str:
        noun, said = self._noun(name), self._some(self.facts.attributes[name])
        *rest, last = said
        return self._one_of(
            (5, " ".join((*said, noun))),
            (5, with_article(" ".join((*said, noun)))),
            (2, f"the {' '.join((*said, noun))}"),
            (3, f"the {noun} is {' and '.join(said)}"),
            (2, f"{with_article(' '.join((*rest, noun)))} {self._that()} is {last}"),
            (1, f"there is {with_article(' '.join((*said, noun)))}"),
        )

    def pair(self, triple: Triple) -> str:
        return self._one_of((5, self._fragment(triple)), (3, self._clause(triple)))

    def double(self, first: Triple, second: Triple) -> str:
        """Two relations; where they share a thing, the second may be told of it without naming it again."""
        joint = self.rng.choice((" and ", ", and ", " while "))
        options = [(3.0, f"{self._clause(first)}{joint}{self._clause(second, told=first[::2])}")]
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
        """ "two red balls": attributes that both have."""
        shared = [text for text in self.facts.attributes[names[0]] if text in self.facts.attributes[names[1]]]
        noun = plural(self.facts.nouns[names[0]])
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

    def _clause(self, triple: Triple, told: Collection[str] = ()) -> str:
        """With a finite verb; never "the" on both sides. A thing that was told of already is "the"."""
        subject, relation, target = triple
        articles = ("a", "a") if told else self.rng.choice((("a", "a"), ("the", "a"), ("a", "the")))
        start, end = self._np(subject, articles[0], told), self._np(target, articles[1], told)
        phrasing = self._phrasing(relation)
        options = [(3.0, f"{start} is {phrasing} {end}")]
        if subject not in told:
            options.append((1, f"there is {self._np(subject, 'a')} {phrasing} {end}"))
        if relation in VERBS:
            options.append((3, f"{start} {self.rng.choice(VERBS[relation])} {end}"))
        if relation in self.tails and subject not in told:
            owner = self._np(target, "a" if told else self._article(), told)
            options.append((1, f"{owner} has {self._np(subject, 'a')} {self.rng.choice(self.tails[relation])}"))
        return self._one_of(*options)

    def _np(self, name: str, article: str, told: Collection[str] = ()) -> str:
        """A noun phrase: article "", "a" or "the", perhaps attributes, noun."""
        if name in told:
            return f"the {self.facts.nouns[name]}"
        attributes = self.facts.attributes[name]
        said = self._some(attributes) if self.rng.random() < self.richness else ()
        phrase = " ".join((*said, self._noun(name)))
        return with_article(phrase) if article == "a" else f"{article} {phrase}".lstrip()

    def _some(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """One attribute or two, in their order, as synonyms now and then."""
        count = min(len(attributes), self.rng.choice((1, 1, 2)))
        chosen = sorted(self.rng.sample(range(len(attributes)), count))
        return tuple(self._synonym(attributes[index]) for index in chosen)

    def _noun(self, name: str) -> str:
        return self._synonym(self.facts.nouns[name])

    def _synonym(self, text: str) -> str:
        return self.rng.choice(SYNONYMS[text]) if text in SYNONYMS and self.rng.random() < SYNONYM_SHARE else text

    def _phrasing(self, relation: str) -> str:
        usual, *others = PHRASINGS[relation]
        return self.rng.choice(others) if others and self.rng.random() > USUAL_SHARE else usual

    def _article(self) -> str:
        return self.rng.choice(("a", "a", "the"))

    def _that(self) -> str:
        return self.rng.choice(("that", "which"))

    def _one_of(self, *options: tuple[float, str]) -> str:
        return self.rng.choices([text for _, text in options], [weight for weight, _ in options])[0]


@lru_cache(maxsize=8192)
def with_article(phrase: str) -> str:
    return _english().a(phrase)


@lru_cache
def plural(noun: str) -> str:
    return _english().plural_noun(noun)


@lru_cache
def _english() -> inflect.engine:
    return inflect.engine()
