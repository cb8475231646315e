"""Perturb the word order of captions.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.2, Table 1 and section 3.1. A perturbed caption depends
only on a key and the caption. The authors join tokens with spaces, so extra spaces also reveal a perturbed caption.
Here a perturbed caption differs from the true caption only in the order of its words. Differences from the paper:

- Clitics and hyphenated parts stay in their words ("man's", "black-and-white"). Spaces and punctuation are not moved.
- A first word that is capitalised only because it starts the sentence is lower-cased, also in the true caption.
- A perturbed caption always differs from the caption, and the four wrong captions of a caption are all different. For
  this, orders are drawn up to MAX_DRAWS times. If no draw succeeds, the functions return None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from compeval.generators.language.optional_imports import without
from compeval.generators.parser.spacy_model import find_installed_model

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MAX_DRAWS = 60
"""Maximum number of orders that a perturbation draws to find a new text. If none is found, the caption is treated as
having no other order. With two different words, each draw finds the other order with probability 1/2."""

MAX_WORDS = 30
"""Words of a caption under ``rules: paper``, as in the authors' loaders of the order and retrieval sets."""
_MARKS = re.compile(r'[.!"()*#:;~]')

Order = list[int]
"""A permutation of word positions: the word at position i of the result is word ``order[i]`` of the caption."""


def clean_caption(text: str) -> str:
    """Return a caption as the authors' code reads it (``rules: paper``).

    It is in lower case, some marks are spaces, and it has at most MAX_WORDS words. Commas and apostrophes stay.
    """
    return " ".join(_MARKS.sub(" ", text.lower()).split()[:MAX_WORDS])


@dataclass(frozen=True)
class Words:
    """A caption, split into words and the text between them."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    """The spaces and punctuation before the first word, between the words and after the last word."""
    kinds: tuple[str, ...]
    """The kind of each word: ``noun``, ``adjective`` or ``other``."""

    def in_order(self, order: Sequence[int]) -> str:
        """Return the caption with its words in the given order. The gaps are not moved."""
        pieces = [gap + self.words[index] for gap, index in zip(self.gaps, order, strict=False)]
        return "".join(pieces) + self.gaps[-1]

    @property
    def text(self) -> str:
        return self.in_order(range(len(self.words)))


class Tagger:
    """Splits captions into words and finds the kind of each word with spaCy's part-of-speech tags."""

    def __init__(self) -> None:
        with without("torch"):
            import spacy

        self._nlp = spacy.load(
            find_installed_model(), exclude=["parser", "ner", "senter", "lemmatizer"]
        )

    def __call__(self, captions: Iterable[str]) -> Iterator[Words]:
        """Yield the words of each caption."""
        return map(_split_words, self._nlp.pipe(captions, batch_size=256))


def _split_words(doc: Doc) -> Words:
    """Return the words, gaps and kinds of a tagged caption.

    Tokens without a space between them form one word. Punctuation at the start or end of a word belongs to the gaps.
    """
    words: list[str] = []
    kinds: list[str] = []
    gaps = [""]
    group: list[Token] = []
    for token in doc:
        group.append(token)
        if token.whitespace_ or token.i + 1 == len(doc):
            has_letter = [any(map(str.isalnum, item.text)) for item in group]
            start = has_letter.index(True) if any(has_letter) else len(group)
            stop = len(group) - has_letter[::-1].index(True) if any(has_letter) else start
            gaps[-1] += "".join(item.text for item in group[:start])
            if start < stop:
                words.append("".join(item.text for item in group[start:stop]))
                kinds.append(_find_kind(group[start:stop]))
                gaps.append("".join(item.text for item in group[stop:]))
            gaps[-1] += token.whitespace_
            group = []
    if words and _is_sentence_case(words[0], doc):
        words[0] = words[0][0].lower() + words[0][1:]
    return Words(tuple(words), tuple(gaps), tuple(kinds))


