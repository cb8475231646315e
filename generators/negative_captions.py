"""NegCLIP's negative captions: a caption with two of its parts in each other's place.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.1: two nouns, two adjectives, two adverbs,
two verbs, or two noun phrases of three tokens or more change places; up to five negatives a caption. Differs from the
authors' script, which joins tokens by spaces ("a dog .") and lower-cases words, in that a negative is as fluent as its
caption:

- only parts of one form change places (singular with singular, participle with participle); spaces and punctuation
  stay, a sentence begins with a capital, and "a" or "an" fits the word after it;
- parts whose exchange changes nothing are left alone: two of a list ("cats and dogs"), two ends of a relation that
  holds both ways ("a cat next to a dog").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from generators import lean_imports
from generators.aro import is_asymmetric
from generators.inflection import article
from generators.parser import installed_model

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

MOST = 5
"""Negatives of a caption (appendix C.1)."""
SHORTEST_PHRASE = 3
"""Tokens of a noun phrase that is exchanged as a whole, so that it is no noun alone."""


class Negative(NamedTuple):
    """A negative caption, and which kind of part was exchanged."""

    text: str
    kind: str


class Part(NamedTuple):
    """Characters ``start`` to ``stop`` of a caption; parts of equal ``form`` may change places."""

    start: int
    stop: int
    form: str
    head: Token


def negatives(captions: Iterable[str]) -> Iterator[list[Negative]]:
    """For each caption up to five different negatives, the kinds in turn; drawn from the caption alone."""
    for doc in _language().pipe(captions, batch_size=256):
        yield _negatives(doc)


@cache
def _language() -> Language:
    return lean_imports.spacy().load(installed_model(), exclude=["ner", "senter", "lemmatizer"])


def _negatives(doc: Doc) -> list[Negative]:
    rng = Random(doc.text)
    queues = []
    for kind, find in KINDS.items():
        pairs = [pair for pair in combinations(find(doc), 2) if _matters(doc, *pair)]
        queues.append([Negative(exchanged(doc.text, *pair), kind) for pair in rng.sample(pairs, len(pairs))])
    found: dict[str, Negative] = {}
    for turn in range(max(map(len, queues))):
        for queue in queues:
            if turn < len(queue) and queue[turn].text.lower() != doc.text.lower():
                found.setdefault(queue[turn].text.lower(), queue[turn])
    return list(found.values())[:MOST]


def _words(tag: str) -> Callable[[Doc], list[Part]]:
    """Finds the words whose Penn tag begins with ``tag``."""

    def find(doc: Doc) -> list[Part]:
        return [
            Part(token.idx, token.idx + len(token.text), token.tag_, token)
            for token in doc
            if token.tag_.startswith(tag) and token.is_alpha and _stands_alone(token)
        ]

    return find


def _stands_alone(token: Token) -> bool:
    """Whether a word is no auxiliary, no particle of a name and no part of a hyphened or compound word, and an
    adjective stands before its noun."""
    if token.tag_.startswith("JJ") and token.dep_ != "amod":
        return False
    text, end = token.doc.text, token.idx + len(token.text)
    glued = text[token.idx - 1 : token.idx] in ("-", "'") or text[end : end + 1] in ("-", "'")
    return not glued and token.dep_ not in ("aux", "auxpass", "compound", "prt") and token.tag_ not in ("NNP", "NNPS")


def _phrases(doc: Doc) -> list[Part]:
    return [
        Part(chunk.start_char, chunk.end_char, chunk.root.tag_, chunk.root)
        for chunk in doc.noun_chunks
        if len(chunk) >= SHORTEST_PHRASE
    ]


KINDS: dict[str, Callable[[Doc], list[Part]]] = {
    "noun": _words("NN"),
    "adjective": _words("JJ"),
    "adverb": _words("RB"),
    "verb": _words("VB"),
    "noun phrase": _phrases,
}


def _matters(doc: Doc, first: Part, second: Part) -> bool:
    """Whether two parts are of one form and their exchange changes what is said."""
    if first.form != second.form or first.stop > second.start:
        return False
    if doc.text[first.start : first.stop].lower() == doc.text[second.start : second.stop].lower():
        return False
    if first.head.dep_ == second.head.dep_ == "amod" and first.head.head == second.head.head:
        return False  # a cloudy blue sky
    alike = _described_alike(first.head, second.head) or first.stop - first.start != len(first.head.text)
    between = doc.text[first.stop : second.start].lower()
    relation = " ".join(word for word in re.findall(r"[a-z]+", between) if word not in ("a", "an", "the", "is", "are"))
    return not (alike and (second.head in first.head.conjuncts or not is_asymmetric(relation)))


def _described_alike(first: Token, second: Token) -> bool:
    """Whether two words have the same words below them, articles and conjuncts aside."""

    def below(token: Token) -> list[str]:
        return sorted(child.lower_ for child in token.lefts if child.dep_ not in ("det", "cc"))

    return below(first) == below(second)


def exchanged(text: str, first: Part, second: Part) -> str:
    """The text with two parts in each other's place, its capital and the articles before them in order."""
    start, stop = text[first.start : first.stop], text[second.start : second.stop]
    if start[:1].isupper() and not text[: first.start].strip():
        opener, stop = start.split()[0], stop[0].upper() + stop[1:]
        if opener != "I" and (len(opener) == 1 or opener[1:].islower()):
            start = start[0].lower() + start[1:]
    return _fitted(text[: first.start], stop) + _fitted(text[first.stop : second.start], start) + text[second.stop :]


_ARTICLE = re.compile(r"\b([Aa])n?( +)$")


def _fitted(before: str, part: str) -> str:
    """A part after the text before it, whose last word, if "a" or "an", is made to fit the part's first."""
    word = re.match(r"[A-Za-z][\w-]*", part)
    return (_ARTICLE.sub(lambda found: found[1] + article(word[0])[1:] + found[2], before) if word else before) + part
