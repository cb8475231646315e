"""Recognise English captions by their words: foils are made with an English grammar and an English WordNet."""

import re
from functools import lru_cache

from compeval.generators.hard_negatives.own.lists import load_words
from compeval.generators.language import CACHED_WORDS
from compeval.generators.language.wordnet import PartOfSpeech, lemmatise

WORD = re.compile(r"[^\W\d_]+")
MIN_SHARE = 0.5
"""A caption with a smaller share of English words is in another language; names are no words of WordNet."""
FEW_WORDS = 3
"""Captions of fewer words, such as names, are not judged."""


def is_english(caption: str) -> bool:
    """Return False if most words of a caption are neither in WordNet nor function words of English."""
    words = [word.lower() for word in WORD.findall(caption)]
    if len(words) < FEW_WORDS:
        return all(word.isascii() for word in words)
    return sum(map(_is_english_word, words)) >= MIN_SHARE * len(words)


@lru_cache(CACHED_WORDS)
def _is_english_word(word: str) -> bool:
    if word in load_words("function_words"):
        return True
    # WordNet has "an", "die" and "des"; a word of two letters is more often a function word of another language.
    parts: tuple[PartOfSpeech, ...] = ("n", "v", "a")
    is_known = any(lemmatise(word, part) is not None for part in parts)
    return len(word) > 2 and (is_known or word.endswith("ly"))
