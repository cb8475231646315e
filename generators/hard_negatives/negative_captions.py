"""NegCLIP's negative captions: a caption with two of its parts in each other's place.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.1: two nouns, two adjectives, two adverbs,
two verbs, or two noun phrases of three tokens or more change places; up to five negatives a caption. Differs from the
authors' script, which joins tokens by spaces ("a dog .") and lower-cases words, in that a negative is as fluent as its
caption:

- only parts of one form change places (singular with singular, participle with participle, verbs with an object among
  themselves, a compound as a whole); spaces and punctuation stay, a sentence begins with a capital, and "a" or "an"
  fits the word after it;
- parts whose exchange changes nothing are left alone: two of a list ("cats and dogs", "a gray chair and a black
  chair"), two ends of a relation that holds both ways ("a cat next to a dog").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from generators.language.inflection import article
from generators.language.lexicon.relations import is_asymmetric
from generators.parser.spacy_model import installed_model

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

MOST = 5
"""Negatives of a caption (appendix C.1)."""
SHORTEST_PHRASE = 3
"""Tokens of a noun phrase that is exchanged as a whole, so that it is no noun alone."""
QUANTIFIERS = frozenset(["few", "many", "more", "most", "much", "other", "own", "same", "several", "such"])
"""Words that the tagger calls adjectives."""
PLACES = frozenset(["back", "bottom", "center", "edge", "end", "front", "left", "middle", "right", "side", "top"])
"""Nouns that make a preposition: "in front of", "to the left of"."""


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
    import spacy

    return spacy.load(installed_model(), exclude=["ner", "senter", "lemmatizer"])


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


def _nouns(doc: Doc) -> list[Part]:
    """Nouns with what they are compounds of: "fire hydrant"; without those that are half of a preposition."""
    found = []
    for token in _single(doc, "NN"):
        if token.lower_ in PLACES and [child.lower_ for child in token.rights][:1] == ["of"]:
            continue
        compounds = [child for child in token.lefts if child.dep_ == "compound"]
        start = compounds[0].left_edge.idx if compounds else token.idx
        found.append(Part(start, token.idx + len(token.text), token.tag_, token))
    return found


def _adjectives(doc: Doc) -> list[Part]:
    """Adjectives before their nouns, but for those that say how many or which."""
    found = (
        token
        for token in _single(doc, "JJ")
        if token.dep_ == "amod" and token.head.tag_.startswith("NN") and token.lower_ not in QUANTIFIERS
    )
    return [_part(token, token.tag_) for token in found]


def _adverbs(doc: Doc) -> list[Part]:
    """Adverbs by what they describe; without "next" of "next to"."""
    found = (token for token in _single(doc, "RB") if token.dep_ == "advmod" and not token.n_rights)
    return [_part(token, f"{token.tag_} of {token.head.tag_[:2]}") for token in found]


def _verbs(doc: Doc) -> list[Part]:
    """Verbs by what they go with, so that none loses its object: "holding a bat", "standing on a field"."""
    return [_part(token, f"{token.tag_} with {_frame(token)}") for token in _single(doc, "VB")]


def _frame(verb: Token) -> list[str]:
    """Objects, particles and clauses of a verb; where it describes the noun after it, that."""
    own = {child.dep_ for child in verb.rights} & {"acomp", "attr", "ccomp", "dative", "dobj", "oprd", "prt", "xcomp"}
    return sorted(own | ({"amod"} if verb.dep_ == "amod" else set()))


def _part(token: Token, form: str) -> Part:
    return Part(token.idx, token.idx + len(token.text), form, token)


def _single(doc: Doc, tag: str) -> list[Token]:
    """The words whose Penn tag begins with ``tag`` and that are no auxiliary, no particle of a name and no part of a
    hyphened or compound word."""
    return [token for token in doc if token.tag_.startswith(tag) and token.is_alpha and _stands_alone(token)]


def _stands_alone(token: Token) -> bool:
    text, end = token.doc.text, token.idx + len(token.text)
    glued = text[token.idx - 1 : token.idx] in ("-", "'") or text[end : end + 1] in ("-", "'")
    return not glued and token.dep_ not in ("aux", "auxpass", "compound", "prt") and token.tag_ not in ("NNP", "NNPS")


def _phrases(doc: Doc) -> list[Part]:
    found = []
    for chunk in doc.noun_chunks:
        words = [token for token in chunk if not token.is_space]
        if len(words) >= SHORTEST_PHRASE:
            found.append(Part(words[0].idx, chunk.end_char, chunk.root.tag_, chunk.root))
    return found


KINDS: dict[str, Callable[[Doc], list[Part]]] = {
    "noun": _nouns,
    "adjective": _adjectives,
    "adverb": _adverbs,
    "verb": _verbs,
    "noun phrase": _phrases,
}


def _matters(doc: Doc, first: Part, second: Part) -> bool:
    """Whether two parts are of one form and their exchange changes what is said."""
    if first.form != second.form or first.stop > second.start:
        return False
    if doc.text[first.start : first.stop].lower() == doc.text[second.start : second.stop].lower():
        return False
    if first.head.dep_ == second.head.dep_ == "amod" and _are_one_or_listed(*map(_described, (first, second))):
        return False
    if first.head.tag_.startswith("VB") and second.head in first.head.conjuncts and _has_nothing_of_its_own(first.head):
        return False
    between = doc.text[first.stop : second.start].lower()
    relation = " ".join(word for word in re.findall(r"[a-z]+", between) if word not in ("a", "an", "the", "is", "are"))
    alike = _words_before(first) == _words_before(second)
    return not (alike and (second.head in first.head.conjuncts or not is_asymmetric(relation)))


def _described(part: Part) -> Token:
    """The noun that an adjective, or a compound with it, belongs to."""
    noun = part.head.head
    while noun.dep_ == "compound":
        noun = noun.head
    return noun


def _are_one_or_listed(first: Token, second: Token) -> bool:
    """A cloudy blue sky; a gray chair and a black chair."""
    return first == second or (first.lower_ == second.lower_ and second in first.conjuncts)


def _has_nothing_of_its_own(verb: Token) -> bool:
    """Stand and drink from a pond."""
    return all(child.dep_ in ("cc", "conj", "punct") for child in verb.rights)


def _words_before(part: Part) -> list[str]:
    """The words that belong to a part and stand before it, articles and conjunctions aside."""
    outside = (child for child in part.head.lefts if child.idx < part.start)
    return sorted(child.lower_ for child in outside if child.dep_ not in ("det", "cc"))


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
