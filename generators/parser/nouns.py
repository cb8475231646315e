"""The objects of a caption with their names and the attributes that stand in front of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from generators.parser import lemmas
from generators.parser.lexicon import (
    ATTRIBUTE_NOUNS,
    BODY_PARTS,
    BOILERPLATE,
    CLOTHES,
    COLORS,
    GERUND_NAMES,
    MEASURES,
    NAMES,
    NEGATIONS,
    NON_OBJECTS,
    PERSONAL,
    PICTURES,
    PLACES,
    POSITIONS,
    QUANTIFIERS,
    SHADES,
    words,
)
from generators.parser.sentence import FOLDED, Sentence

NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS"})
ADJECTIVE_TAGS = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "AFX"})
_MODIFIERS = words("amod compound nummod nmod conj cc punct advmod npadvmod quantmod poss det dep appos covering")
_ARGUMENTS = frozenset({"pobj", "dobj", "nsubj", "nsubjpass", "attr"})


_DEPTH = 8
"""How far a chain of "of" is followed."""
_DIGITS = 3
"""A number of more digits is a year or a model's, no count."""


class Attribute(NamedTuple):
    """``text`` stands at tokens ``start`` to ``last`` inclusive; ``tag`` is that of its head word."""

    text: str
    start: int
    last: int
    tag: str


@dataclass(slots=True)
class Noun:
    """An object, named by tokens ``start`` to ``head``; ``edge`` begins its left part, ``lemma`` is its last word's."""

    head: int
    start: int
    edge: int
    name: str
    lemma: str
    attributes: list[Attribute] = field(default_factory=list)