def _find_kind(tokens: Sequence[Token]) -> str:
    """Return the kind of a word: the kind of its last token that is a noun or an adjective, by Penn Treebank tags."""
    kinds = [{"N": "noun", "J": "adjective"}.get(token.tag_[:1], "other") for token in tokens]
    return next((kind for kind in reversed(kinds) if kind != "other"), "other")


def _is_sentence_case(word: str, doc: Doc) -> bool:
    """Return True if the first word of a caption is capitalised only because it starts the sentence.

    Returns False for names, "I" and words with more capitals ("TV").
    """
    first = next(token for token in doc if token.text[:1] == word[:1])
    return (
        word[0].isupper()
        and (len(word) == 1 or word[1:].islower())
        and word != "I"
        and first.tag_ != "NNP"
    )


def _shuffle_kinds(rng: Random, kinds: Sequence[str], *shuffled_kinds: str) -> Order:
    """Shuffle the words of each of ``shuffled_kinds`` among the positions of this kind. Other words are not moved."""
    order = list(range(len(kinds)))
    for shuffled_kind in shuffled_kinds:
        positions = [index for index, kind in enumerate(kinds) if kind == shuffled_kind]
        for position, index in zip(positions, rng.sample(positions, len(positions)), strict=True):
            order[position] = index
    return order


def _list_trigrams(kinds: Sequence[str]) -> list[list[int]]:
    """Return the positions of every three consecutive words. The last group can have fewer words."""
    return [list(range(start, min(start + 3, len(kinds)))) for start in range(0, len(kinds), 3)]


def shuffle_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle nouns among the positions of nouns, and adjectives among the positions of adjectives."""
    return _shuffle_kinds(rng, kinds, "noun", "adjective")


def shuffle_all_but_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle all words except for nouns and adjectives, which are not moved."""
    return _shuffle_kinds(rng, kinds, "other")


def shuffle_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle the order of the trigrams; the three words of a trigram keep their order."""
    trigrams = _list_trigrams(kinds)
    return [index for trigram in rng.sample(trigrams, len(trigrams)) for index in trigram]


def shuffle_within_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle the words within each trigram; the trigrams keep their order."""
    return [
        index for trigram in _list_trigrams(kinds) for index in rng.sample(trigram, len(trigram))
    ]


def shuffle_all_words(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle all words. Only perturbed retrieval uses this perturbation (section 3.1)."""
    return rng.sample(range(len(kinds)), len(kinds))


Perturbation = Callable[[Random, Sequence[str]], Order]

WRONG_CAPTION_PERTURBATIONS: tuple[Perturbation, ...] = (
    shuffle_nouns_and_adjectives,
    shuffle_all_but_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
"""The perturbations that make the four wrong captions of a caption (Table 1), in this order."""
TEXT_PERTURBATIONS: tuple[Perturbation, ...] = (*WRONG_CAPTION_PERTURBATIONS, shuffle_all_words)
"""The perturbations of the captions in perturbed retrieval (Table 3)."""


def perturb(
    words: Words, perturbation: Perturbation, key: str, excluded: Sequence[str] = ()
) -> str | None:
    """Return the caption with its words in a new order, or None if none is found in MAX_DRAWS draws.

    ``key`` seeds the draws. The result differs from the caption and from all texts in ``excluded``, not only in upper
    and lower case.
    """
    rng = Random(key)
    excluded_lower = {text.lower() for text in (words.text, *excluded)}
    draws = (words.in_order(perturbation(rng, words.kinds)) for _ in range(MAX_DRAWS))
    return next((text for text in draws if text.lower() not in excluded_lower), None)


def make_wrong_captions(words: Words, key: str) -> list[str] | None:
    """Return four different wrong captions of a caption, or None if one of them is not found in MAX_DRAWS draws.

    ``key`` seeds the draws. It must not be known to a reader of the captions (base/draw_keys.py): the draws of each of
    the five captions could be replayed, and only those of the true one are the others.
    """
    texts: list[str] = []
    for perturbation in WRONG_CAPTION_PERTURBATIONS:
        text = perturb(words, perturbation, f"{key}:{perturbation.__name__}", texts)
        if text is None:
            return None
        texts.append(text)
    return texts
