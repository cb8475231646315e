"""The objects of a caption, with their names and the attributes in front of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from generators.parser import lemmas, lexicon
from generators.parser.lexicon import COLORS, MEASURES, NAMES, PICTURES
from generators.parser.sentence import FOLDED, Sentence

ADJECTIVE_TAGS = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "AFX"})
_MODIFIER_DEPS = lexicon.words("modifier_deps")
_ARGUMENT_DEPS = frozenset({"pobj", "dobj", "nsubj", "nsubjpass", "attr"})
_NOMINALISED_TAGS = frozenset({"JJ", "VBG", "VBN", "VB", "VBP", "VBD", "FW", "UH"})
_MAX_DEPTH = 8
"""Longest chain of "of" that is followed."""
_MAX_DIGITS = 3
"""Longer numbers are years or models, not counts."""


class Attribute(NamedTuple):
    """``text`` covers tokens ``start`` to ``last`` inclusive; ``tag`` is the tag of its head word."""

    text: str
    start: int
    last: int
    tag: str


@dataclass(slots=True)
class Noun:
    """An object named by tokens ``start`` to ``head``, modified from ``edge`` on; ``lemma`` is of its head word."""

    head: int
    start: int
    edge: int
    name: str
    lemma: str
    attributes: list[Attribute] = field(default_factory=list)


class Nouns:
    """The objects of a sentence by head token, and the objects that any token stands for."""

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.by_head: dict[int, Noun] = {}
        self.alias: dict[int, int] = {}
        self.denied: set[int] = set()
        for index in range(len(sentence)):
            if self._heads_object(index):
                self._add(index)
        for head in self.by_head:
            if self._is_denied(head):
                self.denied.add(head)

    def __contains__(self, index: int) -> bool:
        return index in self.by_head

    def of(self, index: int, depth: int = 0) -> list[int]:
        """The objects that a token stands for, with those coordinated after it."""
        heads: set[int] = set()
        chain = [self.alias.get(index, index)]
        for member in chain:
            heads.update([member] if member in self.by_head else self._content(member, depth))
            chain.extend(child for child in self.sentence.children_by(member, "conj") if child not in self.alias)
        return sorted(heads)

    def subjects(self, index: int, before: int) -> list[int]:
        """Like :meth:`of`, but only objects left of token ``before``, including those coordinated before ``index``.

        A noun with a phrase of its own behind it shares no phrase of a later noun ("a ball on a table and a cup on a
        box").
        """
        s = self.sentence
        first = index
        while s.deps[first] == "conj" and s.heads[first] in self.by_head:
            if any(child > s.heads[first] for child in s.children_by(s.heads[first], "prep", "acl", "relcl")):
                break
            first = s.heads[first]
        return [head for head in self.of(first) if head < before or head == index]

    def is_person(self, head: int) -> bool:
        """Whether the object can wear, hold and act: people and animals."""
        lemma = self.by_head[head].lemma if head in self.by_head else ""
        return lemma in lexicon.PERSONAL or lemma.endswith(("man", "boy", "girl"))

    def is_body_part(self, head: int) -> bool:
        return head in self.by_head and self.by_head[head].lemma in lexicon.BODY_PARTS

    def are_clothes(self, heads: Iterable[int]) -> bool:
        return all({self.by_head[head].lemma, self.sentence.words[head]} & lexicon.CLOTHES for head in heads)

    def complements_of(self, index: int) -> list[int]:
        """The complements of "of" after a token."""
        s = self.sentence
        links = (child for child in s.children_by(index, "prep") if s.words[child] == "of")
        return [child for link in links for child in s.children_by(link, "pobj")]

    def _content(self, index: int, depth: int) -> list[int]:
        """The objects in a picture or measured by a measure."""
        if self.sentence.words[index] not in PICTURES | MEASURES or depth > _MAX_DEPTH:
            return []
        return [head for child in self.complements_of(index) for head in self.of(child, depth + 1)]

    def _heads_object(self, index: int) -> bool:
        s = self.sentence
        word, tag, dep = s.words[index], s.tags[index], s.deps[index]
        if dep == FOLDED or not word.replace("-", "").isalpha():
            return False
        if word in lexicon.NON_OBJECTS and not s.children_by(index, "compound"):
            return False
        if word in lexicon.PLACES and dep == "pobj" and not s.children_by(index, "amod", "compound", "prep"):
            return False
        if word in PICTURES | MEASURES and self.complements_of(index):
            return False
        if index and s.words[index - 1] in lexicon.BOILERPLATE and (lemmas.noun(word) in PICTURES or word == "space"):
            return False
        if s.is_noun(index):
            return not self._is_modifier(index)
        if tag == "JJR" and s.children_by(index, "compound"):  # "towel warmer"
            return True
        has_article = any(s.tags[child] in {"DT", "PRP$"} for child in s.children[index] if child < index)
        return dep in _ARGUMENT_DEPS and has_article and tag in _NOMINALISED_TAGS

    def _is_modifier(self, index: int) -> bool:
        """Whether a noun token belongs to another noun behind it."""
        s = self.sentence
        head = s.heads[index]
        if s.deps[index] in {"compound", "amod", "nmod", "nummod"} and head > index:
            return True
        if s.deps[index] == "npadvmod":
            return head > index or not s.children[index]
        return s.words[index] in COLORS and self._colors_next_noun(index)

    def _colors_next_noun(self, index: int) -> bool:
        """Whether a colour begins a row like "orange and white cat", which spaCy reads as two objects."""
        s = self.sentence
        after = index + 1
        while after < len(s) and (s.words[after] in {"and", ","} or s.words[after] in COLORS):
            after += 1
        while after < len(s) and s.tags[after] in {"JJ", "VBN"}:
            after += 1
        if after == index + 1 or after >= len(s) or not s.is_noun(after) or s.words[after - 1] in {"and", ","}:
            return False
        head = after
        while head + 1 < len(s) and s.is_noun(head + 1) and s.deps[head] == "compound":
            head += 1
        self.alias[index] = head
        return True

    def _add(self, head: int) -> None:
        s = self.sentence
        lemma = lemmas.noun(s.words[head], s.tags[head] in {"NNS", "NNPS"})
        start = head
        while start > 0 and self._in_name(start - 1, head):
            start -= 1
        name = " ".join([*s.words[start:head], lemma])
        noun = self.by_head[head] = Noun(head, start, start, lemmas.SPELLINGS.get(name, name), lemma)
        while noun.edge > 0 and self._is_left_part(noun.edge - 1, head):
            attribute = self._attribute(noun.edge - 1)
            if attribute:
                noun.attributes.insert(0, attribute)
            noun.edge = attribute.start if attribute else noun.edge - 1

    def _is_left_part(self, index: int, head: int) -> bool:
        """Whether a token in front of a noun belongs to it, by the tree or as a colour in a row of colours."""
        s = self.sentence
        if s.deps[index] == "nsubj" and s.deps[s.heads[index]] == "covering":
            return s.heads[s.heads[index]] == head
        if self.alias.get(index) == head or (s.words[index] in {"and", ","} and self.alias.get(index - 1) == head):
            return True
        for _ in range(4):
            if s.deps[index] not in _MODIFIER_DEPS or (s.heads[index] in self.by_head and s.heads[index] < index):
                return False
            index = s.heads[index]
            if index >= head:
                return index == head
        return False

    def _in_name(self, index: int, head: int) -> bool:
        s = self.sentence
        word = s.words[index]
        if (
            not self._is_left_part(index, head)
            or s.deps[index] in {"poss", "appos", "nsubj"}
            or not word[-1:].isalnum()
        ):
            return False
        if self._is_name(index) or (index and self._is_name(index - 1)) or word in lexicon.POSITIONS:
            return True
        if s.tags[index] == "VBG" or word in lexicon.GERUND_NAMES:
            return word in lexicon.GERUND_NAMES
        if word in lexicon.ATTRIBUTE_NOUNS or lemmas.is_adjective(word) or word in {"color", "colour"}:
            return False
        return s.is_noun(index) and s.deps[index] in {"compound", "nmod", "amod"}

    def _is_name(self, index: int) -> bool:
        """Whether a token and the next are a listed name."""
        return f"{self.sentence.words[index]} {lemmas.noun(self.sentence.words[index + 1])}" in NAMES

    def _attribute(self, index: int) -> Attribute | None:
        """The attribute that ends at a token in front of a noun; None for words that describe nothing visible."""
        s = self.sentence
        word, tag = s.words[index], s.tags[index]
        numeral = tag == "CD" or word in lemmas.NUMBERS
        if index in self.by_head or word in lexicon.QUANTIFIERS or s.deps[index] == "covering":
            return None
        if numeral and not word.isalpha() and not (word.isdigit() and len(word) <= _MAX_DIGITS):
            return None
        if word in {"colored", "coloured", "color", "colour"}:
            return None
        if not (numeral or tag in ADJECTIVE_TAGS or s.is_noun(index) or word in COLORS):
            return None
        return adjective(s, index, joined=not numeral)

    def _is_denied(self, head: int) -> bool:
        """Whether the caption denies the object ("no hat", "without a hat or a coat")."""
        s = self.sentence
        first, edge = s.heads[head], self.by_head[head].edge
        coordinated = s.deps[head] == "conj" and first in self.denied
        if coordinated and any(s.words[child] in {"or", "nor"} for child in s.children[first]):
            return True
        while edge > 0 and s.tags[edge - 1] in {"DT", "PRP$"}:
            edge -= 1
        before = s.words[max(edge - 1, 0) : head]
        return bool(lexicon.NEGATIONS & set(before)) or (edge > 0 and s.words[edge - 1] == "without")


def adjective(s: Sentence, index: int, joined: bool = True) -> Attribute:
    """The attribute of an adjective, ``joined`` with a shade or an adverb before it ("dark green", "partly cloudy")."""
    word, before, tag = s.words[index], index - 1, s.tags[index]
    if joined and before >= 0 and _joins(s, before):
        return Attribute(f"{s.words[before]} {word}", before, index, tag)
    return Attribute(lemmas.attribute(word), index, index, tag)


def _joins(s: Sentence, before: int) -> bool:
    """Whether a shade or an adverb is one attribute with the word after it."""
    word, index = s.words[before], before + 1
    if word in lexicon.SHADES:
        return s.words[index] in COLORS
    adverb = s.tags[before] == "RB" and s.heads[before] == index and word.endswith("ly")
    return adverb or word in {"well", "hard"}
