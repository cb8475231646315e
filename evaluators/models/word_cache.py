"""open_clip's tokeniser with a cache of words, which returns the same tokens in a fraction of the time.

``SimpleTokenizer`` cleans a text, splits it with a pattern that matches no white space, and encodes each part. So the
tokens of a plain text are those of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from open_clip.tokenizer import SimpleTokenizer
from torch import Tensor

PLAIN = re.compile(r"[ -%'-~]*")
"""Printable ASCII without ``&``, with which HTML entities begin. Cleaning changes such texts word by word."""
MAX_WORDS = 2**17


def cache_words(tokenizer: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a tokeniser that equals ``tokenizer``; with a cache if it is open_clip's own."""
    if isinstance(tokenizer, SimpleTokenizer) and tokenizer.reduction_fn is None:
        return WordCache(tokenizer)
    return tokenizer


class WordCache:
    """``SimpleTokenizer`` that encodes each word of plain texts once."""

    def __init__(self, tokenizer: SimpleTokenizer) -> None:
        self._tokenizer = tokenizer
        self._encode_word = lru_cache(MAX_WORDS)(self._encode_plain_word)

    def __call__(self, texts: Sequence[str], context_length: int | None = None) -> Tensor:
        """Return tokens (T, L), int64, as ``SimpleTokenizer.__call__`` does."""
        length = context_length or self._tokenizer.context_length
        assert length is not None, "neither the tokeniser nor the caller has a context length"
        token_TL = np.zeros((len(texts), length), dtype=np.int64)
        for token_L, text in zip(token_TL, texts, strict=True):
            tokens = [self._tokenizer.sot_token_id, *self._encode(text), self._tokenizer.eot_token_id]
            if len(tokens) > length:
                tokens = [*tokens[: length - 1], self._tokenizer.eot_token_id]
            token_L[: len(tokens)] = tokens
        return torch.from_numpy(token_TL)

    def _encode(self, text: str) -> list[int]:
        if not PLAIN.fullmatch(text):
            return self._tokenizer.encode(text)
        return [token for word in text.split() for token in self._encode_word(word)]

    def _encode_plain_word(self, word: str) -> list[int]:
        """Return the tokens. A lower-case word needs no cleaning or splitting, which take most of the time."""
        if word.isalpha() and word.islower():
            return [self._tokenizer.encoder[part] for part in self._tokenizer.bpe(word).split(" ")]
        return self._tokenizer.encode(word)
