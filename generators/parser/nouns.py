"""The objects of a caption, with their names and the attributes in front of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compeval.generators.parser import lemmas
from compeval.generators.parser.lexicon import ATTRIBUTE_NOUNS, CONTENT_NOUNS, WORDS
from compeval.generators.parser.sentence import COVERING, MERGED, Sentence, Span

ADJECTIVE_TAGS = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG", "VBD", "AFX"})
_ARGUMENT_DEPS = frozenset({"pobj", "dobj", "nsubj", "nsubjpass", "attr"})
_NOMINALISED_TAGS = frozenset({"JJ", "VBG", "VBN", "VB", "VBP", "VBD", "FW", "UH"})
_MAX_DEPTH = 8
"""Maximum number of nested "of" phrases."""
_MAX_DIGITS = 3
"""Longer numbers are years or model names, not counts."""


@dataclass(slots=True)
class Noun:
    """An object that is named by the tokens ``start`` to ``head``.

    ``first_modifier`` is the first token of its modifiers. ``lemma`` is the lemma of the head token.
    """

    head: int
    start: int
    first_modifier: int
    name: str
    lemma: str
    attributes: list[Span] = field(default_factory=list)


class Nouns:
    """The objects of a sentence by head token.

    ``alias`` maps tokens that are not objects themselves to the object to which they belong.
    """

    def __init__(self, sentence: Sentence) -> None:
        self.sentence = sentence
        self.by_head: dict[int, Noun] = {}
        self.alias: dict[int, int] = {}
        self.negated: set[int] = set()
        for index in range(len(sentence)):
            if self._is_object_head(index):
                self._add_object(index)
        for head in filter(self._is_negated, self.by_head):
            self.negated.add(head)

    def __contains__(self, index: int) -> bool:
        return index in self.by_head

    def resolve(self, index: int, depth: int = 0) -> list[int]:
        """Return the objects to which a token refers, with the objects that are coordinated after it."""
        heads: set[int] = set()
        chain = [self.alias.get(index, index)]
        for member in chain:
            heads.update([member] if member in self.by_head else self._find_content(member, depth))
            chain.extend(
                child
                for child in self.sentence.children_by(member, "conj")
                if child not in self.alias
            )
        return sorted(heads)

    def resolve_before(self, index: int, before: int) -> list[int]:
        """Return the objects to which a token refers and those coordinated before it, if they precede token ``before``.

        A noun with its own phrase is not modified by the phrase of a later noun: "a ball on a table and a
        cup on a box".
        """
        s = self.sentence
        first = index
        while s.deps[first] == "conj" and s.heads[first] in self.by_head:
            if any(
                child > s.heads[first]
                for child in s.children_by(s.heads[first], "prep", "acl", "relcl")
            ):
                break
            first = s.heads[first]
        return [head for head in self.resolve(first) if head < before or head == index]

    def is_animate(self, head: int) -> bool:
        """Return True if the object is a person or an animal, which can wear, hold and act."""
        lemma = self.by_head[head].lemma if head in self.by_head else ""
        return lemma in WORDS["animate_nouns"] or lemma.endswith(("man", "boy", "girl"))

    def is_body_part(self, head: int) -> bool:
        return head in self.by_head and self.by_head[head].lemma in WORDS["body_parts"]

    def are_clothes(self, heads: Iterable[int]) -> bool:
        return all(
            {self.by_head[head].lemma, self.sentence.words[head]} & WORDS["clothes"]
            for head in heads
        )

    def of_complements(self, index: int) -> list[int]:
        """Return the complements of the "of" phrases after a token."""
        s = self.sentence
        links = (child for child in s.children_by(index, "prep") if s.words[child] == "of")
        return [child for link in links for child in s.children_by(link, "pobj")]

    def _find_content(self, index: int, depth: int) -> list[int]:
        """Return the objects in the "of" phrase of a picture ("photo of a cat") or of a measure ("group of cats")."""
        if self.sentence.words[index] not in CONTENT_NOUNS or depth > _MAX_DEPTH:
            return []
        return [
            head for child in self.of_complements(index) for head in self.resolve(child, depth + 1)
        ]

    def _is_object_head(self, index: int) -> bool:
        s = self.sentence
        word = s.words[index]
        tag = s.tags[index]
        dep = s.deps[index]
        if dep == MERGED or not word.replace("-", "").isalpha():
            return False
        if word in WORDS["location_attributes"] and dep == "advmod":
            return False
        if word in WORDS["non_objects"] and not s.children_by(index, "compound"):
            return False
        if (
            word in WORDS["part_nouns"]
            and dep == "pobj"
            and not s.children_by(index, "amod", "compound", "prep")
        ):
            return False
        if word in CONTENT_NOUNS and self.of_complements(index):
            return False
        is_image_noun = lemmas.singular(word) in WORDS["image_nouns"] or word == "space"
        if is_image_noun and index and s.is_in(index - 1, "boilerplate"):
            return False
        if s.is_noun(index):
            return not self._is_modifier(index)
        if tag == "JJR" and s.children_by(index, "compound"):  # "towel warmer"
            return True
        has_article = any(
            s.tags[child] in {"DT", "PRP$"} for child in s.children[index] if child < index
        )
        return dep in _ARGUMENT_DEPS and has_article and tag in _NOMINALISED_TAGS

    def _is_modifier(self, index: int) -> bool:
        """Return True if a noun token belongs to a later noun."""
        s = self.sentence
        head = s.heads[index]
        if s.deps[index] in {"compound", "amod", "nmod", "nummod"} and head > index:
            return True
        if s.deps[index] == "npadvmod":
            return head > index or not s.children[index]
        return s.is_in(index, "colors") and self._is_color_in_list(index)

    def _is_color_in_list(self, index: int) -> bool:
        """Return True if a colour starts a list like "orange and white cat", which spaCy parses as two nouns.

        In that case, record the noun as the alias of the colour.
        """
        s = self.sentence
        position = index + 1
        while position < len(s) and s.words[position] in {"and", ","} | WORDS["colors"]:
            position += 1
        while position < len(s) and s.tags[position] in {"JJ", "VBN"}:
            position += 1
        is_list = position > index + 1 and s.words[position - 1] not in {"and", ","}
        if not is_list or position >= len(s) or not s.is_noun(position):
            return False
        head = position
        while head + 1 < len(s) and s.is_noun(head + 1) and s.deps[head] == "compound":
            head += 1
        self.alias[index] = head
        return True

    def _add_object(self, head: int) -> None:
        s = self.sentence
        lemma = lemmas.singular(s.words[head], s.tags[head] in {"NNS", "NNPS"})
        start = head
        while start > 0 and self._in_name(start - 1, head):
            start -= 1
        name = " ".join([*s.words[start:head], lemma])
        noun = self.by_head[head] = Noun(
            head, start, start, lemmas.SPELLINGS.get(name, name), lemma
        )
        while noun.first_modifier > 0 and self._is_left_part(noun.first_modifier - 1, head):
            attribute = self._read_attribute(noun.first_modifier - 1)
            if attribute:
                noun.attributes.insert(0, attribute)
            noun.first_modifier = attribute.start if attribute else noun.first_modifier - 1

    def _is_left_part(self, index: int, head: int) -> bool:
        """Return True if a token in front of a noun belongs to it, by the dependency tree or in a list of colours."""
        s = self.sentence
        if s.deps[index] == "nsubj" and s.deps[s.heads[index]] == COVERING:
            return s.heads[s.heads[index]] == head
        if self.alias.get(index) == head or (
            s.words[index] in {"and", ","} and self.alias.get(index - 1) == head
        ):
            return True
        for _ in range(4):
            child = index
            index = s.heads[index]
            if s.deps[child] not in WORDS["modifier_deps"] or (
                index in self.by_head and index < child
            ):
                return False
            if index >= head:
                return index == head
        return False

    def _in_name(self, index: int, head: int) -> bool:
        s = self.sentence
        word = s.words[index]
        is_part = self._is_left_part(index, head) and s.deps[index] not in {
            "poss",
            "appos",
            "nsubj",
        }
        if not is_part or not word[-1:].isalnum():
            return False
        if (
            self._is_name(index)
            or (index and self._is_name(index - 1))
            or word in WORDS["positions"]
        ):
            return True
        if s.tags[index] == "VBG" or word in WORDS["gerund_names"]:
            return word in WORDS["gerund_names"]
        if word in ATTRIBUTE_NOUNS or lemmas.is_adjective(word) or word in {"color", "colour"}:
            return False
        # "closed box".
        if word.endswith("ed") and lemmas.is_verb(word) and not lemmas.is_noun(word):
            return False
        return s.is_noun(index) and s.deps[index] in {"compound", "nmod", "amod"}

    def _is_name(self, index: int) -> bool:
        """Return True if a token and the next token are a name in lexicon.yaml."""
        return (
            f"{self.sentence.words[index]} {lemmas.singular(self.sentence.words[index + 1])}"
            in WORDS["names"]
        )

    def _read_attribute(self, index: int) -> Span | None:
        """Return the attribute that ends at a token, or None if the word describes nothing visible."""
        s = self.sentence
        word = s.words[index]
        tag = s.tags[index]
        is_numeral = tag == "CD" or word in lemmas.NUMBERS
        if index in self.by_head or word in WORDS["quantifiers"] or s.deps[index] == COVERING:
            return None
        if is_numeral and not word.isalpha() and not (word.isdigit() and len(word) <= _MAX_DIGITS):
            return None
        if word in {"colored", "coloured", "color", "colour"}:
            return None
        if not (is_numeral or tag in ADJECTIVE_TAGS or s.is_noun(index) or word in WORDS["colors"]):
            return None
        return read_adjective(s, index, joined=not is_numeral)

    def _is_negated(self, head: int) -> bool:
        """Return True if the caption says that the object is absent ("no hat", "without a hat or a coat")."""
        s = self.sentence
        first = s.heads[head]
        first_modifier = self.by_head[head].first_modifier
        is_coordinated = s.deps[head] == "conj" and first in self.negated
        if is_coordinated and any(s.words[child] in {"or", "nor"} for child in s.children[first]):
            return True
        while first_modifier > 0 and s.tags[first_modifier - 1] in {"DT", "PRP$"}:
            first_modifier -= 1
        preceding = range(max(first_modifier - 1, 0), head)
        return s.any_in(preceding, "negations") or s.words[preceding.start : first_modifier] == [
            "without"
        ]


def read_adjective(s: Sentence, index: int, joined: bool = True) -> Span:
    """Return the attribute of an adjective.

    With ``joined``, a shade or an adverb in front is included ("dark green", "partly cloudy").
    """
    word = s.words[index]
    before = index - 1
    tag = s.tags[index]
    if joined and before >= 0 and _is_joined(s, before):
        return Span(f"{s.words[before]} {word}", before, index, tag)
    return Span(lemmas.normalise_attribute(word), index, index, tag)


def _is_joined(s: Sentence, before: int) -> bool:
    """Return True if a shade or an adverb forms one attribute with the word after it."""
    word = s.words[before]
    index = before + 1
    if word in WORDS["shades"]:
        return s.is_in(index, "colors")
    is_adverb = s.tags[before] == "RB" and s.heads[before] == index and word.endswith("ly")
    return is_adverb or word in {"well", "hard"}
