"""NegCLIP's negative captions: a caption in which two of its parts swap places.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.1: two nouns, two adjectives, two adverbs,
two verbs, or two noun phrases of three tokens or more swap places; up to five negatives per caption. Differs from the
authors' script, which joins tokens by spaces ("a dog .") and lower-cases words, in that a negative is as fluent as its
caption:

- only parts of one form swap places (singular with singular, participle with participle, verbs with an object among
  themselves, compounds as a whole); spaces and punctuation stay, a sentence begins with a capital, and "a" or "an"
  agrees with the next word;
- swaps that change nothing are skipped: two items of a list ("cats and dogs", "a gray chair and a black chair"), two
  ends of a symmetric relation ("a cat next to a dog").
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

MAX_NEGATIVES = 5
"""Negatives per caption (appendix C.1)."""
MIN_PHRASE = 3
"""Tokens of a noun phrase that is swapped as a whole."""
QUANTIFIERS = frozenset(["few", "many", "more", "most", "much", "other", "own", "same", "several", "such"])
"""Words that are tagged as adjectives."""
PLACES = frozenset(["back", "bottom", "center", "edge", "end", "front", "left", "middle", "right", "side", "top"])
"""Nouns that are part of a preposition: "in front of", "to the left of"."""


class Negative(NamedTuple):
    """A negative caption, and the kind of the parts that swapped places."""

    text: str
    kind: str


class Part(NamedTuple):
    """Characters ``start`` to ``stop`` of a caption; parts of equal ``form`` may swap places."""

    start: int
    stop: int
    form: str
    head: Token


def negatives(captions: Iterable[str]) -> Iterator[list[Negative]]:
    """Yield for each caption up to five different negatives, their kinds in turn. Draws depend on the caption only."""
    return map(_negatives, _language().pipe(captions, batch_size=256))


@cache
def _language() -> Language:
    import spacy

    return spacy.load(installed_model(), exclude=["ner", "senter", "lemmatizer"])


def _negatives(doc: Doc) -> list[Negative]:
    rng = Random(doc.text)
    queues = []
    for kind, find in KINDS.items():
        pairs = [pair for pair in combinations(find(doc), 2) if _changes_meaning(doc, *pair)]
        queues.append([Negative(_swapped(doc.text, *pair), kind) for pair in rng.sample(pairs, len(pairs))])
    distinct: dict[str, Negative] = {}
    for turn in range(max(map(len, queues))):
        for queue in queues:
            if turn < len(queue) and queue[turn].text.lower() != doc.text.lower():
                distinct.setdefault(queue[turn].text.lower(), queue[turn])
    return list(distinct.values())[:MAX_NEGATIVES]


def _nouns(doc: Doc) -> list[Part]:
    """Nouns with their compounds ("fire hydrant"), except those that are part of a preposition."""
    parts = []
    for token in _words(doc, "NN"):
        if token.lower_ in PLACES and [child.lower_ for child in token.rights][:1] == ["of"]:
            continue
        compounds = [child for child in token.lefts if child.dep_ == "compound"]
        start = compounds[0].left_edge.idx if compounds else token.idx
        parts.append(Part(start, token.idx + len(token.text), token.tag_, token))
    return parts


def _adjectives(doc: Doc) -> list[Part]:
    """Adjectives before their nouns, except quantifiers."""
    return [
        _part(token, token.tag_)
        for token in _words(doc, "JJ")
        if token.dep_ == "amod" and token.head.tag_.startswith("NN") and token.lower_ not in QUANTIFIERS
    ]


def _adverbs(doc: Doc) -> list[Part]:
    """Adverbs by the tag of their head, except "next" of "next to"."""
    adverbs = (token for token in _words(doc, "RB") if token.dep_ == "advmod" and not token.n_rights)
    return [_part(token, f"{token.tag_} of {token.head.tag_[:2]}") for token in adverbs]


def _verbs(doc: Doc) -> list[Part]:
    """Verbs by their complements, so that none loses its object: "holding a bat", "standing on a field"."""
    return [_part(token, f"{token.tag_} with {_frame(token)}") for token in _words(doc, "VB")]


def _frame(verb: Token) -> list[str]:
    """The objects, particles and clauses of a verb, and whether it modifies the noun after it."""
    own = {child.dep_ for child in verb.rights} & {"acomp", "attr", "ccomp", "dative", "dobj", "oprd", "prt", "xcomp"}
    return sorted(own | ({"amod"} if verb.dep_ == "amod" else set()))


def _part(token: Token, form: str) -> Part:
    return Part(token.idx, token.idx + len(token.text), form, token)


def _words(doc: Doc, tag: str) -> Iterator[Token]:
    """Words with a Penn tag, except auxiliaries, particles, names and parts of hyphenated or compound words."""
    for token in doc:
        start, end = token.idx, token.idx + len(token.text)
        is_joined = doc.text[start - 1 : start] in ("-", "'") or doc.text[end : end + 1] in ("-", "'")
        is_part = token.dep_ in ("aux", "auxpass", "compound", "prt") or token.tag_ in ("NNP", "NNPS")
        if token.tag_.startswith(tag) and token.is_alpha and not is_joined and not is_part:
            yield token


def _phrases(doc: Doc) -> list[Part]:
    parts = []
    for chunk in doc.noun_chunks:
        words = [token for token in chunk if not token.is_space]
        if len(words) >= MIN_PHRASE:
            parts.append(Part(words[0].idx, chunk.end_char, chunk.root.tag_, chunk.root))
    return parts


KINDS: dict[str, Callable[[Doc], list[Part]]] = {
    "noun": _nouns,
    "adjective": _adjectives,
    "adverb": _adverbs,
    "verb": _verbs,
    "noun phrase": _phrases,
}


def _changes_meaning(doc: Doc, first: Part, second: Part) -> bool:
    """True if two parts have one form and swapping them changes what the caption states."""
    if first.form != second.form or first.stop > second.start:
        return False
    if doc.text[first.start : first.stop].lower() == doc.text[second.start : second.stop].lower():
        return False
    if first.head.dep_ == second.head.dep_ == "amod" and _are_listed(_modified(first), _modified(second)):
        return False
    are_conjuncts = second.head in first.head.conjuncts
    if first.head.tag_.startswith("VB") and are_conjuncts and _is_bare(first.head):
        return False
    between = doc.text[first.stop : second.start].lower()
    relation = " ".join(word for word in re.findall(r"[a-z]+", between) if word not in ("a", "an", "the", "is", "are"))
    is_symmetric = are_conjuncts or not is_asymmetric(relation)
    return not (is_symmetric and _modifiers(first) == _modifiers(second))


def _modified(part: Part) -> Token:
    """The noun that an adjective modifies, with its compound."""
    noun = part.head.head
    while noun.dep_ == "compound":
        noun = noun.head
    return noun


def _are_listed(first: Token, second: Token) -> bool:
    """True for one noun ("a cloudy blue sky") and for a list of equal nouns ("a gray chair and a black chair")."""
    return first == second or (first.lower_ == second.lower_ and second in first.conjuncts)


def _is_bare(verb: Token) -> bool:
    """True for a verb that shares all its complements: "stand and drink from a pond"."""
    return all(child.dep_ in ("cc", "conj", "punct") for child in verb.rights)


def _modifiers(part: Part) -> list[str]:
    """The modifiers before a part, except articles and conjunctions."""
    outside = (child for child in part.head.lefts if child.idx < part.start)
    return sorted(child.lower_ for child in outside if child.dep_ not in ("det", "cc"))


def _swapped(text: str, first: Part, second: Part) -> str:
    """The text with two parts swapped, the first letter capitalised and articles adapted."""
    start, stop = text[first.start : first.stop], text[second.start : second.stop]
    if start[:1].isupper() and not text[: first.start].strip():
        opener, stop = start.split()[0], stop[0].upper() + stop[1:]
        if opener != "I" and (len(opener) == 1 or opener[1:].islower()):
            start = start[0].lower() + start[1:]
    before, between, after = text[: first.start], text[first.stop : second.start], text[second.stop :]
    return _with_article(before, stop) + _with_article(between, start) + after


_ARTICLE = re.compile(r"\b([Aa])n?( +)$")


def _with_article(before: str, part: str) -> str:
    """The text before a part and the part, with a final "a" or "an" adapted to the part's first word."""
    word = re.match(r"[A-Za-z][\w-]*", part)
    return (_ARTICLE.sub(lambda match: match[1] + article(word[0])[1:] + match[2], before) if word else before) + part