class Nouns:
    """The objects of a sentence, and which of them a token stands for."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.by_head: dict[int, Noun] = {}
        self.alias: dict[int, int] = {}
        for index in range(len(sentence)):
            if self._heads_object(index):
                self._add(index)
        self.denied: set[int] = set()
        for head in self.by_head:
            if self._is_denied(head):
                self.denied.add(head)

    def __contains__(self, index: int) -> bool:
        return index in self.by_head

    def of(self, index: int, depth: int = 0) -> list[int]:
        """The objects that a token stands for, with those coordinated after it; [] where it stands for none."""
        found: set[int] = set()
        chain = [self.alias.get(index, index)]
        for member in chain:
            found.update([member] if member in self.by_head else self._content(member, depth))
            chain.extend(kid for kid in self.sentence.kids_by(member, "conj") if kid not in self.alias)
        return sorted(found)

    def subjects(self, index: int, before: int) -> list[int]:
        """As :meth:`of`, but only what stands left of token ``before``, and with what is coordinated before it.

        A noun that has a phrase of its own behind it shares none of a later one's ("a ball on a table and a cup on a
        box").
        """
        s = self.sentence
        first = index
        while s.deps[first] == "conj" and s.heads[first] in self.by_head:
            if any(kid > s.heads[first] for kid in s.kids_by(s.heads[first], "prep", "acl", "relcl")):
                break
            first = s.heads[first]
        return [head for head in self.of(first) if head < before or head == index]

    def is_person(self, head: int) -> bool:
        """Whether it is someone who can wear, hold and act: people and animals."""
        lemma = self.by_head[head].lemma if head in self.by_head else ""
        return lemma in PERSONAL or lemma.endswith(("man", "boy", "girl"))

    def is_body_part(self, head: int) -> bool:
        return head in self.by_head and self.by_head[head].lemma in BODY_PARTS

    def are_clothes(self, heads: Iterable[int]) -> bool:
        return all(self.by_head[head].lemma in CLOTHES or self.sentence.words[head] in CLOTHES for head in heads)

    def _content(self, index: int, depth: int) -> list[int]:
        """What a picture or a measure is of."""
        s = self.sentence
        if s.words[index] not in PICTURES | MEASURES or depth > _DEPTH:
            return []
        links = [kid for kid in s.kids_by(index, "prep") if s.words[kid] == "of"]
        return [head for link in links for kid in s.kids_by(link, "pobj") for head in self.of(kid, depth + 1)]

    def _heads_object(self, index: int) -> bool:
        s = self.sentence
        word, tag, dep = s.words[index], s.tags[index], s.deps[index]
        if dep == FOLDED or not word.replace("-", "").isalpha():
            return False
        if word in NON_OBJECTS and not s.kids_by(index, "compound"):
            return False
        if word in PLACES and dep == "pobj" and not s.kids_by(index, "amod", "compound", "prep"):
            return False
        if word in PICTURES | MEASURES and self._has_of(index):
            return False
        if index and s.words[index - 1] in BOILERPLATE and (lemmas.noun(word) in PICTURES or word == "space"):
            return False
        if tag in NOUN_TAGS:
            return not self._modifies(index)
        if tag == "JJR" and s.kids_by(index, "compound"):  # "towel warmer"
            return True
        has_article = any(s.tags[kid] in {"DT", "PRP$"} for kid in s.kids[index] if kid < index)
        return dep in _ARGUMENTS and has_article and tag in {"JJ", "VBG", "VBN", "VB", "VBP", "VBD", "FW", "UH"}

    def _has_of(self, index: int) -> bool:
        return any(
            self.sentence.words[kid] == "of" and self.sentence.kids_by(kid, "pobj")
            for kid in self.sentence.kids_by(index, "prep")
        )

    def _modifies(self, index: int) -> bool:
        """Whether a noun token stands in front of another noun and belongs to it."""
        s = self.sentence
        head = s.heads[index]
        if s.deps[index] in {"compound", "amod", "nmod", "nummod"} and head > index:
            return True
        if s.deps[index] == "npadvmod":
            return head > index or not s.kids[index]
        return s.words[index] in COLORS and self._colors_what_follows(index)

    def _colors_what_follows(self, index: int) -> bool:
        """ "orange and white cat", which parsers take for two things."""
        s = self.sentence
        after = index + 1
        while after < len(s) and (s.words[after] in {"and", ","} or s.words[after] in COLORS):
            after += 1
        while after < len(s) and s.tags[after] in {"JJ", "VBN"}:
            after += 1
        if (
            after == index + 1
            or after >= len(s)
            or s.tags[after] not in NOUN_TAGS
            or s.words[after - 1] in {"and", ","}
        ):
            return False
        head = after
        while head + 1 < len(s) and s.tags[head + 1] in NOUN_TAGS and s.deps[head] == "compound":
            head += 1
        self.alias[index] = head
        return True

    def _add(self, head: int) -> None:
        s = self.sentence
        lemma = lemmas.noun(s.words[head], s.tags[head] in {"NNS", "NNPS"})
        noun = Noun(head, head, head, lemma, lemma)
        self.by_head[head] = noun
        index = head - 1
        while index >= 0 and self._in_name(index, head):
            index -= 1
        noun.start = noun.edge = index + 1
        noun.name = lemmas.spelling(" ".join([*s.words[noun.start : head], lemma]))
        while index >= 0 and self._left_of(index, head):
            attribute = self._attribute(index)
            if attribute:
                noun.attributes.insert(0, attribute)
            noun.edge = attribute.start if attribute else index
            index = noun.edge - 1

    def _left_of(self, index: int, head: int) -> bool:
        """Whether the token belongs to the left part of the noun, by the tree or as a colour in a row of them."""
        s = self.sentence
        if s.deps[index] == "nsubj" and s.deps[s.heads[index]] == "covering":
            return s.heads[s.heads[index]] == head
        if self.alias.get(index) == head or (s.words[index] in {"and", ","} and self.alias.get(index - 1) == head):
            return True
        for _ in range(4):
            if s.deps[index] not in _MODIFIERS or (s.heads[index] in self.by_head and s.heads[index] < index):
                return False
            index = s.heads[index]
            if index == head:
                return True
            if index > head:
                return False
        return False

    def _in_name(self, index: int, head: int) -> bool:
        s = self.sentence
        word, tag = s.words[index], s.tags[index]
        if not self._left_of(index, head) or s.deps[index] in {"poss", "appos", "nsubj"} or not word[-1:].isalnum():
            return False
        if self._names(index) or (index and self._names(index - 1)):
            return True
        if word in POSITIONS:
            return True
        if tag == "VBG" or word in GERUND_NAMES:
            return word in GERUND_NAMES
        if word in ATTRIBUTE_NOUNS or lemmas.is_adjective(word) or word in {"color", "colour"}:
            return False
        return tag in NOUN_TAGS and s.deps[index] in {"compound", "nmod", "amod"}

    def _names(self, index: int) -> bool:
        """Whether a token and the next name one thing."""
        return f"{self.sentence.words[index]} {lemmas.noun(self.sentence.words[index + 1])}" in NAMES

    def _attribute(self, index: int) -> Attribute | None:
        """The attribute that ends at a token in front of a noun, None for words that say nothing one can see."""
        s = self.sentence
        word, tag = s.words[index], s.tags[index]
        if index in self.by_head:
            return None
        numeral = tag == "CD" or word in lemmas.NUMBERS
        if numeral and not word.isalpha() and not (word.isdigit() and len(word) <= _DIGITS):
            return None
        if word in QUANTIFIERS or word in {"colored", "coloured", "color", "colour"} or s.deps[index] == "covering":
            return None
        if not (numeral or tag in ADJECTIVE_TAGS or tag in NOUN_TAGS or word in COLORS):
            return None
        before = index - 1
        if before >= 0 and not numeral and joins(s, before, index):
            return Attribute(f"{s.words[before]} {word}", before, index, tag)
        return Attribute(lemmas.attribute(word), index, index, tag)

    def _is_denied(self, head: int) -> bool:
        """Whether the caption says that the object is not there ("no hat", "without a hat or a coat")."""
        s = self.sentence
        first, edge = s.heads[head], self.by_head[head].edge
        if (
            s.deps[head] == "conj"
            and first in self.denied
            and any(s.words[kid] in {"or", "nor"} for kid in s.kids[first])
        ):
            return True
        while edge > 0 and s.tags[edge - 1] in {"DT", "PRP$"}:
            edge -= 1
        return bool(NEGATIONS & set(s.words[max(edge - 1, 0) : head])) or (edge > 0 and s.words[edge - 1] == "without")


def joins(s: Sentence, before: int, index: int) -> bool:
    """Whether a shade or an adverb makes one attribute with the word after it ("dark green", "partly cloudy")."""
    word = s.words[before]
    if word in SHADES:
        return s.words[index] in COLORS
    adverb = s.tags[before] == "RB" and s.heads[before] == index and word.endswith("ly")
    return adverb or word in {"well", "hard"}
