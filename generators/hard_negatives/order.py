"""Order perturbations of captions: the same words in another order.

Source: Yuksekgonul et al. 2023 (arXiv:2210.01936), section 2.2, Table 1 and section 3.1. A perturbation is drawn from a
seed and the caption alone. Differs from the authors' functions, which join spaCy's tokens by spaces, in that nothing
but the order tells a perturbed caption from the true one:

- what moves are words, with the clitics and hyphens that belong to them ("man's", "black-and-white"); the spaces and
  the punctuation between the words stay where they are;
- a sentence's capital is taken off before anything moves, from the true caption as well;
- a caption is never left as it was, and no two of its four wrong ones are the same: the draw is repeated, and a
  caption that has not so many other orders gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from generators.parser.spacy_model import installed_model

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

MOST_DRAWS = 60
"""Draws that may leave a caption as it was; each other order of two words has a chance of one half."""

Order = list[int]
"""Position i of the result takes what stood at position ``order[i]``."""


@dataclass(frozen=True)
class Words:
    """A caption as words and what stands between them: ``gaps`` has one more item than ``words``."""

    words: tuple[str, ...]
    gaps: tuple[str, ...]
    kinds: tuple[str, ...]
    """``noun``, ``adjective`` or ``other``, of each word."""

    def in_order(self, order: Sequence[int]) -> str:
        """The text with its words in another order, the gaps where they were."""
        pieces = [gap + self.words[index] for gap, index in zip(self.gaps, order, strict=False)]
        return "".join(pieces) + self.gaps[-1]

    @property
    def text(self) -> str:
        return self.in_order(range(len(self.words)))


class Tagger:
    """Captions to words with spaCy's tags."""

    def __init__(self) -> None:
        self._nlp = _language()

    def __call__(self, captions: Iterable[str]) -> Iterator[Words]:
        """One ``Words`` a caption, in order."""
        for doc in self._nlp.pipe(captions, batch_size=256):
            yield _words(doc)


@cache
def _language() -> Language:
    import spacy

    return spacy.load(installed_model(), exclude=["parser", "ner", "senter", "lemmatizer"])


def _words(doc: Doc) -> Words:
    """Tokens that touch are one word, but for the punctuation at its ends."""
    words: list[str] = []
    kinds: list[str] = []
    gaps = [""]
    group: list[Token] = []
    for token in doc:
        group.append(token)
        if token.whitespace_ or token.i + 1 == len(doc):
            letters = [any(map(str.isalnum, item.text)) for item in group]
            if any(letters):
                start, stop = letters.index(True), len(letters) - letters[::-1].index(True)
                gaps[-1] += "".join(item.text for item in group[:start])
                words.append("".join(item.text for item in group[start:stop]))
                kinds.append(_kind(group[start:stop]))
                gaps.append("".join(item.text for item in group[stop:]))
            else:
                gaps[-1] += "".join(item.text for item in group)
            gaps[-1] += token.whitespace_
            group = []
    if words and _is_sentence_case(words[0], doc):
        words[0] = words[0][0].lower() + words[0][1:]
    return Words(tuple(words), tuple(gaps), tuple(kinds))


def _kind(tokens: Sequence[Token]) -> str:
    """The kind of a word's last noun or adjective, by Penn tags."""
    kinds = [{"N": "noun", "J": "adjective"}.get(token.tag_[:1], "other") for token in tokens]
    return next((kind for kind in reversed(kinds) if kind != "other"), "other")


def _is_sentence_case(word: str, doc: Doc) -> bool:
    """Whether a first word has its capital from its place: no name, no "I", no "TV"."""
    first = next(token for token in doc if token.text[:1] == word[:1])
    return word[0].isupper() and (len(word) == 1 or word[1:].islower()) and word != "I" and first.tag_ != "NNP"


def _shuffled(rng: Random, items: Sequence[int]) -> list[int]:
    return rng.sample(items, len(items))


def _moving(rng: Random, kinds: Sequence[str], *groups: set[str]) -> Order:
    """Each group of kinds shuffled among its own places; all else stays."""
    order = list(range(len(kinds)))
    for group in groups:
        places = [index for index, kind in enumerate(kinds) if kind in group]
        for place, index in zip(places, _shuffled(rng, places), strict=True):
            order[place] = index
    return order


def _trigrams(kinds: Sequence[str]) -> list[list[int]]:
    return [list(range(start, min(start + 3, len(kinds)))) for start in range(0, len(kinds), 3)]


def shuffle_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    """Nouns change places with nouns, adjectives with adjectives."""
    return _moving(rng, kinds, {"noun"}, {"adjective"})


def shuffle_all_but_nouns_and_adjectives(rng: Random, kinds: Sequence[str]) -> Order:
    return _moving(rng, kinds, {"other"})


def shuffle_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    """Runs of three words change places."""
    trigrams = _trigrams(kinds)
    return [index for trigram in rng.sample(trigrams, len(trigrams)) for index in trigram]


def shuffle_within_trigrams(rng: Random, kinds: Sequence[str]) -> Order:
    return [index for trigram in _trigrams(kinds) for index in _shuffled(rng, trigram)]


def shuffle_all_words(rng: Random, kinds: Sequence[str]) -> Order:
    """Of perturbed retrieval only (section 3.1)."""
    return _shuffled(rng, range(len(kinds)))


Perturbation = Callable[[Random, Sequence[str]], Order]

OPTIONS: tuple[Perturbation, ...] = (
    shuffle_nouns_and_adjectives,
    shuffle_all_but_nouns_and_adjectives,
    shuffle_trigrams,
    shuffle_within_trigrams,
)
"""The four wrong captions of pick-the-right-caption (Table 1), in this order."""
TEXT_PERTURBATIONS: tuple[Perturbation, ...] = (*OPTIONS, shuffle_all_words)
"""The five of perturbed retrieval (Table 3)."""


def perturbed(words: Words, perturbation: Perturbation, seed: int, taken: Sequence[str] = ()) -> str | None:
    """The caption in another order, from the seed and the caption alone, and in none of the orders that are ``taken``;
    None where it has no other."""
    rng = Random(f"{seed}:{perturbation.__name__}:{words.text}")
    known = {text.lower() for text in (words.text, *taken)}
    for _ in range(MOST_DRAWS):
        text = words.in_order(perturbation(rng, words.kinds))
        if text.lower() not in known:
            return text
    return None


def options(words: Words, seed: int) -> list[str] | None:
    """The four wrong captions of a true one, all different; None where there are not so many."""
    found: list[str] = []
    for perturbation in OPTIONS:
        text = perturbed(words, perturbation, seed, found)
        if text is None:
            return None
        found.append(text)
    return found
