"""Perturbations of the word order of captions.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.2, Table 1 and section 3.1. A perturbation depends only on
a seed and the caption. The authors' functions join spaCy's tokens by spaces. Here only the order distinguishes a
perturbed caption from the true caption. Differences:

- Words move with their clitics and hyphens ("man's", "black-and-white"). Spaces and punctuation stay in place.
- The capital letter at the start of the sentence is removed first, also in the true caption.
- A perturbation never returns the caption itself, and the four wrong captions are different: draws are repeated, and
  the result is None if a caption has too few other orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from generators.parser.spacy_model import find_installed_model

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

MAX_DRAWS = 60
"""Number of draws after which a caption counts as having no other order.

For two words, each draw succeeds with probability 1/2.
"""

Order = list[int]
"""Position i of the result has the word at position ``order[i]``."""


@dataclass(frozen=True)
class Words:
    """A caption as words, the ``gaps`` around them (one more than words), and the kind of each word."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    kinds: tuple[str, ...]
    """``noun``, ``adjective`` or ``other``."""

    def in_order(self, order: Sequence[int]) -> str:
        """Return the text with its words in another order and the gaps in place."""
        pieces = [gap + self.words[index] for gap, index in zip(self.gaps, order, strict=False)]
        return "".join(pieces) + self.gaps[-1]

    @property
    def text(self) -> str:
        return self.in_order(range(len(self.words)))


class Tagger:
    """Splits captions into words and assigns their kinds by spaCy's tags."""

    def __init__(self) -> None:
        import spacy

        self._nlp = spacy.load(find_installed_model(), exclude=["parser", "ner", "senter", "lemmatizer"])

    def __call__(self, captions: Iterable[str]) -> Iterator[Words]:
        """Yield one ``Words`` per caption."""
        return map(_split_words, self._nlp.pipe(captions, batch_size=256))


def _split_words(doc: Doc) -> Words:
    """Return the words, gaps and kinds of a parsed caption.

    Tokens without a space between them are one word, except for punctuation at its ends.
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
    """Return the kind of the last noun or adjective among the tokens of a word, by Penn tags."""
    kinds = [{"N": "noun", "J": "adjective"}.get(token.tag_[:1], "other") for token in tokens]
    return next((kind for kind in reversed(kinds) if kind != "other"), "other")


def _is_sentence_case(word: str, doc: Doc) -> bool:
    """Return True if the first word is capitalised only because of its position: not a name, "I" or "TV"."""
    first = next(token for token in doc if token.text[:1] == word[:1])
    return word[0].isupper() and (len(word) == 1 or word[1:].islower()) and word != "I" and first.tag_ != "NNP"


def _shuffle_groups(rng: Random, kinds: Sequence[str], *groups: str) -> Order:
    """Return an order that shuffles the words of each kind among their own positions. All other words stay in place."""
    order = list(range(len(kinds)))
    for group in groups:
        positions = [index for index, kind in enumerate(kinds) if kind == group]
        for position, index in zip(positions, rng.sample(positions, len(positions)), strict=True):
            order[position] = index
    return order


def _trigram_positions(kinds: Sequence[str]) -> list[list[int]]:
    return [list(range(start, min(start + 3, len(kinds)))) for start in range(0, len(kinds), 3)]


def shuffle_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle nouns among the positions of nouns, and adjectives among the positions of adjectives."""
    return _shuffle_groups(rng, kinds, "noun", "adjective")


def shuffle_all_but_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    return _shuffle_groups(rng, kinds, "other")


def shuffle_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle sequences of three words."""
    trigrams = _trigram_positions(kinds)
    return [index for trigram in rng.sample(trigrams, len(trigrams)) for index in trigram]


def shuffle_within_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    return [index for trigram in _trigram_positions(kinds) for index in rng.sample(trigram, len(trigram))]


def shuffle_all_words(rng: Random, kinds: Sequence[str]) -> Order:
    """Shuffle all words. Used for perturbed retrieval only (section 3.1)."""
    return rng.sample(range(len(kinds)), len(kinds))


Perturbation = Callable[[Random, Sequence[str]], Order]

OPTIONS: tuple[Perturbation, ...] = (
    shuffle_nouns_and_adjectives,
    shuffle_all_but_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
"""The perturbations of the four wrong captions (Table 1), in this order."""
TEXT_PERTURBATIONS: tuple[Perturbation, ...] = (*OPTIONS, shuffle_all_words)
"""The five perturbations of perturbed retrieval (Table 3)."""


def perturb(words: Words, perturbation: Perturbation, seed: int, taken: Sequence[str] = ()) -> str | None:
    """Return the caption in another order that differs from all of ``taken``, or None if there is no such order."""
    rng = Random(f"{seed}:{perturbation.__name__}:{words.text}")
    known = {text.lower() for text in (words.text, *taken)}
    draws = (words.in_order(perturbation(rng, words.kinds)) for _ in range(MAX_DRAWS))
    return next((text for text in draws if text.lower() not in known), None)


def make_wrong_captions(words: Words, seed: int) -> list[str] | None:
    """Return the four wrong captions of a true caption, all different, or None if there are fewer."""
    texts: list[str] = []
    for perturbation in OPTIONS:
        text = perturb(words, perturbation, seed, texts)
        if text is None:
            return None
        texts.append(text)
    return texts
