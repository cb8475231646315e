"""NegCLIP's negative captions: a caption in which two parts swap positions.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 4 and appendix C.1: two nouns, adjectives, adverbs, verbs,
or noun phrases of at least three tokens swap positions, with up to five negatives per caption.
The authors' script joins tokens by spaces ("a dog .") and lower-cases words. Here, a negative is as fluent as its
caption. Differences from the script:

- Only parts of the same form swap positions: singular with singular nouns, participles with participles, verbs with
  verbs that also have an object; compounds are swapped as a whole. Spaces and punctuation stay in place, a sentence
  begins with a capital letter, and "a" or "an" is adapted to the next word.
- Swaps that do not change the meaning are skipped: two items of a list ("cats and dogs", "a gray chair and a black
  chair") and two ends of a symmetric relation ("a cat next to a dog").

``rules: paper`` swaps parts of any form and skips nothing, as C.1: one negative of each kind, of two random nouns,
adjectives, adverbs, verb phrases (a verb with its auxiliaries and particles) and noun phrases of at least three tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from compeval.base.pipeline.params import OURS, PAPER
from compeval.generators.language.inflection import choose_article
from compeval.generators.language.lexicon.relations import is_asymmetric
from compeval.generators.language.optional_imports import without
from compeval.generators.parser.spacy_model import find_installed_model

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

MAX_NEGATIVES = 5
"""Maximum number of negatives per caption (appendix C.1)."""
MIN_PHRASE_TOKENS = 3
"""Minimum number of tokens in a noun phrase that is swapped as a whole."""
QUANTIFIERS = frozenset(
    ["few", "many", "more", "most", "much", "other", "own", "same", "several", "such"]
)
"""Quantifiers that spaCy tags as adjectives."""
PART_NOUNS = frozenset(
    ["back", "bottom", "center", "edge", "end", "front", "left", "middle", "right", "side", "top"]
)
"""Nouns that are part of a preposition: "in front of", "to the left of"."""


PHRASAL = frozenset(["aux", "auxpass", "neg", "prt"])
"""Labels of the words that are part of a verb phrase."""
COMPLEMENTS = frozenset(["acomp", "attr", "ccomp", "dative", "dobj", "oprd", "prt", "xcomp"])
"""Labels of the objects, particles and clauses of a verb."""


class Negative(NamedTuple):
    """A negative caption, and the kind of parts that swapped positions."""

    text: str
    kind: str


class Part(NamedTuple):
    """The characters ``start`` to ``stop`` of a caption. Parts with equal ``form`` may swap positions."""

    start: int
    stop: int
    form: str
    head: Token


def make_negatives(captions: Iterable[str], rules: str = OURS) -> Iterator[list[Negative]]:
    """Yield up to five different negatives per caption, alternating between kinds; by the paper's rules, one per kind.

    Random draws depend only on the caption.
    """
    make = {OURS: _make_negatives, PAPER: _make_one_of_each_kind}[rules]
    return map(make, _load_model().pipe(captions, batch_size=256))


@cache
def _load_model() -> Language:
    with without("torch"):
        import spacy

    return spacy.load(find_installed_model(), exclude=["ner", "senter", "lemmatizer"])


def _make_negatives(doc: Doc) -> list[Negative]:
    rng = Random(doc.text)
    queues = []
    for kind, find in KINDS.items():
        pairs = [pair for pair in combinations(find(doc), 2) if _changes_meaning(doc, *pair)]
        queues.append(
            [Negative(_swap_parts(doc.text, *pair), kind) for pair in rng.sample(pairs, len(pairs))]
        )
    by_text: dict[str, Negative] = {}
    for round_index in range(max(map(len, queues))):
        for queue in queues:
            if round_index < len(queue) and queue[round_index].text.lower() != doc.text.lower():
                by_text.setdefault(queue[round_index].text.lower(), queue[round_index])
    return list(by_text.values())[:MAX_NEGATIVES]


def _make_one_of_each_kind(doc: Doc) -> list[Negative]:
    """Return one negative of each kind that has two different parts (C.1)."""
    rng = Random(doc.text)
    negatives: dict[str, Negative] = {}
    for kind, find in PUBLISHED_KINDS.items():
        pairs = [
            (first, second)
            for first, second in combinations(find(doc), 2)
            if first.stop <= second.start
            and doc.text[first.start : first.stop].lower()
            != doc.text[second.start : second.stop].lower()
        ]
        if pairs:
            text = _swap_parts(doc.text, *rng.choice(pairs))
            negatives.setdefault(text.lower(), Negative(text, kind))
    return list(negatives.values())


def _find_tagged(tag: str) -> Callable[[Doc], list[Part]]:
    """Return a function that finds all words with a Penn tag."""
    return lambda doc: [
        Part(token.idx, token.idx + len(token), "", token)
        for token in doc
        if token.tag_.startswith(tag)
    ]


def _find_verb_phrases(doc: Doc) -> list[Part]:
    """Return verbs with the auxiliaries, negations and particles around them: "is not looking up"."""
    parts: list[Part] = []
    for verb in doc:
        if verb.pos_ == "VERB":
            members = {verb.i, *(child.i for child in verb.children if child.dep_ in PHRASAL)}
            first = last = verb.i
            while first - 1 in members:
                first -= 1
            while last + 1 in members:
                last += 1
            parts.append(Part(doc[first].idx, doc[last].idx + len(doc[last]), "", verb))
    return parts


def _find_nouns(doc: Doc) -> list[Part]:
    """Return nouns with their compounds ("fire hydrant"), except nouns that are part of a preposition."""
    parts = []
    for token in _find_words(doc, "NN"):
        if token.lower_ in PART_NOUNS and [child.lower_ for child in token.rights][:1] == ["of"]:
            continue
        compounds = [child for child in token.lefts if child.dep_ == "compound"]
        start = compounds[0].left_edge.idx if compounds else token.idx
        parts.append(Part(start, token.idx + len(token.text), token.tag_, token))
    return parts


def _find_adjectives(doc: Doc) -> list[Part]:
    """Return adjectives before their nouns, except quantifiers."""
    return [
        Part(token.idx, token.idx + len(token), token.tag_, token)
        for token in _find_words(doc, "JJ")
        if token.dep_ == "amod"
        and token.head.tag_.startswith("NN")
        and token.lower_ not in QUANTIFIERS
    ]


def _find_adverbs(doc: Doc) -> list[Part]:
    """Return adverbs, with the tag of the word they modify as their form. "next" in "next to" is omitted."""
    adverbs = (
        token for token in _find_words(doc, "RB") if token.dep_ == "advmod" and not token.n_rights
    )
    return [
        Part(token.idx, token.idx + len(token), f"{token.tag_} of {token.head.tag_[:2]}", token)
        for token in adverbs
    ]


def _find_verbs(doc: Doc) -> list[Part]:
    """Return verbs, with their complements as their form, so that no verb loses its object ("holding a bat")."""
    parts = []
    for verb in _find_words(doc, "VB"):
        complements = COMPLEMENTS.intersection(child.dep_ for child in verb.rights)
        if verb.dep_ == "amod":  # it modifies the noun after it
            complements |= {"amod"}
        parts.append(
            Part(verb.idx, verb.idx + len(verb), f"{verb.tag_} with {sorted(complements)}", verb)
        )
    return parts


def _find_words(doc: Doc, tag: str) -> Iterator[Token]:
    """Yield words with a Penn tag, except auxiliaries, particles, names, and parts of hyphenated or compound words."""
    for token in doc:
        start = token.idx
        end = token.idx + len(token.text)
        is_joined = doc.text[start - 1 : start] in ("-", "'") or doc.text[end : end + 1] in (
            "-",
            "'",
        )
        is_part = token.dep_ in ("aux", "auxpass", "compound", "prt") or token.tag_ in (
            "NNP",
            "NNPS",
        )
        if token.tag_.startswith(tag) and token.is_alpha and not is_joined and not is_part:
            yield token


def _find_phrases(doc: Doc) -> list[Part]:
    parts = []
    for chunk in doc.noun_chunks:
        words = [token for token in chunk if not token.is_space]
        if len(words) >= MIN_PHRASE_TOKENS:
            parts.append(Part(words[0].idx, chunk.end_char, chunk.root.tag_, chunk.root))
    return parts


KINDS: dict[str, Callable[[Doc], list[Part]]] = {
    "noun": _find_nouns,
    "adjective": _find_adjectives,
    "adverb": _find_adverbs,
    "verb": _find_verbs,
    "noun phrase": _find_phrases,
}


PUBLISHED_KINDS: dict[str, Callable[[Doc], list[Part]]] = {
    "noun": _find_tagged("NN"),
    "adjective": _find_tagged("JJ"),
    "adverb": _find_tagged("RB"),
    "verb phrase": _find_verb_phrases,
    "noun phrase": _find_phrases,
}
"""The kinds of appendix C.1, in its order."""


def _changes_meaning(doc: Doc, first: Part, second: Part) -> bool:
    """Return True if two parts have the same form and swapping them changes what the caption states."""
    if first.form != second.form or first.stop > second.start:
        return False
    if doc.text[first.start : first.stop].lower() == doc.text[second.start : second.stop].lower():
        return False
    if first.head.dep_ == second.head.dep_ == "amod":
        noun = _find_modified_noun(first)
        other_noun = _find_modified_noun(second)
        # One noun, or two equal nouns in a list ("a gray chair and a black chair").
        if noun == other_noun or (
            noun.lower_ == other_noun.lower_ and other_noun in noun.conjuncts
        ):
            return False
    are_conjuncts = second.head in first.head.conjuncts
    is_bare = all(child.dep_ in ("cc", "conj", "punct") for child in first.head.rights)
    # "stand" in "stand and drink from a pond".
    if first.head.tag_.startswith("VB") and are_conjuncts and is_bare:
        return False
    between = doc.text[first.stop : second.start].lower()
    relation = " ".join(
        word
        for word in re.findall(r"[a-z]+", between)
        if word not in ("a", "an", "the", "is", "are")
    )
    is_symmetric = are_conjuncts or not is_asymmetric(relation)
    return not (is_symmetric and _list_modifiers(first) == _list_modifiers(second))


def _find_modified_noun(part: Part) -> Token:
    """Return the noun that an adjective modifies, or the last noun of its compound."""
    noun = part.head.head
    while noun.dep_ == "compound":
        noun = noun.head
    return noun


def _list_modifiers(part: Part) -> list[str]:
    """Return the modifiers before a part, except articles and conjunctions."""
    outside = (child for child in part.head.lefts if child.idx < part.start)
    return sorted(child.lower_ for child in outside if child.dep_ not in ("det", "cc"))


def _swap_parts(text: str, first: Part, second: Part) -> str:
    """Return the text with two parts swapped, the first letter capitalised, and articles adapted."""
    first_text = text[first.start : first.stop]
    second_text = text[second.start : second.stop]
    if first_text[:1].isupper() and not text[: first.start].strip():
        first_word = first_text.split()[0]
        second_text = second_text[0].upper() + second_text[1:]
        if first_word != "I" and (len(first_word) == 1 or first_word[1:].islower()):
            first_text = first_text[0].lower() + first_text[1:]
    before = text[: first.start]
    between = text[first.stop : second.start]
    after = text[second.stop :]
    return _adapt_article(before, second_text) + _adapt_article(between, first_text) + after


_ARTICLE = re.compile(r"\b([Aa])n?( +)$")


def _adapt_article(before: str, part: str) -> str:
    """Return the text before a part and the part, with a final "a" or "an" adapted to the part."""
    word = re.match(r"[A-Za-z][\w-]*", part)
    return (
        _ARTICLE.sub(lambda match: match[1] + choose_article(word[0])[1:] + match[2], before)
        if word
        else before
    ) + part
