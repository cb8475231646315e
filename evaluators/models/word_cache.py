"""open_clip's tokeniser with a cache of words, which returns the same tokens in a fraction of the time.

``SimpleTokenizer`` cleans a text, splits it with a pattern that matches no white space, and encodes each part. So the
tokens of a plain text are those of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
import torch
from open_clip.tokenizer import SimpleTokenizer, get_clean_fn
from torch import Tensor

PLAIN = re.compile(r"[ -%'-~]*")
"""Printable ASCII without ``&``, with which HTML entities begin. Cleaning changes such texts word by word."""
MAX_WORDS = 2**17
LOWER = get_clean_fn("lower")


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
        start = self._tokenizer.sot_token_id
        end = self._tokenizer.eot_token_id
        tokens = list[int]()
        length_T = np.empty(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            token_L = [start, *self._encode(text), end]
            if len(token_L) > length:
                token_L = [*token_L[: length - 1], end]
            tokens += token_L
            length_T[number] = len(token_L)
        token_TL = np.zeros((len(texts), length), dtype=np.int64)
        token_TL[np.arange(length) < length_T[:, None]] = (
            tokens  # all at once, which is faster than row by row
        )
        return torch.from_numpy(token_TL)

    def _encode(self, text: str) -> Iterable[int]:
        if not PLAIN.fullmatch(text):
            return self._tokenizer.encode(text)
        return chain.from_iterable(map(self._encode_word, text.split()))

    def _encode_plain_word(self, word: str) -> list[int]:
        """Return the tokens. Of such words, the usual cleaning changes the case only, and it takes most of the time."""
        if self._tokenizer.clean_fn is not LOWER:
            return self._tokenizer.encode(word)
        tokens = self._tokenizer.pat.findall(word.lower())
        return [
            self._tokenizer.encoder[part]
            for token in tokens
            for part in self._tokenizer.bpe(token).split(" ")
        ]
